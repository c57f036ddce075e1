"""The documentation: generated parts are current, links lead somewhere, code compiles and runs, commands print what is
shown.

Marks in the pages, each in a comment before a block:

    <!-- from: FILE -->        the block stands in that file, word for word
    <!-- run -->               the block is run, and the tests in it; `run: certificate` beside a certification

A block of the language `console` is a session in a copy of `docs/examples`: lines after `$ ` are commands, the rest is
what they print, with `...` for what differs from run to run.
"""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import pytest
import report_data
from msgspec import to_builtins
from places import ROOT
from scripts import loaded

from dml_conformance.backends.base import LONGEST_NAME, MOST_NAMES
from dml_conformance.backends.processes.wire import LONGEST_TEXT
from dml_conformance.reports.model.digests import Digests
from dml_conformance.reports.model.records import Verdict
from dml_conformance.reports.store.results import StoreWriter
from dml_conformance.spec.case import Placement
from dml_conformance.spec.field_kinds import EnumKind
from dml_conformance.spec.levels import HIGHEST, LOWEST
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.values import DOMAINS, EXPLICIT, EXPLICIT_BITS, INDEX_PATTERNS, OVERLAPPING

DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(page for page in DOCS.rglob("*.md") if EXAMPLES not in page.parents)]

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>from|run)(?:: (?P<argument>[^\n]+?))? -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    mark: str
    argument: str

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match["language"] in languages:
                line = text.count("\n", 0, match.start("text"))
                mark, argument = match["mark"] or "", match["argument"] or ""
                found.append(Block(page, line, match["language"], match["text"], mark, argument))
    return found


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    return loaded(DOCS / "generate.py")


# --- figures ------------------------------------------------------------------------------------------------------


def test_figures_in_the_text_are_of_today() -> None:
    """Figures of runs stand in generated parts, or where their date stands beside them, as in performance.md."""
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES if page.stem != "performance"}
    assert {count for text in texts.values() for count in re.findall(r"\ball (\d+) operators", text)} == {
        str(len(operators()))
    }
    assert f"at every level from {LOWEST} to {HIGHEST}" in texts["README.md"]
    backends = re.findall(r"(\d+) wrong backends", texts["docs/strength.md"])
    assert re.findall(r"of (\d+) backends\s+that are wrong on purpose", texts["README.md"]) == backends
    limits = f"{MOST_NAMES:,} versions, {MOST_NAMES:,} operators"
    for name in ("docs/how-to/write-a-backend.md", "docs/explanation/safety.md"):
        assert f"{LONGEST_NAME:,} characters" in texts[name], name
        assert limits in texts[name], name
        assert f"{LONGEST_TEXT:,} characters" in texts[name], name


# --- generated parts ----------------------------------------------------------------------------------------------


def test_generated_parts_are_current(generate: ModuleType) -> None:
    stale = [
        name_of(path)
        for path, content in generate.generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != content
    ]
    assert not stale, "run: python docs/generate.py"


def test_every_command_and_option_is_in_the_reference(generate: ModuleType) -> None:
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    for name, command in generate.leaf_commands():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, f"{name} has no section"
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(f"`{option}" in section or f", {option}" in section for option in parameter.opts), parameter


def test_every_block_that_is_generated_is_asked_for(generate: ModuleType) -> None:
    asked = {match[2] for page in PAGES for match in generate.BLOCK.finditer(page.read_text(encoding="utf-8"))}
    assert asked == set(generate._blocks())


def test_every_kind_of_field_is_explained() -> None:
    page = (DOCS / "how-to" / "write-a-backend.md").read_text(encoding="utf-8")
    table = page.partition("| kind in the reference |")[2].partition("\n\n")[0]
    explained = {name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1:2][0])}
    kinds = {field.kind for spec in operators().values() for field in spec.fields}
    enumerations = {kind.name for kind in kinds if isinstance(kind, EnumKind)}
    assert {kind.name for kind in kinds} - enumerations == explained - enumerations
    assert explained & enumerations == {"DML_PADDING_MODE", "DML_TENSOR_DATA_TYPE"}


