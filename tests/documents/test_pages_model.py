"""Pages as models: what has been read stays as it is, and what is written as JSON is all of it and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from pages_support import OWN, OWN_PAGES, parsed
from places import ROOT

from dml_conformance.documents import read as pages
from dml_conformance.documents.read import model, read_page
from dml_conformance.documents.read.collect import PageCollection
from dml_conformance.documents.read.model import FORMAT

SCHEMA = json.loads((ROOT / "docs/schemas/pages.schema.json").read_text(encoding="utf-8"))
KINDS = {
    kind
    for kind in vars(model).values()
    if isinstance(kind, type)
    and issubclass(kind, msgspec.Struct)
    and kind.__module__ == model.__name__
    and not any(inner.__module__ == model.__name__ for inner in kind.__subclasses__())
}

Route = tuple[str | int, ...]


def read_back(written: bytes) -> PageCollection:
    return msgspec.json.decode(written, type=PageCollection)


@pytest.fixture(scope="module")
def collection() -> PageCollection:
    """The pages of ours, one that is broken and one with an optional input."""
    broken = parsed("# DML_X_OPERATOR_DESC\n\n```\nstruct DML_X_OPERATOR_DESC { oops; };\n")
    table = "| Tensor | Kind | Supported data types |\n|-|-|-|\n| A | Optional input | INT8 |\n"
    optional = parsed(f"# DML_X_OPERATOR_DESC\n\n## Tensor support\n\n{table}")
    return PageCollection(FORMAT, (*(read_page(path) for path in OWN_PAGES), broken, optional))


def parts(item: Any, path: Route = ()) -> Iterator[tuple[Route, msgspec.Struct]]:
    """A structure and all within it, each with the path to it in the JSON."""
    if isinstance(item, msgspec.Struct):
        yield path, item
        inner: Any = ((field, getattr(item, field)) for field in item.__struct_fields__)
    elif isinstance(item, dict):
        inner = item.items()
    else:
        inner = enumerate(item) if isinstance(item, tuple | list) else ()
    for key, value in inner:
        yield from parts(value, (*path, key))


def one_of_each(collection: PageCollection) -> dict[type, tuple[Route, msgspec.Struct]]:
    return {type(part): (path, part) for path, part in parts(collection)}


def within(written: Any, path: Route) -> Any:
    for key in path:
        written = written[key]
    return written


def test_the_pages_have_every_kind_of_part(collection: PageCollection) -> None:
    assert one_of_each(collection).keys() == KINDS | {PageCollection}


def test_what_has_been_read_cannot_be_changed(collection: PageCollection) -> None:
    """A check may keep any part of a page and quote it later."""
    for _, part in one_of_each(collection).values():
        for field in part.__struct_fields__:
            with pytest.raises(AttributeError):
                setattr(part, field, getattr(part, field))


def test_a_part_with_something_unknown_in_it_is_refused(collection: PageCollection) -> None:
    """A misspelt member would otherwise read as one that is missing; the schema refuses it as well."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for kind, (path, _) in one_of_each(collection).items():
        page, rest = (path[1], path[2:]) if path else (0, ())
        alone = json.loads(PageCollection(FORMAT, (collection.pages[int(page)],)).to_json())
        whole = within(alone, ("pages", 0, *rest) if path else ())
        assert read_back(json.dumps(alone).encode()).pages
        whole["unknown"] = 1
        with pytest.raises(msgspec.ValidationError, match="unknown field `unknown`"):
            read_back(json.dumps(alone).encode())
        assert not validator.is_valid(alone), kind


def test_what_is_optional_is_written_where_there_is_something_to_say(collection: PageCollection) -> None:
    written = json.loads(collection.to_json())
    seen = set()
    for path, part in parts(collection):
        name = type(part).__name__
        optional = within(written, path).keys() - set(SCHEMA["$defs"][name]["required"])
        seen |= {(name, field) for field in optional}
        assert [field for field in optional if within(written, path)[field] in (None, False, [], {})] == [], path
    with_more = {"Quoted", "FieldSection", "LevelRow", "ExampleTensor"}
    assert {name for name, _ in seen} == with_more


def test_the_format_written_is_that_of_the_published_schema(collection: PageCollection) -> None:
    formats = {collection.format, *(page.format for page in collection.pages)}
    assert [f"urn:dml-conformance:pages:{number}" for number in formats] == [SCHEMA["$id"]]


def test_the_json_is_laid_out_as_usual_tools_do(collection: PageCollection) -> None:
    """Indented by two: formatting it again changes nothing."""
    text = collection.to_json().decode()
    assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n" == text


def test_the_package_offers_what_reading_a_page_takes() -> None:
    """Both functions, what they return, raise and are limited by."""
    offered = {name: getattr(pages, name) for name in pages.__all__}
    path = OWN / "tile.en-US.md"
    page = offered["read_page"](path)
    assert isinstance(page, offered["Page"])
    assert page.form is offered["Form"].MARKDOWN
    assert offered["parse_page"](path.read_bytes(), str(path)) == page
    with pytest.raises(offered["PageError"], match="too large"):
        offered["parse_page"](b"x" * (offered["MAX_BYTES"] + 1), "page")


@pytest.mark.parametrize("printed", ["inf", "-inf", "nan", "{1, -inf, {inf}}"])
def test_a_value_that_json_has_no_number_for_is_read_as_what_it_was(printed: str) -> None:
    page = parsed(f"# DML_X_OPERATOR_DESC\n\n## Examples\n\n```\nInputTensor: (Sizes:{{1}})\nParam: {printed}\n```\n")
    written = PageCollection(FORMAT, (page,)).to_json()
    assert read_back(written).pages == (page,)
