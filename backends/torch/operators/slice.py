"""DML_OPERATOR_SLICE, SLICE1 and SLICE_GRAD."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.structures import DML_SLICE1_OPERATOR_DESC, DML_SLICE_OPERATOR_DESC, SliceGrad


def slice_(desc: DML_SLICE_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """`output[c] = input[offsets + strides * c]`."""
    source = tensors["input_tensor"]
    check_lengths(source.dim(), desc.offsets, desc.sizes, desc.strides)
    return {"output_tensor": _taken(source, desc.offsets, desc.strides, desc.sizes)}


def slice1(desc: DML_SLICE1_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """`output[c] = input[first + strides * c]`, as many as the output has."""
    source, count = tensors["input_tensor"], desc.output_tensor.sizes
    return {"output_tensor": _taken(source, _firsts(desc, source.shape, count), desc.input_window_strides, count)}


def slice_grad(desc: SliceGrad, tensors: Tensors) -> Tensors:
    """`output[first + strides * c] = input[c]`, and 0 elsewhere."""
    source, sizes = tensors["input_gradient_tensor"], desc.output_gradient_tensor.sizes
    firsts = _firsts(desc, sizes, source.shape)
    target = torch.zeros(sizes, dtype=source.dtype, device=source.device)
    places, backwards = _places(sizes, firsts, desc.input_window_strides, source.shape)
    target[places].copy_(source.flip(backwards) if backwards else source)
    return {"output_gradient_tensor": target}


def check_lengths(rank: int, *arrays: Sequence[int]) -> None:
    """Raise PlanError unless every array has one entry for each dimension."""
    for array in arrays:
        if len(array) != rank:
            raise PlanError(f"an array has {len(array)} entries, the tensors have {rank} dimensions")


def _firsts(desc: DML_SLICE1_OPERATOR_DESC | SliceGrad, sizes: Sequence[int], count: Sequence[int]) -> list[int]:
    """Where the walk through each window begins; PlanError for windows that are empty, too large or too short."""
    offsets, windows, strides = desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides
    check_lengths(len(sizes), offsets, windows, strides)
    firsts = []
    for d, (offset, window, stride) in enumerate(zip(offsets, windows, strides, strict=True)):
        if window < 1 or offset + window > sizes[d]:
            raise PlanError(f"dimension {d} has a window of {window} from {offset} on in {sizes[d]} elements")
        if stride == 0 or (count[d] - 1) * abs(stride) >= window:
            raise PlanError(f"dimension {d} has {count[d]} elements by {stride} in a window of {window}")
        firsts.append(offset if stride > 0 else offset + window - 1)
    return firsts


def _taken(source: Tensor, firsts: Sequence[int], strides: Sequence[int], count: Sequence[int]) -> Tensor:
    places, backwards = _places(source.shape, firsts, strides, count)
    taken = source[places]
    return taken.flip(backwards) if backwards else taken


def _places(
    sizes: Sequence[int], firsts: Sequence[int], strides: Sequence[int], count: Sequence[int]
) -> tuple[tuple[slice, ...], list[int]]:
    """A walk as slices, which torch has with positive steps only, and the dimensions that are to be turned round."""
    places, backwards = [], []
    for d, (first, stride, n) in enumerate(zip(firsts, strides, count, strict=True)):
        last = first + stride * (n - 1)
        if stride == 0 or n < 1 or not 0 <= min(first, last) <= max(first, last) < sizes[d]:
            raise PlanError(f"dimension {d} has {n} elements from {first} to {last} by {stride}, of {sizes[d]}")
        places.append(slice(min(first, last), max(first, last) + 1, abs(stride)))
        if stride < 0 and n > 1:
            backwards.append(d)
    return tuple(places), backwards


_GRADIENTS = (("input_gradient_tensor", "output_gradient_tensor"),)

OPERATORS = {
    "SLICE": TorchOperator(slice_),
    "SLICE1": TorchOperator(slice1),
    "SLICE_GRAD": TorchOperator(slice_grad, agree=_GRADIENTS),
}
