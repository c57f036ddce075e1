"""DML_OPERATOR_GATHER_ND: subblocks of the input, each addressed by a tuple of indices."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.datatypes import UINT32_ONLY, UP_TO_32_BIT
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    DATA,
    FOUR_ONLY,
    INDICES,
    IndexRule,
    OperatorDesc,
    OperatorSpec,
    Support,
    tensor_input,
    tensor_output,
    uint,
)
from dml_conformance.spec.operators._gather_nd import TABLE_3_0, TABLE_4_1, gather_nd_rules, index_limits, output_sizes
from dml_conformance.spec.operators._indexing import indexing_execution_rules
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

PAGE = "ns-directml-dml_gather_nd_operator_desc"


class GatherNdDesc(OperatorDesc, frozen=True):
    """`DML_GATHER_ND_OPERATOR_DESC`."""

    operator: ClassVar[str] = "GATHER_ND"
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int


SPEC = OperatorSpec(
    name="GATHER_ND",
    type_value=108,
    desc=GatherNdDesc,
    introduced_in=Level.L2_1,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_input("IndicesTensor", "indices_tensor", INDICES),
        tensor_output("OutputTensor", "output_tensor"),
        uint("InputDimensionCount", "input_dimension_count"),
        uint("IndicesDimensionCount", "indices_dimension_count"),
    ),
    tables={
        Level.L2_1: {DATA: Support(FOUR_ONLY, UP_TO_32_BIT), INDICES: Support(FOUR_ONLY, UINT32_ONLY)},
        Level.L3_0: TABLE_3_0,
        Level.L4_1: TABLE_4_1,
    },
    output_sizes=output_sizes,
    own_rules=gather_nd_rules("GATHER_ND", PAGE),
    execution_rules=indexing_execution_rules(
        "GATHER_ND", PAGE, Level.L2_1, "the dimension that it addresses", silent=("GATHER_ND-4",)
    ),
    source=Source(PAGE),
    summary="gathers subblocks of the input, each addressed by a tuple of indices",
    pseudocode="output[i..., rest] = input[indices[i..., :], rest]",
    index=IndexRule("indices_tensor", "input_tensor", index_limits),
)
