"""What the operators share that read through an index tensor along an axis."""

from __future__ import annotations

from typing import Any


def axis_limit(desc: Any) -> tuple[int, ...]:
    """The size of the input along Axis, which the indices run over."""
    return (desc.input_tensor.sizes[desc.axis],)
