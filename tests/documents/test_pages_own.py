"""The pages written for the tests are read completely. That they say what the registry does: test_page_import.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages_support import OWN, OWN_PAGES

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import Form
from dml_conformance.spec.registry import operators

KNOWN = [path for path in OWN_PAGES if read_page(path).operator in operators()]


@pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
def test_nothing_on_it_is_unreadable(path: Path) -> None:
    page = read_page(path)
    assert page.problems == ()
    assert page.language == path.name.split(".")[1]
    assert page.form is (Form.MARKDOWN if path.suffix == ".md" else Form.TEXT)
    assert page.has_original == (page.form is Form.MARKDOWN and page.language != "en-US")
    assert page.path == str(path)
    for table in page.tables:
        assert table.columns == ("tensor", "kind", "dimension_counts", "data_types")
        assert {len(row.cells) for row in table.rows} == {4}


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.name)
def test_every_part_of_the_page_is_found(path: Path) -> None:
    page = read_page(path)
    sections = {passage.section for passage in page.passages}
    assert sections >= {"description", "members", "examples", "availability", "constraints", "support"}
    assert sections >= {f"members/{member.name.text}" for member in page.members}
    assert sections >= {f"support/{table.level}" for table in page.tables}
    assert len(page.constraints) == 2
    assert len(page.availability) == 1
    assert all(member.text for member in page.members)
    for example in page.examples:
        tensors = {field.name for field in operators()[page.operator].tensor_fields}
        assert {tensor.label.text for tensor in example.tensors} == tensors
        for tensor in example.tensors:
            assert tensor.sizes is not None
            assert (tensor.values is None) == (tensor.data_type is None) == (example.number == 0)


def test_originals_stand_beside_the_shown_text() -> None:
    page = read_page(OWN / "gather_elements.zh-TW.md")
    axis = page.members[3].text[0]
    assert axis.text.startswith("沿著 InputTensor")
    assert axis.marked == ("InputTensor", "[0, *InputTensor.DimensionCount*)")
    assert axis.original == "Which axis of InputTensor to collect along, within [0, *InputTensor.DimensionCount*)."
    assert axis.original_marked == axis.marked
    assert page.title.original == "DML_GATHER_ELEMENTS_OPERATOR_DESC structure (directml.h)"
    assert page.tables[0].header[0].english == "Tensor"
    assert page.members[1].type_line.original == "Type: const DML_TENSOR_DESC*"
