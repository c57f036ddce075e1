"""DML_OPERATOR_CONVOLUTION, by products of matrices: no algorithm is left to a library that has faster ones."""

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.backends.torch.operators._windows import add_windows, window_counts, window_view
from dml_conformance.spec.field_kinds import enumeration

INPUTS = ("input_tensor", "filter_tensor", "bias_tensor")
MODE, DIRECTION = enumeration("DML_CONVOLUTION_MODE"), enumeration("DML_CONVOLUTION_DIRECTION")


def convolution(desc: Any, tensors: Tensors) -> Tensors:
    """In FLOAT32: forward, windows laid out as columns; backward, columns that are added up where windows stand."""
    source, filters, bias = (tensors.get(name) for name in INPUTS)
    assert source is not None
    assert filters is not None
    groups, backward = desc.group_count, desc.direction == DIRECTION.BACKWARD
    if source.dim() < 3 or not groups or filters.shape[0] % groups:
        raise PlanError(f"{groups} groups of {filters.shape[0]} filters, {source.dim()} dimensions")
    given, made = (filters.shape[0], filters.shape[1] * groups)[:: 1 if backward else -1]
    if source.shape[1] != given:
        raise PlanError(f"{source.shape[1]} channels, the filters take {given}")
    if bias is not None and bias.shape != (1, made, *(1,) * (source.dim() - 2)):
        raise PlanError(f"the bias has sizes {tuple(bias.shape)} for {made} channels")
    run = _backward if backward else _forward
    turned = filters.flip(tuple(range(2, filters.dim()))) if desc.mode == MODE.CONVOLUTION else filters
    found = run(desc, source.float(), turned.float(), made)
    if source.is_meta:
        return {"output_tensor": found.to(source.dtype)}
    if bias is not None:
        found = found + bias.float()
    return {"output_tensor": activated(desc.fused_activation, found.to(source.dtype))}


def _forward(desc: Any, source: Tensor, filters: Tensor, made: int) -> Tensor:
    sizes, groups = filters.shape[2:], desc.group_count
    counts = window_counts(desc, sizes, source.shape[2:])
    shape = (source.shape[0], made, *(n + more for n, more in zip(counts, desc.output_padding, strict=True)))
    if source.is_meta:
        return source.new_empty(shape)
    columns = window_view(desc, source, sizes, counts).reshape(source.shape[0], groups, -1, prod(counts))
    found = filters.reshape(groups, made // groups, -1) @ columns
    added = [n for more in desc.output_padding[::-1] for n in (0, more)]
    return functional.pad(found.reshape(source.shape[0], made, *counts), added)


def _backward(desc: Any, source: Tensor, filters: Tensor, made: int) -> Tensor:
    sizes, groups, (batch, channels, *counts) = filters.shape[2:], desc.group_count, source.shape
    arrays = (desc.strides, desc.dilations, desc.start_padding, desc.end_padding, desc.output_padding)
    if any(len(array) != len(counts) for array in arrays) or not all(desc.strides):
        raise PlanError(f"the arrays have {[len(array) for array in arrays]} entries, or a stride of 0")
    steps = zip(counts, sizes, desc.strides, desc.dilations, strict=True)
    reached = [(count - 1) * stride + dilation * (size - 1) + 1 for count, size, stride, dilation in steps]
    cut = zip(reached, desc.start_padding, desc.end_padding, strict=True)
    kept = [size - before - behind for size, before, behind in cut]
    if min(kept) < 1:
        raise PlanError(f"the windows cover {reached}, which the padding takes away")
    shape = (batch, made, *(size + more for size, more in zip(kept, desc.output_padding, strict=True)))
    if source.is_meta:
        return source.new_empty(shape)
    matrix = filters.reshape(groups, channels // groups, -1).transpose(1, 2)
    columns = matrix @ source.reshape(batch, groups, channels // groups, -1)
    image = add_windows(desc, columns.reshape(batch, made, -1), sizes, counts, reached)
    for d, before in enumerate(desc.start_padding):
        size = min(shape[2 + d], reached[d] - before)
        image = image.narrow(2 + d, before, size)
    added = [n for d in range(len(counts) - 1, -1, -1) for n in (0, shape[2 + d] - image.shape[2 + d])]
    return functional.pad(image, added)


OPERATORS = {
    "CONVOLUTION": TorchOperator(
        convolution,
        agree=((*INPUTS, "output_tensor"),),
        numbers=frozenset(INPUTS),
        fault=fusion_fault,
    )
}
