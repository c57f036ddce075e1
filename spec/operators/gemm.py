"""DML_OPERATOR_GEMM: the product of matrices, scaled, with a scaled matrix added and an activation of what comes."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.tensor import braces

TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE


def shape(desc: Any) -> Shapes | Misfit:
    """The rows of A and the columns of B, in a batch that both have; C has the sizes of the output."""
    a, b = desc.a_tensor.sizes, desc.b_tensor.sizes
    for name, sizes in (("ATensor", a), ("BTensor", b)):
        if len(sizes) < 2:
            return Misfit(f"{name}.DimensionCount", str(len(sizes)))
    rows, inner = a[-2:] if desc.trans_a != TRANSPOSE else a[:-3:-1]
    depth, columns = b[-2:] if desc.trans_b != TRANSPOSE else b[:-3:-1]
    if (*b[:-2], depth) != (*a[:-2], inner):
        return Misfit("BTensor.Sizes", f"{braces(b)}, ATensor has {braces(a)}")
    output = (*a[:-2], rows, columns)
    if desc.c_tensor is not None and desc.c_tensor.sizes != output:
        return Misfit("CTensor.Sizes", f"{braces(desc.c_tensor.sizes)}, the product has {braces(output)}")
    return {"output_tensor": output}


GEMM = operator_spec(
    "GEMM",
    shape=shape,
    own_rules=(*fusion_rules(along_axes=True), output_sizes("dimension-counts", "enumerators", is_any=True)),
)
SPECS = (GEMM,)
