"""DML_OPERATOR_GEMM."""

from __future__ import annotations

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._fused import ALONG_AXES, activated, fusion_fault
from dml_conformance.backends.torch.operators._products import factor, product
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import Gemm

_TRANSPOSED = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE
_INPUTS = ("a_tensor", "b_tensor", "c_tensor")


def gemm(desc: Gemm, tensors: Tensors) -> Tensors:
    """`activation(Alpha * a @ b + Beta * c)`, in FLOAT32."""
    a, b = tensors["a_tensor"], tensors["b_tensor"]
    a = a.mT if desc.trans_a == _TRANSPOSED else a
    b = b.mT if desc.trans_b == _TRANSPOSED else b
    if a.shape[:-2] != b.shape[:-2]:
        raise PlanError(f"a batch of {tuple(a.shape[:-2])} and one of {tuple(b.shape[:-2])}")
    found, c = product(factor(a), factor(b)), tensors.get("c_tensor")
    if c is not None:
        check_sizes("CTensor", c, found.shape)
    if found.is_meta:  # most activations fit any sizes
        along_axes = getattr(desc.fused_activation, "operator", "") in ALONG_AXES
        return {"output_tensor": activated(desc.fused_activation, found) if along_axes else found}
    if desc.alpha != 1:
        found *= desc.alpha
    if c is not None:
        found += c.float() * desc.beta
    return {"output_tensor": activated(desc.fused_activation, found).to(tensors["a_tensor"].dtype)}


OPERATORS = {
    "GEMM": TorchOperator(gemm, ((*_INPUTS, "output_tensor"),), frozenset(_INPUTS), fault=fusion_fault),
}
