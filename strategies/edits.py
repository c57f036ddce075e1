"""Changing one thing of a valid descriptor while the rest stays consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import UINTS
from dml_conformance.spec.operator import Misfit, OperatorDesc, inputs, outputs, tensor_at, with_tensors
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes

D = TypeVar("D", bound=OperatorDesc)


def edit(desc: D, **changes: Any) -> D:
    """The descriptor with other field values (a tensor may become None)."""
    return msgspec.structs.replace(desc, **changes)


def put(array: tuple[Any, ...], place: int, entry: Any) -> tuple[Any, ...]:
    """An array with another entry at a place."""
    return (*array[:place], entry, *array[place + 1 :])


def described(desc: OperatorDesc, key: str) -> TensorDesc:
    """The tensor with this key, which is there."""
    tensor = tensor_at(desc, key)
    assert tensor is not None
    return tensor


def edit_tensor(desc: D, key: str, **changes: Any) -> D:
    """The descriptor with one tensor changed; nothing else is adapted."""
    return with_tensors(desc, {key: msgspec.structs.replace(described(desc, key), **changes)})


def with_data_type(desc: D, key: str, data_type: DataType) -> D:
    """The descriptor with one tensor of another data type, and at least the bytes that it needs."""
    tensor = described(desc, key)
    least = minimum_size_in_bytes(data_type, tensor.sizes, tensor.strides)
    total = max(least, tensor.total_tensor_size_in_bytes)
    return edit_tensor(desc, key, data_type=data_type, total_tensor_size_in_bytes=total)


def resized(tensor: TensorDesc, sizes: Sequence[int]) -> TensorDesc:
    """The tensor with other sizes, packed."""
    return TensorDesc.of(tensor.data_type, sizes, flags=tensor.flags, alignment=tensor.guaranteed_base_offset_alignment)


def resize(desc: D, key: str, sizes: Sequence[int]) -> D:
    """The descriptor with one tensor of other sizes, packed."""
    return with_tensors(desc, {key: resized(described(desc, key), sizes)})


def resize_at(desc: D, key: str, dimension: int, size: int) -> D:
    """The descriptor with one size of one tensor changed, that tensor packed."""
    sizes = list(described(desc, key).sizes)
    sizes[dimension] = size
    return resize(desc, key, sizes)


def with_fitting_output(desc: D) -> D:
    """The descriptor with the output sizes that its inputs now give."""
    fitting = fitted(desc)
    assert fitting is not None
    return fitting


def fitted(desc: D) -> D | None:
    """The descriptor with the output sizes that its inputs give, the outputs packed; None where they give none."""
    shapes = spec_of(desc).shapes(desc)
    if isinstance(shapes, Misfit):
        return None
    return with_tensors(desc, {slot.key: resized(slot.tensor, shapes[slot.key]) for slot in outputs(desc)})


def of_ones(desc: D, *, wide: int | None = None, tuples: bool = False) -> D | None:
    """The descriptor with every size and entry of an array 1; None where no output sizes follow.

    Args:
        desc: a valid one.
        wide: a dimension of the first input that gets size 2 all the same.
        tuples: whether tuples of indices keep their size.
    """
    spec = spec_of(desc)
    is_of_tuples = spec.index is not None and len(spec.index.limits(desc)) > 1
    for n, slot in enumerate(inputs(desc)):
        old = slot.tensor.sizes
        sizes = [2 if n == 0 and d == wide else 1 for d in range(len(old))]
        if tuples and is_of_tuples and spec.index is not None and slot.key == spec.index.indices:
            sizes[-1] = old[-1]
        desc = resize(desc, slot.key, sizes)
    arrays = [field.attribute for field in spec.fields if field.kind is UINTS]
    return fitted(edit(desc, **{attribute: (1,) * len(getattr(desc, attribute)) for attribute in arrays}))
