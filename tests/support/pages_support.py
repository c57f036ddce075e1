"""What the tests of the pages' reader share: the pages, and the text that stands at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from places import SHARED, TESTS

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import PageFinding
from dml_conformance.documents.read import Page, parse_page
from dml_conformance.documents.read.model import Place

OWN = TESTS / "pages"
OWN_PAGES = sorted(path for path in OWN.iterdir() if path.name != "README.md")
REAL = SHARED / "spec-pages"

FRONT = "---\nUID: NS:directml.DML_X_OPERATOR_DESC\nms.contentlocale: en-US\n---\n"
STRUCT = """struct DML_X_OPERATOR_DESC {
  const DML_TENSOR_DESC *InputTensor;
  const DML_TENSOR_DESC *OutputTensor;
  UINT                  Axis;
};"""


def parsed(text: str, path: str = "page") -> Page:
    return parse_page(text.encode(), path)


def at(text: str, place: Place) -> str:
    """What stands at a place, to the end of its line."""
    return text.split("\n")[place.line - 1][place.column - 1 :]


def check_translation(page: Page) -> list[PageFinding]:
    """What a page changes of the English original that it carries."""
    return [finding for finding in check_pages([page]).findings if finding.against == "original"]


def beside(text: str, original: str) -> str:
    """A text of a translated page with the English original that the page hides beside it."""
    return f'<span data-ttu-id="1">{text}</span><span class="sxs-lookup"><span data-stu-id="1">{original}</span></span>'


def first_word(text: str) -> str:
    """What a text starts with: a word, or a character that is none. A mark in the source ends it."""
    match = re.match(r"[^\W_]+|.", text)
    return match.group()


def placed(page: Page) -> Iterator[tuple[str, str, Place]]:
    """Every item of a page that has a place: what kind of item it is, how its text starts, and the place."""
    if page.title is not None:
        yield "title", page.title.text, page.title.place
    for passage in page.passages:
        yield f"{passage.role} of {passage.section}", passage.quoted.text, passage.quoted.place
    for declaration in page.declarations:
        yield "declaration", declaration.name, declaration.place
    for member in page.members:
        yield "member", member.name.text, member.name.place
        if member.type_line is not None:
            yield "type line", member.type_line.text, member.type_line.place
        for interval in member.ranges:
            yield "range", ("[" if interval.low_closed else "(") + interval.low, interval.place
        for quoted in member.text:
            yield "text of a member", quoted.text, quoted.place
    for quoted in (*page.availability, *page.constraints, *page.remarks):
        yield "sentence", quoted.text, quoted.place
    for table in page.tables:
        yield "level heading", table.heading.text, table.heading.place
        for cell in (*table.header, *(cell for row in table.rows for cell in row.cells)):
            yield "cell", cell.text, cell.place
        for row in table.rows:
            yield "row", row.cells[0].text, row.place
    for example in page.examples:
        if example.title is not None:
            yield "example's title", example.title.text, example.title.place
        for name, value in example.attributes.items():
            yield f"attribute {name}", value.text, value.place
        for tensor in example.tensors:
            yield "label", tensor.label.text, tensor.label.place
            values = {"sizes": tensor.sizes, "type": tensor.data_type, "values": tensor.values, **tensor.properties}
            for name, printed in values.items():
                if printed is not None:
                    yield name, printed.text, printed.place
    for block in page.code_blocks:
        yield f"{block.role} block", block.text.lstrip(), block.place
    for problem in page.problems:
        yield "problem", problem.fragment, problem.place
