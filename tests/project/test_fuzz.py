"""A short and fixed part of the fuzzing of input files, and that its sandbox and its judge notice what they are for.

`tox run -e fuzz` is the long one: other inputs each time it is given another seed, for as long as one likes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.judged import Workplace
from fuzz.kinds import Input, good_inputs, kinds
from fuzz.sandbox import Outcome, Sandbox
from fuzz.seeds import Seeds, make_seeds
from hypothesis import HealthCheck, Phase, given, settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")

KINDS = (
    *("descriptors", "models", "cases", "failures", "corpora", "results", "histories", "packages", "waivers"),
    *("interrupted", "statements", "keys", "pages", "wheels"),
)
CAMPAIGNS = ("failures", "interrupted", "statements")  # kinds of which each input takes a whole campaign
SECONDS = 60.0  # of the processor, on a slow machine


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    return make_seeds(tmp_path_factory.mktemp("seeds"))


@pytest.fixture(scope="module")
def workplace(seeds: Seeds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    with Sandbox(tmp_path_factory.mktemp("sandbox")) as sandbox:
        workplace = Workplace(sandbox, SECONDS)
        for good in good_inputs(seeds):
            workplace.warm_up(good)
        yield workplace


def test_every_kind_is_fuzzed(seeds: Seeds) -> None:
    assert set(kinds(seeds)) == set(KINDS)


def test_files_that_are_fine_are_taken(seeds: Seeds, workplace: Workplace) -> None:
    for good in good_inputs(seeds):
        outcome, faults = workplace.run(good)
        assert not faults, good
        if "--waivers" not in good.command:  # they cover nothing in this run, which is a mistake
            assert outcome.code in (0, 1) or good.command[0] == "run", (good, outcome)


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files_are_refused_or_taken(kind: str, seeds: Seeds, workplace: Workplace) -> None:
    @settings(
        max_examples=8 if kind in CAMPAIGNS else 30,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(kinds(seeds)[kind])
    def check(given: Input) -> None:
        _, faults = workplace.run(given)
        assert not faults

    check()


@pytest.mark.parametrize(
    ("total", "told"), [(2**34, "the tensors need 1717986"), (2**31 - 1, "out of memory; the run is incomplete")]
)
def test_a_case_that_is_too_large_is_sound_and_not_judged(workplace: Workplace, total: int, told: str) -> None:
    tensor = {"DataType": "FLOAT32", "Sizes": [1], "TotalTensorSizeInBytes": 4}
    large = {**tensor, "TotalTensorSizeInBytes": total}
    desc = {"InputTensor": tensor, "OutputTensor": large, "RepeatsCount": 1, "Repeats": [1]}
    data = {"InputTensor": {"pattern": "ramp", "seed": 1}}
    case = {"type": "DML_OPERATOR_TILE", "desc": desc, "level": "6_4", "data": data, "rule": "TILE.values"}
    command = ("replay", "case.json", "--backend", "reference", "--in-process")
    outcome, faults = workplace.run(Input(command, {"case.json": json.dumps(case).encode()}))
    assert (outcome.code, faults) == (3, []), outcome
    assert told in outcome.stdout + outcome.stderr


# --- that the sandbox notices -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def misdoer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("sandbox"), "fuzz.misdeeds:commit") as sandbox:
        yield sandbox


def committed(sandbox: Sandbox, *command: str, seconds: float = SECONDS) -> Outcome:
    return sandbox.run(command, sandbox.folder, seconds=seconds)


def test_what_does_nothing_is_not_reported(misdoer: Sandbox) -> None:
    outcome = committed(misdoer, "nothing")
    assert (outcome.code, outcome.did, outcome.timed_out, outcome.stderr) == (0, (), False, "")
    inside = str(misdoer.folder / "inside")
    for name in ("write", "read", "database", "remove"):
        assert committed(misdoer, name, inside).did == (), name


@pytest.mark.parametrize(
    ("misdeed", "noted"),
    [
        ("system", "os.system"),
        ("process", "subprocess.Popen"),
        ("fork", "os.fork"),
        ("network", "socket."),
        ("code", "exec ('input.json',)"),
        ("unpickle", "pickle.find_class"),
    ],
)
def test_what_it_does_is_noted(misdoer: Sandbox, misdeed: str, noted: str) -> None:
    assert any(line.startswith(noted) for line in committed(misdoer, misdeed).did)


@pytest.mark.parametrize(
    ("misdeed", "noted"),
    [("write", "written"), ("read", "read"), ("remove", "os.remove"), ("link", "os.symlink"), ("database", "sqlite3.")],
)
def test_what_it_touches_outside_is_noted(misdoer: Sandbox, misdeed: str, noted: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    if misdeed == "read":
        outside.touch()
    (line, *_) = committed(misdoer, misdeed, str(outside)).did
    assert line.startswith(noted)
    assert str(outside) in line or misdeed == "link"


def test_memory_is_bounded(misdoer: Sandbox) -> None:
    assert "MemoryError" in committed(misdoer, "memory").stderr


def test_what_takes_too_long_is_ended(misdoer: Sandbox) -> None:
    assert committed(misdoer, "endless", seconds=1).timed_out
    assert committed(misdoer, "nothing").code == 0


def test_a_crash_is_its_signal(misdoer: Sandbox) -> None:
    assert committed(misdoer, "crash").code < 0


# --- that the judge notices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (("end", "3", "dml-conformance: internal error"), "ends with code 3: dml-conformance: internal error"),
        (("crash",), "ends with code -"),
        (("raise",), "shows a traceback"),
        (("end", "2"), "expected one line of the program on standard error, found ''"),
        (("end", "2", "dml-conformance: a.json: x", "more"), "expected one line of the program"),
        (("end", "2", "dml-conformance: one", "dml-conformance: a.json"), "expected one line of the program"),
        (("end", "2", "dml-conformance: something is wrong"), "names no file"),
        (("say", "\x1b[2J"), r"writes '\x1b' to standard output"),
        (("end", "1", "\u202e"), r"writes '\u202e' to standard error"),
        (("leave", "out"), "writes or removes out"),
        (("leave", "input.json"), "writes or removes input.json"),
        (("leave", "../tmp/left"), "leaves a temporary file: left"),
        (("system",), "does what no input may: os.system"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_fault_is_found(misdoer: Sandbox, command: tuple[str, ...], fault: str) -> None:
    _, faults = Workplace(misdoer, SECONDS).run(Input(command, {"input.json": b"{}"}))
    assert any(line.startswith(fault) for line in faults), faults


def test_a_run_that_never_ends_is_found(misdoer: Sandbox) -> None:
    _, faults = Workplace(misdoer, 1).run(Input(("endless",), {"input.json": b"{}"}))
    (fault,) = faults
    assert fault == "takes more than 1 seconds"


def test_a_good_refusal_is_no_fault(misdoer: Sandbox) -> None:
    given = Input(("end", "2", "dml-conformance: input.json: 1:1: not JSON"), {"input.json": b"x"})
    outcome, faults = Workplace(misdoer, SECONDS).run(given)
    assert (outcome.code, faults) == (2, [])
    assert os.listdir(misdoer.folder / "work") == ["input.json"]  # noqa: PTH208 - names are all that is asked for
