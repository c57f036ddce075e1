"""What is no page is refused with a message for users; limits, encodings and hostile input."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from pages_support import FRONT, OWN, STRUCT, parsed

from dml_conformance.documents.read import MAX_BYTES, PageError, parse_page, read_page
from dml_conformance.documents.read.source import PageText, decode, read_bytes

TILE = OWN / "tile.en-US.md"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not text in UTF-8"),
        (b"# DML_X_OPERATOR_DESC\x00", "U+0000"),
        (b"# DML_X_OPERATOR_DESC\x1b[1m", "U+001B"),
        ("# DML_X_OPERATOR_DESC é".encode("latin-1"), "not text in UTF-8"),
        ("# DML_X_OPERATOR_DESC".encode("utf-16-le"), "U+0000"),
        (codecs.BOM_UTF16_LE + b"\x00", "not text in UTF-16"),
        (b"Just some words.\n", "it starts with “Just some words.”"),
        (b"# A guide to strides\n\nDML_GATHER_OPERATOR_DESC is a structure.\n", "it is on “A guide to strides”"),
        (b"Notes. The structure DML_GATHER_OPERATOR_DESC has five fields.\n", "not a page on an operator"),
        (b"---\nUID: NE:directml.DML_AXIS_DIRECTION\n---\n# a\n", "it is on “DML_AXIS_DIRECTION”"),
        (b"---\ntitle: Version history\n---\n# a\n", "it is on “Version history”"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_is_refused_and_why(data: bytes, words: str) -> None:
    with pytest.raises(PageError) as caught:
        parse_page(data, "some/page.md")
    message = str(caught.value)
    assert words in message
    assert message.startswith("some/page.md ")
    assert len(message) < 500


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings_that_are_read(encoding: str) -> None:
    text = TILE.read_text(encoding="utf-8").replace("The tensor to repeat.", "張é")
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    page = parse_page(mark + text.encode(encoding), "page")
    assert page.members[0].text[0].text == "張é"
    assert page.tables == read_page(TILE).tables


def test_files_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    huge = tmp_path / "huge.md"
    with huge.open("wb") as file:
        file.truncate(1 << 40)  # takes no room, and must not be read
    expected = {
        tmp_path: "is a directory",
        tmp_path / "pipe": "not a regular file",
        Path("/dev/zero"): "not a regular file",
        tmp_path / "missing.md": "No such file",
        huge: f"too large for a page: {1 << 40} bytes",
    }
    for path, words in expected.items():
        with pytest.raises(PageError, match=words):
            read_page(path)


def test_a_file_that_grows_while_it_is_read_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(b"x" * (MAX_BYTES * 3))
    small = os.stat_result((0o100644, 0, 0, 1, 0, 0, 10, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda self, **kwargs: small)
    with pytest.raises(PageError, match=f"{MAX_BYTES + 1} bytes"):
        read_page(page)


def test_the_operator_is_what_most_of_the_page_names() -> None:
    wrong = STRUCT.replace("DML_X", "DML_Y")
    page = parsed(f"{FRONT}# DML_X_OPERATOR_DESC structure\n\n```\n{wrong}\n```\n")
    assert (page.operator, page.structure) == ("X", "DML_Y_OPERATOR_DESC")
    assert parsed(f"# DML_X_OPERATOR_DESC structure\n\n```\n{wrong}\n```\n").operator == "Y"


HOSTILE = {
    "brackets": "[" * 30_000,
    "links": "[a](" * 8_000,
    "emphasis": "*a _b " * 5_000,
    "code": "`a``" * 8_000,
    "comments": "<!-- " * 6_000,
    "quotes": "> " * 10_000,
    "lists": "- " * 10_000,
    "bars": "|a" * 10_000,
    "spans": '<span data-ttu-id="1">' * 1_500,
    "spans of originals": '<span class="sxs-lookup">' * 1_500,
    "html": "<div>" * 6_000,
    "fences": "```\n" * 4_000,
    "definitions": "[a]: b\n" * 4_000,
    "comment lines": "// a\n" * 4_000,
    "assignments": "A = {\n" * 4_000,
    "levels": "DML_FEATURE_LEVEL_1_0 and above\n" * 1_000,
    "spaces": " " * 30_000 + "x",
    "numbers": "1" * 30_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "start",
    [
        f"{FRONT}## Members\n\n`A`\n\n",
        f"{FRONT}## Examples\n\n```\n",
        f"{FRONT}## Tensor support\n\n",
        f"{FRONT}```\nstruct DML_X_OPERATOR_DESC {{\n",
        f"DML_X_OPERATOR_DESC\n{STRUCT}\nAxis\nType: UINT\n",
    ],
    ids=["members", "example", "support", "structure", "text"],
)
def test_hostile_input_gives_a_page(name: str, start: str) -> None:
    if "spans" in name and start.startswith("DML"):
        pytest.skip("spans make it Markdown, in which this is no structure")
    page = parsed(start + HOSTILE[name])
    assert page.operator == "X"


# --- From a file to its text: the limits that the documentation gives (docs/explanation/safety.md), and places in it

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


def test_a_page_may_have_a_mebibyte_and_20_000_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(b"x" * LONGEST)
    assert len(decode(read_bytes(page), "page").text) == LONGEST
    page.write_bytes(b"x" * (LONGEST + 1))
    with pytest.raises(PageError, match=f"{LONGEST + 1} bytes, at most {LONGEST}"):
        read_bytes(page)
    with pytest.raises(PageError, match=f"{LONGEST + 1} bytes, at most {LONGEST}"):
        decode(b"x" * (LONGEST + 1), "page")
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
