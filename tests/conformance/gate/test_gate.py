"""The gate as its users run it: by `pytest --pyargs` on a backend by name, and as a class in a backend's own files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest
from backend_files import write_backend
from commands import invoke
from gate_runs import run_gate

from dml_conformance.conformance.gate.plugin import DEFAULT_EXAMPLES
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import slots
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, execution_rules

Run = Callable[..., pytest.RunResult]

RULES, EXECUTED = applicable_rules("TILE", Level.L3_0), execution_rules("TILE", Level.L3_0)
OTHERS = len(RULES)

FLIPS_A_BIT = """
    def execute(self, desc, level, inputs, outputs):
        super().execute(desc, level, inputs, outputs)
        outputs["output_tensor"].view[0] ^= 1
"""

# TILE and nothing else, as a stranger would write it.
TILE_ONLY = """
    import numpy as np

    from dml_conformance.backends.base import Answer, Capabilities
    from dml_conformance.spec.levels import Level
    from dml_conformance.spec.rules import Category


    class TileBackend:
        def capabilities(self):
            levels = (Level.L1_0, Level.L4_1)
            return Capabilities("mine", "host", {}, levels, ("TILE",), frozenset({Category.EXECUTION}))

        def validate(self, desc, level):
            return Answer(True)

        def execute(self, desc, level, inputs, outputs):
            source = view(desc.input_tensor, inputs["input_tensor"])
            view(desc.output_tensor, outputs["output_tensor"])[...] = np.tile(source, desc.repeats)


    def view(tensor, binding):
        size = tensor.data_type.size
        strides = [stride * size for stride in tensor.effective_strides]
        return np.ndarray(tensor.sizes, f"u{size}", binding.view, strides=strides)
