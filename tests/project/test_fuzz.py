"""A short and fixed part of the fuzzing of input files, and that its sandbox and its judge notice what they are for.

`tox run -e fuzz` is the long one: other inputs each time it is given another seed, for as long as one likes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from fuzz.judged import Workplace
from fuzz.kinds import KINDS, Input, good_inputs, hostile
from fuzz.sandbox import Sandbox
from fuzz.seeds import Seeds, make_seeds
from hypothesis import HealthCheck, Phase, given, settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")

CAMPAIGNS = ("failures", "interrupted")  # kinds of which each input takes a whole campaign
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
    @given(hostile(KINDS[kind](seeds)))
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


# --- that the sandbox and the judge notice ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def misdoer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("sandbox"), "fuzz.misdeeds:commit") as sandbox:
        yield sandbox


def test_what_does_nothing_is_not_reported(misdoer: Sandbox) -> None:
    outcome = misdoer.run(["nothing"], misdoer.folder, seconds=SECONDS)
    assert (outcome.code, outcome.did, outcome.timed_out, outcome.stderr) == (0, (), False, "")
    for name in ("write", "read", "database", "remove"):
        assert misdoer.run([name, "inside"], misdoer.folder, seconds=SECONDS).did == (), name


OUTSIDE, DOES = "../../outside", "does what no input may: "


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (("system",), DOES + "os.system"),
        (("process",), DOES + "subprocess.Popen"),
        (("fork",), DOES + "os.fork"),
        (("network",), DOES + "socket."),
        (("code",), DOES + "exec ('input.json',)"),
        (("unpickle",), DOES + "pickle.find_class"),
        (("write", OUTSIDE), DOES + "written"),
        (("read", "/etc/passwd"), DOES + "read ('/etc/passwd',)"),
        (("remove", OUTSIDE), DOES + "os.remove"),
        (("link", OUTSIDE), DOES + "os.symlink"),
        (("database", OUTSIDE), DOES + "sqlite3.connect"),
        (("memory",), "ends with code 99: MemoryError"),
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
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_fault_is_found(misdoer: Sandbox, command: tuple[str, ...], fault: str) -> None:
    _, faults = Workplace(misdoer, SECONDS).run(Input(command, {"input.json": b"{}"}))
    assert any(line.startswith(fault) for line in faults), faults


def test_a_run_that_never_ends_is_found(misdoer: Sandbox) -> None:
    _, faults = Workplace(misdoer, 1).run(Input(("endless",), {"input.json": b"{}"}))
    assert faults == ["takes more than 1 seconds"]


def test_a_good_refusal_is_no_fault(misdoer: Sandbox) -> None:
    given = Input(("end", "2", "dml-conformance: input.json: 1:1: not JSON"), {"input.json": b"x"})
    outcome, faults = Workplace(misdoer, SECONDS).run(given)
    assert (outcome.code, faults) == (2, [])
