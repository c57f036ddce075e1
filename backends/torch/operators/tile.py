"""DML_OPERATOR_TILE."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.structures import Tile
from dml_conformance.spec.tensor import UINT32_MAX


def tile(desc: Tile, tensors: Tensors) -> Tensors:
    """TILE: `output[c...] = input[c[d] % sizes[d] for each d]`."""
    source, out = tensors["input_tensor"], tensors.get("output_tensor")
    sizes, repeats = source.shape, desc.repeats
    if len(repeats) != len(sizes):
        raise PlanError(f"RepeatsCount is {len(repeats)}, InputTensor has {len(sizes)} dimensions")
    if min(repeats) < 1:
        raise PlanError(f"Repeats is {tuple(repeats)}, and each has to be above 0")
    shape = [size * repeat for size, repeat in zip(sizes, repeats, strict=True)]
    if max(shape) > UINT32_MAX:
        raise PlanError(f"the repeats give an output of sizes {tuple(shape)}, beyond what a size can be")
    if out is None:
        out = torch.empty(shape, dtype=source.dtype, device=source.device)
    wide = _widest(source, out)
    source, target = source.view(wide), out.view(wide)
    blocks = [n for pair in zip(repeats, source.shape, strict=True) for n in pair]
    target.view(blocks).copy_(source.view([n for size in source.shape for n in (1, size)]))
    return {"output_tensor": out}


def _widest(*tensors: Tensor) -> torch.dtype:
    """The widest type that all these tensors can be viewed as: what moves together moves in fewer, larger pieces.

    Where they start does not matter: a binding's offset is a multiple of 16 bytes.
    """
    size = tensors[0].itemsize
    for dtype in (torch.int64, torch.int32, torch.int16):
        ratio = dtype.itemsize // size
        if ratio > 1 and all(
            tensor.stride(-1) == 1
            and tensor.shape[-1] % ratio == 0
            and all(stride % ratio == 0 for stride in tensor.stride()[:-1])
            for tensor in tensors
        ):
            return dtype
    return tensors[0].dtype


OPERATORS = {"TILE": TorchOperator(tile, fills=True, plan=plans.tile)}