"""


@pytest.fixture
def gate(pytester: pytest.Pytester) -> Run:
    """Run the suite with more arguments, in this process unless told otherwise."""

    def run(*arguments: str) -> pytest.RunResult:
        return run_gate(pytester, *arguments)

    return run


def tile_at_3_0(run: Run, *more: str) -> pytest.RunResult:
    return run(
        "--dml-backend", "reference", "--dml-level", "3_0", "--dml-operator", "TILE", "--dml-examples", "5", *more
    )


def ids(result: pytest.RunResult) -> list[str]:
    """What stands between brackets in the ids of a verbose run or a collection."""
    return re.findall(r"::test_(?:rule|example)\[(.+?)\](?=$| )", "\n".join(result.outlines), re.MULTILINE)


# --- a backend by name ------------------------------------------------------------------------------------------------


def test_one_id_for_each_operator_level_and_rule(gate: Run) -> None:
    result = tile_at_3_0(
        gate, "--collect-only", "-q", "--dml-level", "DML_FEATURE_LEVEL_1_0", "--dml-operator", "GATHER"
    )
    found = ids(result)
    assert [name for name in found if "/" not in name] == [
        f"{operator}-{level}-{rule}"
        for operator in ("TILE", "GATHER")
        for level in (Level.L1_0, Level.L3_0)
        for rule in applicable_rules(operator, level)
    ]
    examples = {name for name in found if "/" in name}
    assert examples - {f"TILE/1-{level}" for level in ("1_0", "3_0")} == {
        name for name in found if re.fullmatch(r"GATHER/\d-\d_\d", name)
    }
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        ((), {*(f"TILE-3_0-{rule}" for rule in RULES), "TILE/1-3_0"}),
        (("-k", "strides and 3_0"), {"TILE-3_0-EXECUTION.strides"}),
        (("-m", "dml_execution"), {f"TILE-3_0-{rule}" for rule in EXECUTED}),
        (("-m", "dml_example", "--strict-markers", "-W", "error"), {"TILE/1-3_0"}),
        (("-m", "dml_decision"), {f"TILE-3_0-{rule}" for rule in set(RULES) - set(EXECUTED)}),
    ],
)
def test_a_conformant_backend_passes_what_is_selected(gate: Run, selection: tuple[str, ...], names: set[str]) -> None:
    """As JUnit has it too."""
    result = tile_at_3_0(gate, "-v", "--junitxml", "found.xml", *selection)
    assert sorted(ids(result)) == sorted(names)
    result.assert_outcomes(passed=len(names), deselected=OTHERS + 1 - len(names))
    assert result.ret is pytest.ExitCode.OK
    cases = ElementTree.parse("found.xml").iter("testcase")
    assert {re.sub(r".*\[(.*)\]", r"\1", str(case.get("name"))) for case in cases} == names


def test_of_all_levels_a_rule_has_its_test_at_one(gate: Run) -> None:
    """The other levels have one test each, or ids would grow with rules times levels. Unasked it is the highest."""
    tests_of_tile = ("--dml-backend", "reference", "--dml-operator", "TILE", "--collect-only", "-q")
    assert {name.split("-")[1] for name in ids(gate(*tests_of_tile))} == {"6_4"}
    result = gate(*tests_of_tile, "--dml-level", "all")
    found = [name.removeprefix("TILE-").partition("-") for name in ids(result) if "/" not in name]
    assert [level for level, _, rule in found if not rule] == [level.label for level in Level if level is not HIGHEST]
    assert [rule for level, _, rule in found if level == "6_4"] == list(applicable_rules("TILE", HIGHEST))
    rules = [rule for _, _, rule in found if rule]
    assert len(set(rules)) == len(rules)


def test_a_fault_at_an_older_level_is_found_by_its_test(gate: Run, pytester: pytest.Pytester) -> None:
    """Of a level between those at which something changes a sample is judged."""
    refuses = """
        def validate(self, desc, level):
            answer = super().validate(desc, level)
            return Answer(False, "not here") if answer.accepted and level.label in ("2_1", "5_1") else answer
    """
    name = write_backend(pytester.path, refuses)
    result = gate("--dml-backend", name, "--dml-operator", "TILE", "--dml-level", "all", "--dml-examples=0", "-rf")
    assert result.parseoutcomes()["failed"] == 3  # with the worked example at 2_1
    result.stdout.fnmatch_lines(["FAILED *::test_rule[[]TILE-2_1]*", "FAILED *::test_rule[[]TILE-5_1]*"])


def test_a_refusal_is_seen_without_executing(gate: Run, pytester: pytest.Pytester) -> None:
    """By the test of acceptance, whose cases need no data: those of execution are not run."""
    refuses_aligned = """
        def validate(self, desc, level):
            aligned = desc.input_tensor is not None and desc.input_tensor.guaranteed_base_offset_alignment
            answer = super().validate(desc, level)
            return Answer(False, "not here") if answer.accepted and aligned else answer
    """
    name = write_backend(pytester.path, refuses_aligned)
    result = tile_at_3_0(gate, "--dml-backend", name, "--dml-examples", "50", "-m", "dml_decision")
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(
        ["TILE at level 3_0: fail, DESCRIPTOR.acceptance", "*rejected a valid descriptor: not here"]
    )


def test_a_hypothesis_seed_repeats_a_run(gate: Run, pytester: pytest.Pytester) -> None:
    """And another one is another run; without examples only the fixed cases are left."""
    logs = """
        def validate(self, desc, level):
            with HERE.joinpath("log").open("a") as log:
                log.write(repr(desc) + chr(10))
            return super().validate(desc, level)
    """
    name = write_backend(pytester.path, logs)

    def cases(*more: str) -> list[str]:
        result = gate("--dml-backend", name, "--dml-operator", "TILE", "-k", "EXECUTION.strides", *more)
        result.assert_outcomes(passed=1, deselected=OTHERS)
        log = pytester.path / "log"
        found = log.read_text().splitlines()
        log.unlink()
        return found

    one, again, other = (cases(f"--hypothesis-seed={seed}") for seed in (1, 1, 2))
    fixed = cases("--dml-examples=0")
    assert one == again != other
    assert len(one) - len(fixed) == DEFAULT_EXAMPLES
    assert set(fixed) < set(one)


# --- a failure --------------------------------------------------------------------------------------------------------


def test_a_failure_says_all_that_is_needed(gate: Run, pytester: pytest.Pytester) -> None:
    """The smallest case, what differs where, the rule, and a line that shows it again."""
    name = write_backend(pytester.path, FLIPS_A_BIT)
    result = gate("--dml-backend", name, "--dml-level", "3_1", "--dml-operator", "TILE", "-k", "TILE.values")
    result.assert_outcomes(failed=1, deselected=OTHERS)
    assert result.ret is pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "TILE at level 3_1: fail, TILE.values",
            "  the rule: every output element is the input element at its coordinates*",
            "  the specification: ACCEPT, the backend: accept",
            "  OutputTensor: 1 of 1 elements differ",
            "    at [[]0]: expected 0.0 (0x00000000), actual 1.401298464324817e-45 (0x00000001)",
            "  descriptor:",
            '      InputTensor: {"DataType":"FLOAT32","Sizes":[[]1],"TotalTensorSizeInBytes":4}',
            '      OutputTensor: {"DataType":"FLOAT32","Sizes":[[]1],"TotalTensorSizeInBytes":4}',
            "      Repeats: [[]1]",
            "  InputTensor = np.array([[]0.0], np.float32)",
            '  data: {"InputTensor":{"pattern":"ramp"}}',
            "  reproduce: dml-conformance replay --backend *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    (line,) = {line.partition("reproduce: ")[2] for line in result.outlines if "reproduce: " in line}
    command = shlex.split(line)
    assert command[:4] == ["dml-conformance", "replay", "--backend", name]
    replayed = invoke(*command[1:])
    assert replayed.exit_code == 1
    assert "at [0]: expected 0.0 (0x00000000), actual 1.401298464324817e-45 (0x00000001)" in replayed.output
    case = json.loads(command[4])
    assert invoke("replay", "--backend", "reference", json.dumps(case)).exit_code == 0


def test_of_several_failures_the_smallest_is_shown(gate: Run, pytester: pytest.Pytester) -> None:
    """Though nothing is searched for, and larger ones come before it."""
    name = write_backend(pytester.path, FLIPS_A_BIT)
    arguments = ("--dml-level", "3_1", "--dml-operator", "TILE", "--dml-examples", "0", "-k", "TILE.values")
    result = gate("--dml-backend", name, *arguments)
    result.assert_outcomes(failed=1, deselected=OTHERS)
    (line,) = {line.partition("reproduce: ")[2] for line in result.outlines if "reproduce: " in line}
    shown = Case.from_json(json.loads(shlex.split(line)[4]))
    cases = [case for case in boundary_cases("TILE", Level.L3_1) if case.rule == "TILE.values"]
    sizes = [tile_size(case) for case in cases]
    assert tile_size(shown) == min(sizes) < sizes[0]


def tile_size(case: Case) -> int:
    return sum(1 + size for slot in slots(case.desc) for size in slot.tensor.sizes)


@pytest.mark.parametrize("ci", ["", "1"])
def test_the_short_summary_has_a_line_for_a_failure(
    gate: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    """As pytest's JUnit has; where a CI server runs it, pytest does not cut that to the width of a terminal."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("COLUMNS", "300")
    name = write_backend(pytester.path, FLIPS_A_BIT)
    arguments = ("--dml-level", "3_1", "--dml-operator", "TILE", "-k", "TILE.values", "--junitxml", "found.xml")
    result = gate("--dml-backend", name, *arguments)
    brief = (
        "output[0]: expected 0.0 0x00000000, got 1.401298464324817e-45 0x00000001; OutputTensor: 1 of 1 elements differ"
    )
    (line,) = (line for line in result.outlines if line.startswith("FAILED"))
    assert line.endswith(f"test_rule[TILE-3_1-TILE.values] - {brief}")
    assert result.outlines.count("  descriptor:") == 1
    (failure,) = ElementTree.parse(pytester.path / "found.xml").iter("failure")
    assert failure.get("message") == brief
    assert "  descriptor:" in str(failure.text)


