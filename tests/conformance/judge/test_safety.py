"""Words from outside, through every output: a backend that calls itself a script, a formula or an escape sequence is
shown as text, whatever file or terminal it is shown on.

What single forms do with single fields is tested beside them (`test_reports_*.py`); here real commands run, and every
byte that they leave is looked at.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import PROGRAM
from ctrf_schema import CTRF
from hostile_outputs import CONTROLS, SCRIPT, Outputs, outputs_of, pages

from dml_conformance.reports.views.failures import file_name


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return outputs_of(tmp_path_factory.mktemp("nasty"))


def test_no_output_has_a_character_that_acts(outputs: Outputs) -> None:
    """Though the words are there."""
    shown = [name for name, text in outputs.texts.items() if "alert(1)" in text]
    assert {"Nasty/certificate.json", "Nasty/junit.xml", "Nasty/report.html", "one.html", "two.html"} <= set(shown)
    assert {"export.json", "export.md", "export.csv", "export.xml", "two.csv", "history.html"} <= set(shown)
    assert {"certify Nasty, on the terminal", "history text, on the terminal"} <= set(shown)
    for name, text in outputs.texts.items():
        found = CONTROLS.search(text.replace("\r\n", "\n"))
        assert found is None, (name, text[max(found.start() - 60, 0) : found.end() + 20])


class Tags(HTMLParser):
    """Elements with their attributes, and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self._inside = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts.append(data)


def test_pages_have_no_markup_from_outside(outputs: Outputs) -> None:
    for name, text in pages(outputs):
        tags = Tags(text)
        assert not any("alert(1)" in script for script in tags.scripts), name
        assert not [tag for tag, _ in tags.elements if tag in ("img", "iframe", "object", "embed", "base", "b")], name
        for tag, attributes in tags.elements:
            assert not [attribute for attribute in attributes if attribute.startswith("on")], (name, tag)
            for attribute in ("href", "src", "action"):
                value = attributes.get(attribute) or "#"
                assert value.startswith(("#", "https://learn.microsoft.com/", "data:,")), (name, value)
        policy = [a["content"] for tag, a in tags.elements if a.get("http-equiv") == "Content-Security-Policy"]
        assert len(policy) == 1, name
        assert str(policy[0]).startswith("default-src 'none'"), name


def test_junit_is_xml_with_the_words_as_text(outputs: Outputs) -> None:
    for name in ("Nasty/junit.xml", "export.xml"):
        root = ElementTree.fromstring(outputs.texts[name])
        assert {element.tag for element in root.iter()} <= {
            *("testsuites", "testsuite", "testcase", "properties", "property"),
            *("failure", "error", "skipped", "system-out", "system-err"),
        }
        values = [element.get("value", "") for element in root.iter("property")]
        assert any(SCRIPT in value for value in values)


def test_ctrf_and_certificate_are_json_of_their_form(outputs: Outputs) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document: dict[str, Any] = json.loads(outputs.texts["export.json"])
    jsonschema.Draft202012Validator(CTRF).validate(document)
    assert SCRIPT in document["results"]["environment"]["appName"]
    json.loads(outputs.texts["Nasty/certificate.json"])


def test_no_cell_of_a_table_is_a_formula(outputs: Outputs) -> None:
    for name in ("export.csv", "two.csv"):
        rows = list(csv.reader(io.StringIO(outputs.texts[name])))
        assert len({len(row) for row in rows}) == 1
        cells = {cell for row in rows for cell in row}
        assert not [cell for cell in cells if cell[:1] in ("=", "@", "\t", "\r")], name
        signed = [cell for cell in cells if cell[:1] in ("+", "-")]
        assert all(re.fullmatch(r"[+-]?[0-9.e+-]+", cell) for cell in signed), name
        assert name != "two.csv" or any("=cmd|" in cell for cell in cells)


def test_markdown_has_the_words_as_text(outputs: Outputs) -> None:
    from markdown_it import MarkdownIt

    for name in ("export.md", "Nasty/summary.md"):
        rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(outputs.texts[name])
        tags = Tags(rendered)
        assert not [tag for tag, _ in tags.elements if tag in ("script", "img", "b")], name
        assert not [a["href"] for tag, a in tags.elements if tag == "a" and "javascript" in str(a["href"])], name
        assert "<h1>heading" not in rendered


def test_names_of_files_are_plain(outputs: Outputs) -> None:
    """Also where a results file says under which name its failing case is to be written."""
    names = [path.name for path in outputs.folder.rglob("*")]
    for name in (*names, file_name("../../x", "/etc/passwd\0\x1b")):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", name), name
    assert not any(path.is_symlink() for path in outputs.folder.rglob("*"))


def test_words_on_a_terminal_in_a_narrow_encoding(outputs: Outputs) -> None:
    """A real process, with a terminal's encoding that has none of these characters."""
    command = [sys.executable, "-c", PROGRAM, "history", "show", "history.sqlite"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    found = subprocess.run(command, capture_output=True, env=environment, cwd=outputs.folder, check=False)
    assert found.returncode == 0, found.stderr
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f-\xff]", found.stdout.replace(b"\r\n", b"\n"))
