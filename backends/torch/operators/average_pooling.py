"""DML_OPERATOR_AVERAGE_POOLING1."""

from __future__ import annotations

from math import prod
from typing import Any

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._windows import window_counts, window_view


def average_pooling(desc: Any, tensors: Tensors) -> Tensors:
    """Sums of overlapping views, of the image and of ones in its place, in FLOAT32."""
    source = tensors["input_tensor"]
    if source.dim() < 3:
        raise PlanError(f"InputTensor has {source.dim()} dimensions")
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    if source.is_meta:
        return {"output_tensor": source.new_empty((*source.shape[:2], *counts))}
    wide = source.float()
    elements = tuple(range(2, source.dim()))
    total = window_view(desc, wide, desc.window_size, counts).sum(elements)
    ones = wide.new_ones((1, 1, *source.shape[2:]))
    seen = window_view(desc, ones, desc.window_size, counts)
    number = prod(desc.window_size) if desc.include_padding else seen.sum(elements)
    return {"output_tensor": (total / number).to(source.dtype)}


OPERATORS = {"AVERAGE_POOLING1": TorchOperator(average_pooling, numbers=frozenset({"input_tensor"}))}
