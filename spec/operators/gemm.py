"""DML_OPERATOR_GEMM: the product of matrices, scaled, with a scaled matrix added and an activation of what comes."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit, Shapes, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators._fused import FUSED_ACTIVATIONS, flat_softplus, fusion_rules, newer_activation
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces

NAME = "GEMM"
PAGE = "ns-directml-dml_gemm_operator_desc"
TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE
PRIMITIVES = ("multiply", "add")


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
    NAME,
    shape=shape,
    own_rules=(
        *fusion_rules(NAME, along_axes=True),
        output_sizes_rule(
            NAME,
            Source(PAGE, "OutputTensor"),
            shapes_comparable(NAME) | ids(NAME, "dimension-counts", "enumerators"),
            is_any=True,
            settles=("GEMM-2",),
        ),
    ),
    execution_rules=(
        Rule(
            f"{NAME}.values",
            Category.EXECUTION,
            "every output element is FusedActivation of Alpha times the sum of the products of a row of A and a column "
            "of B, each transposed if asked for, plus Beta times the element of C if there is one; where Alpha or Beta "
            "is 0, what it scales may count as 0, whatever it is; Alpha may scale the elements of A in place of the "
            "sum, and in FLOAT16 an activation may be that of the rounded sum",
            Source(PAGE, "Description"),
            settles=("GEMM-1", "GEMM-3"),
            also=(FUSED_ACTIVATIONS,),
        ),
        formula_rule(NAME, PRIMITIVES),
    ),
    primitives=PRIMITIVES,
    domains=dict.fromkeys(("ATensor", "BTensor", "CTensor"), "sums"),
    summary="multiplies matrices, and adds one to the product",
    pseudocode="output[..., m, n] = activation(Alpha * sum(a[..., m, k] * b[..., k, n]) + Beta * c[..., m, n])",
)
SPECS = (GEMM,)
DIVERGENCES = {
    "DIV-fused-activations-newer-than-the-list": newer_activation,
    "DIV-fused-softplus-of-any-steepness": flat_softplus,
}
