"""DML_OPERATOR_UPSAMPLE_2D, RESAMPLE, its successors and gradients, by nearest neighbour and linearly."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DML_UPSAMPLE_2D_OPERATOR_DESC, Resample, ResampleGrad, WithScales
from dml_conformance.spec.tensor import UINT32_MAX


def upsample_2d(desc: DML_UPSAMPLE_2D_OPERATOR_DESC, tensors: Tensors) -> Tensors:
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


def resample(desc: Resample, tensors: Tensors) -> Tensors:
    """One dimension after the other, those first that make it smaller."""
    assert desc.operator != "UPSAMPLE_2D"
    source, sizes = tensors["input_tensor"], desc.output_tensor.sizes
    arrays = _arrays(desc, source)
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


def resample_grad(desc: ResampleGrad, tensors: Tensors) -> Tensors:
    """Along one dimension after the other, elements are added up at the places that they were taken from; first where
    that makes them fewer."""
    source, sizes = tensors["input_gradient_tensor"], desc.output_gradient_tensor.sizes
    _arrays(desc, source)
    if source.is_meta:
        return {"output_gradient_tensor": source.new_empty(sizes)}
    found = source.double()
    for d in sorted(range(source.dim()), key=lambda d: sizes[d] / source.shape[d]):
        size = sizes[d]
        if size == found.shape[d] == 1:
            continue
        target = found.new_zeros((*found.shape[:d], size, *found.shape[d + 1 :]))
        if _is_linear(desc):
            offsets = desc.input_pixel_offsets[d], desc.output_pixel_offsets[d]
            first, second, weight = _neighbours(found, d, size, found.shape[d], desc.scales[d], *offsets)
            target = target.index_add_(d, first, found * (1 - weight)).index_add_(d, second, found * weight)
        else:
            target = target.index_add_(d, _places(desc, d, size, found.shape[d], found.device), found)
        found = target
    return {"output_gradient_tensor": found.to(source.dtype)}


def _arrays(desc: WithScales, source: Tensor) -> list[Any]:
    """The scales and both arrays of offsets, or the scales in their place, each with an entry for each dimension."""
    arrays = [getattr(desc, name, desc.scales) for name in ("scales", "input_pixel_offsets", "output_pixel_offsets")]
    if any(len(array) != source.dim() for array in arrays):
        raise PlanError(
            f"the arrays have {[len(array) for array in arrays]} entries, the input {source.dim()} dimensions"
        )
    if not all(map(math.isfinite, (entry for array in arrays for entry in array))) or min(desc.scales) <= 0:
        raise PlanError("an entry of the arrays is not finite, or a scale not above 0")
    return arrays


def _places(desc: WithScales, d: int, size: int, count: int, device: torch.device) -> Tensor:
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


def _is_linear(desc: Resample | ResampleGrad) -> bool:
    return bool(desc.interpolation_mode == enumeration("DML_INTERPOLATION_MODE").LINEAR)


def _between(
    source: Tensor, d: int, count: int, scale: float, of_input: float = 0.5, of_output: float = -0.5
) -> Tensor:
    """Averages of neighbours along a dimension, weighted by how near they are to the output's elements."""
    first, second, weight = _neighbours(source, d, source.shape[d], count, scale, of_input, of_output)
    weight = weight.float()
    return source.index_select(d, first) * (1 - weight) + source.index_select(d, second) * weight


def _neighbours(
    like: Tensor, d: int, size: int, count: int, scale: float, of_input: float, of_output: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements next to the places of others along a dimension, and the weight of the second, as `like` has it."""
    numbers = torch.arange(count, dtype=torch.float64, device=like.device)
    coordinates = numbers.sub_(of_output).div_(scale).sub_(of_input).clamp_(0, size - 1)
    below = coordinates.floor()
    weight = (coordinates - below).view(*(1,) * d, -1, *(1,) * (like.dim() - 1 - d))
    first = below.to(torch.int64)
    return first, (first + 1).clamp_(max=size - 1), weight


NUMBERS = frozenset({"input_tensor"})
GRADIENT = TorchOperator(
    resample_grad,
    agree=(("input_gradient_tensor", "output_gradient_tensor"),),
    numbers=frozenset({"input_gradient_tensor"}),
)
OPERATORS = {
    "UPSAMPLE_2D": TorchOperator(upsample_2d, numbers=NUMBERS),
    **{name: TorchOperator(resample, numbers=NUMBERS) for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3")},
    **dict.fromkeys(("RESAMPLE_GRAD", "RESAMPLE_GRAD1"), GRADIENT),
}
