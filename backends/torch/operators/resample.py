"""DML_OPERATOR_UPSAMPLE_2D, RESAMPLE and its successors, by nearest neighbour.

What is decided holds for linear interpolation too; executing that is not supported yet.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.tensor import UINT32_MAX


def upsample_2d(desc: Any, tensors: Tensors) -> Tensors:
    """Every element of the last two dimensions over and over, by expanding dimensions of size 1 beside them."""
    source, by = tensors["input_tensor"], desc.scale_size
    *leading, height, width = source.shape
    if not (0 < by.height * height <= UINT32_MAX and 0 < by.width * width <= UINT32_MAX):
        raise PlanError(f"ScaleSize is {by.width} by {by.height}, the input {width} by {height}")
    _check_executable(desc, source)
    wide = source[..., :, None, :, None].expand(*leading, height, by.height, width, by.width)
    return {"output_tensor": wide.reshape(*leading, height * by.height, width * by.width)}


def resample(desc: Any, tensors: Tensors) -> Tensors:
    """One dimension after the other, those first that make it smaller."""
    source, sizes = tensors["input_tensor"], desc.output_tensor.sizes
    arrays = [getattr(desc, name, desc.scales) for name in ("scales", "input_pixel_offsets", "output_pixel_offsets")]
    if any(len(array) != source.dim() for array in arrays):
        raise PlanError(
            f"the arrays have {[len(array) for array in arrays]} entries, InputTensor {source.dim()} dimensions"
        )
    if not all(map(math.isfinite, (entry for array in arrays for entry in array))) or min(desc.scales) <= 0:
        raise PlanError("an entry of the arrays is not finite, or a scale not above 0")
    _check_executable(desc, source)
    if source.is_meta:
        return {"output_tensor": source.new_empty(sizes)}
    for d in sorted(range(source.dim()), key=lambda d: sizes[d] / source.shape[d]):
        if source.shape[d] > 1:
            source = source.index_select(d, _places(desc, d, source.shape[d], sizes[d], source.device))
    source = source.expand(sizes)  # of dimensions with one element
    return {"output_tensor": source}


def _places(desc: Any, d: int, size: int, count: int, device: torch.device) -> Tensor:
    """Which element of the input each one of the output is along a dimension."""
    of_input = desc.input_pixel_offsets[d] if hasattr(desc, "input_pixel_offsets") else 0.5
    of_output = desc.output_pixel_offsets[d] if hasattr(desc, "output_pixel_offsets") else -0.5
    numbers = torch.arange(count, dtype=torch.float64, device=device)
    coordinates = numbers.sub_(of_output).div_(desc.scales[d]).sub_(of_input)
    if not hasattr(desc, "rounding_direction"):
        coordinates = coordinates.add_(0.5).floor_()
    elif desc.rounding_direction == enumeration("DML_AXIS_DIRECTION").INCREASING:
        coordinates = coordinates.ceil_()
    else:
        coordinates = coordinates.floor_()
    return coordinates.clamp_(0, size - 1).to(torch.int64)


def _check_executable(desc: Any, source: Tensor) -> None:
    if not source.is_meta and desc.interpolation_mode != enumeration("DML_INTERPOLATION_MODE").NEAREST_NEIGHBOR:
        raise Unsupported("the torch backend does not interpolate yet")


OPERATORS = {
    "UPSAMPLE_2D": TorchOperator(upsample_2d),
    **{name: TorchOperator(resample) for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3")},
}
