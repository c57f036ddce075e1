"""DML_OPERATOR_GEMM: the product of matrices, scaled, with a scaled matrix added and an activation of what comes."""

from __future__ import annotations

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.structures import Gemm
from dml_conformance.spec.tensor import braces

TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE


def product(desc: Gemm) -> Shapes | Misfit:
    """The rows of A and the columns of B, in a batch that both have."""
    a, b = desc.a_tensor.sizes, desc.b_tensor.sizes
    for name, sizes in (("ATensor", a), ("BTensor", b)):
        if len(sizes) < 2:
            return Misfit(f"{name}.DimensionCount", str(len(sizes)))
    rows, inner = a[:-3:-1] if getattr(desc, "trans_a", None) == TRANSPOSE else a[-2:]
    depth, columns = b[:-3:-1] if getattr(desc, "trans_b", None) == TRANSPOSE else b[-2:]
    if (*b[:-2], depth) != (*a[:-2], inner):
        return Misfit("BTensor.Sizes", f"{braces(b)}, ATensor has {braces(a)}")
    return {"output_tensor": (*a[:-2], rows, columns)}


def shape(desc: Gemm) -> Shapes | Misfit:
    """That of the product, which C has as well."""
    found = product(desc)
    if isinstance(found, Misfit) or desc.c_tensor is None or desc.c_tensor.sizes == found["output_tensor"]:
        return found
    return Misfit("CTensor.Sizes", f"{braces(desc.c_tensor.sizes)}, the product has {braces(found['output_tensor'])}")


GEMM = operator_spec(
    "GEMM",
    shape=shape,
    own_rules=(*fusion_rules(along_axes=True), output_sizes("dimension-counts", "enumerators", is_any=True)),
)
SPECS = (GEMM,)
