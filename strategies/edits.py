"""Changing one thing of a valid descriptor while the rest stays consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from dml_conformance.spec.operator import FieldKind, OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc

D = TypeVar("D", bound=OperatorDesc)


def edit(desc: D, **changes: Any) -> D:
    """The descriptor with other field values (a tensor may become None)."""
    return msgspec.structs.replace(desc, **changes)


def edit_tensor(desc: D, attribute: str, **changes: Any) -> D:
    """The descriptor with one tensor changed; nothing else is adapted."""
    return edit(desc, **{attribute: msgspec.structs.replace(getattr(desc, attribute), **changes)})


def resized(tensor: TensorDesc, sizes: Sequence[int]) -> TensorDesc:
    """The tensor with other sizes, packed."""
    return TensorDesc.of(tensor.data_type, sizes, flags=tensor.flags, alignment=tensor.guaranteed_base_offset_alignment)


def resize(desc: D, attribute: str, sizes: Sequence[int]) -> D:
    """The descriptor with one tensor of other sizes, packed."""
    return edit(desc, **{attribute: resized(getattr(desc, attribute), sizes)})


def resize_at(desc: D, attribute: str, dimension: int, size: int) -> D:
    """The descriptor with one size of one tensor changed, that tensor packed."""
    sizes = list(getattr(desc, attribute).sizes)
    sizes[dimension] = size
    return resize(desc, attribute, sizes)


def with_fitting_output(desc: D) -> D:
    """The descriptor with the output sizes that its inputs now give."""
    spec = spec_of(desc)
    sizes = spec.output_sizes(desc)
    assert sizes is not None
    return resize(desc, spec.output_fields[0].attribute, sizes)


def of_ones(desc: D, *, wide: int | None = None, tuples: bool = False) -> D | None:
    """The descriptor with every size and repeat 1; None where the output would need more dimensions than there are.

    Args:
        desc: a valid one.
        wide: a dimension of the first input that gets size 2 all the same.
        tuples: whether tuples of indices keep their size.
    """
    spec = spec_of(desc)
    is_of_tuples = spec.index is not None and len(spec.index.limits(desc)) > 1
    for n, field in enumerate(spec.input_fields):
        old: tuple[int, ...] = getattr(desc, field.attribute).sizes
        sizes = [2 if n == 0 and d == wide else 1 for d in range(len(old))]
        if tuples and is_of_tuples and spec.index is not None and field.attribute == spec.index.indices:
            sizes[-1] = old[-1]
        desc = resize(desc, field.attribute, sizes)
    arrays = [field.attribute for field in spec.fields if field.kind is FieldKind.UINT_ARRAY]
    desc = edit(desc, **{attribute: (1,) * len(getattr(desc, attribute)) for attribute in arrays})
    return with_fitting_output(desc) if spec.output_sizes(desc) is not None else None
