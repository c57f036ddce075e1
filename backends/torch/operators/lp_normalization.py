"""DML_OPERATOR_LP_NORMALIZATION."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis
from dml_conformance.spec.structures import LpNormalization


def normalize(desc: LpNormalization, tensors: Tensors) -> Tensors:
    """`x / (norm + Epsilon)` along the axis, in FLOAT32."""
    source = tensors["input_tensor"]
    if desc.axis >= source.dim() or desc.p not in (1, 2):
        raise PlanError(f"axis {desc.axis} of {source.dim()} dimensions, order {desc.p}")
    if source.is_meta:
        return {"output_tensor": source}
    wide = source.float()
    norm = torch.linalg.vector_norm(wide, desc.p, desc.axis, keepdim=True)
    return {"output_tensor": (wide / (norm + desc.epsilon)).to(source.dtype)}


OPERATORS = {"LP_NORMALIZATION": TorchOperator(normalize, numbers=frozenset({"input_tensor"}), apart=off_axis)}
