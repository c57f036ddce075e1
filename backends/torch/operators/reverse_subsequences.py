"""DML_OPERATOR_REVERSE_SUBSEQUENCES."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._indexing import valid_axis
from dml_conformance.spec.structures import ReverseSubsequences


def reverse_subsequences(desc: ReverseSubsequences, tensors: Tensors) -> Tensors:
    """`output[..., i, ...] = input[..., n - 1 - i if i < n else i, ...]`, n being the length, at most the size."""
    source, lengths = tensors["input_tensor"], tensors["sequence_lengths_tensor"]
    axis = valid_axis(desc, source)
    size = source.shape[axis]
    check_sizes("SequenceLengthsTensor", lengths, (*source.shape[:axis], 1, *source.shape[axis + 1 :]))
    if source.is_meta:
        return {"output_tensor": source}
    if lengths.dtype is torch.uint64:  # from 2^63 on int64 is negative
        n = lengths.view(torch.int64)
        n = torch.where(n < 0, size, n.clamp(max=size))
    else:
        n = lengths.to(torch.int64).clamp_(max=size)
    i = torch.arange(size, device=source.device).view([-1 if d == axis else 1 for d in range(source.dim())])
    places = n - 1 - i
    torch.where(i < n, places, i, out=places)
    return {"output_tensor": torch.gather(source, axis, places, out=tensors.get("output_tensor"))}


OPERATORS = {
    "REVERSE_SUBSEQUENCES": TorchOperator(
        reverse_subsequences, numbers=frozenset({"sequence_lengths_tensor"}), fills=True
    )
}
