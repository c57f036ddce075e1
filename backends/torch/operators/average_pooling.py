"""DML_OPERATOR_AVERAGE_POOLING, AVERAGE_POOLING1, QUANTIZED_LINEAR_AVERAGE_POOLING and the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._quantized import quantized
from dml_conformance.backends.torch.operators._windows import add_windows, cropped, single, window_counts, window_view
from dml_conformance.spec.structures import AveragePooling, AveragePoolingGrad

QUANTIZATION = ("input_scale_tensor", "input_zero_point_tensor", "output_scale_tensor", "output_zero_point_tensor")


def average_pooling(desc: AveragePooling, tensors: Tensors) -> Tensors:
    """Sums of overlapping views, of the image and of ones in its place, in FLOAT32."""
    source = tensors["input_tensor"]
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    if source.is_meta:
        return {"output_tensor": source.new_empty((*source.shape[:2], *counts))}
    return {"output_tensor": _means(desc, source.float(), counts).to(source.dtype)}


def _means(desc: AveragePooling, wide: Tensor, counts: Sequence[int]) -> Tensor:
    total = window_view(desc, wide, desc.window_size, counts).sum(tuple(range(2, wide.dim())))
    return total / _divisors(desc, wide, wide.shape[2:], counts)


def _divisors(
    desc: AveragePooling | AveragePoolingGrad, like: Tensor, spatial: Sequence[int], counts: Sequence[int]
) -> Tensor:
    """How many elements of each window count."""
    if desc.include_padding:
        return like.new_full((), prod(desc.window_size))
    ones = like.new_ones((1, 1, *spatial))
    return window_view(desc, ones, desc.window_size, counts).sum(tuple(range(2, like.dim())))


def average_pooling_grad(desc: AveragePoolingGrad, tensors: Tensors) -> Tensors:
    """Each gradient divided by what its window counts, and added to all elements of it, in FLOAT32."""
    source, sizes = tensors["input_gradient_tensor"], desc.output_gradient_tensor.sizes
    if source.dim() != len(sizes):
        raise PlanError(f"the gradients have {source.dim()} and {len(sizes)} dimensions")
    counts = window_counts(desc, desc.window_size, sizes[2:])
    check_sizes("InputGradientTensor", source, (*source.shape[:2], *counts))
    if source.is_meta:
        return {"output_gradient_tensor": source.new_empty((*source.shape[:2], *sizes[2:]))}
    wide = source.float()
    shares = (wide / _divisors(desc, wide, sizes[2:], counts)).unsqueeze(2)
    columns = shares.expand(*source.shape[:2], prod(desc.window_size), *counts)
    padded = [sum(entries) for entries in zip(sizes[2:], desc.start_padding, desc.end_padding, strict=True)]
    found = cropped(desc, add_windows(desc, columns, desc.window_size, counts, padded), sizes[2:])
    return {"output_gradient_tensor": found.to(source.dtype)}


def quantized_average_pooling(desc: AveragePooling, tensors: Tensors) -> Tensors:
    """The mean of what was dequantized, quantized: in FLOAT32, halves to even."""
    source = tensors["input_tensor"]
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    scale, zero_point, by, added = (_by_channel(tensors.get(name), source) for name in QUANTIZATION)
    if source.is_meta:
        return {"output_tensor": source.new_empty((*source.shape[:2], *counts))}
    means = _means(desc, (source.float() - zero_point) * scale, counts)
    return {"output_tensor": quantized(means, by, added, desc.output_tensor.data_type)}


def _by_channel(found: Tensor | None, source: Tensor) -> Tensor:
    """A number for all or for each channel, such that it broadcasts; 0 where there is none."""
    if found is None:
        return torch.zeros((), device=source.device)
    by_channel = (1, source.shape[1], *(1,) * (source.dim() - 2))
    if found.numel() > 1 and found.shape != by_channel:
        raise PlanError(f"a scale or zero point has sizes {tuple(found.shape)}")
    return found.float().reshape(by_channel if found.numel() > 1 else (1,) * source.dim())


def _apart(desc: AveragePooling) -> list[int]:
    return [0, 1, *single(desc, desc.window_size)]


OPERATORS = {
    "QUANTIZED_LINEAR_AVERAGE_POOLING": TorchOperator(
        quantized_average_pooling,
        agree=(
            ("input_tensor", "input_zero_point_tensor"),
            ("output_tensor", "output_zero_point_tensor"),
            ("input_scale_tensor", "output_scale_tensor"),
        ),
        numbers=frozenset({"input_tensor", *QUANTIZATION}),
        ranks=(("input_tensor", "output_tensor"),),
        apart=_apart,
    ),
    "AVERAGE_POOLING": TorchOperator(average_pooling, numbers=frozenset({"input_tensor"}), apart=_apart),
    "AVERAGE_POOLING1": TorchOperator(average_pooling, numbers=frozenset({"input_tensor"}), apart=_apart),
    "AVERAGE_POOLING_GRAD": TorchOperator(
        average_pooling_grad,
        agree=(("input_gradient_tensor", "output_gradient_tensor"),),
        numbers=frozenset({"input_gradient_tensor"}),
        apart=lambda desc: (0, 1),
    ),
}
