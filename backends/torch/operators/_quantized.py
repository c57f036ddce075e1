"""Integers that stand for numbers, by scales and zero points."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators._numbers import widen


def shifted(source: Tensor, zero_point: Tensor | None) -> Tensor:
    """Integers without their zero point, in FLOAT64, which has all of them."""
    if source.is_meta:
        return source.to(torch.float64)
    difference = widen(source) if zero_point is None else widen(source) - widen(zero_point)
    return difference.to(torch.float64)


def low_32_bits(sums: Tensor) -> Tensor:
    """Whole numbers of FLOAT64 as INT32."""
    return sums.to(torch.int64).to(torch.int32)


def quantized(found: Tensor, scale: Tensor | None, zero_point: Tensor | None, dtype: torch.dtype) -> Tensor:
    """`clamp(round(found / scale) + zero_point, least, largest)`; NaN as 0."""
    assert scale is not None
    if found.is_meta:
        return found
    info = torch.iinfo(dtype)
    whole = torch.round(found / scale).nan_to_num(0.0, torch.inf, -torch.inf)
    if zero_point is not None:
        whole = whole + zero_point.float()
    return torch.clamp(whole, info.min, info.max).to(dtype)
