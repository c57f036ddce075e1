"""The command line's frame and the commands on the specification: output, exit codes, and never a traceback."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result
from commands import invoke

from dml_conformance.conformance.cli import COMMANDS, main
from dml_conformance.conformance.cli.errors import Exit, explain
from dml_conformance.conformance.cli.lazy import CommandLine
from dml_conformance.conformance.cli.level_diff import level_diff
from dml_conformance.conformance.cli.lines import complain
from dml_conformance.documents.consistency import model
from dml_conformance.spec.errata import errata
from dml_conformance.spec.examples import examples
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.registry import operators, rules


def descriptor(name: str, **fields: Any) -> dict[str, Any]:
    desc = examples()[name].corrected
    assert desc is not None
    written = desc_to_json(desc)
    return {**written, "desc": {**written["desc"], **fields}}


ACCEPTED = descriptor("GATHER/2")
REJECTED = descriptor("GATHER/2", Axis=5)
OPEN = descriptor("GATHER/2", IndexDimensions=0, OutputTensor={"DataType": "FLOAT32", "Sizes": [1, 2]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in (("accepted", ACCEPTED), ("rejected", REJECTED), ("open", OPEN)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    return tmp_path


def assert_one_line(result: Result, code: int) -> str:
    """The command ended with a code and told one line of the program on standard error."""
    assert result.exit_code == code, result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("dml-conformance: ")
    assert lines[0].isprintable()
    assert "Traceback" not in result.output
    return lines[0]


# --- check --------------------------------------------------------------------------------------------------------


def test_check_accepts(folder: Path) -> None:
    result = invoke("check", "accepted.json", "--level", "3_0")
    assert (result.exit_code, result.stderr) == (Exit.CONFORMANT, "")
    assert result.stdout.splitlines() == [
        "accepted.json: DML_OPERATOR_GATHER at 3_0: ACCEPT",
        "1 operator at 3_0: 1 ACCEPT, 0 REJECT, 0 UNSPECIFIED",
    ]
    result = invoke("check", "-", stdin=json.dumps(ACCEPTED))
    assert result.stdout.startswith("standard input: DML_OPERATOR_GATHER at 6_4: ACCEPT")


def test_check_names_each_broken_rule_with_all_about_it(folder: Path) -> None:
    result = invoke("check", "rejected.json", "--level", "2.1")
    assert result.exit_code == Exit.NOT_CONFORMANT
    rule = rules()["GATHER.dimension-counts"]
    assert "rejected.json: DML_OPERATOR_GATHER at 2_1: REJECT" in result.stdout
    for line in (
        "  GATHER.dimension-counts (level-support)",
        "    found   desc.InputTensor.DimensionCount: 2, level 2_1 has 4",
        "    found   desc.OutputTensor.DimensionCount: 2, level 2_1 has 4",
        f"    says    {rule.statement}",
        f"    mend    {rule.remedy}",
        f"    source  {rule.source.url} (Tensor support)",
    ):
        assert line in result.stdout.splitlines()


def test_check_says_why_something_is_left_open(folder: Path) -> None:
    """IndexDimensions 0 leaves an index size above 1 without meaning; the library rejects it: no such batch."""
    why = f"    open    GATHER-8: {errata()['GATHER-8'].reason}"
    result = invoke("check", "open.json")
    assert result.exit_code == Exit.CONFORMANT
    assert "at 6_4: UNSPECIFIED" in result.stdout
    assert why in result.stdout.splitlines()
    assert "1 operator at 6_4: 0 ACCEPT, 0 REJECT, 1 UNSPECIFIED" in result.stdout
    assert invoke("check", "--strict", "open.json").exit_code == Exit.NOT_CONFORMANT
    assert invoke("check", "--strict", "accepted.json").exit_code == Exit.CONFORMANT
    observation = observations()["GATHER.leading-index-sizes"]
    result = invoke("check", "open.json", "--spec", "observed")
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert "open.json: DML_OPERATOR_GATHER at 6_4: REJECT" in result.stdout
    assert why in result.stdout.splitlines()
    assert f"    settled {observation.finding}\n            observed: DirectML 1.13 (6_2)\n" in result.stdout
    written = json.loads(invoke("check", "open.json", "--spec", "observed", "--format", "json").stdout)
    assert written["spec"] == "observed"
    assert written["files"][0]["operators"][0]["observations"] == [observation.as_json()]


def test_check_as_json(folder: Path) -> None:
    result = invoke("check", "accepted.json", "rejected.json", "open.json", "--level", "3_0", "--format", "json")
    assert result.exit_code == Exit.NOT_CONFORMANT
    written = json.loads(result.stdout)
    assert (written["format"], written["level"], written["spec"]) == (1, "3_0", "documented")
    assert written["summary"] == {"ACCEPT": 1, "REJECT": 1, "UNSPECIFIED": 1}
    accepted, rejected, left_open = (entry["operators"][0] for entry in written["files"])
    assert (accepted["operator"], accepted["decision"], accepted["violations"]) == ("GATHER", "ACCEPT", [])
    rule, erratum = rules()["GATHER.axis-range"], errata()["GATHER-8"]
    assert rejected["violations"] == [
        {
            "rule": rule.id,
            "category": "attributes",
            "where": "desc.Axis",
            "found": "5, InputTensor has 2 dimensions",
            "says": rule.statement,
            "remedy": rule.remedy,
            "erratum": None,
            "source": rule.source.url,
        }
    ]
    assert left_open["violations"][0]["erratum"] == "GATHER-8"
    assert left_open["errata"] == [{"id": "GATHER-8", "finding": erratum.finding, "reason": erratum.reason}]
    assert left_open["observations"] == []


def test_check_reads_a_model_and_says_what_it_skips(folder: Path) -> None:
    model = {"dispatchables": {"a": ACCEPTED, "b c": REJECTED, "d": {"type": "hlsl"}}}
    (folder / "model.json").write_text(json.dumps(model))
    result = invoke("check", "model.json")
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert "model.json: dispatchables.a: DML_OPERATOR_GATHER at 6_4: ACCEPT" in result.stdout
    assert 'found   dispatchables["b c"].desc.Axis: 5, InputTensor has 2 dimensions' in result.stdout
    assert "model.json: dispatchables.d: skipped, hlsl is not known here" in result.stdout
    assert result.stdout.splitlines()[-1] == "2 operators at 6_4: 1 ACCEPT, 1 REJECT, 0 UNSPECIFIED; 1 skipped"


def test_check_without_any_operator_is_no_success(folder: Path) -> None:
    (folder / "none.json").write_text('{"dispatchables": {"a": {"type": "hlsl"}, "b": {"type": "onnx"}}}')
    line = assert_one_line(invoke("check", "none.json"), Exit.BAD_INPUT)
    assert "none.json: has no operator known here, only hlsl, onnx; `dml-conformance operators` lists" in line
    (folder / "empty.json").write_text("[]")
    assert "only nothing at all" in assert_one_line(invoke("check", "empty.json"), Exit.BAD_INPUT)


def test_a_bad_file_does_not_hide_the_others(folder: Path) -> None:
    (folder / "bad.json").write_text("{")
    (folder / "deep.json").write_text("[" * 200_000)
    result = invoke("check", "bad.json", "rejected.json", "missing.json", "deep.json")
    assert result.exit_code == Exit.BAD_INPUT
    assert "rejected.json: DML_OPERATOR_GATHER at 6_4: REJECT" in result.stdout
    *others, deep = result.stderr.splitlines()
    assert others == [
        "dml-conformance: bad.json: 1:2: not JSON: expecting property name enclosed in double quotes",
        "dml-conformance: missing.json: cannot be read: No such file or directory",
    ]
    assert deep.startswith("dml-conformance: deep.json: ")
    assert len(deep) < 600
    written = json.loads(invoke("check", "bad.json", "rejected.json", "--format", "json").stdout)
    assert written["files"][0]["error"] == {
        "where": "1:2",
        "problem": "not JSON: expecting property name enclosed in double quotes",
    }
    assert written["files"][1]["error"] is None


def test_many_places_of_one_rule_are_cut_short(folder: Path) -> None:
    tensor = {"DataType": "INT8", "Sizes": [0] * 1000}
    value = {"type": "TILE", "InputTensor": tensor, "OutputTensor": tensor, "Repeats": [1]}
    result = invoke("check", "-", stdin=json.dumps(value))
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert len(result.stdout.splitlines()) < 60
    assert "            and 1992 more places" in result.stdout.splitlines()


def test_names_that_would_move_the_cursor_are_escaped(folder: Path) -> None:
    name = "a\x1b[31m\nb"
    model = {"dispatchables": {name: REJECTED, "x": {"type": "\x1b[2J"}}}
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "odd\x1b.json").write_text("{")
    result = invoke("check", "model.json", "odd\x1b.json")
    assert "\x1b" not in result.output
    assert "\\x1b" in result.stderr


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("check",), "check: Missing argument"),
        (("check", "a.json", "--level", "9_9"), "there is no feature level '9_9'; expected one of 1_0, 2_0"),
        (("check", "a.json", "--format", "xml"), "'xml' is not one of 'text', 'json'"),
        (("check", "a.json", "--nope"), "No such option"),
        (("nope",), "No such command 'nope'; see 'dml-conformance --help'"),
        (("rules", "GEMMS"), "unknown operator 'GEMMS'; did you mean GEMM?"),
        (("spec", "nope"), "spec: No such command 'nope'; see 'dml-conformance spec --help'"),
        (("completion", "tcsh"), "'tcsh' is not one of"),
        (("check", "."), ".: cannot be read: Is a directory"),
        (("check", "x" * 5000), "cannot be read: File name too long"),
    ],
)
def test_wrong_usage_gets_one_clear_line(args: tuple[str, ...], expected: str, folder: Path) -> None:
    assert expected in assert_one_line(invoke(*args), Exit.BAD_INPUT)


# --- operators, rules, spec ---------------------------------------------------------------------------------------


def test_operators() -> None:
    """All of the header, with what is known of each, what is judged and what is left open."""
    lines = invoke("operators").stdout.splitlines()
    assert " ".join(lines[0].split()) == "operator introduced tables at facts decisions values summary"
    for line, spec in zip(lines[1:], operators().values(), strict=True):
        assert line.split()[:2] == [spec.name, spec.introduced_in.label]
        assert str(spec.facts.table_source) in line
        assert line.count("judged") == 2
    entries = json.loads(invoke("operators", "--format", "json").stdout)["operators"]
    written = {entry["operator"]: entry for entry in entries}
    assert list(written) == list(operators())
    assert {entry["values"] for entry in entries} == {"judged"}
    assert (written["REDUCE"]["decisions"], written["REDUCE"]["left_open"]) == ("judged", [])
    assert len(written["REDUCE"]["tables_by_function"]) == 12
    assert written["UNFOLD"]["decisions"] == "judged, 3 open"
    assert {left["erratum"] for left in written["UNFOLD"]["left_open"]} == {"UNFOLD-1", "UNFOLD-2", "UNFOLD-5"}
    observed = {name: [left["observed"] for left in entry["left_open"]] for name, entry in written.items()}
    assert any(map(any, observed.values()))
    for name, of in observed.items():
        assert (f"{of.count(True)} observed" in written[name]["decisions"]) is any(of)
    tile = written["TILE"]
    assert tile["tables"]["3_1"]["InputTensor"]["dimension_counts"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "FLOAT64" not in tile["tables"]["4_1"]["OutputTensor"]["data_types"]
    assert [field["name"] for field in tile["fields"]] == ["InputTensor", "OutputTensor", "Repeats"]


def test_rules_lists_every_rule_whole() -> None:
    lines = invoke("rules").stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(rules())
    for line, rule in zip(lines, rules().values(), strict=True):
        assert rule.statement in line
        assert str(rule.category) in line
        assert (f"[UNSPECIFIED, {rule.erratum}]" in line) == (rule.erratum is not None)


def test_rules_of_an_operator_at_a_level() -> None:
    def ids(*args: str) -> set[str]:
        return {rule["id"] for rule in json.loads(invoke("rules", *args, "--format", "json").stdout)["rules"]}

    own = ids("gather_elements")
    assert {"TENSOR.sizes", "EXECUTION.strides", "GATHER_ELEMENTS.axis-range"} <= own
    assert not any(rule.startswith("GATHER.") for rule in own)
    later = {"GATHER_ELEMENTS.introduced-in", "GATHER_ELEMENTS.dimension-counts"}
    assert ids("GATHER_ELEMENTS", "--level", "3_0") == own - later
    named = ids("DML_OPERATOR_GATHER_ND1", "--level", "2_1", "--category", "level-support")
    assert named == {"GATHER_ND1.introduced-in"}


def test_rules_as_json_and_as_markdown() -> None:
    written = {rule["id"]: rule for rule in json.loads(invoke("rules", "GATHER", "--format", "json").stdout)["rules"]}
    shape = written["GATHER.shape-before-2_1"]
    assert (shape["since"], shape["until"], shape["erratum"], shape["kind"]) == ("1_0", "2_1", "GATHER-7", "descriptor")
    limits = written["GATHER.index-dimensions-range"]
    assert "GATHER-1" in limits["settles"]
    assert "GATHER.same-dimension-count" in limits["needs"]
    lines = invoke("rules", "TILE", "--format", "md").stdout.splitlines()
    subjects = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert subjects == ["TENSOR", "DESCRIPTOR", "EXECUTION", "TILE"]
    assert (
        "| `TILE.repeats-count` | attributes | from 1_0 | RepeatsCount is InputTensor.DimensionCount "
        f"| [RepeatsCount]({operators()['TILE'].source.url}) |"
    ) in lines
    assert {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")} == {6}


@pytest.mark.parametrize("columns", [None, "1", "120"])
def test_tables_are_plain_and_identifiers_whole_in_any_width(columns: str | None) -> None:
    output = invoke("rules", "TILE", env={"COLUMNS": columns, "FORCE_COLOR": None}).stdout
    assert "\x1b" not in output
    assert all(line == line.rstrip() for line in output.splitlines())
    assert not any(cut in output for cut in ("…", "..."))
    names = {line.split()[0] for line in output.splitlines() if not line.startswith(" ")}
    assert names > {"rule", *(rule.id for rule in operators()["TILE"].rules)}
    assert names <= {"rule", *rules()}
    if columns == "120":
        assert max(map(len, output.splitlines())) <= 120


def test_spec_diff() -> None:
    lines = [line.split("  ") for line in invoke("spec", "diff", "2_1", "4_1").stdout.splitlines()]
    rows = [tuple(cell.strip() for cell in line if cell) for line in lines]
    assert ("every tensor", "DimensionCount", "at most 5 before, 8 after") in rows
    assert ("GATHER_ND1", "operator", "added") in rows
    assert ("TILE", "InputTensor, OutputTensor: DataType", "added: UINT64, INT64") in rows
    assert ("GATHER", "rules", "added: GATHER.negative-indices") in rows
    assert ("GATHER", "IndicesTensor: DataType", "added: INT32, UINT64, INT64") in rows
    down = json.loads(invoke("spec", "diff", "4_1", "2_1", "--format", "json").stdout)
    assert down["dimension_count_max"] == [8, 5]
    of = {entry["operator"]: entry for entry in down["operators"]}
    assert of["GATHER_ND1"]["exists"] == [True, False]
    assert of["TILE"]["tensors"][0]["data_types"] == {"added": [], "removed": ["UINT64", "INT64"]}


def test_spec_diff_of_equal_levels_and_of_one_operator() -> None:
    assert invoke("spec", "diff", "6_0", "6_0").stdout == "6_0 and 6_0 do not differ\n"
    assert invoke("spec", "diff", "1_0", "2_0", "--operator", "tile").stdout == "1_0 and 2_0 do not differ for TILE\n"
    written = json.loads(invoke("spec", "diff", "2_1", "3_1", "--operator", "TILE", "--format", "json").stdout)
    (tile,) = written["operators"]
    assert (tile["operator"], tile["exists"]) == ("TILE", [True, True])
    assert tile["tensors"][0]["dimension_counts"] == {"added": [1, 2, 3, 5, 6, 7, 8], "removed": []}
    assert tile["tensors"][0]["data_types"] == {"added": [], "removed": []}


def test_spec_diff_agrees_with_the_tables() -> None:
    for first, second in combinations_with_replacement(Level, 2):
        differing = {entry["operator"] for entry in level_diff(first, second, operators().values())["operators"]}
        for name, spec in operators().items():
            tables = any(spec.table_at(first, of) != spec.table_at(second, of) for of in spec.variants)
            rule_sets = [
                {rule.id for rule in spec.rules if rule.applies_at(level) and level >= spec.introduced_in}
                for level in (first, second)
            ]
            assert (name in differing) == (tables or rule_sets[0] != rule_sets[1]), (name, first, second)


def test_spec_check() -> None:
    result = invoke("spec", "check")
    assert result.exit_code == Exit.CONFORMANT
    last = result.stdout.splitlines()[-1]
    assert last == f"86 contradictions: 86 known, 0 new; 0 stale; {len(errata())} errata"
    written = json.loads(invoke("spec", "check", "--format", "json").stdout)
    assert (written["ok"], len(written["findings"])) == (True, 86)
    mechanical, silent = result.stdout.split("Errata that none of them can show")
    for erratum in errata().values():
        part = mechanical if erratum.checks else silent
        assert f"  {erratum.id} ({erratum.kind}, {erratum.resolution})" in part.splitlines()
        assert erratum.reason in part
        for finding in erratum.checks:
            line = next(line for line in result.stdout.splitlines() if line.startswith(f"{finding} "))
            assert line.split()[1] == erratum.id


def test_spec_check_fails_on_news(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(errata())
    del known["GATHER-2"]
    known["TILE-3"] = msgspec.structs.replace(known["TILE-3"], checks=("TILE:gone",))
    monkeypatch.setattr(model, "errata", lambda: known)
    result = invoke("spec", "check")
    assert result.exit_code == Exit.NOT_CONFORMANT
    lines = result.stdout.splitlines()
    assert any(line.startswith("NEW: GATHER/3:decision: ") for line in lines)
    assert "STALE: TILE:gone: expected by TILE-3, but it no longer appears" in lines
    assert lines[-1].startswith("86 contradictions: 85 known, 1 new; 1 stale")
    assert invoke("spec", "check", "--format", "json").exit_code == Exit.NOT_CONFORMANT


# --- the frame ----------------------------------------------------------------------------------------------------


def test_version_and_help() -> None:
    version = invoke("--version")
    assert version.exit_code == 0
    assert version.stdout.startswith("dml-conformance, version ")
    shown = invoke("--help")
    assert shown.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in shown.stdout
        assert invoke(name, "--help").exit_code == 0
    assert "..." not in shown.stdout.partition("Commands:")[2]
    assert "Exit codes: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3" in shown.stdout
    nothing = invoke()
    assert nothing.exit_code == Exit.BAD_INPUT
    assert "Usage: dml-conformance" in nothing.stderr


@pytest.mark.parametrize(
    ("words", "current", "expected"),
    [
        ("dml-conformance ", "sp", {"spec"}),
        ("dml-conformance check a.json --level ", "5", {"5_0", "5_1", "5_2"}),
        ("dml-conformance rules ", "gather_n", {"GATHER_ND", "GATHER_ND1"}),
    ],
)
def test_completion_answers(words: str, current: str, expected: set[str]) -> None:
    assert "_DML_CONFORMANCE_COMPLETE" in invoke("completion", "bash").stdout
    env = {
        "_DML_CONFORMANCE_COMPLETE": "bash_complete",
        "COMP_WORDS": words + current,
        "COMP_CWORD": str(len(words.split())),
    }
    result = invoke(env=env)
    assert {line.split(",")[1] for line in result.stdout.splitlines()} == expected


class Unknown(Exception):
    """An exception that nothing knows."""


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def boom(monkeypatch: pytest.MonkeyPatch, body: Callable[[], Any], *options: str) -> Result:
    """What comes of the program's command `boom`, which does something."""
    command = click.Command("boom", callback=body)
    monkeypatch.setattr(main, "known", {**COMMANDS, "boom": ("boom:boom", "")})
    monkeypatch.setattr(CommandLine, "get_command", lambda self, ctx, name: command)
    return CliRunner().invoke(main, [*options, "boom"], prog_name="dml-conformance")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), Exit.BROKEN, "interrupted; the run is incomplete"),
        (MemoryError(), Exit.BROKEN, "out of memory; the run is incomplete"),
        (FileNotFoundError(2, "No such file", "a\nb"), Exit.BAD_INPUT, "a b: No such file"),
        (PermissionError(13, "Permission denied", "x"), Exit.BAD_INPUT, "x: Permission denied"),
        (OSError("no file at all"), Exit.BROKEN, "internal error: OSError: no file at all; "),
        (Unknown("odd\nlines"), Exit.BROKEN, "internal error: Unknown: odd lines; 'dml-conformance --debug ...'"),
        (AssertionError(), Exit.BROKEN, "internal error: AssertionError; "),
        (click.UsageError("give one."), Exit.BAD_INPUT, "boom: give one; see 'dml-conformance boom --help'"),
        (click.ClickException("no such thing"), Exit.BAD_INPUT, "no such thing"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_exceptions_become_one_line_and_a_code(
    error: BaseException, code: Exit, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = assert_one_line(boom(monkeypatch, raising(error)), code)
    assert told.startswith(f"dml-conformance: {line}")


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    result = boom(monkeypatch, raising(Unknown("here")), "--debug")
    assert result.exit_code == Exit.BROKEN
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("dml-conformance: internal error: Unknown: here")


def test_what_commands_end_with_is_their_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed pipe ends them quietly."""
    monkeypatch.setattr("dml_conformance.conformance.cli.errors._discard_output", lambda: None)
    ends = (raising(SystemExit(1)), lambda: None, lambda: Exit.BROKEN, raising(BrokenPipeError(32, "Broken pipe")))
    results = [boom(monkeypatch, end) for end in ends]
    assert [(result.exit_code, result.output) for result in results] == [(1, ""), (0, ""), (3, ""), (Exit.BROKEN, "")]


BAD_INPUT = (
    "backends.directml.errors:DirectmlError backends.loading:BackendError conformance.exchange.corpus:CorpusError "
    "conformance.packages.profiles:ProfileError conformance.packages.toml:TomlError "
    "conformance.packages.waivers:WaiverError "
    "documents.read.model:PageError reports.views.certificate:CertificateError reports.history.database:HistoryError "
    "reports.package:PackageError reports.package.signature:KeyFileError reports.store.resuming:ResumeError "
    "reports.store.results:StoreError reports.output.folder:OutputError spec.forms:FormError "
    "spec.model_files:ModelError"
)
BROKEN = (
    "conformance.audit.audit:AuditError "
    "conformance.workers.setup:WorkerError reports.store.results:StoreWriteError reports.output.folder:WriteError"
)


@pytest.mark.parametrize(
    ("name", "code"),
    [*((name, Exit.BAD_INPUT) for name in BAD_INPUT.split()), *((name, Exit.BROKEN) for name in BROKEN.split())],
)
def test_an_exception_of_the_project_carries_its_exit_code(name: str, code: Exit) -> None:
    module, _, attribute = name.partition(":")
    cls = getattr(importlib.import_module(f"dml_conformance.{module}"), attribute)
    instance = cls.__new__(cls)
    Exception.__init__(instance, "FILE: FIELD: expected this")
    assert explain(instance) == ("FILE: FIELD: expected this", code)


def test_a_complaint_is_one_line_of_bounded_length(capsys: pytest.CaptureFixture[str]) -> None:
    complain("a\n  b\tc \x1b[31mred\u202e größe 大")
    assert capsys.readouterr().err == "dml-conformance: a b c \\x1b[31mred\\u202e größe 大\n"
    complain("a" * 10_000 + "z")
    cut = capsys.readouterr().err
    assert len(cut) < 2030
    assert cut.startswith("dml-conformance: aaa")
    assert cut.endswith("aaz\n")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_nothing_heavy_is_imported_before_a_command_runs(option: str) -> None:
    code = (
        "import sys\n"
        "from dml_conformance.conformance.cli import main\n"
        f"try:\n    main(['{option}'], prog_name='dml-conformance')\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'torch', 'msgspec', 'rich', 'jinja2', 'hypothesis', 'dml_conformance.spec.registry'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_program_itself(folder: Path) -> None:
    program = Path(sys.executable).with_name("dml-conformance")
    if not program.is_file():
        pytest.skip("the package is not installed with its script")
    for name, code in (("accepted", Exit.CONFORMANT), ("rejected", Exit.NOT_CONFORMANT), ("nothing", Exit.BAD_INPUT)):
        done = subprocess.run([program, "check", f"{name}.json"], capture_output=True, text=True, check=False)
        assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr == "dml-conformance: nothing.json: cannot be read: No such file or directory\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe that can be closed")
@pytest.mark.parametrize("count", [1, 2000], ids=["less than a pipe holds", "more than a pipe holds"])
def test_a_reader_that_goes_away(count: int, folder: Path) -> None:
    (folder / "many.json").write_text(json.dumps([REJECTED] * count))
    code = "from dml_conformance.conformance.cli import main; main(['check', 'many.json'], prog_name='dml-conformance')"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait() == Exit.BROKEN
    assert told == b""
