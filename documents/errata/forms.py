"""The errata document as Markdown and as one HTML page that loads nothing; both tell exhibits in the same sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import isfinite
from typing import Any

import msgspec
from jinja2 import Environment

from dml_conformance.documents.errata.document import ErrataDocument, Exhibit
from dml_conformance.reports.model.templating import environment
from dml_conformance.reports.model.text import pretty_json
from dml_conformance.reports.page.html import render
from dml_conformance.spec.tensor import braces


def page_name(page: str) -> str:
    """`TILE` for the page on an operator; any other page's own name."""
    match = re.fullmatch(r"(?:api/)?ns-directml-dml_(\w+?)(?:_operator)?_desc", page)
    return match[1].upper() if match else page


def exhibit_sentences(exhibit: Exhibit) -> list[str]:
    """Decision, correction, computed values, and the library's answer."""
    return _told("exhibit.j2", exhibit=exhibit, listed=listed, braces=braces).splitlines()


def exhibit_name(exhibit: Exhibit) -> str:
    """What the exhibit is: the page's example, or a descriptor of ours."""
    _, slash, number = exhibit.id.partition("/")
    if not slash:
        return "A descriptor"
    return f"Example {number} as printed" if number != "0" else "The figure within the text"


def listed(values: Any) -> str:
    """Nested elements on one line; whole numbers without a point, `open` for what is left open."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return f"[{', '.join(listed(value) for value in values)}]"
    if values is None:
        return "open"
    return str(int(values)) if isfinite(values) and values == int(values) else repr(values)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def as_markdown(document: ErrataDocument, divergences_at: str = "") -> str:
    """The errata page by page, and the divergences; without a title, which is the caller's.

    Args:
        divergences_at: address of a page that has the divergences already, each under its id; then they are linked,
            not told.
    """
    return _told("errata.md.j2", divergences_at=divergences_at, **_shown(document)).rstrip("\n")


def as_html(document: ErrataDocument) -> str:
    """The whole page."""
    return render("errata.html.j2", page_name=page_name, pretty_json=pretty_json, **_shown(document))


def _shown(document: ErrataDocument) -> dict[str, Any]:
    """What both forms show, and how both tell it."""
    return {"document": document, "exhibit_name": exhibit_name, "exhibit_sentences": exhibit_sentences}


def _told(template: str, **values: Any) -> str:
    """A text from one of this package's templates."""
    return _environment().get_template(template).render(json=_plain, **values)


@cache
def _environment() -> Environment:
    return environment("dml_conformance.documents.errata")


INTRODUCTION = _told("introduction.j2")
