"""The smallest changes of a descriptor, by its fields and the tables alone; no operator and no rule is named here.

Two descriptors a step apart are neighbours. Where one of them is valid and the other breaks a rule, the rule's
boundary runs between them: that is where an implementation goes wrong by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import FieldKind, OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.spec.validator import Outcome, decide


class Step(NamedTuple):
    """One change.

    Attributes:
        name: what it changes and how, without the place in an array: `Axis + 1`.
        desc: the descriptor after it.
        level: the level after it.
    """

    name: str
    desc: OperatorDesc
    level: Level


# Of each type, others that are mistaken for it: twice and half as wide, of the other sign, of the other kind.
_WIDER = {
    DataType.FLOAT16: DataType.FLOAT32,
    DataType.FLOAT32: DataType.FLOAT64,
    DataType.UINT8: DataType.UINT16,
    DataType.UINT16: DataType.UINT32,
    DataType.UINT32: DataType.UINT64,
    DataType.INT8: DataType.INT16,
    DataType.INT16: DataType.INT32,
    DataType.INT32: DataType.INT64,
    DataType.UINT4: DataType.UINT8,
    DataType.INT4: DataType.INT8,
}
_SIGNED = {DataType[f"U{t.name}"]: t for t in DataType if t.name.startswith("INT")}
_AS_FLOAT = {t: DataType[f"FLOAT{t.size * 8}"] for t in DataType if t.size >= 2 and t.name.startswith(("INT", "UINT"))}
_TYPES: dict[str, dict[DataType, DataType]] = {
    "wider": _WIDER,
    "narrower": {wide: narrow for narrow, wide in _WIDER.items()},
    "of the other sign": {**_SIGNED, **{signed: unsigned for unsigned, signed in _SIGNED.items()}},
    "of the other kind": {**_AS_FLOAT, DataType.FLOAT32: DataType.UINT32, DataType.FLOAT64: DataType.INT64},
}


def steps(desc: OperatorDesc, level: Level) -> Iterator[Step]:
    """Every step from a descriptor whose tensors are all given, each as it is and with output sizes that follow."""
    for name, changed in _changes(desc):
        yield Step(name, changed, level)
    for name, at in _other_tables(desc, level):
        yield Step(name, desc, at)


def _changes(desc: OperatorDesc) -> Iterator[tuple[str, OperatorDesc]]:
    spec = spec_of(desc)
    tensors = {field: getattr(desc, field.attribute) for field in spec.tensor_fields}
    for field, tensor in tensors.items():
        for name, changed in _tensor_changes(tensor):
            yield f"{field.name}.{name}", _edited(desc, {field.attribute: changed})
        for name, changed in _size_changes(tensor):
            edited = _edited(desc, {field.attribute: changed})
            yield f"{field.name}.{name}", edited
            if field in spec.input_fields:
                yield from _fitted(f"{field.name}.{name}, OutputTensor.Sizes with it", edited)
        yield f"{field.name} = null", _edited(desc, {field.attribute: None})
    for group in dict.fromkeys(field.group for field in tensors):
        of_group = {field: tensor for field, tensor in tensors.items() if field.group == group}
        for name, types in _TYPES.items():
            if all(tensor.data_type in types for tensor in of_group.values()):
                changes = {f.attribute: _of_type(t, types[t.data_type]) for f, t in of_group.items()}
                yield f"a type {name} of {group}", _edited(desc, changes)
    for field in spec.fields:
        value = getattr(desc, field.attribute)
        if field.kind is FieldKind.UINT:
            for name, number in ((f"{field.name} + 1", value + 1), (f"{field.name} - 1", value - 1)):
                if 0 <= number <= UINT32_MAX:
                    edited = _edited(desc, {field.attribute: number})
                    yield name, edited
                    yield from _fitted(f"{name}, OutputTensor.Sizes with it", edited)
        elif field.kind is FieldKind.UINT_ARRAY:
            for name, array in _array_changes(value):
                edited = _edited(desc, {field.attribute: array})
                yield f"{field.name} {name}", edited
                yield from _fitted(f"{field.name} {name}, OutputTensor.Sizes with it", edited)
    yield from _dimension_changes(desc, tensors)


def _tensor_changes(tensor: TensorDesc) -> Iterator[tuple[str, TensorDesc]]:
    """What leaves the sizes as they are."""
    total, alignment = tensor.total_tensor_size_in_bytes, tensor.guaranteed_base_offset_alignment
    yield "Type = INVALID", _but(tensor, type=TensorType.INVALID)
    yield "DataType = UNKNOWN", _but(tensor, data_type=DataType.UNKNOWN)
    for name, types in _TYPES.items():
        if tensor.data_type in types:
            yield f"DataType {name}", _of_type(tensor, types[tensor.data_type])
    yield "Flags ^ OWNED_BY_DML", _but(tensor, flags=tensor.flags ^ 1)
    for bit in range(1, 32):
        if bit == 1 or tensor.flags >> bit & 1:
            yield "Flags ^ an unknown bit", _but(tensor, flags=tensor.flags ^ 1 << bit)
    for less in (1, 2, 4):
        if total >= less:
            yield f"TotalTensorSizeInBytes - {less}", _but(tensor, total_tensor_size_in_bytes=total - less)
        if total + less <= UINT64_MAX:
            yield f"TotalTensorSizeInBytes + {less}", _but(tensor, total_tensor_size_in_bytes=total + less)
    if alignment:
        for name, other in (("/ 2", alignment // 2), ("* 2", alignment * 2), ("- 1", alignment - 1)):
            if other <= UINT32_MAX:
                yield f"GuaranteedBaseOffsetAlignment {name}", _but(tensor, guaranteed_base_offset_alignment=other)
        if alignment < UINT32_MAX:
            yield "GuaranteedBaseOffsetAlignment + 1", _but(tensor, guaranteed_base_offset_alignment=alignment + 1)


def _size_changes(tensor: TensorDesc) -> Iterator[tuple[str, TensorDesc]]:
    """One size one more or one less, the tensor packed or with its strides, of the least total size."""
    for dimension, size in enumerate(tensor.sizes):
        for name, other in (("+ 1", size + 1), ("- 1", size - 1)):
            if 0 <= other <= UINT32_MAX:
                sizes = (*tensor.sizes[:dimension], other, *tensor.sizes[dimension + 1 :])
                yield f"Sizes {name}", _least(_but(tensor, sizes=sizes, strides=None))
    yield "DimensionCount + 1", _longer(tensor)
    if tensor.sizes and tensor.sizes[0] == 1:
        yield "DimensionCount - 1", _shorter(tensor)


def _array_changes(array: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for place, number in enumerate(array):
        for name, other in (("+ 1", number + 1), ("- 1", number - 1)):
            if 0 <= other <= UINT32_MAX:
                yield f"element {name}", (*array[:place], other, *array[place + 1 :])
    yield "longer by one", (*array, 1)
    yield "shorter by one", array[:-1]


def _dimension_changes(desc: OperatorDesc, tensors: dict[Any, TensorDesc]) -> Iterator[tuple[str, OperatorDesc]]:
    """A leading dimension of size 1 more or less everywhere; positions count from it, so they move with it or not."""
    spec = spec_of(desc)
    numbers = [field.attribute for field in spec.fields if field.kind is FieldKind.UINT]
    arrays = [field.attribute for field in spec.fields if field.kind is FieldKind.UINT_ARRAY]
    longer: dict[str, Any] = {field.attribute: _longer(tensor) for field, tensor in tensors.items()}
    longer |= {attribute: (1, *getattr(desc, attribute)) for attribute in arrays}
    yield "DimensionCount + 1 everywhere", _edited(desc, longer)
    moved = longer | {attribute: min(getattr(desc, attribute) + 1, UINT32_MAX) for attribute in numbers[:1]}
    yield "DimensionCount + 1 everywhere, positions with it", _edited(desc, moved)
    if all(tensor.sizes and tensor.sizes[0] == 1 for tensor in tensors.values()):
        shorter: dict[str, Any] = {field.attribute: _shorter(tensor) for field, tensor in tensors.items()}
        shorter |= {attribute: getattr(desc, attribute)[1:] for attribute in arrays}
        yield "DimensionCount - 1 everywhere", _edited(desc, shorter)
        moved = shorter | {attribute: max(getattr(desc, attribute) - 1, 0) for attribute in numbers[:1]}
        yield "DimensionCount - 1 everywhere, positions with it", _edited(desc, moved)


def _fitted(name: str, desc: OperatorDesc) -> Iterator[tuple[str, OperatorDesc]]:
    """The same with the output sizes that follow, where some follow and they are others."""
    spec = spec_of(desc)
    output = spec.output_fields[0].attribute
    tensor: TensorDesc = getattr(desc, output)
    try:
        sizes = spec.output_sizes(desc)
    except (ValueError, IndexError):  # nothing follows from sizes that do not fit together
        return
    if sizes is not None and len(sizes) == len(tensor.sizes) and sizes != tensor.sizes:
        yield name, _edited(desc, {output: _least(_but(tensor, sizes=sizes, strides=None))})


def _other_tables(desc: OperatorDesc, level: Level) -> Iterator[tuple[str, Level]]:
    """The nearest levels below and above at which other tables hold."""
    tables = sorted(spec_of(desc).tables)
    own = max((table for table in tables if table <= level), default=None)
    if own is not None:
        below = max((lower for lower in Level if lower < own), default=None)
        if below is not None:
            yield "the table before", below
    above = min((table for table in tables if table > level), default=None)
    if above is not None:
        yield "the table after", above


def _edited(desc: OperatorDesc, changes: dict[str, Any]) -> OperatorDesc:
    return msgspec.structs.replace(desc, **changes)


def _but(tensor: TensorDesc, **changes: Any) -> TensorDesc:
    return msgspec.structs.replace(tensor, **changes)


def _of_type(tensor: TensorDesc, data_type: DataType) -> TensorDesc:
    return _least(_but(tensor, data_type=data_type))


def _least(tensor: TensorDesc) -> TensorDesc:
    if 0 in tensor.sizes or not tensor.data_type.size:
        return tensor
    total = min(minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides), UINT64_MAX)
    return _but(tensor, total_tensor_size_in_bytes=total)


def _longer(tensor: TensorDesc) -> TensorDesc:
    return _but(tensor, sizes=(1, *tensor.sizes), strides=tensor.strides and (1, *tensor.strides))


def _shorter(tensor: TensorDesc) -> TensorDesc:
    return _but(tensor, sizes=tensor.sizes[1:], strides=tensor.strides and tensor.strides[1:])


@lru_cache(maxsize=20_000)
def dangers(desc: OperatorDesc, level: Level) -> dict[str, frozenset[str]]:
    """For each rule, the steps from a valid descriptor that break it and nothing else."""
    found: dict[str, set[str]] = {}
    for step in steps(desc, level):
        decision = decide(step.desc, step.level)
        if decision.outcome is Outcome.REJECT and len(decision.rules) == 1:
            found.setdefault(decision.rules[0], set()).add(step.name)
    return {rule: frozenset(names) for rule, names in found.items()}


@lru_cache(maxsize=20_000)
def is_a_step_from_valid(desc: OperatorDesc, level: Level) -> bool:
    """Whether some step leads from an invalid descriptor to a valid one."""
    spec = spec_of(desc)
    if any(getattr(desc, field.attribute) is None for field in spec.tensor_fields):
        return False
    return any(decide(step.desc, step.level).outcome is Outcome.ACCEPT for step in steps(desc, level))
