"""The pages' worked examples against rules, formulas, ranges and the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.documents.consistency import printed
from dml_conformance.documents.consistency.model import Check, Finding, Standard
from dml_conformance.spec.case import Recipe
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import braces
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.values import NUMPY_TYPE, fill


def _decisions(standard: Standard) -> Iterator[Finding]:
    """Every example is valid as printed from its lowest level on, and not below."""
    for example in standard.examples.values():
        lowest, printed_desc, corrected = example.level, example.printed, example.corrected
        if lowest is None or printed_desc is None or corrected is None:
            continue
        decision = decide(printed_desc, lowest)
        if decision.outcome is not Outcome.ACCEPT:
            yield Finding(
                f"{example.id}:decision", f"{decision.outcome} as printed at {lowest}: {', '.join(decision.rules)}"
            )
        for level in Level:
            outcome = decide(corrected, level).outcome
            if (outcome is Outcome.ACCEPT) != (level >= lowest):
                yield Finding(f"{example.id}:level-{level}", f"{outcome} at {level}; valid from {lowest} on")


def _introductions(standard: Standard) -> Iterator[Finding]:
    """Every example is valid at the level that introduced its operator."""
    for example in standard.examples.values():
        introduced = example.spec.introduced_in
        if example.level is not None and example.level > introduced:
            yield Finding(
                f"{example.id}:introduction", f"valid from {example.level} on; the operator exists from {introduced} on"
            )


def _sizes(standard: Standard) -> Iterator[Finding]:
    """The specification's size formula gives every example's output sizes, and the values fill them."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        expected = example.spec.output_sizes(desc)
        if expected != desc.output_tensor.sizes:
            yield Finding(f"{example.id}:sizes", f"the formula gives {expected}, the page {desc.output_tensor.sizes}")
        for field in example.spec.tensor_fields:
            sizes = getattr(desc, field.attribute).sizes
            if field.name in example.values and _nesting(example.values[field.name]) != sizes:
                yield Finding(f"{example.id}:{field.name}-values", f"the printed elements do not fill sizes {sizes}")


def _nesting(values: Any) -> tuple[int, ...] | None:
    """The sizes of nested lists; None where they are ragged."""
    if not isinstance(values, list):
        return ()
    inner = {_nesting(value) for value in values}
    only = inner.pop() if len(inner) == 1 else None
    return None if only is None else (len(values), *only)


def _printed_sizes(standard: Standard) -> Iterator[Finding]:
    """The size formula as the page prints it gives every example's output sizes."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        formula = printed.SIZES.get(example.operator)
        if formula is None:
            continue
        sizes = formula(desc)
        if sizes != desc.output_tensor.sizes:
            yield Finding(
                f"{example.id}:printed-sizes",
                f"the printed formula gives {braces(sizes)}, the example {braces(desc.output_tensor.sizes)}",
            )


def _printed_ranges(standard: Standard) -> Iterator[Finding]:
    """Every example as printed lies in the ranges that its page prints."""
    for example in standard.typed_examples:
        ranges = printed.RANGES.get(example.operator)
        if ranges is None:
            continue
        for bounded in ranges(example.printed):
            if bounded.value not in bounded.allowed:
                yield Finding(
                    f"{example.id}:{bounded.name}-range",
                    f"{bounded.value}, the page prints [{bounded.allowed.start}, {bounded.allowed.stop})",
                )


def _printed_rank_bounds(standard: Standard) -> Iterator[Finding]:
    """The bound on relevant output dimensions holds, with the padded rank and with the one before padding."""
    for example in standard.examples.values():
        bound, desc = printed.RANK_BOUND.get(example.operator), example.printed
        if bound is None or desc is None:
            continue
        sizes: tuple[int, ...] = desc.input_tensor.sizes  # type: ignore[attr-defined]
        without_ones = len(sizes) - next((d for d, size in enumerate(sizes) if size != 1), len(sizes) - 1)
        for reading, rank in (("leading ones left out", without_ones), ("DimensionCount", len(sizes))):
            relevant, most = bound(desc, rank)
            if relevant > most:
                yield Finding(
                    f"{example.id}:rank-bound",
                    f"{relevant} relevant dimensions in an output of {most}, with {rank} as original rank ({reading})",
                )
                break


def _titles(standard: Standard) -> Iterator[Finding]:
    """What titles and labels on the page say of an example is so."""
    for example in standard.examples.values():
        if example.title_says and example.printed is not None:
            desc: Any = example.printed
            is_so = {"DimensionCount": len(desc.output_tensor.sizes), **example.desc}
            said = example.title_says.items()
            wrong = [f"{name} {value}, it is {is_so[name]}" for name, value in said if is_so[name] != value]
            if wrong:
                yield Finding(f"{example.id}:title", f"the title says {'; '.join(wrong)}")
        for tensor, label in example.labels.items():
            yield Finding(f"{example.id}:labels", f"{tensor} is labelled {label}")


def _values(standard: Standard) -> Iterator[Finding]:
    """The reference computes every example's printed output from its printed inputs."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        if not example.values or decide(desc, HIGHEST).outcome is not Outcome.ACCEPT:
            continue
        inputs = {}
        for field in example.spec.input_fields:
            buffer = fill(getattr(desc, field.attribute), Recipe("explicit", values=example.elements(field.name)))
            inputs[field.attribute] = Binding(buffer, 0, len(buffer))
        try:
            results = standard.reference(desc, inputs)
        except Exception as error:
            yield Finding(f"{example.id}:values", f"the reference fails: {type(error).__name__}: {error}")
            continue
        for field in example.spec.output_fields:
            result, data_type = results[field.attribute], getattr(desc, field.attribute).data_type
            wanted = np.array(example.elements(field.name), NUMPY_TYPE[data_type])
            if result.open is not None:
                yield Finding(f"{example.id}:values", "the reference leaves elements open")
            elif result.values.tobytes() != wanted.tobytes():
                computed = result.values.reshape(-1).view(NUMPY_TYPE[data_type]).tolist()
                yield Finding(f"{example.id}:values", f"the reference gives {computed}, the page {wanted.tolist()}")


def _typed(standard: Standard) -> int:
    return len(standard.typed_examples)


CHECKS = (
    Check("decisions", "examples are valid as printed from their lowest level on, not below", _typed, _decisions),
    Check("introductions", "examples are valid where their operator starts", _typed, _introductions),
    Check("sizes", "the specification's formulas give the examples' sizes", lambda s: len(s.examples), _sizes),
    Check(
        "printed-sizes",
        "the pages' formulas give the examples' sizes",
        lambda s: sum(example.operator in printed.SIZES for example in s.examples.values()),
        _printed_sizes,
    ),
    Check(
        "printed-ranges",
        "examples lie in the pages' ranges",
        lambda s: sum(example.operator in printed.RANGES for example in s.typed_examples),
        _printed_ranges,
    ),
    Check(
        "printed-rank-bounds",
        "examples keep the pages' bounds on ranks",
        lambda s: sum(example.operator in printed.RANK_BOUND for example in s.typed_examples),
        _printed_rank_bounds,
    ),
    Check("titles", "titles and labels of examples are right", lambda s: len(s.examples), _titles),
    Check(
        "values",
        "the reference computes the examples' outputs",
        lambda s: sum(bool(example.values) for example in s.examples.values()),
        _values,
    ),
)
