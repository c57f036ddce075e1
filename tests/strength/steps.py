"""The smallest changes of a descriptor, by its fields and the tables alone; no operator and no rule is named here.

Two descriptors a step apart are neighbours. Where one of them is valid and the other breaks a rule, the rule's
boundary runs between them: that is where an implementation goes wrong by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.field_kinds import FLOATS, INTS, UINT, UINTS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Field,
    Misfit,
    OperatorDesc,
    is_whole,
    outputs,
    slots,
    tensor_at,
    with_tensors,
)
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.spec.validator import Decision, Outcome, decide


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
    tensors = list(slots(desc))
    for slot in tensors:
        name = slot.field.name  # one of an array is as good as another
        for what, changed in _tensor_changes(slot.tensor):
            yield f"{name}.{what}", with_tensors(desc, {slot.key: changed})
        for what, changed in _size_changes(slot.tensor):
            edited = with_tensors(desc, {slot.key: changed})
            yield f"{name}.{what}", edited
            if not slot.field.is_output:
                yield from _fitted(f"{name}.{what}, {_FITTED}", edited)
        yield f"{name} = null", with_tensors(desc, {slot.key: None})
    for group, fields in spec.type_groups.items():
        of_group = [slot for slot in tensors if slot.field in fields]
        for name, types in _TYPES.items():
            if all(slot.tensor.data_type in types for slot in of_group):
                changes = {slot.key: _of_type(slot.tensor, types[slot.tensor.data_type]) for slot in of_group}
                yield f"a type {name} of {group}", with_tensors(desc, changes)
    for field in spec.fields:
        if not field.is_tensor:
            for name, value in field.kind.neighbours(getattr(desc, field.attribute)):
                edited = _edited(desc, _with_its_count(desc, field, value))
                yield f"{field.name} {name}", edited
                yield from _fitted(f"{field.name} {name}, {_FITTED}", edited)
    yield from _dimension_changes(desc)


_FITTED = "output sizes with it"


def _with_its_count(desc: OperatorDesc, field: Field, value: Any) -> dict[str, Any]:
    """A changed field; where an array gets longer or shorter, those that share its count with it."""
    changes = {field.attribute: value}
    if field.count_field and len(value) != len(old := getattr(desc, field.attribute)):
        for other in desc.fields:
            if other.count_field == field.count_field and other != field:
                array = getattr(desc, other.attribute)
                changes[other.attribute] = array[:-1] if len(value) < len(old) else (*array, array[-1])
    return changes


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
        if total > less:  # a total size of 0 stands for the least one
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


def _dimension_changes(desc: OperatorDesc) -> Iterator[tuple[str, OperatorDesc]]:
    """A leading dimension of size 1 more or less everywhere; positions count from it, so they move with it or not."""
    tensors = list(slots(desc))
    numbers = [field.attribute for field in desc.fields if field.kind is UINT]
    arrays = [field.attribute for field in desc.fields if field.kind in (UINTS, INTS, FLOATS)]
    longer = with_tensors(desc, {slot.key: _longer(slot.tensor) for slot in tensors})
    longer = _edited(longer, {name: (1, *getattr(desc, name)) for name in arrays})
    yield "DimensionCount + 1 everywhere", longer
    moved = {attribute: min(getattr(desc, attribute) + 1, UINT32_MAX) for attribute in numbers[:1]}
    yield "DimensionCount + 1 everywhere, positions with it", _edited(longer, moved)
    if all(slot.tensor.sizes and slot.tensor.sizes[0] == 1 for slot in tensors):
        shorter = with_tensors(desc, {slot.key: _shorter(slot.tensor) for slot in tensors})
        shorter = _edited(shorter, {attribute: getattr(desc, attribute)[1:] for attribute in arrays})
        yield "DimensionCount - 1 everywhere", shorter
        moved = {attribute: max(getattr(desc, attribute) - 1, 0) for attribute in numbers[:1]}
        yield "DimensionCount - 1 everywhere, positions with it", _edited(shorter, moved)


def _fitted(name: str, desc: OperatorDesc) -> Iterator[tuple[str, OperatorDesc]]:
    """The same with the output sizes that follow, where some follow and they are others."""
    shapes = spec_of(desc).shapes(desc)
    if isinstance(shapes, Misfit):
        return
    written = outputs(desc)
    if any(slot.key not in shapes or len(shapes[slot.key]) != len(slot.tensor.sizes) for slot in written):
        return
    others = {slot.key: shapes[slot.key] for slot in written if shapes[slot.key] != slot.tensor.sizes}
    if others:
        fitting = {key: _least(_but(tensor_at(desc, key), sizes=sizes, strides=None)) for key, sizes in others.items()}
        yield name, with_tensors(desc, fitting)


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


def _but(tensor: Any, **changes: Any) -> TensorDesc:
    return msgspec.structs.replace(tensor, **changes)


def _of_type(tensor: TensorDesc, data_type: DataType) -> TensorDesc:
    return _least(_but(tensor, data_type=data_type))


def _least(tensor: TensorDesc) -> TensorDesc:
    if 0 in tensor.sizes or not tensor.data_type.bits:
        return tensor
    total = min(minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides), UINT64_MAX)
    return _but(tensor, total_tensor_size_in_bytes=total)


def _longer(tensor: TensorDesc) -> TensorDesc:
    return _but(tensor, sizes=(1, *tensor.sizes), strides=tensor.strides and (1, *tensor.strides))


def _shorter(tensor: TensorDesc) -> TensorDesc:
    return _but(tensor, sizes=tensor.sizes[1:], strides=tensor.strides and tensor.strides[1:])


class Danger(NamedTuple):
    """What breaks one rule and nothing else of a valid descriptor: steps, and the tensors that these have at fault."""

    steps: frozenset[str]
    tensors: frozenset[str]


@lru_cache(maxsize=20_000)
def dangers(desc: OperatorDesc, level: Level) -> dict[str, Danger]:
    """For each rule that steps from a valid descriptor break alone, what does."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for step in steps(desc, level):
        decision = decide(step.desc, step.level)
        if decision.outcome is Outcome.REJECT and len(decision.rules) == 1:
            names, tensors = found.setdefault(decision.rules[0], (set(), set()))
            names.add(step.name)
            if step.level == level:
                tensors.add(tensor_at_fault(step.desc, decision))
    return {rule: Danger(frozenset(names), frozenset(tensors - {""})) for rule, (names, tensors) in found.items()}