def test_decisions_alone_pass_no_test_of_execution(gate: Run, pytester: pytest.Pytester) -> None:
    """Where a backend does not execute, tests of execution are skipped; they fail where it rejects what is valid."""
    checks = """
        def capabilities(self):
            return replace(super().capabilities(), executes=False)
    """
    refuses = """
        def validate(self, desc, level):
            return Answer(False, "no")
    """
    checker = write_backend(pytester.path, checks, file="checker.py")
    refusing = write_backend(pytester.path, dedent(checks) + dedent(refuses), file="refusing.py")
    executed = len(EXECUTED) + 1  # and one worked example
    result = tile_at_3_0(gate, "--dml-backend", checker, "-rs")
    result.assert_outcomes(passed=OTHERS + 1 - executed, skipped=executed)
    result.stdout.fnmatch_lines("*not claimed: decided only; execution is not claimed*")
    result = tile_at_3_0(gate, "--dml-backend", refusing, "-m", "dml_execution or dml_example")
    assert result.parseoutcomes()["failed"] == executed


def test_a_wrong_decision_fails_at_its_rule_alone(gate: Run, pytester: pytest.Pytester) -> None:
    takes_flags = """
        def validate(self, desc, level):
            if desc.output_tensor is not None:
                desc = replace(desc, output_tensor=replace(desc.output_tensor, flags=0))
            return super().validate(desc, level)
    """
    name = write_backend(pytester.path, takes_flags)
    result = gate("--dml-backend", name, "--dml-level", "2_1", "--dml-operator", "TILE", "-rf")
    failed = {"TENSOR.flags", "TENSOR.owned-by-dml"}
    result.assert_outcomes(failed=len(failed), passed=len(applicable_rules("TILE", Level.L2_1)) + 1 - len(failed))
    for rule in failed:
        result.stdout.fnmatch_lines([f"TILE at level 2_1: fail, {rule}", f"FAILED *::test_rule[[]TILE-2_1-{rule}]*"])
    result.stdout.fnmatch_lines(
        ["  accepted, though found OutputTensor.Flags: *; the rule says: OWNED_BY_DML is for input tensors only"]
    )


