"""Outputs of real commands that are full of words from outside: scripts, formulas, escape sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import commands
from click.testing import Result

from dml_conformance.reports.store.results import Store

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b31m\x08\x00"
BIDI = "\u202egnp.exe\u2066"
XML = "]]></system-out><x>&\ufffe"
SURROGATE = "\ud800\udcff"
MARKDOWN = "[click](javascript:alert(1)) ![x](https://example.com/x.png) | a | @team `code` <b>\n# heading\n\n```"
FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "=HYPERLINK(1)")
NASTY = "".join((SCRIPT, IMAGE, ESCAPES, BIDI, XML, SURROGATE, MARKDOWN))

# C0 and C1 controls but tab and line feed; what reorders text on a screen; what is no XML.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

CLAIMS = "name=self.name, device=WORDS, versions={WORDS: WORDS, 'driver': FORMULAS[0]}"


def backend_code(words: str, claims: str = CLAIMS) -> str:
    """A module with backends that are wrong in every way that puts words of their own into the results."""
    return f"""
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.backends.reference import ReferenceBackend

WORDS = {words!a}
FORMULAS = {FORMULAS!a}


class Nasty(ReferenceBackend):
    name = WORDS
    calls = 0

    def capabilities(self):
        return replace(super().capabilities(), {claims})

    def validate(self, desc, level):
        type(self).calls += 1
        if self.calls % 7 == 0:
            raise RuntimeError(WORDS)
        answer = super().validate(desc, level)
        if self.calls % 5 == 0:
            return Answer(not answer.accepted, FORMULAS[self.calls % len(FORMULAS)] + WORDS)
        return answer

    def execute(self, *arguments):
        if self.calls % 3 == 0:
            raise Unsupported(FORMULAS[self.calls % len(FORMULAS)])
        if self.calls % 2 == 0:
            raise RuntimeError(FORMULAS[self.calls % len(FORMULAS)] + WORDS)
        super().execute(*arguments)


class Formula(Nasty):
    name = FORMULAS[0]
"""


class Outputs:
    """What the commands left, by name: texts of files and of both streams."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}

    def invoke(self, name: str, *arguments: object, codes: tuple[int, ...] = (0, 1)) -> Result:
        result = commands.invoke(*arguments)
        assert result.exit_code in codes, result.output
        self.texts[f"{name}, on the terminal"] = result.stdout + result.stderr
        return result

    def take(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in (".html", ".json", ".xml", ".md", ".csv", ".txt"):
                self.texts[str(path.relative_to(self.folder))] = path.read_bytes().decode("utf-8")  # is UTF-8, strictly


def outputs_of(folder: Path) -> Outputs:
    """Run the commands, with words that act, into a folder."""
    (folder / "nasty.py").write_text(backend_code(NASTY), encoding="utf-8")
    found = Outputs(folder)
    scope = ("--operator", "TILE", "--operator", "GATHER", "--level", "3_0", "--budget", "quick", "--in-process")
    for name in ("Nasty", "Formula"):
        backend = f"{folder / 'nasty.py'}:{name}"
        found.invoke(f"certify {name}", "certify", "--backend", backend, *scope, "--out", folder / name)
    one, other = folder / "Nasty", folder / "Formula"
    found.invoke("report of one", "report", one, "-o", folder / "one.html")
    found.invoke("report of two", "report", one, other, "-o", folder / "two.html")
    found.invoke("report with a baseline", "report", one, "--baseline", other, "-o", folder / "baseline.html")
    for form, suffix in (("ctrf", "json"), ("markdown", "md"), ("csv", "csv"), ("junit", "xml")):
        found.invoke(f"export {form}", "export", one, "--format", form, "-o", folder / f"export.{suffix}")
        found.invoke(f"export {form}", "export", one, "--format", form)
    found.invoke("export of two", "export", one, other, "--format", "csv", "-o", folder / "two.csv")
    found.invoke("history add", "history", "add", folder / "history.sqlite", one, other)
    for form in ("text", "json", "html"):
        found.invoke(f"history {form}", "history", "show", folder / "history.sqlite", "--format", form)
    found.invoke(
        "history page", "history", "show", folder / "history.sqlite", "--format", "html", "-o", folder / "history.html"
    )
    backend = f"{folder / 'nasty.py'}:Nasty"
    for form in ("text", "json"):
        arguments = ("replay", one, "--backend", backend, "--in-process", "--format", form)
        found.invoke(f"replay {form}", *arguments, codes=(0, 1, 3))
    with Store(one / "results.sqlite") as store:
        executed = [n for n, record in enumerate(store.records(), 1) if record.case_json.get("data")]
    found.invoke("export-model", "export-model", f"{one}#{executed[0]}", "-o", folder / "models")
    found.take(folder)
    return found


def pages(outputs: Outputs) -> Iterator[tuple[str, str]]:
    names = [name for name in outputs.texts if name.endswith(".html")]
    assert len(names) >= 6
    return ((name, outputs.texts[name]) for name in names)
