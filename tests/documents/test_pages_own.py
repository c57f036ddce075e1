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


def test_ranges_of_a_member_are_those_of_its_originals() -> None:
    page = read_page(OWN / "gather_nd1.it-IT.md")
    member = page.members[-1]
    ranges = [(r.low, r.high, r.low_closed, r.high_closed) for r in member.ranges]
    inputs, indices = "InputTensor.DimensionCount", "IndicesTensor.DimensionCount"
    assert ranges == [("0", high, True, False) for high in (inputs, indices)]
    assert page.members[3].ranges[0].high == inputs  # asterisks within code marks are no part of the name


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


def test_examples_are_numbered_and_titled() -> None:
    page = read_page(OWN / "gather_nd.ru-RU.md")
    assert [example.number for example in page.examples] == [0, 1, 2]
    assert [example.title and example.title.text for example in page.examples] == [
        None,
        "Пример 1. Две строки",
        "Пример 2. Пары координат",
    ]
    assert page.examples[1].title.original == "Example 1. Two rows"
    figure = page.examples[0]
    assert [tensor.sizes and tensor.sizes.value for tensor in figure.tensors] == [
        [2, 3, 4, 5, 6],
        [1, 1, 1, 3, 2],
        [1, 3, 4, 5, 6],
    ]
    assert {name: value.value for name, value in figure.attributes.items()} == {
        "InputDimensionCount": 5,
        "IndicesDimensionCount": 2,
    }
    assert [block.role for block in page.code_blocks] == [
        "pseudocode",
        "syntax",
        "formula",
        "example",
        "example",
        "example",
    ]


def test_an_operator_that_no_registry_knows() -> None:
    page = read_page(OWN / "row_blend.de-DE.md")
    assert page.operator == "ROW_BLEND"
    assert [declaration.type for declaration in page.declarations[3:]] == [
        "DML_ROW_BLEND_MODE",
        "FLOAT",
        "BOOL",
        "UINT",
        "const UINT *",
    ]
    (example,) = page.examples
    assert {name: value.value for name, value in example.attributes.items()} == {
        "Mode": "DML_ROW_BLEND_MODE_LINEAR",
        "Alpha": 0.5,
        "ReverseOrder": "FALSE",
        "AxisCount": 1,
        "Axes": [0],
    }
    assert example.tensors[0].properties["Strides"].value == [4, 1]
    assert [tensor.values and tensor.values.value for tensor in example.tensors] == [
        [[10.0, -2.0], [0.5, 4]],
        [1, 2],
        [[10, -2], [5.5, 3]],
    ]
    assert page.tables[0].rows[1].dimension_counts == (1,)
