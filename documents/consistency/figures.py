"""Illustrations, layouts, bounds and code in the pages' texts against the formulas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dml_conformance.documents.check.formulas import Environment, allowed
from dml_conformance.documents.consistency.model import ConsistencyChecks, Contradiction, Standard
from dml_conformance.documents.consistency.printed import PrintedFacts, calc_buffer_tensor_size, printed_facts
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import (
    braces,
    elements_overlap,
    minimum_size_in_bytes,
    packed_strides,
    span_in_elements,
)
from dml_conformance.spec.tensor import (
    product as elements_of,
)

CHECKS = ConsistencyChecks()


@CHECKS.add("illustrations", lambda standard: len(standard.illustrations))
def _illustrations(standard: Standard) -> Iterator[Contradiction]:
    """Illustrations select what they say and could exist."""
    for figure in standard.illustrations.values():
        counted = figure.sizes[len(figure.sizes) - figure.dimension_count :]
        batches, rest = counted[: figure.batch_dimension_count], counted[figure.batch_dimension_count :]
        if (batches, rest) != (figure.batches, figure.meaningful):
            yield Contradiction(
                f"{figure.id}:selection",
                f"the counts select {braces(rest)} after batches {braces(batches)}, the page "
                f"{braces(figure.meaningful)} after {braces(figure.batches)}",
            )
        holds_tuples = figure.operator in _tuple_operators() and figure.tensor == "IndicesTensor"
        count = len(figure.sizes)
        if holds_tuples and not 1 <= figure.sizes[-1] <= count:
            yield Contradiction(
                f"{figure.id}:tuple-size",
                f"sizes {braces(figure.sizes)}: {figure.sizes[-1]} coordinates a tuple on {count} dimensions",
            )


@CHECKS.add("layouts", lambda standard: len(standard.layouts))
def _layouts(standard: Standard) -> Iterator[Contradiction]:
    """Strides of the guide read what it shows."""
    for figure in standard.layouts.values():
        if figure.packed and packed_strides(figure.sizes) != figure.strides:
            packed = braces(packed_strides(figure.sizes))
            yield Contradiction(
                f"{figure.id}:packed", f"packed strides are {packed}, the guide has {braces(figure.strides)}"
            )
        if not figure.memory:
            continue
        places = [
            sum(i * stride for i, stride in zip(coordinates, figure.strides, strict=True))
            for coordinates in np.ndindex(*figure.sizes)
        ]
        span = span_in_elements(figure.sizes, figure.strides)
        if span != max(places) + 1 or span > len(figure.memory):
            yield Contradiction(f"{figure.id}:span", f"{span} elements by the formula, the last is at {max(places)}")
        elif "".join(figure.memory[place] for place in places) != figure.reads:
            yield Contradiction(f"{figure.id}:reads", f"the strides do not read {figure.reads}")
        overlap = len(set(places)) < len(places)
        if elements_overlap(figure.sizes, figure.strides) is not overlap:
            yield Contradiction(f"{figure.id}:overlap", f"elements {'share' if overlap else 'do not share'} memory")
        elements = elements_of(figure.sizes)
        if not overlap and elements != span:
            yield Contradiction(
                f"{figure.id}:product-of-sizes",
                f"no elements share memory, the sizes' product is {elements}, the last element is no. {span}",
            )


def _tuple_operators() -> dict[str, PrintedFacts]:
    """What is printed of operators whose index tensor holds tuples of coordinates."""
    return {name: facts for name, facts in printed_facts().items() if "tuple-size" in facts.ranges}


_DIMENSIONS = 4  # of the tensors that the printed ranges of counts are tried on


@CHECKS.add("printed-bounds", lambda standard: sum(name in standard.operators for name in _tuple_operators()))
def _printed_bounds(standard: Standard) -> Iterator[Contradiction]:
    """The pages' ranges allow only what has a meaning."""
    environment = Environment({}, {}, dict.fromkeys(("InputTensor", "IndicesTensor"), (1,) * _DIMENSIONS))
    for name, facts in _tuple_operators().items():
        if name not in standard.operators:
            continue
        tried = product(*(allowed(facts.interval(of), environment) for of in facts.ranges))
        counts = [{"batch-dimension-count": 0, **dict(zip(facts.ranges, numbers, strict=True))} for numbers in tried]
        without_batches = [
            c
            for c in counts
            if c["batch-dimension-count"] >= min(c["input-dimension-count"], c["indices-dimension-count"])
        ]
        sound = [c for c in counts if c not in without_batches]
        for c in [c for c in sound if c["tuple-size"] > c["input-dimension-count"] - c["batch-dimension-count"]][:1]:
            left = c["input-dimension-count"] - c["batch-dimension-count"]
            yield Contradiction(
                f"{name}:tuple-size-bound",
                f"allowed: {c['tuple-size']} coordinates a tuple with {left} of {_DIMENSIONS} dimensions to address",
            )
        for c in without_batches[:1]:
            yield Contradiction(
                f"{name}:batch-dimension-count-bound",
                f"allowed: {c['batch-dimension-count']} batch dimensions with InputDimensionCount "
                f"{c['input-dimension-count']} and IndicesDimensionCount {c['indices-dimension-count']}",
            )


# Sizes and strides that the published helper is tried on: packed, permuted, padded, broadcast, and far apart.
_HELPER_WITNESSES: tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...] = (
    ((2, 3), None),
    ((2, 3), (1, 2)),
    ((2, 3), (5, 1)),
    ((2, 3), (0, 1)),
    ((65535, 65537), None),
    ((2,), (2**32 - 1,)),
    ((3,), (2**31,)),
)


@CHECKS.add("size-helper", lambda standard: len(_HELPER_WITNESSES))
def _helper(standard: Standard) -> Iterator[Contradiction]:
    """The published helper computes its formula."""
    for sizes, strides in _HELPER_WITNESSES:
        formula = minimum_size_in_bytes(DataType.UINT8, sizes, strides)
        code = calc_buffer_tensor_size(DataType.UINT8, sizes, strides)
        if code != formula:
            of = f"UINT8, sizes {braces(sizes)}, strides {braces(strides) if strides else 'null'}"
            yield Contradiction("TENSOR:helper-wraps", f"{of}: {formula} bytes by the formula, {code} by the code")
            break
    unsized = [
        data_type.name
        for data_type in DataType
        if data_type is not DataType.UNKNOWN and calc_buffer_tensor_size(data_type, (2, 3), None) == 0
    ]
    if unsized:
        yield Contradiction("TENSOR:helper-4-bit", f"a tensor of six elements has 0 bytes as {' or '.join(unsized)}")
