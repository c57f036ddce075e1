"""The pages written for the tests are read completely, and all of that and nothing else is written as JSON.

That they say what the registry does: test_page_import.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from pages_support import OWN, OWN_PAGES, parsed
from places import ROOT

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.collect import PageCollection
from dml_conformance.documents.read.model import FORMAT, Form
from dml_conformance.spec.registry import operators

SCHEMA = json.loads((ROOT / "docs/schemas/pages.schema.json").read_text(encoding="utf-8"))
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


def test_what_is_written_keeps_to_the_schema_and_reads_back() -> None:
    """Indented by two, as usual tools do; what is unknown is refused, as a misspelt member would read as missing."""
    collection = PageCollection(FORMAT, tuple(read_page(path) for path in OWN_PAGES))
    written = collection.to_json()
    plain = json.loads(written)
    assert json.dumps(plain, indent=2, ensure_ascii=False) + "\n" == written.decode()
    assert msgspec.json.decode(written, type=PageCollection) == collection
    assert SCHEMA["$id"] == f"urn:dml-conformance:pages:{FORMAT}"
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(plain)
    plain["pages"][0]["passages"][0]["quoted"]["unknown"] = 1
    assert not validator.is_valid(plain)
    with pytest.raises(msgspec.ValidationError, match="unknown field `unknown`"):
        msgspec.json.decode(json.dumps(plain), type=PageCollection)


@pytest.mark.parametrize("printed", ["inf", "-inf", "nan", "{1, -inf, {inf}}"])
def test_a_value_that_json_has_no_number_for_is_read_as_what_it_was(printed: str) -> None:
    page = parsed(f"# DML_X_OPERATOR_DESC\n\n## Examples\n\n```\nInputTensor: (Sizes:{{1}})\nParam: {printed}\n```\n")
    written = PageCollection(FORMAT, (page,)).to_json()
    assert msgspec.json.decode(written, type=PageCollection).pages == (page,)
