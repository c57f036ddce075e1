"""What operators share that take two elements at the same coordinates."""

from __future__ import annotations

from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors

OPERANDS = ("a_tensor", "b_tensor")


def operands(tensors: Tensors) -> tuple[Tensor, Tensor]:
    """The two inputs; PlanError where their sizes differ, which torch would broadcast."""
    a, b = (tensors[key] for key in OPERANDS)
    if a.shape != b.shape:
        raise PlanError(f"sizes {tuple(a.shape)} and {tuple(b.shape)} are not the same")
    return a, b
