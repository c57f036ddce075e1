"""Making a descriptor smaller while something stays true of it, so that a person sees what it is about.

Hypothesis shrinks what it has drawn itself. This works on a descriptor from anywhere, by its fields alone, and knows no
operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec

from spec.datatypes import DataType
from spec.forms import desc_to_json
from spec.operator import INDICES, Field, Kind, OperatorDesc
from spec.registry import spec_of
from spec.tensor import UINT64_MAX, TensorDesc, minimum_size_in_bytes

MOST_TRIES = 1000


def simplest(desc: OperatorDesc, holds: Callable[[OperatorDesc], bool], tries: int = MOST_TRIES) -> OperatorDesc:
    """The smallest descriptor that is reached by steps which each make it smaller and keep `holds` true.

    Args:
        desc: one for which it is true.
        holds: asked at most `tries` times.
        tries: after as many, the smallest so far is taken.
    """
    left = tries
    while left > 0:
        for candidate in _simpler(desc):
            left -= 1
            if holds(candidate):
                desc = candidate
                break
            if left == 0:
                return desc
        else:
            return desc
    return desc


def size_of(desc: OperatorDesc) -> tuple[int, int, int, int]:
    """What makes a descriptor small, in this order: few dimensions, small numbers in them, little to say, plain types."""
    tensors = [tensor for _, tensor in _tensors(desc)]
    return (
        sum(len(tensor.sizes) for tensor in tensors),
        sum(sum(tensor.sizes) for tensor in tensors),
        len(msgspec.json.encode(desc_to_json(desc))),
        sum(tensor.data_type for tensor in tensors),
    )


def _simpler(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    """Those a step away that are smaller; the steps that save most come first."""
    size = size_of(desc)
    for candidate in _steps(desc):
        if size_of(candidate) < size:
            yield candidate


def _steps(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    tensors = _tensors(desc)
    for keep in (False, True):
        for dimension in range(max((len(tensor.sizes) for _, tensor in tensors), default=0)):
            yield from _without_dimension(desc, dimension, keep)
        numbers = {n for _, tensor in tensors for n in tensor.sizes} | {n for _, array in _arrays(desc) for n in array}
        for number in sorted(numbers, reverse=True):
            yield from (_with_number(desc, number, smaller, keep) for smaller in (1, 2, 3) if smaller < number)
        for field, tensor in tensors:
            for dimension, number in enumerate(tensor.sizes):
                sizes = (*tensor.sizes[:dimension], number - 1, *tensor.sizes[dimension + 1 :])
                yield _edited(desc, {field: _resized(tensor, sizes, tensor.strides, keep)} if number > 1 else {})
    for field, tensor in tensors:
        yield _edited(desc, {field: msgspec.structs.replace(tensor, flags=0)})
        yield _edited(desc, {field: msgspec.structs.replace(tensor, guaranteed_base_offset_alignment=0)})
        yield _edited(desc, {field: _resized(tensor, tensor.sizes, None, False)})
        yield _edited(desc, {field: msgspec.structs.replace(tensor, strides=None)})
        yield _edited(desc, {field: _least_total(tensor)})
    for is_index, plain in ((False, DataType.FLOAT32), (True, DataType.UINT32)):
        of_group = [(field, tensor) for field, tensor in tensors if (field.group == INDICES) is is_index]
        for total in (_least_total, lambda tensor: tensor):
            yield _edited(desc, {f: total(msgspec.structs.replace(t, data_type=plain)) for f, t in of_group})
    for field in _counts(desc):
        value = getattr(desc, field.attribute)
        yield from (_edited(desc, {field: smaller}) for smaller in sorted({0, value // 2, value - 1}))


def _without_dimension(desc: OperatorDesc, dimension: int, keep: bool) -> Iterator[OperatorDesc]:
    """One dimension less in all tensors and arrays; numbers of dimensions and axes then may need one less, or not."""

    def without(values: tuple[int, ...]) -> tuple[int, ...]:
        return values[:dimension] + values[dimension + 1 :]

    changes: dict[Field, Any] = {field: without(array) for field, array in _arrays(desc)}
    for field, tensor in _tensors(desc):
        strides = None if tensor.strides is None else without(tensor.strides)
        changes[field] = _resized(tensor, without(tensor.sizes), strides, keep)
    counts = _counts(desc)
    for less in product((1, 0), repeat=len(counts)):
        fewer = {field: getattr(desc, field.attribute) - n for field, n in zip(counts, less, strict=True)}
        yield _edited(desc, changes | fewer)


def _with_number(desc: OperatorDesc, number: int, smaller: int, keep: bool) -> OperatorDesc:
    """Another number wherever it stands in sizes and arrays, since one often follows from the other."""

    def replaced(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(smaller if value == number else value for value in values)

    changes: dict[Field, Any] = {field: replaced(array) for field, array in _arrays(desc)}
    for field, tensor in _tensors(desc):
        if number in tensor.sizes:
            changes[field] = _resized(tensor, replaced(tensor.sizes), tensor.strides, keep)
    return _edited(desc, changes)


def _tensors(desc: OperatorDesc) -> list[tuple[Field, TensorDesc]]:
    fields = ((field, getattr(desc, field.attribute)) for field in spec_of(desc).tensor_fields)
    return [(field, tensor) for field, tensor in fields if tensor is not None]


def _arrays(desc: OperatorDesc) -> list[tuple[Field, tuple[int, ...]]]:
    return [(f, getattr(desc, f.attribute)) for f in spec_of(desc).fields if f.kind is Kind.UINT_ARRAY]


def _counts(desc: OperatorDesc) -> list[Field]:
    """Fields that hold one number, and not 0."""
    return [f for f in spec_of(desc).fields if f.kind is Kind.UINT and getattr(desc, f.attribute) > 0]


def _edited(desc: OperatorDesc, changes: dict[Field, Any]) -> OperatorDesc:
    return msgspec.structs.replace(desc, **{field.attribute: value for field, value in changes.items()})


def _resized(tensor: TensorDesc, sizes: tuple[int, ...], strides: tuple[int, ...] | None, keep: bool) -> TensorDesc:
    """The tensor with other sizes: packed and of the least total size, or with its strides and total size kept."""
    if keep:
        return msgspec.structs.replace(tensor, sizes=sizes, strides=strides)
    return _least_total(msgspec.structs.replace(tensor, sizes=sizes, strides=None))


def _least_total(tensor: TensorDesc) -> TensorDesc:
    """The tensor with the least total size, as far as there is one."""
    if 0 in tensor.sizes:
        return tensor
    total = min(minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides), UINT64_MAX)
    return msgspec.structs.replace(tensor, total_tensor_size_in_bytes=total)
