"""Integers that stand for numbers, by scales and zero points."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, check_sizes
from dml_conformance.backends.torch.operators._numbers import widen
from dml_conformance.spec.datatypes import DataType


def shifted(source: Tensor, zero_point: Tensor | None) -> Tensor:
    """Integers without their zero point, in FLOAT64, which has all of them."""
    if source.is_meta:
        return source.to(torch.float64)
    difference = widen(source) if zero_point is None else widen(source) - widen(zero_point)
    return difference.to(torch.float64)


def check_zero_points(tensors: Tensors, *names: str) -> None:
    """Raise PlanError where a zero point has not the sizes of its scale."""
    for name in names:
        if (zero_point := tensors.get(f"{name}_zero_point_tensor")) is not None:
            check_sizes(f"{name}_zero_point_tensor", zero_point, tensors[f"{name}_scale_tensor"].shape)


def low_32_bits(sums: Tensor) -> Tensor:
    """Whole numbers of FLOAT64 as INT32."""
    return sums.to(torch.int64).to(torch.int32)


def quantized(found: Tensor, scale: Tensor | None, zero_point: Tensor | None, data_type: DataType) -> Tensor:
    """`clamp(round(found / scale) + zero_point, least, largest)`, in FLOAT32; NaN as 0."""
    assert scale is not None
    assert data_type.limits is not None
    if found.is_meta:
        return found
    whole = torch.round(found / scale.float())
    if zero_point is not None:
        whole = whole + zero_point.float()
    return torch.clamp(whole.nan_to_num(0.0, torch.inf, -torch.inf), *data_type.limits).to(NUMBERS[data_type])
