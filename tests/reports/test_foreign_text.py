"""Text that steers a terminal or forges a line, planted in every field of what others hand in: whatever command reads
it, nothing of it acts, and no line that is printed begins with it."""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import commands
import msgspec
import pytest
import report_data
from click.testing import Result
from hostile_outputs import SURROGATE, backend_code
from package_support import make
from rich.console import Console

from dml_conformance.backends.base import LONGEST_NAME, MOST_NAMES
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.reports.model.records import Verdict
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.package import STATEMENT
from dml_conformance.reports.store.checks import LONGEST_NAME as LONGEST_STORED
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.views.console import Progress, Steps, print_summary

FORGED = "package: verifies. conformant"
# A line of its own, a cursor at the line's start, an escape, what reorders, C1, DEL, NUL, line ends of Unicode.
ACTING = f"x\n{FORGED}\r{FORGED}\x1b[2K\x1b[1G{FORGED}\u202e\x85{FORGED}\x9b31m\x7f\0\u2028{FORGED}\u2029\x0b\x0c"
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--in-process")


def invoke(*arguments: object, codes: tuple[int, ...] = (0, 1, 2, 3)) -> Result:
    result = commands.invoke(*arguments)
    assert result.exit_code in codes, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def assert_harmless(*texts: str) -> None:
    for text in texts:
        found = ACTS.search(text)
        assert found is None, text[max(found.start() - 80, 0) : found.end() + 20]
        assert not [line for line in text.splitlines() if line.lstrip().startswith(FORGED)], text


def assert_all_harmless(*commands: tuple[object, ...]) -> None:
    for arguments in commands:
        result = invoke(*arguments)
        assert_harmless(result.stdout, result.stderr)


def acting(value: Any) -> Any:
    """JSON with the text in every text, but where a value has to be of its form."""
    if isinstance(value, str):
        return value + ACTING
    if isinstance(value, list):
        return [acting(each) for each in value]
    if isinstance(value, dict):
        return {name: each if name in _FORMS else acting(each) for name, each in value.items()}
    return value


# What is read as a level, a kind or a time; each of them is spoiled alone below.
_FORMS = ("levels", "level", "since", "until", "spec", "accuracy", "kind", "decides_at", "operators", "operator", "id")


def spoil(path: Path) -> None:
    """Every text of a results file with the acting text after it, as far as it stays a results file."""
    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT json FROM stream WHERE part = 'campaign'").fetchone()
        campaign = acting(msgspec.json.decode(text))
        campaign["backend"]["versions"] = {ACTING: ACTING}
        campaign["environment"] = {ACTING: ACTING}
        ending = {"finished": ACTING, "complete": False, "reason": ACTING}
        for part, value in (("campaign", campaign), ("ending", ending)):
            connection.execute("UPDATE stream SET json = ? WHERE part = ?", (msgspec.json.encode(value).decode(), part))
        connection.execute("UPDATE remark SET reason = reason || ?", (ACTING,))
        named = {label: f"{label}{ACTING}" for (label,) in connection.execute("SELECT text FROM label")}
        for label, other in named.items():
            if "." in label or label in ("packed", "padded", "FLOAT32", "random-bits"):
                connection.execute("UPDATE label SET text = ? WHERE text = ?", (other, label))
        connection.execute("UPDATE throughput SET operator = operator || ?, data_type = data_type || ?", (ACTING,) * 2)
        connection.execute("UPDATE throughput SET shape = ?", (ACTING,))
        report_data.seal(connection)


def operators_spoiled(path: Path) -> None:
    """The names of operators, which are in campaign and records alike."""
    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT json FROM stream WHERE part = 'campaign'").fetchone()
        campaign = msgspec.json.decode(text)
        campaign["operators"] = [name + ACTING for name in campaign["operators"]]
        content = msgspec.json.encode(campaign).decode()
        connection.execute("UPDATE stream SET json = ? WHERE part = 'campaign'", (content,))
        query = "UPDATE label SET text = text || ? WHERE id IN (SELECT DISTINCT operator FROM judgement)"
        connection.execute(query, (ACTING,))
        report_data.seal(connection)


