"""DML_OPERATOR_ONE_HOT."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import valid_axis
from dml_conformance.spec.structures import OneHot


def one_hot(desc: OneHot, tensors: Tensors) -> Tensors:
    """ONE_HOT: `output[..., i, ...] = i == indices[..., 0, ...] ? on : off`."""
    indices, values = tensors["indices_tensor"], tensors["values_tensor"]
    axis = valid_axis(desc, indices)
    if indices.shape[axis] != 1 or values.numel() < 2:
        raise PlanError(f"{indices.shape[axis]} indices along Axis, {values.numel()} values")
    size = desc.output_tensor.sizes[axis]
    if indices.is_meta:  # where torch takes 100 times as long to make numbers
        return {"output_tensor": values.new_empty((*indices.shape[:axis], size, *indices.shape[axis + 1 :]))}
    along = torch.arange(size, device=indices.device).view((-1,) + (1,) * (indices.dim() - 1 - axis))
    off, on = values.flatten()[:2]
    return {"output_tensor": torch.where(along == _places(indices, size), on, off)}


def _places(indices: Tensor, size: int) -> Tensor:
    """The elements that indices name, as int64; one that is out of range names none."""
    if indices.dtype is torch.uint64:  # from 2^63 on int64 is negative
        return indices.view(torch.int64)
    wide = indices.to(torch.int64)
    return wide if indices.dtype is torch.uint32 else torch.where(wide < 0, wide + size, wide)


OPERATORS = {
    "ONE_HOT": TorchOperator(
        one_hot, agree=(("values_tensor", "output_tensor"),), numbers=frozenset({"indices_tensor"})
    )
}
