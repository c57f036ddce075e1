"""DML_OPERATOR_ACTIVATION_SOFTMAX, LOG_SOFTMAX and HARDMAX, and SOFTMAX1, LOG_SOFTMAX1 and HARDMAX1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis, rows_along, valid_axes
from dml_conformance.spec.structures import Softmax


def along(function: Callable[[Tensor], Tensor], desc: Softmax, tensors: Tensors) -> Tensors:
    """A function of rows, along Axes or the last dimension, in FLOAT32."""
    source = tensors["input_tensor"]
    axes = valid_axes(getattr(desc, "axes", (source.dim() - 1,)), source)
    if not hasattr(desc, "axes") and max(source.shape[:-2], default=1) > 1:
        raise PlanError(f"InputTensor has sizes {tuple(source.shape)}, of which more than the last two are not 1")
    if source.is_meta:
        return {"output_tensor": torch.empty(source.shape, dtype=source.dtype, device=source.device)}
    order = [d for d in range(source.dim()) if d not in axes] + axes
    found = function(rows_along(source.float(), axes)).reshape([source.shape[d] for d in order])
    back = [order.index(d) for d in range(source.dim())]
    return {"output_tensor": found.permute(back).to(source.dtype)}


def _hardmax(rows: Tensor) -> Tensor:
    return torch.zeros_like(rows).scatter(-1, rows.argmax(-1, keepdim=True), 1.0)


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "SOFTMAX": partial(torch.softmax, dim=-1),
    "LOG_SOFTMAX": partial(torch.log_softmax, dim=-1),
    "HARDMAX": _hardmax,
}
OPERATORS = {
    f"ACTIVATION_{name}{suffix}": TorchOperator(
        partial(along, function), numbers=frozenset({"input_tensor"}), apart=off_axis
    )
    for name, function in _FUNCTIONS.items()
    for suffix in ("", "1")
}
