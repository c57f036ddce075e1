"""DML_OPERATOR_CUMULATIVE_SUMMATION and _PRODUCT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis, valid_axis
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import Cumulative

_DECREASING = enumeration("DML_AXIS_DIRECTION").DECREASING
_SIGNED = {torch.uint32: torch.int32, torch.uint64: torch.int64}


def _scan(scan: Callable[..., Tensor], empty: int, member: str, desc: Cumulative, tensors: Tensors) -> Tensors:
    """`output[c] = input[c, 0] + ... + input[c]` along Axis, of FLOAT16 in FLOAT32, of integers in 64 bits."""
    source = tensors["input_tensor"]
    axis = valid_axis(desc, source)
    if source.is_meta:
        return {"output_tensor": source}
    dtype = source.dtype
    signed = _SIGNED.get(dtype, dtype)
    rows = source.view(signed).to(torch.float32 if dtype.is_floating_point else torch.int64)
    if desc.axis_direction == _DECREASING:
        rows = rows.flip(axis)
    if getattr(desc, member):
        first = torch.full_like(rows.narrow(axis, 0, 1), empty)
        rows = torch.cat((first, rows.narrow(axis, 0, rows.shape[axis] - 1)), axis)
    found = scan(rows, axis)
    if desc.axis_direction == _DECREASING:
        found = found.flip(axis)
    return {"output_tensor": found.to(signed).view(dtype)}


OPERATORS = {
    name: TorchOperator(partial(_scan, *how), numbers=frozenset({"input_tensor"}), apart=off_axis)
    for name, how in (
        ("CUMULATIVE_SUMMATION", (torch.cumsum, 0, "has_exclusive_sum")),
        ("CUMULATIVE_PRODUCT", (torch.cumprod, 1, "has_exclusive_product")),
    )
}
