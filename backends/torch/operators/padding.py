"""DML_OPERATOR_PADDING and PADDING1."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._scalars import bits_of
from dml_conformance.backends.torch.operators.slice import check_lengths
from dml_conformance.spec.structures import Padding

CONSTANT, EDGE, REFLECTION, SYMMETRIC, WRAP = range(5)  # of DML_PADDING_MODE


def padding(desc: Padding, tensors: Tensors) -> Tensors:
    """A constant around the input, or elements of it, dimension by dimension."""
    source = tensors["input_tensor"]
    starts, ends = desc.start_padding, desc.end_padding
    check_lengths(source.dim(), starts, ends)
    data_type = desc.input_tensor.data_type
    if desc.operator == "PADDING1" and desc.padding_value_data_type != data_type:
        raise PlanError(f"PaddingValueDataType is {desc.padding_value_data_type}, the tensors are {data_type.name}")
    sizes = [start + size + end for start, size, end in zip(starts, source.shape, ends, strict=True)]
    if source.is_meta:
        return {"output_tensor": torch.empty(sizes, dtype=source.dtype, device=source.device)}
    if desc.padding_mode == CONSTANT:
        target = torch.full(sizes, bits_of(desc.padding_value, data_type), dtype=source.dtype, device=source.device)
        target[tuple(slice(start, start + size) for start, size in zip(starts, source.shape, strict=True))] = source
        return {"output_tensor": target}
    for axis, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start or end:
            places = torch.arange(-start, source.shape[axis] + end, device=source.device)
            source = source.index_select(axis, _inside(places, source.shape[axis], desc.padding_mode))
    return {"output_tensor": source}


def _inside(places: Tensor, size: int, mode: int) -> Tensor:
    """Coordinates brought into a dimension; what is out of it by a period or more comes round again."""
    if mode == EDGE:
        return places.clamp_(0, size - 1)
    if mode == WRAP:
        return places.remainder_(size)
    once = size if mode == SYMMETRIC else size - 1  # to the far end, from where the way back begins
    turn = places.remainder_(max(2 * once, 1))
    return torch.minimum(turn, 2 * size - 1 - turn if mode == SYMMETRIC else 2 * once - turn)


OPERATORS = {"PADDING": TorchOperator(padding), "PADDING1": TorchOperator(padding)}
