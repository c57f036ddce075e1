"""Changing one thing of a valid descriptor at random, whatever comes of it.

Violations break the rules that are written down. A change that goes by the fields alone knows no rule, and so can find
what no rule says.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import UINT, UINTS
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.strategies.chooser import Chooser

STRIDES = (0, 1, 2, 3, 4, 6, 8, 12, 2**31, 2**32 - 1)
ALIGNMENTS = (0, 16, 32, 256, 2**31, 1, 2, 4, 8, 24)
MOST_DIMENSIONS = 9


def mutated(chooser: Chooser, desc: OperatorDesc) -> OperatorDesc:
    """The descriptor with one field other than it was, or as it was where the change happens to change nothing."""
    field = chooser.choice(spec_of(desc).fields)
    value = getattr(desc, field.attribute)
    changed: Any
    if field.kind is UINT:
        changed = chooser.integer(0, MOST_DIMENSIONS)
    elif field.kind is UINTS:
        changed = _one_other(chooser, value, chooser.integer(0, 4)) if chooser.integer(0, 4) else value[1:]
    else:
        changed = _mutated_tensor(chooser, value)
    return msgspec.structs.replace(desc, **{field.attribute: changed})


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
    position = chooser.integer(0, len(values) - 1)
    return (*values[:position], other, *values[position + 1 :])
