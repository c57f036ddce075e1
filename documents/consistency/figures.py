"""Illustrations, layouts, bounds and code in the pages' texts against the formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dml_conformance.documents.consistency import printed
from dml_conformance.documents.consistency.model import Check, Finding, Standard
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import (
    braces,
    elements_overlap,
    minimum_size_in_bytes,
    packed_strides,
    product,
    span_in_elements,
)


def _illustrations(standard: Standard) -> Iterator[Finding]:
    """Illustrations select the sizes that they say, and could be those of a descriptor."""
    for figure in standard.illustrations.values():
        counted = figure.sizes[len(figure.sizes) - figure.dimension_count :]
        batches, rest = counted[: figure.batch_dimension_count], counted[figure.batch_dimension_count :]
        if (batches, rest) != (figure.batches, figure.meaningful):
            yield Finding(
                f"{figure.id}:selection",
                f"the counts select {braces(rest)} after batches {braces(batches)}, the page "
                f"{braces(figure.meaningful)} after {braces(figure.batches)}",
            )
        holds_tuples = figure.operator in printed.TUPLES and figure.tensor == "IndicesTensor"
        count = len(figure.sizes)
        if holds_tuples and figure.sizes[-1] not in printed.tuple_sizes(count):
            yield Finding(
                f"{figure.id}:tuple-size",
                f"sizes {braces(figure.sizes)}: {figure.sizes[-1]} coordinates a tuple on {count} dimensions",
            )


def _layouts(standard: Standard) -> Iterator[Finding]:
    """Strides of the guide read the elements that it shows, within the size that the formula gives."""
    for figure in standard.layouts.values():
        if figure.packed and packed_strides(figure.sizes) != figure.strides:
            packed = braces(packed_strides(figure.sizes))
            yield Finding(f"{figure.id}:packed", f"packed strides are {packed}, the guide has {braces(figure.strides)}")
        if not figure.memory:
            continue
        places = [
            sum(i * stride for i, stride in zip(coordinates, figure.strides, strict=True))
            for coordinates in np.ndindex(*figure.sizes)
        ]
        span = span_in_elements(figure.sizes, figure.strides)
        if span != max(places) + 1 or span > len(figure.memory):
            yield Finding(f"{figure.id}:span", f"{span} elements by the formula, the last is at {max(places)}")
        elif "".join(figure.memory[place] for place in places) != figure.reads:
            yield Finding(f"{figure.id}:reads", f"the strides do not read {figure.reads}")
        overlap = len(set(places)) < len(places)
        if elements_overlap(figure.sizes, figure.strides) is not overlap:
            yield Finding(f"{figure.id}:overlap", f"elements {'share' if overlap else 'do not share'} memory")
        elements = product(figure.sizes)
        if not overlap and elements != span:
            yield Finding(
                f"{figure.id}:product-of-sizes",
                f"no elements share memory, the sizes' product is {elements}, the last element is no. {span}",
            )


def _printed_bounds(standard: Standard) -> Iterator[Finding]:
    """Printed ranges of counts allow nothing that has no meaning."""
    for name, with_batches in printed.TUPLES.items():
        if name not in standard.operators:
            continue
        every = list(printed.allowed_counts(4, with_batches))
        meaningless_batches = [
            c for c in every if c.batch_dimension_count >= min(c.input_dimension_count, c.indices_dimension_count)
        ]
        sound = set(every).difference(meaningless_batches)
        meaningless_tuples = sorted(
            c for c in sound if c.tuple_size > c.input_dimension_count - c.batch_dimension_count
        )
        if meaningless_tuples:
            c = meaningless_tuples[0]
            left = c.input_dimension_count - c.batch_dimension_count
            yield Finding(
                f"{name}:tuple-size-bound",
                f"allowed: {c.tuple_size} coordinates a tuple with {left} of {c.dimension_count} dimensions to address",
            )
        if with_batches and meaningless_batches:
            c = meaningless_batches[0]
            yield Finding(
                f"{name}:batch-dimension-count-bound",
                f"allowed: {c.batch_dimension_count} batch dimensions with InputDimensionCount "
                f"{c.input_dimension_count} and IndicesDimensionCount {c.indices_dimension_count}",
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


def _helper(standard: Standard) -> Iterator[Finding]:
    """The code of the published size helper computes the formula printed above it."""
    for sizes, strides in _HELPER_WITNESSES:
        formula = minimum_size_in_bytes(DataType.UINT8, sizes, strides)
        code = printed.calc_buffer_tensor_size(DataType.UINT8, sizes, strides)
        if code != formula:
            of = f"UINT8, sizes {braces(sizes)}, strides {braces(strides) if strides else 'null'}"
            yield Finding("TENSOR:helper-wraps", f"{of}: {formula} bytes by the formula, {code} by the code")
            break
    unsized = [
        data_type.name
        for data_type in DataType
        if data_type is not DataType.UNKNOWN and printed.calc_buffer_tensor_size(data_type, (2, 3), None) == 0
    ]
    if unsized:
        yield Finding("TENSOR:helper-4-bit", f"a tensor of six elements has 0 bytes as {' or '.join(unsized)}")


CHECKS = (
    Check(
        "illustrations",
        "illustrations select what they say and could exist",
        lambda standard: len(standard.illustrations),
        _illustrations,
    ),
    Check("layouts", "strides of the guide read what it shows", lambda standard: len(standard.layouts), _layouts),
    Check(
        "printed-bounds",
        "the pages' ranges allow only what has a meaning",
        lambda standard: sum(name in standard.operators for name in printed.TUPLES),
        _printed_bounds,
    ),
    Check("size-helper", "the published helper computes its formula", lambda standard: len(_HELPER_WITNESSES), _helper),
)
