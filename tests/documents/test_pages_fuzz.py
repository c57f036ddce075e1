"""Whatever is done to a page, reading it gives a page or a `PageError`, and checking it ends; every place is one in the
file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from fuzz.edits import text_edited
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pages_support import FRONT, OWN_PAGES, STRUCT, placed

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.read import PageError, parse_page
from dml_conformance.documents.read.source import decode

# What an edit puts in: markup, punctuation of several widths, and pieces of a page.
PIECES = [
    *"[](){}|`*_<>,:;=/\\\"'#- \t0a張：、！\u2028\u00a0\ufeff",
    "```",
    "</span>",
    '<span data-ttu-id="1">',
    "// ",
    "---",
]
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def read(data: bytes) -> None:
    """Read a page and check it; every place is in the file, at what its item starts with."""
    try:
        page = parse_page(data, "page")
    except PageError:
        return
    check_pages([page])
    lines = decode(data, "page").text.split("\n")
    for kind, start, place in placed(page):
        assert 1 <= place.line <= len(lines), kind
        rest = lines[place.line - 1][place.column - 1 :]
        # An entity or an escaped character is shown as another character than the source has there.
        assert not start or rest.startswith((start[0], "&", "\\")), (kind, start, rest)


@pytest.mark.few(2, 4)
@pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
@SETTINGS
@given(data=st.data())
def test_edited_pages(path: Path, data: st.DataObject) -> None:
    read(text_edited(data.draw, path.read_text(encoding="utf-8"), PIECES))


@SETTINGS
@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"\xff\xfe", b"\xef\xbb\xbf", FRONT.encode()]))
def test_any_bytes(data: bytes, start: bytes) -> None:
    with contextlib.suppress(PageError):
        assert parse_page(start + data, "page").path == "page"


@SETTINGS
@given(
    text=st.text(
        st.sampled_from("[](){}|`*_<>,:;=/\\\"'#- \t\n\n0aA張：、。") | st.characters(exclude_categories=["Cs", "Cc"]),
        max_size=400,
    ),
    start=st.sampled_from(
        [
            f"{FRONT}## Members\n\n`A`\n\n",
            f"{FRONT}## Examples\n\n```\n",
            f"{FRONT}## Tensor support\n\n### DML_FEATURE_LEVEL_1_0\n",
            f"{FRONT}```\nstruct DML_X_OPERATOR_DESC {{\n",
            f"DML_X_OPERATOR_DESC\n{STRUCT}\nAxis\nType: UINT\n",
            f"DML_X_OPERATOR_DESC\n{STRUCT}\nTensor support\nDML_FEATURE_LEVEL_1_0\nInputTensor Input 4 FLOAT32\n",
        ]
    ),
)
@example(text="<!--", start=f"{FRONT}## Members\n\n`A`\n\n")
@example(text="- - -\n|", start=f"{FRONT}## Tensor support\n\n### DML_FEATURE_LEVEL_1_0\n")
def test_any_text_after_the_start_of_a_page(text: str, start: str) -> None:
    read((start + text).encode())