def tensor_at_fault(desc: OperatorDesc, decision: Decision) -> str:
    """The field of the one tensor that breaks the rules of a decision; "" where there are several, or none.

    Where tensors are compared with each other, it is the one that is unlike all others.
    """
    spec = spec_of(desc)
    compared = {rule.partition(".")[2] for rule in decision.rules}
    if compared == {"same-data-type"}:
        return _odd_one(desc, spec.type_groups, lambda tensor: tensor.data_type)
    if compared == {"same-dimension-count"}:
        return _odd_one(desc, spec.rank_groups, lambda tensor: len(tensor.sizes))
    places = {violation.where.partition(".")[0].partition("[")[0] for violation in decision.violations}
    return min(places) if len(places) == 1 and places <= {field.name for field in spec.tensor_fields} else ""


def _odd_one(desc: OperatorDesc, groups: Mapping[str, Sequence[Field]], value: Callable[[TensorDesc], int]) -> str:
    """The field of the one tensor that has another value than the others of its group, of which there are several."""
    for fields in groups.values():
        values = [(value(slot.tensor), slot.field.name) for slot in slots(desc) if slot.field in fields]
        counts = Counter(found for found, _ in values)
        if len(counts) == 2 and min(counts.values()) == 1 < max(counts.values()):
            return next(name for found, name in values if counts[found] == 1)
    return ""


@lru_cache(maxsize=20_000)
def is_a_step_from_valid(desc: OperatorDesc, level: Level) -> bool:
    """Whether some step leads from an invalid descriptor to a valid one."""
    return is_whole(desc) and any(
        decide(step.desc, step.level).outcome is Outcome.ACCEPT for step in steps(desc, level)
    )
