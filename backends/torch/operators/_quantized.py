"""Integers that stand for numbers, by scales and zero points."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, check_sizes
from dml_conformance.spec.datatypes import DataType


def shifted(source: Tensor, zero_point: Tensor | None) -> Tensor:
    """Integers without their zero point, in FLOAT64, which has all of them."""
    if source.is_meta:
        return source.to(torch.float64)
    found = source.to(torch.float64)
    return found if zero_point is None else found.sub_(zero_point.to(torch.float64))


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
    whole = (found / scale.float()).round_()
    if zero_point is not None:
        whole += zero_point.float()
    return whole.nan_to_num_(0.0, torch.inf, -torch.inf).clamp_(*data_type.limits).to(NUMBERS[data_type])
