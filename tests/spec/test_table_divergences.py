"""Divergences of tables: each is recognised by its own descriptor, and not by a plain one of its operators."""

from __future__ import annotations

import pytest

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.divergences import divergences, recognise
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, slots, with_tensors
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.table_divergences import TABLE_DIVERGENCES
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide


def plain(name: str) -> OperatorDesc:
    desc = read_data("plain", dict[str, list[dict[str, object]]])[name][0]
    return desc_from_json({"type": f"DML_OPERATOR_{name}", "desc": desc})


# Nothing plain has a type of a later table or of none.
NEIGHBOURS = {
    "DIV-tables-ahead-of-their-level": DataType.FLOAT64,
    "DIV-operators-ahead-of-their-level": DataType.UINT4,
    "DIV-integers-beyond-the-tables": DataType.FLOAT64,
    "DIV-resample-grad-of-fewer-dimensions": 5,
    "DIV-optimizer-of-any-dimensions": None,
    "DIV-filter-zero-point-as-its-scale": None,
    "DIV-quantize-dies-of-a-missing-tensor": None,
    "DIV-attention-without-heads": None,
}


def test_every_one_has_a_neighbour() -> None:
    assert set(NEIGHBOURS) == set(TABLE_DIVERGENCES)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_do_not_show_it(name: str) -> None:
    known, change = divergences()[name], NEIGHBOURS[name]
    for operator in known.operators:
        desc = plain(operator)
        if operator == "DIAGONAL_MATRIX":
            change = DataType.UINT4  # whose newest table has FLOAT64
        if isinstance(change, DataType):
            desc = with_tensors(desc, {s.key: TensorDesc.of(change, s.tensor.sizes) for s in slots(desc)})
        elif change is not None:
            desc = with_tensors(desc, {s.key: TensorDesc.of(s.tensor.data_type, (1,) * change) for s in slots(desc)})
        assert not TABLE_DIVERGENCES[name](desc)
        for label in known.libraries:
            level = Level.parse(label)
            assert known not in recognise(desc, decide(desc, level), known.answer, level)