# --- a repository of one's own ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stranger_s_repository(tmp_path: Path) -> None:
    """Its own `backends` folder is no match for ours; what it does not claim is skipped, with the reason. pytest-xdist
    compares the ids that its workers find, so they must not depend on anything random."""
    for folder in ("backends", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "backends" / "__init__.py").write_text("NAME = 'theirs'\n")
    (tmp_path / "backends" / "tile.py").write_text(dedent(TILE_ONLY))
    (tmp_path / "tests" / "test_conformance.py").write_text(
        dedent("""
            from pathlib import Path

            from dml_conformance import ConformanceSuite

            FILE = Path(__file__).parents[1] / "backends" / "tile.py"


            class TestTile(ConformanceSuite):
                backend = f"{FILE}:TileBackend"
                operators = ("TILE",)
                levels = ("1_0", "4_1")
                examples = 10
        """)
    )
    program = str(Path(sys.executable).with_name("pytest"))
    command = [program, "-p", "no:cacheprovider", "-q", "-rs", "-W", "error", "-n", "2"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    executed = sum(len(execution_rules("TILE", level)) for level in (Level.L1_0, Level.L4_1))
    decided = sum(len(applicable_rules("TILE", level)) for level in (Level.L1_0, Level.L4_1)) - executed
    examples = 2
    summary = rf"{executed + examples} passed, {decided} skipped in "
    assert re.search(summary, found.stdout), found.stdout
    assert "not claimed: category tensor-desc is not claimed" in found.stdout


@pytest.mark.slow
def test_a_subclass_takes_a_class_an_instance_or_a_name(pytester: pytest.Pytester) -> None:
    """A class that a file has too runs in a process of its own, an instance where it is."""
    write_backend(pytester.path, FLIPS_A_BIT)
    elsewhere = f"def execute(self, *what):\n    assert os.getpid() != {os.getpid()}\n    super().execute(*what)"
    write_backend(pytester.path, elsewhere, file="elsewhere.py")
    lines = ["import elsewhere, mine", "from dml_conformance import ConformanceSuite"]
    for n, backend in enumerate(
        ("mine.ReferenceBackend", "'reference'", "elsewhere.Mine", "elsewhere.Mine()", "mine.Mine")
    ):
        lines.append(
            f"class Test{n}(ConformanceSuite):\n    backend = {backend}\n    operators = ('DML_OPERATOR_TILE',)\n"
            "    levels = ('4_1',)\n    examples = 0\n"
        )
    pytester.makepyfile("\n".join(lines))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-k", "EXECUTION.strides")
    result.assert_outcomes(passed=3, failed=2, deselected=5 * OTHERS)
    told = [
        line.partition(" --backend ")[2] for line in result.outlines if "EXECUTION.strides" in line and "replay" in line
    ]
    assert {Path(shlex.split(line)[0].removesuffix(":Mine")).name for line in told} == {"elsewhere.py", "mine.py"}


def test_a_subclass_goes_before_the_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from dml_conformance import ConformanceSuite


        class TestOnlyBackend(ConformanceSuite):
            backend = "reference"
    """)
    options = ("--dml-level", "2_0", "--dml-operator", "GATHER", "--collect-only", "-q")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)
    rules = {f"GATHER-2_0-{rule}" for rule in applicable_rules("GATHER", Level.L2_0)}
    assert set(ids(result)) == {*rules, "NOTSET"}  # no worked example is of that level


# --- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "name the backend to test: --dml-backend torch:cpu, or --dml-backend path/to/file.py:Class"),
        ("--dml-backend nothing", "--dml-backend: unknown backend 'nothing': known are reference, *"),
        ("--dml-backend no/file.py:C", "--dml-backend: backend 'no/file.py:C': there is no file 'no/file.py'"),
        ("--dml-backend reference:gpu", "--dml-backend: backend 'reference:gpu' cannot be made: *"),
        (
            "--dml-backend reference --dml-level 3_9",
            "--dml-level: there is no feature level '3_9'; expected one of 1_0, *, 6_4",
        ),
        (
            "--dml-backend reference --dml-operator QUANTISE",
            "--dml-operator: unknown operator 'QUANTISE'; did you mean QUANTIZE?",
        ),
        (
            "--dml-backend reference --dml-examples -1",
            "--dml-examples: expected a number of cases from 0 on, found -1",
        ),
        ("--dml-backend nothing -n 2", "--dml-backend: unknown backend 'nothing': known are reference, *"),
        ("--dml-backend reference --dml-time-limit -1", "--dml-time-limit: expected seconds*"),
        ("--dml-backend reference --dml-memory-limit much", "--dml-memory-limit: expected an amount*"),
        ("--dml-backend reference --dml-in-process --dml-memory-limit 1GiB", "--dml-in-process excludes*"),
    ],
)
def test_wrong_usage_is_one_clear_line(gate: Run, arguments: str, message: str) -> None:
    result = gate(*arguments.split())
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [line for line in result.errlines if "ERROR: " in line]
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    result.stdout.no_fnmatch_line("*base.py:*")
