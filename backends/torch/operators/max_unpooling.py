"""DML_OPERATOR_MAX_UNPOOLING."""

from __future__ import annotations

from math import prod

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator, check_sizes
from dml_conformance.spec.structures import MaxUnpooling


def max_unpooling(desc: MaxUnpooling, tensors: Tensors) -> Tensors:
    """A scatter into zeros with one place more, behind the output, which takes what has an index out of range."""
    source, indices = tensors["input_tensor"], tensors["indices_tensor"]
    check_sizes("IndicesTensor", indices, source.shape)
    sizes = desc.output_tensor.sizes
    count = prod(sizes)
    row = torch.zeros(count + 1, dtype=source.dtype, device=source.device)
    if not source.is_meta:
        # Read as int64, an unsigned number from 2^63 on is negative.
        wide = indices.view(torch.int64) if indices.dtype is torch.uint64 else indices.to(torch.int64)
        places = torch.where((wide < 0) | (wide > count), count, wide)
        row.scatter_(0, places.reshape(-1), source.reshape(-1))
    return {"output_tensor": row[:count].view(sizes)}


OPERATORS = {"MAX_UNPOOLING": TorchOperator(max_unpooling, numbers=frozenset({"indices_tensor"}))}
