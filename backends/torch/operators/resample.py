"""DML_OPERATOR_UPSAMPLE_2D, RESAMPLE and its successors, by nearest neighbour and by linear interpolation."""

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
    if _is_linear(desc) and not source.is_meta:
        found = _between(source.float(), source.dim() - 2, height * by.height, by.height)
        found = _between(found, source.dim() - 1, width * by.width, by.width)
        return {"output_tensor": found.to(source.dtype)}
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
    if source.is_meta:
        return {"output_tensor": source.new_empty(sizes)}
    if _is_linear(desc):
        if getattr(desc, "antialiased", False) and min(desc.scales) < 1:
            raise Unsupported("the torch backend does not antialias")
        found = source.float()
        for d, scale in enumerate(desc.scales):
            found = _between(found, d, sizes[d], scale, *(array[d] for array in arrays[1:] if array is not desc.scales))
        return {"output_tensor": (found if source.is_floating_point() else found.round()).to(source.dtype)}
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


def _is_linear(desc: Any) -> bool:
    return bool(desc.interpolation_mode == enumeration("DML_INTERPOLATION_MODE").LINEAR)


def _between(
    source: Tensor, d: int, count: int, scale: float, of_input: float = 0.5, of_output: float = -0.5
) -> Tensor:
    """Averages of neighbours along a dimension, weighted by how near they are to the output's elements."""
    numbers = torch.arange(count, dtype=torch.float64, device=source.device)
    coordinates = numbers.sub_(of_output).div_(scale).sub_(of_input).clamp_(0, source.shape[d] - 1)
    below = coordinates.floor()
    weight = (coordinates - below).float().view(*(1,) * d, -1, *(1,) * (source.dim() - 1 - d))
    first = below.to(torch.int64)
    low, high = source.index_select(d, first), source.index_select(d, (first + 1).clamp_(max=source.shape[d] - 1))
    return low * (1 - weight) + high * weight


NUMBERS = frozenset({"input_tensor"})
OPERATORS = {
    "UPSAMPLE_2D": TorchOperator(upsample_2d, numbers=NUMBERS),
    **{name: TorchOperator(resample, numbers=NUMBERS) for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3")},
}
