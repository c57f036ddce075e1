"""Making a descriptor smaller while something stays true of it, so that a person sees what it is about.

Hypothesis shrinks what it has drawn itself. This works on a descriptor from anywhere. It goes by the fields, and knows
no operator but for the output sizes that the specification says follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, product
from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import counted_together
from dml_conformance.spec.field_kinds import OPERATORS, TENSORS, ArrayKind, ScaleBias, Size2d, WholeKind
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import Field, Misfit, OperatorDesc, outputs, slots, with_tensors
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import UINT64_MAX, TensorDesc, minimum_size_in_bytes, packed_strides
from dml_conformance.spec.validator import decide

MOST_TRIES = 1000
MOST_COUNTS = 3  # fields that may count dimensions, of which all combinations are tried


def simplest(desc: OperatorDesc, holds: Callable[[OperatorDesc], bool], tries: int = MOST_TRIES) -> OperatorDesc:
    """The smallest descriptor that is reached by steps which each make it smaller and keep `holds` true.

    Args:
        desc: one for which it is true.
        holds: asked at most `tries` times, and never twice about the same descriptor.
        tries: after as many, the smallest so far is taken.
    """
    asked: set[OperatorDesc] = set()

    def first(candidates: Iterator[OperatorDesc], size: tuple[float, ...]) -> OperatorDesc | None:
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


def size_of(desc: OperatorDesc) -> tuple[float, ...]:
    """What makes a descriptor small: few dimensions, then small numbers in them, plain types, little to say."""
    tensors = list(_tensors(desc).values())
    return (
        sum(len(tensor.sizes) for tensor in tensors),
        sum(sum(tensor.sizes) for tensor in tensors) + sum(map(_weight, chain(*_arrays(desc).values()))),
        sum(tensor.data_type for tensor in tensors),
        sum(map(_weight, _numbers(desc))),
        len(msgspec.json.encode(desc_to_json(desc))),
        sum(tensor.total_tensor_size_in_bytes for tensor in tensors),
    )


def _weight(number: float) -> float:
    return abs(number) if math.isfinite(number) else UINT64_MAX


def _with_fitting(candidates: Iterator[OperatorDesc]) -> Iterator[OperatorDesc]:
    """Each candidate, and after it the same with the output sizes that follow, where they are others."""
    for candidate in candidates:
        yield candidate
        spec = spec_of(candidate)
        if f"{candidate.operator}.output-sizes" not in decide(candidate, HIGHEST).rules:
            continue
        shapes = spec.shapes(candidate)
        if not isinstance(shapes, Misfit):
            fitting = {
                slot.key: _least_total(msgspec.structs.replace(slot.tensor, sizes=shapes[slot.key]))
                for slot in outputs(candidate)
                if slot.tensor.sizes != shapes[slot.key]
            }
            yield with_tensors(candidate, fitting)


def _less_of_it(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    """Without what is optional, and with shorter arrays of tensors and operators."""
    for field in desc.fields:
        value = getattr(desc, field.attribute)
        if field.optional and value is not None:
            yield msgspec.structs.replace(desc, **{field.attribute: None})
        if field.kind in (TENSORS, OPERATORS):
            yield from _with_shorter_arrays(desc, field)


def _with_shorter_arrays(desc: OperatorDesc, field: Field) -> Iterator[OperatorDesc]:
    """The descriptor without one of the entries of all arrays that share a count with this one."""
    arrays = {other.attribute: getattr(desc, other.attribute) for other in counted_together(desc, field)}
    for place in range(len(getattr(desc, field.attribute))):
        yield msgspec.structs.replace(desc, **{name: _without(array, place) for name, array in arrays.items()})


def _fewer_dimensions(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for keep in (False, True):
        for dimension in range(max((len(tensor.sizes) for tensor in _tensors(desc).values()), default=0)):
            yield from _without_dimension(desc, dimension, keep)
    # Where a layout matters, what is left of it in fewer dimensions may be plain: then elements apart stand for it.
    strided = {key: _apart(tensor) for key, tensor in _tensors(desc).items() if tensor.strides is not None}
    apart = with_tensors(desc, strided)
    for dimension in range(max((len(tensor.sizes) for tensor in _tensors(apart).values()), default=0)):
        yield from _without_dimension(apart, dimension, True)


def _apart(tensor: TensorDesc) -> TensorDesc:
    """The tensor with one element of room after each."""
    strides = tuple(2 * stride for stride in packed_strides(tensor.sizes))
    return _least_total(msgspec.structs.replace(tensor, strides=strides))


def _smaller_numbers(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    numbers = {n for tensor in _tensors(desc).values() for n in tensor.sizes}
    numbers |= {n for array in _arrays(desc).values() for n in array}
    for keep in (False, True):
        for number in sorted(numbers, reverse=True):
            yield from (_with_number(desc, number, smaller, keep) for smaller in (1, 2, 3) if smaller < number)


def _smaller_sizes(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for keep in (False, True):
        for key, tensor in _tensors(desc).items():
            for dimension, number in enumerate(tensor.sizes):
                for smaller in (n for n in sorted({1, number // 2, number - 1}) if 0 < n < number):
                    sizes = (*tensor.sizes[:dimension], smaller, *tensor.sizes[dimension + 1 :])
                    yield with_tensors(desc, {key: _resized(tensor, sizes, tensor.strides, keep)})


def _plainer_tensors(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for key, tensor in _tensors(desc).items():
        yield from (with_tensors(desc, {key: plainer}) for plainer in _plainer(tensor))


def _plainer(tensor: TensorDesc) -> Iterator[TensorDesc]:
    yield msgspec.structs.replace(tensor, flags=0)
    yield msgspec.structs.replace(tensor, guaranteed_base_offset_alignment=0)
    yield _resized(tensor, tensor.sizes, None, False)
    yield msgspec.structs.replace(tensor, strides=None)
    if tensor.strides is not None:
        packed = msgspec.structs.replace(tensor, strides=packed_strides(tensor.sizes))
        yield _least_total(packed)
        yield packed
    least = _least_total(tensor)
    yield least
    if tensor.total_tensor_size_in_bytes != least.total_tensor_size_in_bytes:
        # Not 0, which stands for the least total size where descriptors are written down.
        less = max(tensor.total_tensor_size_in_bytes // 2, 1)
        yield msgspec.structs.replace(tensor, total_tensor_size_in_bytes=less)


def _plainer_types(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    """The tensors that share a type, or one alone, with a plain one."""
    of_slot = {slot.key: slot.field for slot in slots(desc)}
    groups = [[key for key in of_slot if of_slot[key] in fields] for fields in spec_of(desc).type_groups.values()]
    alone = [[key] for key in of_slot]
    tensors = _tensors(desc)
    for group, plain in product((*groups, *alone), (DataType.FLOAT32, DataType.UINT32)):
        for total in (_least_total, lambda tensor: tensor):
            typed = {key: total(msgspec.structs.replace(tensors[key], data_type=plain)) for key in group}
            yield with_tensors(desc, typed)


def _smaller_attributes(desc: OperatorDesc) -> Iterator[OperatorDesc]:
    for field in desc.fields:
        value = getattr(desc, field.attribute)
        if not field.is_tensor:
            yield from (
                msgspec.structs.replace(desc, **{field.attribute: simpler}) for simpler in field.kind.simpler(value)
            )
        if field.attribute in _arrays(desc):
            yield from _with_shorter_arrays(desc, field)


# From one descriptor to others that may be smaller; those that save most come first.
_STEPS: tuple[Callable[[OperatorDesc], Iterator[OperatorDesc]], ...] = (
    _less_of_it,
    _fewer_dimensions,
    _smaller_numbers,
    _smaller_sizes,
    _plainer_tensors,
    _plainer_types,
    _smaller_attributes,
)


def _without_dimension(desc: OperatorDesc, dimension: int, keep: bool) -> Iterator[OperatorDesc]:
    """One dimension less in all tensors, and in arrays where they have it; numbers of dimensions and axes then may need
    one less, or not."""
    tensors = _tensors(desc)
    fewer = {}
    for key, tensor in tensors.items():
        strides = None if tensor.strides is None else _without(tensor.strides, dimension)
        fewer[key] = _resized(tensor, _without(tensor.sizes, dimension), strides, keep)
    most = max(len(tensor.sizes) for tensor in tensors.values())
    arrays = _arrays(desc)
    from_left = {name: _without(array, dimension) for name, array in arrays.items()}
    # The arrays of some operators have no entries for the first dimensions.
    from_right = {name: _without(array, len(array) - most + dimension) for name, array in arrays.items()}
    whole = (field.attribute for field in desc.fields if isinstance(field.kind, WholeKind))
    counts = [name for name in whole if getattr(desc, name) > 0]
    for changed in (from_left, *([from_right] if from_right != from_left else []), *([{}] if arrays else [])):
        for less in product((1, 0), repeat=min(len(counts), MOST_COUNTS)):
            numbers = {name: getattr(desc, name) - n for name, n in zip(counts, less, strict=False)}
            yield msgspec.structs.replace(with_tensors(desc, fewer), **changed, **numbers)


def _without(values: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return values[:place] + values[place + 1 :] if place >= 0 else values


def _with_number(desc: OperatorDesc, number: float, smaller: int, keep: bool) -> OperatorDesc:
    """Another number wherever it stands in sizes and arrays, since one often follows from the other."""

    def replaced(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(smaller if value == number else value for value in values)

    tensors = {
        key: _resized(tensor, replaced(tensor.sizes), tensor.strides, keep)
        for key, tensor in _tensors(desc).items()
        if number in tensor.sizes
    }
    arrays = {name: replaced(array) for name, array in _arrays(desc).items()}
    return msgspec.structs.replace(with_tensors(desc, tensors), **arrays)


def _tensors(desc: OperatorDesc) -> dict[str, TensorDesc]:
    return {slot.key: slot.tensor for slot in slots(desc)}


def _arrays(desc: OperatorDesc) -> dict[str, tuple[Any, ...]]:
    """The arrays of numbers."""
    kinds = {field.attribute: field.kind for field in desc.fields}
    return {
        name: getattr(desc, name)
        for name, kind in kinds.items()
        if isinstance(kind, ArrayKind) and kind not in (TENSORS, OPERATORS)
    }


def _numbers(desc: OperatorDesc) -> Iterator[float]:
    """Those that fields hold, be they enumerators or truth values; of small structures each."""
    for field in desc.fields:
        value = getattr(desc, field.attribute)
        if isinstance(value, Size2d | ScaleBias):
            yield from msgspec.structs.astuple(value)
        elif isinstance(value, int | float):
            yield value


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
