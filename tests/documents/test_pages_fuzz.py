"""Whatever is done to a page, reading it gives a page or a `PageError`; every place of it is one in the file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pages_support import FRONT, OWN_PAGES, STRUCT, placed

from dml_conformance.documents.read import PageError, parse_page

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

edits = st.lists(
    st.tuples(
        st.sampled_from(["drop", "double", "swap", "cut", "lose", "insert", "trim", "end"]),
        st.integers(0, 1 << 16),
        st.integers(0, 1 << 16),
        st.sampled_from(PIECES),
    ),
    min_size=1,
    max_size=8,
)


def edited(lines: list[str], how: str, first: int, second: int, piece: str) -> list[str]:
    """The lines after one edit; numbers are taken modulo what there is."""
    if not lines:
        return lines
    at, other = first % len(lines), second % len(lines)
    line, column = lines[at], second % (len(lines[at]) + 1)
    match how:
        case "drop":
            return lines[:at] + lines[at + 1 :]
        case "double":
            return [*lines[:other], line, *lines[other:]]
        case "swap":
            lines = list(lines)
            lines[at], lines[other] = lines[other], lines[at]
            return lines
        case "cut":
            return lines[:at] + lines[at + second % 30 :]
        case "lose":
            return [*lines[:at], line[:column] + line[column + 1 :], *lines[at + 1 :]]
        case "insert":
            return [*lines[:at], line[:column] + piece + line[column:], *lines[at + 1 :]]
        case "trim":
            return [*lines[:at], line[:column], *lines[at + 1 :]]
        case _:
            return lines[: at + 1]


def read(text: str) -> None:
    """Read a page; every place is in the file, at what its item starts with."""
    try:
        page = parse_page(text.encode(), "page")
    except PageError:
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")
    for kind, start, place in placed(page):
        assert 1 <= place.line <= len(lines), kind
        rest = lines[place.line - 1][place.column - 1 :]
        # An entity or an escaped character is shown as another character than the source has there.
        assert not start or rest.startswith((start[0], "&", "\\")), (kind, start, rest)


@pytest.mark.few(2)
@pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
@SETTINGS
@given(edits=edits)
def test_edited_pages(path: Path, edits: list[tuple[str, int, int, str]]) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    for edit in edits:
        lines = edited(lines, *edit)
    read("\n".join(lines))


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
    read(start + text)
