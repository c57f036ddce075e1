"""Pages as models: what is written as JSON is all of it and nothing else."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from pages_support import OWN_PAGES, parsed
from places import ROOT

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.collect import PageCollection
from dml_conformance.documents.read.model import FORMAT

SCHEMA = json.loads((ROOT / "docs/schemas/pages.schema.json").read_text(encoding="utf-8"))


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
