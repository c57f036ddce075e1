"""Products of matrices whose sums are of FLOAT32, by tensor cores where a device has them for FLOAT16."""

from __future__ import annotations

from math import prod

import torch
from numpy import broadcast_shapes
from torch import Tensor

# From PyTorch 2.8 on, on CUDA alone.
_OF_HALVES = torch.version.cuda is not None and hasattr(torch.ops.aten.bmm, "dtype")


def factor(tensor: Tensor) -> Tensor:
    """A tensor as `product` takes it: in FLOAT32, or in FLOAT16 where products of those are exact in it."""
    return tensor if _OF_HALVES and tensor.is_cuda and tensor.dtype is torch.float16 else tensor.float()


def product(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` of matrices, also in batches, which are repeated where one has fewer; FLOAT32 is returned."""
    if not a.dtype is b.dtype is torch.float16:
        return torch.matmul(a, b)
    batches = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows, columns = (each.expand(*batches, -1, -1).reshape(prod(batches), *each.shape[-2:]) for each in (a, b))
    found: Tensor = torch.bmm(rows, columns, out_dtype=torch.float32)
    return found.reshape(*batches, *found.shape[-2:])
