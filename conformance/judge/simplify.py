"""Making a descriptor smaller while something stays true of it, so that a person sees what it is about.

Hypothesis shrinks what it has drawn itself. This works on a descriptor from anywhere. It goes by the fields, and knows
no operator but for the output sizes that the specification says follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import UINT, UINTS
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import INDICES, Field, Misfit, OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import UINT64_MAX, TensorDesc, minimum_size_in_bytes, packed_strides
from dml_conformance.spec.validator import decide

MOST_TRIES = 1000


def simplest(desc: OperatorDesc, holds: Callable[[OperatorDesc], bool], tries: int = MOST_TRIES) -> OperatorDesc:
    """The smallest descriptor that is reached by steps which each make it smaller and keep `holds` true.

    Args:
        desc: one for which it is true.
        holds: asked at most `tries` times, and never twice about the same descriptor.
        tries: after as many, the smallest so far is taken.
    """
    asked: set[OperatorDesc] = set()

    def first(candidates: Iterator[OperatorDesc], size: tuple[int, ...]) -> OperatorDesc | None:
        for candidate in candidates:
            if candidate not in asked and size_of(candidate) < size:
                if len(asked) == tries:
                    return None
                asked.add(candidate)
                if holds(candidate):
                    return candidate
        return None

    before = None
    while before is not desc:
        before = desc
        for step in _STEPS:
            while (simpler := first(_with_fitting(step(desc)), size_of(desc))) is not None:
                desc = simpler
    return desc


def size_of(desc: OperatorDesc) -> tuple[int, ...]:
    """What makes a descriptor small: few dimensions, then small numbers in them, plain types, little to say."""
    tensors = [tensor for _, tensor in _tensors(desc)]
    return (
        sum(len(tensor.sizes) for tensor in tensors),
        sum(sum(tensor.sizes) for tensor in tensors) + sum(sum(array) for _, array in _arrays(desc)),
        sum(tensor.data_type for tensor in tensors),
        len(msgspec.json.encode(desc_to_json(desc))),
        sum(getattr(desc, field.attribute) for field in _counts(desc)),
        sum(tensor.total_tensor_size_in_bytes for tensor in tensors),
    )


def _with_fitting(candidates: Iterator[OperatorDesc]) -> Iterator[OperatorDesc]:
    """Each candidate, and after it the same with the output sizes that follow, where they are others."""
    for candidate in candidates:
        yield candidate
        if f"{candidate.operator}.output-sizes" in decide(candidate, HIGHEST).rules:
            spec = spec_of(candidate)
            output, shapes = spec.output_fields[0], spec.shapes(candidate)
            if isinstance(shapes, Misfit):
                continue
            sizes = shapes[output.attribute]
            tensor: TensorDesc = getattr(candidate, output.attribute)
            yield _edited(candidate, {output: _least_total(msgspec.structs.replace(tensor, sizes=sizes))})


def _fewer_dimensions(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for keep in (False, True):
        for dimension in range(max((len(tensor.sizes) for _, tensor in _tensors(desc)), default=0)):
            yield from _without_dimension(desc, dimension, keep)
    # Where a layout matters, what is left of it in fewer dimensions may be plain: then elements apart stand for it.
    apart = _edited(desc, {field: _apart(tensor) for field, tensor in _tensors(desc) if tensor.strides is not None})
    for dimension in range(max((len(tensor.sizes) for _, tensor in _tensors(apart)), default=0)):
        yield from _without_dimension(apart, dimension, True)


def _apart(tensor: TensorDesc) -> TensorDesc:
    """The tensor with one element of room after each."""
    strides = tuple(2 * stride for stride in packed_strides(tensor.sizes))
    return _least_total(msgspec.structs.replace(tensor, strides=strides))


def _smaller_numbers(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    numbers = {n for _, tensor in _tensors(desc) for n in tensor.sizes} | {
        n for _, array in _arrays(desc) for n in array
    }
    for keep in (False, True):
        for number in sorted(numbers, reverse=True):
            yield from (_with_number(desc, number, smaller, keep) for smaller in (1, 2, 3) if smaller < number)


def _smaller_sizes(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for keep in (False, True):
        for field, tensor in _tensors(desc):
            for dimension, number in enumerate(tensor.sizes):
                for smaller in (n for n in sorted({1, number // 2, number - 1}) if 0 < n < number):
                    sizes = (*tensor.sizes[:dimension], smaller, *tensor.sizes[dimension + 1 :])
                    yield _edited(desc, {field: _resized(tensor, sizes, tensor.strides, keep)})


def _plainer_tensors(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for field, tensor in _tensors(desc):
        yield _edited(desc, {field: msgspec.structs.replace(tensor, flags=0)})
        yield _edited(desc, {field: msgspec.structs.replace(tensor, guaranteed_base_offset_alignment=0)})
        yield _edited(desc, {field: _resized(tensor, tensor.sizes, None, False)})
        yield _edited(desc, {field: msgspec.structs.replace(tensor, strides=None)})
        if tensor.strides is not None:
            packed = msgspec.structs.replace(tensor, strides=packed_strides(tensor.sizes))
            yield _edited(desc, {field: _least_total(packed)})
            yield _edited(desc, {field: packed})
        least = _least_total(tensor)
        yield _edited(desc, {field: least})
        if tensor.total_tensor_size_in_bytes != least.total_tensor_size_in_bytes:
            # Not 0, which stands for the least total size where descriptors are written down.
            less = max(tensor.total_tensor_size_in_bytes // 2, 1)
            yield _edited(desc, {field: msgspec.structs.replace(tensor, total_tensor_size_in_bytes=less)})


def _plainer_types(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for is_index, plain in ((False, DataType.FLOAT32), (True, DataType.UINT32)):
        of_group = [
            (field, tensor) for field, tensor in _tensors(desc) if (spec_of(desc).group(field) == INDICES) is is_index
        ]
        for total in (_least_total, lambda tensor: tensor):
            yield _edited(desc, {f: total(msgspec.structs.replace(t, data_type=plain)) for f, t in of_group})


def _smaller_attributes(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for field in _counts(desc):
        value = getattr(desc, field.attribute)
        yield from (_edited(desc, {field: smaller}) for smaller in sorted({0, value // 2, value - 1}))


# From one descriptor to others that may be smaller; those that save most come first.
_STEPS: tuple[Callable[[OperatorDesc], Iterator[OperatorDesc]], ...] = (
    _fewer_dimensions,
    _smaller_numbers,
    _smaller_sizes,
    _plainer_tensors,
    _plainer_types,
    _smaller_attributes,
)


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
    return [(f, getattr(desc, f.attribute)) for f in spec_of(desc).fields if f.kind is UINTS]


def _counts(desc: OperatorDesc) -> list[Field]:
    """Fields that hold one number, and not 0."""
    return [f for f in spec_of(desc).fields if f.kind is UINT and getattr(desc, f.attribute) > 0]


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
