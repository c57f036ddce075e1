"""DML_OPERATOR_GATHER_ND1: GATHER_ND with leading batch dimensions that input and indices walk together."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    OperatorDesc,
    OperatorSpec,
    tensor_input,
    tensor_output,
    uint,
)
from dml_conformance.spec.operators._gather_nd import (
    TABLE_3_0,
    TABLE_4_1,
    batch_rules,
    gather_nd_rules,
    index_limits,
    output_sizes,
)
from dml_conformance.spec.operators._indexing import indexing_execution_rules
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

PAGE = "ns-directml-dml_gather_nd1_operator_desc"


class GatherNd1Desc(OperatorDesc, frozen=True):
    """`DML_GATHER_ND1_OPERATOR_DESC`."""

    operator: ClassVar[str] = "GATHER_ND1"
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int
    batch_dimension_count: int


SPEC = OperatorSpec(
    name="GATHER_ND1",
    type_value=140,
    desc=GatherNd1Desc,
    introduced_in=Level.L3_0,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_input("IndicesTensor", "indices_tensor", INDICES),
        tensor_output("OutputTensor", "output_tensor"),
        uint("InputDimensionCount", "input_dimension_count"),
        uint("IndicesDimensionCount", "indices_dimension_count"),
        uint("BatchDimensionCount", "batch_dimension_count"),
    ),
    tables={Level.L3_0: TABLE_3_0, Level.L4_1: TABLE_4_1},
    output_sizes=output_sizes,
    own_rules=gather_nd_rules("GATHER_ND1", PAGE, batch_rules("GATHER_ND1", PAGE)),
    execution_rules=indexing_execution_rules(
        "GATHER_ND1", PAGE, Level.L3_0, "the dimension that it addresses", silent=("GATHER_ND1-6",)
    ),
    source=Source(PAGE),
    summary="gathers subblocks of the input, each addressed by a tuple of indices, batch by batch",
    pseudocode="output[b..., i..., rest] = input[b..., indices[b..., i..., :], rest]",
    index=IndexRule("indices_tensor", "input_tensor", index_limits),
)
