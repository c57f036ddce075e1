"""Changing one thing of a descriptor at random, whatever comes of it.

Violations break the rules that are written down. A change that goes by the fields alone knows no rule, and so can find
what no rule says.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, counted_together
from dml_conformance.spec.field_kinds import OPERATORS, ArrayKind, Kind
from dml_conformance.spec.operator import OperatorDesc, slots, with_tensors
from dml_conformance.spec.tensor import UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.strategies.chooser import Chooser

STRIDES = (0, 1, 2, 3, 4, 6, 8, 12, 2**31, 2**32 - 1)
ALIGNMENTS = (0, 16, 32, 256, 2**31, 1, 2, 4, 8, 24)


def mutated(chooser: Chooser, desc: OperatorDesc) -> OperatorDesc:
    """The descriptor with one thing other than it was, or as it was where the change happens to change nothing."""
    field = chooser.choice(desc.fields)
    value = getattr(desc, field.attribute)
    if isinstance(field.kind, ArrayKind) and (field.kind is OPERATORS or chooser.integer(0, 4) == 0):
        return _of_other_length(chooser, desc, field)
    if field.is_tensor:
        return _with_other_tensor(chooser, desc, field)
    if not isinstance(field.kind, ArrayKind):
        changed = _other(chooser, field.kind, value)
    elif value:
        place = chooser.integer(0, len(value) - 1)
        changed = _with_one(value, place, _other(chooser, field.kind.element, value[place]))
    else:
        return desc
    return msgspec.structs.replace(desc, **{field.attribute: changed})


def _other(chooser: Chooser, kind: Kind, value: Any) -> Any:
    """Another value of a kind, one next to it or any."""
    if chooser.integer(0, 1) and (near := [other for _, other in kind.neighbours(value)]):
        return chooser.choice(near)
    return chooser.choice(kind.typical)


def _of_other_length(chooser: Chooser, desc: OperatorDesc, field: Field) -> OperatorDesc:
    """The descriptor with one entry less, or the last one twice, in all arrays that share a count with this one."""
    longer = chooser.integer(0, 3) == 0
    changes = {}
    for together in counted_together(desc, field):
        array = getattr(desc, together.attribute)
        changes[together.attribute] = (*array, *array[-1:]) if longer else array[1:]
    return msgspec.structs.replace(desc, **changes)


def _with_other_tensor(chooser: Chooser, desc: OperatorDesc, field: Field) -> OperatorDesc:
    """The descriptor with a tensor of the field changed; one that is optional also comes and goes."""
    of_field = [slot for slot in slots(desc) if slot.field is field]
    if field.optional and (not of_field or chooser.integer(0, 4) == 0):
        copied = None if of_field else chooser.choice([slot.tensor for slot in slots(desc)])
        return with_tensors(desc, {field.attribute: copied})
    if not of_field:
        return desc
    slot = chooser.choice(of_field)
    return with_tensors(desc, {slot.key: _mutated_tensor(chooser, slot.tensor)})


def _mutated_tensor(chooser: Chooser, tensor: TensorDesc) -> TensorDesc:
    def but(**changes: Any) -> TensorDesc:
        return msgspec.structs.replace(tensor, **changes)

    sizes, strides = tensor.sizes, tensor.strides
    what = chooser.choice(("strides", "size", "dimensions", "total", "type", "flags", "alignment"))
    if what == "strides":
        steps = STRIDES if chooser.integer(0, 9) == 0 else STRIDES[:-2]
        return _with_total(chooser, but(strides=tuple(chooser.choice(steps) for _ in sizes)))
    if what == "size":
        return _with_total(chooser, but(sizes=_one_other(chooser, sizes, chooser.integer(1, 4))))
    if what == "dimensions":
        if chooser.integer(0, 1):
            return _with_total(chooser, but(sizes=(1, *sizes), strides=strides and (1, *strides)))
        return _with_total(chooser, but(sizes=sizes[1:], strides=strides and strides[1:]))
    if what == "total":
        total = tensor.total_tensor_size_in_bytes + chooser.integer(-8, 8)
        return but(total_tensor_size_in_bytes=max(total, 0))
    if what == "type":
        return _with_total(chooser, but(data_type=chooser.choice(tuple(DataType))))
    if what == "flags":
        return but(flags=chooser.integer(0, 2))
    return but(guaranteed_base_offset_alignment=chooser.choice(ALIGNMENTS))


def _with_total(chooser: Chooser, tensor: TensorDesc) -> TensorDesc:
    """Mostly with the least total size, so that it is not that which gets the descriptor rejected."""
    if chooser.integer(0, 9) == 0:
        return tensor
    least = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    return msgspec.structs.replace(tensor, total_tensor_size_in_bytes=min(least, UINT64_MAX))


def _one_other(chooser: Chooser, values: tuple[int, ...], other: int) -> tuple[int, ...]:
    return _with_one(values, chooser.integer(0, len(values) - 1), other) if values else values


def _with_one(values: tuple[Any, ...], place: int, other: Any) -> tuple[Any, ...]:
    return (*values[:place], other, *values[place + 1 :])
