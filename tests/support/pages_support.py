"""What the tests of the pages' reader share: the pages, and the text that stands at a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from places import SHARED, TESTS

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import PageFinding
from dml_conformance.documents.read import Page, parse_page
from dml_conformance.documents.read.model import CodeBlock, Place

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


def placed(part: Any) -> Iterator[tuple[str, str, Place]]:
    """Everything of a page that has a text and a place: its kind, how the text starts, and the place."""
    if isinstance(part, msgspec.Struct):
        place = getattr(part, "place", None)
        texts = (getattr(part, name, None) for name in ("name", "fragment", "text"))
        text = next((text for text in texts if isinstance(text, str)), None)
        if place is not None and text is not None:
            yield type(part).__name__, text.lstrip() if isinstance(part, CodeBlock) else text, place
        inner: Iterable[Any] = (getattr(part, name) for name in part.__struct_fields__)
    else:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, tuple) else ()
    for each in inner:
        yield from placed(each)
