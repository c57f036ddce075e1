"""Changing one thing of a valid descriptor while the rest stays consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from spec.operator import OperatorDesc
from spec.registry import spec_of
from spec.tensor import TensorDesc

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
