"""The table of operators as nodes: each row names fields that there are, and what ONNX itself has in that opset."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest

from dml_conformance.backends.onnxruntime.table import NODES, NodeRow, nodes_of, operators_of
from dml_conformance.spec.descriptor import descriptor_classes


def fields(row: NodeRow) -> set[str]:
    """The fields of the descriptor that a row names."""
    named = {*row.outputs, *row.given, *row.neutral}
    for source in (*row.inputs, *row.attributes.values()):
        parts = (source,) if isinstance(source, str) else source
        named |= {part for part in parts if isinstance(part, str)}
    return named - {""}


@pytest.mark.parametrize("row", NODES, ids=lambda row: f"{row.operator}-{row.op_type}")
def test_a_row_names_what_there_is(row: NodeRow) -> None:
    there = {field.attribute for field in descriptor_classes()[row.operator].fields}
    assert fields(row) <= there
    if row.domain or row.since > onnx.defs.onnx_opset_version():  # which this release of onnx does not know
        return
    schema = onnx.defs.get_schema(row.op_type, row.since, "")
    assert schema.since_version == row.since
    assert {*row.attributes, *row.constants} <= schema.attributes.keys()
    assert len(row.inputs) <= schema.max_input


def test_rows_are_found_from_either_side() -> None:
    assert len(NODES) == 161
    assert len({row.operator for row in NODES}) == 144
    assert len({(row.domain, row.op_type) for row in NODES}) == 129
    assert [row.op_type for row in nodes_of("CONVOLUTION")] == ["Conv", "ConvTranspose"]
    assert [row.operator for row in operators_of("GatherND")] == ["GATHER_ND", "GATHER_ND1"]
    assert [row.operator for row in operators_of("QLinearAdd", "com.microsoft")] == [
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
    ]


def test_forms_need_neither_onnx_nor_its_runtime() -> None:
    """So that the judge can ask for them anywhere."""
    asked = (
        "import sys; from dml_conformance.backends.onnxruntime.forms import mapped_operators; mapped_operators(); "
        "assert 'onnx' not in sys.modules and 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", asked], check=True)