SPOILERS: Mapping[str, Callable[[Path], None]] = {"texts": spoil, "operators": operators_spoiled}


@pytest.fixture(params=SPOILERS)
def results(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "r.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty())
    SPOILERS[request.param](path)
    return path


@pytest.mark.few(1)
def test_no_command_prints_what_a_results_file_says_as_it_is(results: Path, tmp_path: Path) -> None:
    other, history = tmp_path / "other.sqlite", tmp_path / "history.sqlite"
    report_data.feed(StoreWriter(other), report_data.some_sound())
    assert_all_harmless(
        ("report", results, "-o", tmp_path / "one.html"),
        ("report", results, other, "-o", tmp_path / "two.html"),
        ("report", other, "--baseline", results, "-o", tmp_path / "three.html"),
        *(("export", results, "--format", form) for form in ("ctrf", "junit", "markdown", "csv")),
        ("history", "add", history, results),
        ("history", "add", history, other),
        *(("history", "show", history, "--format", form) for form in ("text", "json")),
        ("history", "show", history, "--format", "html", "-o", tmp_path / "history.html"),
        ("replay", results, "--backend", "reference", "--in-process"),
        ("replay", f"{results}#7", "--backend", "reference", "--in-process"),
        ("export-model", results, "-o", tmp_path / "models"),
    )


@pytest.mark.parametrize(("width", "is_terminal"), [(80, False), (1000, False), (1000, True)])
def test_the_summary_on_a_terminal_has_it_in_lines_of_ours(results: Path, width: int, is_terminal: bool) -> None:
    target = io.StringIO()
    with Store(results) as store:
        console = Console(file=target, width=width, force_terminal=is_terminal, color_system=None)
        print_summary(store.summary(), console, output=f"out\n{FORGED}")
        progress = Progress(console)
        store.replay(progress)
        with Steps(f"Reading\n{FORGED}", console=console, clock=iter(range(0, 10_000, 100)).__next__) as steps:
            steps.advance()
    text = target.getvalue()
    assert FORGED in text
    if is_terminal:  # of a bar rich moves the cursor itself
        text = re.sub(r"\x1b\[\??[0-9]*[hlmAKG]|\r", "", text)
    assert_harmless(text)


def test_texts_of_files_are_shown_by_name(tmp_path: Path) -> None:
    """The forged words are there, in the middle of a line: the tests above would pass for commands that say nothing."""
    path = tmp_path / "r.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty())
    spoil(path)
    assert FORGED in invoke("report", path, "-o", tmp_path / "r.html", codes=(0,)).stdout
    invoke("history", "add", tmp_path / "h.sqlite", path, codes=(0,))
    assert FORGED in invoke("history", "show", tmp_path / "h.sqlite", codes=(0,)).stdout


def test_what_a_backend_says_is_printed_on_lines_of_ours(tmp_path: Path) -> None:
    (tmp_path / "acting.py").write_text(backend_code(ACTING + SURROGATE), encoding="utf-8")
    backend = f"{tmp_path / 'acting.py'}:Nasty"
    scope = ("--backend", backend, *SCOPE)
    result = invoke("certify", *scope, "--out", tmp_path / "out", codes=(1,))
    assert_harmless(result.stdout, result.stderr)
    assert FORGED in result.stdout
    assert FORGED in result.stderr
    invoke("generate", "--cases", "30", "--operator", "TILE", "--level", "1_0", "-o", tmp_path / "c.zst", codes=(0,))
    assert_all_harmless(
        ("run", tmp_path / "c.zst", "--backend", backend, "--in-process", "--out", tmp_path / "run"),
        ("run", tmp_path / "c.zst", "--backend", backend, "--backend", "reference", "--in-process"),
        ("replay", tmp_path / "out", "--backend", backend, "--in-process"),
        ("report", tmp_path / "out", "-o", tmp_path / "report.html"),
        ("certify", *scope[:-1], "--out", tmp_path / "package", "--package"),
        ("verify", tmp_path / "package.tar.zst"),
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("honest") / "package", ReferenceBackend())


@pytest.mark.parametrize("name", [STATEMENT, RESULTS, ACTING[:9]])
def test_no_text_of_a_package_is_printed_as_it_is(package: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(package, tmp_path / "package"))
    if name == RESULTS:
        spoil(copy / name)
    elif name == STATEMENT:
        content = msgspec.json.decode((copy / name).read_bytes())
        (copy / name).write_bytes(msgspec.json.encode(acting(content)))
    else:
        (copy / name).write_bytes(b"")
    assert_all_harmless(
        ("verify", copy),
        ("report", copy, "-o", tmp_path / "p.html"),
        ("export", copy, "--format", "markdown", "-o", tmp_path / "p.md"),
        ("replay", copy, "--backend", "reference", "--in-process"),
    )


def test_names_of_files_are_printed_on_lines_of_ours(tmp_path: Path) -> None:
    folder = tmp_path / f"x\n{FORGED}\x1b[2J\r"
    folder.mkdir()
    path = folder / "r\n.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_sound())
    assert_all_harmless(
        ("report", path, "-o", folder / "one.html"),
        ("history", "add", folder / "h\x1b.sqlite", path),
        ("history", "show", folder / "none\n.sqlite"),
        ("export", path, "--format", "csv", "-o", folder / "out.csv"),
        ("verify", folder),
        ("check", folder / "none.json"),
        ("generate", "--cases", "1", "-o", folder / "c.zst"),
        ("run", folder / "c.zst", "--backend", "reference", "--in-process", "--out", folder / "run"),
        ("replay", path, "--backend", f"{folder / 'none.py'}:Mine"),
        ("certify", "--backend", "reference", *SCOPE, "--cases", "0", "--out", folder / "out"),
    )


# --- limits -------------------------------------------------------------------------------------------------------

_TEXT = "n" * (LONGEST_NAME + 1)
_FOUND = f"found {LONGEST_NAME + 1:,}"


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ("name='n' * 10**7", f"capabilities().name: expected at most {LONGEST_NAME:,} characters, found 10,000,000"),
        ("device='n' * 1_001", "capabilities().device: expected at most"),
        ("versions={'n' * 1_001: ''}", "capabilities().versions: a name: expected at most"),
        ("versions={'a': 'n' * 1_001}", "capabilities().versions['a']: expected at most"),
        ("versions={str(n): '' for n in range(1001)}", f"versions: expected at most {MOST_NAMES} entries, found 1,001"),
        ("operators=('n' * 1_001,)", "capabilities().operators[0]: expected at most"),
        ("operators=tuple(map(str, range(1001)))", f"operators: expected at most {MOST_NAMES} entries, found 1,001"),
        ("name=7", "Capabilities.name: expected a text; found 7, of type int"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [(), ("--in-process",)])
def test_a_backend_that_says_too_much_of_itself_is_refused(
    tmp_path: Path, claims: str, told: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "long.py").write_text(backend_code(ACTING, claims), encoding="utf-8")
    result = invoke("certify", "--backend", f"{tmp_path / 'long.py'}:Nasty", *more, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.name != "__pycache__") == ["long.py"]


def test_long_words_on_a_case_are_cut_where_they_enter(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(backend_code(1_000 * ACTING, "name='long'"), encoding="utf-8")
    backend = f"{tmp_path / 'long.py'}:Nasty"
    result = invoke("certify", "--backend", backend, *SCOPE, "--cases", "10", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) < 10_000_000
    assert invoke("report", tmp_path / "out", "-o", tmp_path / "r.html").exit_code == 0


def of_stream(part: str, path: str, value: Any, limit: str) -> tuple[str, tuple[str, ...], str]:
    """A statement that puts a value into the campaign or the ending, and what is told of it."""
    sql = f"UPDATE stream SET json = json_set(json, '$.{path}', json(?)) WHERE part = '{part}'"
    return sql, (msgspec.json.encode(value).decode(),), f"{path}: expected at most {limit}"


_AT_MOST = f"{LONGEST_STORED:,} characters, {_FOUND}"
_MANY = {str(n): "" for n in range(1001)}


@pytest.mark.parametrize(
    ("sql", "parameters", "told"),
    [
        of_stream("campaign", "backend.name", _TEXT, _AT_MOST),
        of_stream("campaign", "backend.versions.cuda", _TEXT, _AT_MOST),
        of_stream("campaign", "backend.versions", _MANY, "1,000 entries, found 1,001"),
        of_stream("campaign", "operators[0]", _TEXT, _AT_MOST),
        of_stream("campaign", "rules[0].statement", "s" * 10_001, "10,000 characters, found 10,001"),
        of_stream("ending", "reason", "r" * 20_001, "20,000 characters, found 20,001"),
        (
            "UPDATE label SET text = ? WHERE id = (SELECT rule FROM judgement LIMIT 1)",
            (_TEXT,),
            f"a label: expected at most {_AT_MOST}",
        ),
        (
            "INSERT OR REPLACE INTO remark VALUES (1, 0, ?)",
            ("r" * 20_001,),
            "reason of record 1: expected at most 20,000 characters, found 20,001",
        ),
        (
            "UPDATE throughput SET data_type = ? WHERE id = 1",
            (_TEXT,),
            f"data_type of a measurement: expected at most {_AT_MOST}",
        ),
    ],
)
def test_a_results_file_with_too_long_a_text_is_refused_by_field(
    tmp_path: Path, sql: str, parameters: tuple[Any, ...], told: str
) -> None:
    path = tmp_path / "r.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql, parameters).rowcount == 1
        report_data.seal(connection)
    result = invoke("report", path, "-o", tmp_path / "r.html", codes=(2,))
    assert told in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_a_history_is_refused_by_field_and_left_as_it_is(tmp_path: Path) -> None:
    """One in WAL mode is shown without leaving anything beside it; one with too long a name is not."""
    (tmp_path / "kept").mkdir()
    history = tmp_path / "kept" / "h.sqlite"
    report_data.feed(StoreWriter(tmp_path / "r.sqlite"), report_data.some_sound())
    invoke("history", "add", history, tmp_path / "r.sqlite", codes=(0,))
    with closing(sqlite3.connect(history)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert report_data.BACKEND in invoke("history", "show", history, codes=(0,)).stdout
    assert [path.name for path in history.parent.iterdir()] == ["h.sqlite"]
    with closing(sqlite3.connect(history)) as connection:
        connection.execute("UPDATE run SET device = ?", (_TEXT,))
        connection.commit()
    assert f"device: expected at most {_AT_MOST}" in invoke("history", "show", history, codes=(2,)).stderr


def test_what_a_backend_may_say_can_be_stored_and_read(tmp_path: Path) -> None:
    assert LONGEST_NAME == LONGEST_STORED
    text = "n" * LONGEST_NAME
    claims = report_data.campaign().backend | {"name": text, "device": text}
    claims["versions"] = {f"{n:0{LONGEST_NAME}}": text for n in range(MOST_NAMES)}
    path = tmp_path / "r.sqlite"
    record = report_data.plain(Verdict.FAIL, reason="r" * 30_000)
    report_data.feed(FanOut(StoreWriter(path)), [record], backend=claims)
    invoke("report", path, "-o", tmp_path / "r.html", codes=(0,))
    with Store(path) as store:
        (found,) = store.records()
    assert found.reason.endswith("rrr...")


def test_no_command_prints_past_the_one_function() -> None:
    """What is not of this project's own making goes through `conformance.cli.lines`."""
    own = {"catalogue.py", "completion.py", "errata.py", "keys.py", "pages.py", "spec_commands.py"}
    for path in Path("conformance/cli").glob("*.py"):
        if path.name not in own | {"lines.py"}:
            found = re.findall(r"click\.echo\(.*", path.read_text(encoding="utf-8"))
            assert all(re.match(r'click\.echo\((line|text, nl=False|in_lines|indented_json|as_text|"\\n"\.join)', call)
                       for call in found), (path.name, found)  # fmt: skip
