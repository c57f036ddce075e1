"""From a file to its text: the limits that the documentation gives (docs/explanation/safety.md), and places in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dml_conformance.documents.read import PageError
from dml_conformance.documents.read.source import PageText, decode, read_bytes

LONGEST = 1 << 20
MOST_LINES = 20_000


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_place_counts_lines_and_characters_from_one(end: str) -> None:
    document = PageText(end.join(["ab", "", "", "c張é", " d", ""]))
    assert document.text == "ab\n\n\nc張é\n d\n"
    counted, line, column = [], 1, 1
    for character in document.text:
        counted.append((line, column))
        line, column = (line + 1, 1) if character == "\n" else (line, column + 1)
    places = [document.place(offset) for offset in range(len(document.text))]
    assert [(place.line, place.column) for place in places] == counted


def test_a_page_may_have_a_mebibyte(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(b"x" * LONGEST)
    data = read_bytes(page)
    assert len(data) == LONGEST
    assert len(decode(data, "page").text) == LONGEST
    page.write_bytes(b"x" * (LONGEST + 1))
    with pytest.raises(PageError, match=f"{LONGEST + 1} bytes, at most {LONGEST}"):
        read_bytes(page)
    with pytest.raises(PageError, match=f"{LONGEST + 1} bytes, at most {LONGEST}"):
        decode(b"x" * (LONGEST + 1), "page")


def test_a_page_may_have_20_000_lines() -> None:
    assert len(decode(b"x\n" * (MOST_LINES - 1) + b"x", "page").lines) == MOST_LINES
    with pytest.raises(PageError, match=f"{MOST_LINES + 1} lines, at most {MOST_LINES}"):
        decode(b"x\n" * MOST_LINES + b"x", "page")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FileNotFoundError(2, "No such file or directory", "page.md"), "No such file or directory"),
        (OSError("the share does not answer"), "the share does not answer"),
    ],
)
def test_why_a_file_cannot_be_read_is_said_once(error: OSError, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(Path, "stat", fail)
    with pytest.raises(PageError) as caught:
        read_bytes(Path("page.md"))
    assert str(caught.value) == f"page.md cannot be read: {why}; check the path and its permissions"
