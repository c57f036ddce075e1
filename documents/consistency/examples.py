"""The pages' worked examples against rules, formulas, ranges and the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dml_conformance.documents.check.formulas import Environment, number_of
from dml_conformance.documents.consistency.model import ConsistencyChecks, Contradiction, Standard
from dml_conformance.documents.consistency.printed import printed_facts, printed_ranges
from dml_conformance.documents.reference_run import explicit, run_reference
from dml_conformance.spec.examples import Example, nesting
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import Misfit, inputs, outputs, slots
from dml_conformance.spec.tensor import braces
from dml_conformance.spec.validator import Outcome, decide

CHECKS = ConsistencyChecks()


@CHECKS.add("decisions", lambda s: len(s.typed_examples))
def _decisions(standard: Standard) -> Iterator[Contradiction]:
    """Examples are valid as printed from their lowest level on, not below."""
    for example in standard.examples.values():
        lowest, printed_desc, corrected = example.level, example.printed, example.corrected
        if lowest is None or corrected is None:
            continue
        if printed_desc is None:
            yield Contradiction(f"{example.id}:decision", "no descriptor can hold what is printed")
        elif (decision := decide(printed_desc, lowest)).outcome is not Outcome.ACCEPT:
            yield Contradiction(
                f"{example.id}:decision", f"{decision.outcome} as printed at {lowest}: {', '.join(decision.rules)}"
            )
        for level in Level:
            outcome = decide(corrected, level).outcome
            if (outcome is Outcome.ACCEPT) != (level >= lowest):
                yield Contradiction(f"{example.id}:level-{level}", f"{outcome} at {level}; valid from {lowest} on")


@CHECKS.add("introductions", lambda s: len(s.typed_examples))
def _introductions(standard: Standard) -> Iterator[Contradiction]:
    """Examples are valid where their operator starts."""
    for example in standard.examples.values():
        introduced = example.spec.introduced_in
        if example.level is not None and example.level > introduced:
            yield Contradiction(
                f"{example.id}:introduction", f"valid from {example.level} on; the operator exists from {introduced} on"
            )


@CHECKS.add("sizes", lambda s: len(s.examples))
def _sizes(standard: Standard) -> Iterator[Contradiction]:
    """The specification's formulas give the examples' sizes."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        shapes = example.spec.shapes(desc)
        for slot in outputs(desc):
            expected = shapes if isinstance(shapes, Misfit) else shapes[slot.key]
            if expected != slot.tensor.sizes:
                yield Contradiction(
                    f"{example.id}:sizes", f"{slot.name}: the formula gives {expected}, the page {slot.tensor.sizes}"
                )
        for slot in slots(desc):
            if slot.name in example.values and nesting(example.values[slot.name]) != slot.tensor.sizes:
                yield Contradiction(
                    f"{example.id}:{slot.name}-values", f"the printed elements do not fill sizes {slot.tensor.sizes}"
                )


@CHECKS.add("printed-sizes", lambda s: sum(example.operator in printed_facts() for example in s.examples.values()))
def _printed_sizes(standard: Standard) -> Iterator[Contradiction]:
    """The pages' formulas give the examples' sizes."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        if example.operator not in printed_facts():
            continue
        formula, environment = printed_facts()[example.operator].formula, Environment.of(desc)
        has = environment.sizes[formula.target]
        sizes, gives = formula.outcome(environment, len(has))
        if sizes != has:
            yield Contradiction(
                f"{example.id}:printed-sizes", f"the printed formula gives {gives}, the example {braces(has)}"
            )


@CHECKS.add("printed-ranges", lambda s: sum(example.operator in printed_facts() for example in s.typed_examples))
def _printed_ranges(standard: Standard) -> Iterator[Contradiction]:
    """Examples lie in the pages' ranges."""
    for example in standard.typed_examples:
        for bounded in printed_ranges(example.printed) if example.operator in printed_facts() else ():
            if bounded.value not in bounded.allowed:
                yield Contradiction(
                    f"{example.id}:{bounded.name}-range",
                    f"{bounded.value}, the page prints [{bounded.allowed.start}, {bounded.allowed.stop})",
                )


@CHECKS.add("printed-rank-bounds", lambda s: len(_rank_bounded(s)))
def _printed_rank_bounds(standard: Standard) -> Iterator[Contradiction]:
    """Examples keep the pages' bounds on ranks.

    With the padded rank, and with the one before padding.
    """
    for example in _rank_bounded(standard):
        desc: Any = example.printed
        relevant_of, _ = number_of(printed_facts()[example.operator].relevant_dimensions)
        sizes, most = desc.input_tensor.sizes, len(desc.output_tensor.sizes)
        without_ones = len(sizes) - next((d for d, size in enumerate(sizes) if size != 1), len(sizes) - 1)
        for reading, rank in (("leading ones left out", without_ones), ("DimensionCount", len(sizes))):
            relevant = relevant_of(Environment.of(desc).with_number("OriginalRank", rank))
            if relevant > most:
                yield Contradiction(
                    f"{example.id}:rank-bound",
                    f"{relevant} relevant dimensions in an output of {most}, with {rank} as original rank ({reading})",
                )
                break


def _rank_bounded(standard: Standard) -> list[Example]:
    """The examples of operators whose page bounds the relevant dimensions of the output."""
    bounded = {name for name, facts in printed_facts().items() if facts.relevant_dimensions}
    return [example for example in standard.typed_examples if example.operator in bounded]


@CHECKS.add("titles", lambda s: len(s.examples))
def _titles(standard: Standard) -> Iterator[Contradiction]:
    """Titles and labels of examples are right."""
    for example in standard.examples.values():
        if example.title_says and example.printed is not None:
            is_so = {"DimensionCount": len(outputs(example.printed)[0].tensor.sizes), **example.desc}
            said = example.title_says.items()
            wrong = [f"{name} {value}, it is {is_so[name]}" for name, value in said if is_so[name] != value]
            if wrong:
                yield Contradiction(f"{example.id}:title", f"the title says {'; '.join(wrong)}")
        for tensor, label in example.labels.items():
            yield Contradiction(f"{example.id}:labels", f"{tensor} is labelled {label}")


@CHECKS.add("values", lambda s: sum(bool(example.values) for example in s.examples.values()))
def _values(standard: Standard) -> Iterator[Contradiction]:
    """The reference computes the examples' outputs."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        if not example.values or decide(desc, HIGHEST).outcome is not Outcome.ACCEPT:
            continue
        if any(slot.name not in example.values for slot in slots(desc)):
            continue  # it shows some tensors only
        elements = {slot.key: example.elements(slot.name) for slot in inputs(desc)}
        try:
            results = run_reference(desc, explicit(elements), standard.reference)
        except Exception as error:
            yield Contradiction(f"{example.id}:values", f"the reference fails: {type(error).__name__}: {error}")
            continue
        for name, result in results.items():
            computed, is_open = result.elements, result.open
            wanted = np.array(example.elements(name), computed.dtype).reshape(computed.shape)
            if is_open is not None and (example.spec.index is not None or not result.tells(wanted)):
                yield Contradiction(f"{example.id}:values", "the reference leaves elements open")
                continue
            known = np.ones(computed.shape, np.bool_) if is_open is None else ~is_open
            if computed[known].tobytes() != wanted[known].tobytes():
                gives = computed.reshape(-1).tolist()
                printed = wanted.reshape(-1).tolist()
                yield Contradiction(f"{example.id}:values", f"the reference gives {gives}, the page {printed}")