def test_every_pattern_of_data_is_explained() -> None:
    table = (DOCS / "reference" / "files.md").read_text(encoding="utf-8").partition("#pattern) |")[2]
    rows = table.partition("\n\n")[0].splitlines()
    explained = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1:2][0])]
    patterns = {name for domain in DOMAINS.values() for name in domain}
    assert sorted(explained) == sorted(patterns | {*INDEX_PATTERNS, OVERLAPPING, EXPLICIT, EXPLICIT_BITS})


# --- links --------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = (match[1].replace("`", "") for match in HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for address in LINK.findall(prose(page)):
        if re.match(r"\w+:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(address)
    assert not broken


def test_every_page_is_reached_from_the_table_of_contents() -> None:
    contents = DOCS / "README.md"
    reached = {(DOCS / address).resolve() for address in LINK.findall(prose(contents)) if ":" not in address}
    assert {page for page in PAGES if page.parent != ROOT} - reached == {contents}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_name_no_place_of_one_machine(page: Path) -> None:
    assert not re.findall(r"(?:/home|/root|/tmp|/work|/Users|C:\\)[/\\]\S*", page.read_text(encoding="utf-8"))


def test_the_architecture_names_what_there_is() -> None:
    """A case's way in at most 15 steps, each of which is a module or something in one."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    walk = text.partition("## A case, from the command to the report\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. .*(?:\n    ?.*)*", walk, re.MULTILINE)
    assert 10 <= len(steps) <= 15
    for step in steps:
        names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", step)
        assert names, step
        for name in names:
            assert pkgutil.resolve_name(f"dml_conformance.{name}"), step


def test_every_term_of_the_glossary_is_used_where_it_leads() -> None:
    page = DOCS / "reference" / "glossary.md"
    entries = re.findall(r"^## (.+)\n\n((?:.+\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term.lower() for term, _ in entries]
    assert terms == sorted(terms)
    for term, text in entries:
        for address in LINK.findall(text):
            words = prose(page.parent / address.partition("#")[0])
            assert re.search(rf"(?i)\b{re.escape(term.removesuffix('...'))}", words), f"{term}: {address}"
        assert LINK.search(text), term


# --- code ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [b for b in blocks("python", "json") if b.mark == "from"], ids=str)
def test_excerpts_stand_in_their_files(block: Block) -> None:
    base = ROOT if block.page.parent == ROOT else DOCS
    assert block.text in (base / block.argument).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [b for b in blocks("python") if b.mark != "from"], ids=str)
def test_python_compiles(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_parses(block: Block) -> None:
    json.loads(block.text)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return copy_of_examples(tmp_path)


@pytest.fixture(scope="module")
def certification(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples with the certification of a backend that fails."""
    folder = copy_of_examples(tmp_path_factory.mktemp("certification"))
    command = "dml-conformance certify --backend first_try.py:TileBackend --operator TILE --budget quick"
    assert session(f"{command} --out certification", folder)[0] == 1
    return folder


@pytest.mark.few(3)
@pytest.mark.parametrize("block", [b for b in blocks("python") if b.mark == "run"], ids=str)
def test_code_runs(block: Block, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(request.getfixturevalue({"": "examples", "certificate": "certification"}[block.argument]))
    namespace: dict[str, object] = {"__name__": "block"}
    exec(compile(block.text, str(block), "exec"), namespace)
    for name, value in namespace.items():
        if name.startswith("test_"):
            assert callable(value)
            value()


def test_the_results_digest_of_any_cases_is_computed_without_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the page's code: of numbers that Python writes otherwise, bound otherwise, timed, with much in any order."""
    numbers = {"Scale": [1e-5, -1e22, 3.4028235e38, 1e-45, 0.1, -0.0, 2**64 - 1], "Axis": [None, True]}
    timed = report_data.plain(Verdict.FAIL, case_json={"desc": numbers, "timed": True, "data": {"b": {}, "a": {}}})
    records = [
        *(report_data.plain(number=number, case_json={"desc": numbers}) for number in range(9)),
        *(report_data.another(timed, number) for number in range(9)),
        report_data.of_case(timed, {"placement": to_builtins(Placement.drawn(timed.case))}),
        *report_data.some_faulty()[:20],
    ]
    report_data.feed(digests := Digests(), records)
    (folder := tmp_path / "certification").mkdir()
    report_data.feed(StoreWriter(folder / "results.sqlite"), records)
    (folder / "certificate.json").write_text(json.dumps({"digests": {"results": digests.results}}))
    monkeypatch.chdir(tmp_path)
    (block,) = (b for b in blocks("python") if "import zstandard" in b.text)
    exec(compile(block.text, str(block), "exec"), {"__name__": "block"})


@pytest.mark.slow
def test_known_failures_are_expected(examples: Path) -> None:
    shutil.copy(examples / "known_failures" / "conftest.py", examples)
    code, printed = session("pytest -q test_first_try.py -k EXECUTION.strides", examples)
    assert code == 0, printed
    assert re.search(r"\b1 xfailed", printed)


# --- commands -----------------------------------------------------------------------------------------------------


def copy_of_examples(folder: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*")))


def session(command: str, folder: Path, first_on_path: Path | None = None) -> tuple[int, str]:
    """Run a command in a shell as a person would, outside of this pytest; its exit code and all that it prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COLUMNS"))}
    places = [*([str(first_on_path)] if first_on_path else []), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**inherited, "PATH": os.pathsep.join(places), "PYTHONUTF8": "1", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a session and what each is shown to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


_PROGRESS = re.compile(
    r"(?m)^(boundaries|search|sweep): .*\n(?=\1: )|^throughput: .* measurements?\n|^\w+ \w+: [\d,]+ of [\d,]+ numbers\n"
)


def printed_as_shown(shown: str, printed: str) -> bool:
    """Whether it is the same, but for how many spaces there are, and for how often progress is told of.

    `...` stands for anything within a line, and on a line of its own for any number of lines. A slow machine tells of
    a phase several times, the last time as a quick one does, and of timing, which a quick one does not mention.
    """
    printed = _PROGRESS.sub("", printed)
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in lines_of(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines_of(printed))) is not None


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def pages_with_sessions() -> list[Path]:
    return list(dict.fromkeys(block.page for block in blocks("console")))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the sessions are those of a POSIX shell")
@pytest.mark.parametrize("page", pages_with_sessions(), ids=name_of)
def test_commands_print_what_is_shown(page: Path, examples: Path, tmp_path: Path) -> None:
    place = None
    if page.stem == "add-an-operator":  # there the program has one operator more
        place = tmp_path / "bin"
        place.mkdir()
        program = place / "dml-conformance"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{EXAMPLES}/add_operator/try_out.py" "$@"\n')
        program.chmod(0o755)
    for block in (block for block in blocks("console") if block.page == page):
        for command, shown in commands(block.text):
            printed = session(command, examples, place)[1]
            assert printed_as_shown(shown, printed), f"{block}: {command}\nprinted:\n{printed}\nshown:\n{shown}"


def test_a_session_that_prints_something_else_is_noticed() -> None:
    assert printed_as_shown("a\n...\nb 1\n", "a  \nx\ny\nb   1\n\n")
    assert printed_as_shown("... cases, 0 fail", "12 cases, 0 fail")
    assert not printed_as_shown("a\n...\nb 1\n", "a\nx\nb 2\n")
    assert not printed_as_shown("... cases, 0 fail", "12 cases\n13 cases, 0 fail")
    assert list(commands("$ one\nx\n$ two\n")) == [("one", "x\n"), ("two", "")]
