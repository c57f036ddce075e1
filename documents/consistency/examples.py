"""The pages' worked examples, illustrations and layouts against rules, formulas and the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.documents.check.computed_checks import impossible_sizes
from dml_conformance.documents.consistency.model import ConsistencyCheck, Found, Standard
from dml_conformance.documents.reference_run import run_example
from dml_conformance.spec.examples import nesting
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import Misfit, outputs, slots
from dml_conformance.spec.tensor import braces, elements_overlap, packed_strides, product, span_in_elements
from dml_conformance.spec.validator import Outcome, decide


def _decisions(standard: Standard) -> Found:
    """Examples are valid as printed from their lowest level on, not below."""
    for example in standard.examples.values():
        lowest, printed_desc, corrected = example.level, example.printed, example.corrected
        if lowest is None or corrected is None:
            continue
        if printed_desc is None:
            yield f"{example.id}:decision", "no descriptor can hold what is printed"
        elif (decision := decide(printed_desc, lowest)).outcome is not Outcome.ACCEPT:
            yield f"{example.id}:decision", f"{decision.outcome} as printed at {lowest}: {', '.join(decision.rules)}"
        for level in Level:
            outcome = decide(corrected, level).outcome
            if (outcome is Outcome.ACCEPT) != (level >= lowest):
                yield f"{example.id}:level-{level}", f"{outcome} at {level}; valid from {lowest} on"


def _introductions(standard: Standard) -> Found:
    """Examples are valid where their operator starts."""
    for example in standard.examples.values():
        introduced = example.spec.introduced_in
        if example.level is not None and example.level > introduced:
            what = f"valid from {example.level} on; the operator exists from {introduced} on"
            yield f"{example.id}:introduction", what


def _sizes(standard: Standard) -> Found:
    """The specification's formulas give the examples' sizes."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        shapes = example.spec.shapes(desc)
        for slot in outputs(desc):
            expected = shapes if isinstance(shapes, Misfit) else shapes[slot.key]
            if expected != slot.tensor.sizes:
                yield f"{example.id}:sizes", f"{slot.name}: the formula gives {expected}, the page {slot.tensor.sizes}"
        for slot in slots(desc):
            if slot.name in example.values and nesting(example.values[slot.name]) != slot.tensor.sizes:
                yield f"{example.id}:{slot.name}-values", f"the printed elements do not fill sizes {slot.tensor.sizes}"


def _values(standard: Standard) -> Found:
    """The reference computes the examples' outputs."""
    for example in standard.examples.values():
        desc: Any = example.with_types()
        if not example.values or decide(desc, HIGHEST).outcome is not Outcome.ACCEPT:
            continue
        if any(slot.name not in example.values for slot in slots(desc)):
            continue  # it shows some tensors only
        try:
            results = run_example(example, desc, standard.reference)
        except Exception as error:
            yield f"{example.id}:values", f"the reference fails: {type(error).__name__}: {error}"
            continue
        for name, result in results.items():
            printed = result.printed(example.values[name])
            if result.leaves_open(printed, example.spec):
                yield f"{example.id}:values", "the reference leaves elements open"
            elif result.differing(printed):
                gives, prints = (array.reshape(-1).tolist() for array in (result.elements, printed))
                yield f"{example.id}:values", f"the reference gives {gives}, the page {prints}"


def _illustrations(standard: Standard) -> Found:
    """Illustrations select what they say and could exist."""
    for figure in standard.illustrations.values():
        counted = figure.sizes[len(figure.sizes) - figure.dimension_count :]
        batches, rest = counted[: figure.batch_dimension_count], counted[figure.batch_dimension_count :]
        if (batches, rest) != (figure.batches, figure.meaningful):
            computed = f"the counts select {braces(rest)} after batches {braces(batches)}"
            printed = f"the page {braces(figure.meaningful)} after {braces(figure.batches)}"
            yield f"{figure.id}:selection", f"{computed}, {printed}"
        desc = next(e for e in standard.examples.values() if e.operator == figure.operator).with_types()
        for violation in impossible_sizes(desc, figure.tensor, figure.sizes):
            name = violation.rule.id.partition(".")[2]
            yield f"{figure.id}:{name}", f"sizes {braces(figure.sizes)}: {violation.found}"


def _layouts(standard: Standard) -> Found:
    """Strides of the guide read what it shows."""
    for figure in standard.layouts.values():
        if figure.packed and packed_strides(figure.sizes) != figure.strides:
            packed = braces(packed_strides(figure.sizes))
            yield f"{figure.id}:packed", f"packed strides are {packed}, the guide has {braces(figure.strides)}"
        if not figure.memory:
            continue
        places = [
            sum(i * stride for i, stride in zip(coordinates, figure.strides, strict=True))
            for coordinates in np.ndindex(*figure.sizes)
        ]
        span = span_in_elements(figure.sizes, figure.strides)
        if span != max(places) + 1 or span > len(figure.memory):
            yield f"{figure.id}:span", f"{span} elements by the formula, the last is at {max(places)}"
        elif "".join(figure.memory[place] for place in places) != figure.reads:
            yield f"{figure.id}:reads", f"the strides do not read {figure.reads}"
        overlap = len(set(places)) < len(places)
        if elements_overlap(figure.sizes, figure.strides) is not overlap:
            yield f"{figure.id}:overlap", f"elements {'share' if overlap else 'do not share'} memory"
        elements = product(figure.sizes)
        if not overlap and elements != span:
            yield (
                f"{figure.id}:product-of-sizes",
                f"no elements share memory, the sizes' product is {elements}, the last element is no. {span}",
            )


CHECKS = (
    ConsistencyCheck("decisions", lambda s: len(s.typed_examples), _decisions),
    ConsistencyCheck("introductions", lambda s: len(s.typed_examples), _introductions),
    ConsistencyCheck("sizes", lambda s: len(s.examples), _sizes),
    ConsistencyCheck("values", lambda s: sum(bool(example.values) for example in s.examples.values()), _values),
    ConsistencyCheck("illustrations", lambda standard: len(standard.illustrations), _illustrations),
    ConsistencyCheck("layouts", lambda standard: len(standard.layouts), _layouts),
)
