"""Judging cases again: out of text and files, and out of results against what is on record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from commands import invoke
from five_operators import TileDesc
from report_data import campaign, ending
from scripted_backend import ScriptedBackend, accepting, flip_a_bit, raising, rejecting

from dml_conformance.conformance.cli.cases import read_cases
from dml_conformance.conformance.exchange.replay import ReplayChange, replay
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.reports.package.archive import write_archive
from dml_conformance.reports.store.results import StoreWriter
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, Reading


def tile(repeats: int = 2, seed: int = 0) -> Case:
    source, output = TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,))
    desc = TileDesc(source, output, (repeats,))
    data = {"input_tensor": Recipe("ramp", seed)}
    return Case.of(desc, HIGHEST, data, rule="TILE.values", placement=Placement((80,)))


def flip_another(desc: Any, inputs: Any, outputs: Any) -> None:
    outputs["output_tensor"].view[1] ^= 1


SOUND, FIRST, SECOND = (ScriptedBackend(after=deed) for deed in (None, flip_a_bit, flip_another))
RAISING, OTHER_ERROR = (ScriptedBackend(after=raising(error)) for error in (KeyError("a"), MemoryError("b")))
REJECTING, IDLE = ScriptedBackend(validate=rejecting), ScriptedBackend(execute=lambda *_: None)


SHIFTED = ScriptedBackend(after=raising(KeyError("elsewhere")))
FILLING = ScriptedBackend(after=lambda *bound: bound[-1]["output_tensor"].view.fill(99))
FIXED, STILL, DIFFERENT = ReplayChange.FIXED, ReplayChange.STILL_FAILS, ReplayChange.DIFFERENT


@pytest.mark.parametrize(
    ("before", "now", "change", "told"),
    [
        (FIRST, SOUND, FIXED, "it was fail, and passes now"),
        (RAISING, SOUND, FIXED, "it was crash, and passes now"),
        (FIRST, FIRST, STILL, "fail, in the same way"),
        (IDLE, IDLE, STILL, "fail, in the same way"),  # what was there before is other bytes
        (RAISING, SHIFTED, STILL, "crash, in the same way"),
        (FIRST, SECOND, DIFFERENT, "fail as before, but other values or elements differ"),
        (FIRST, FILLING, DIFFERENT, "fail as before, but 1 elements differed, now 8"),
        (FIRST, RAISING, DIFFERENT, "it was fail, and is crash now"),
        (FIRST, REJECTING, DIFFERENT, "fail as before, but the backend answered accept, now reject"),
        (RAISING, OTHER_ERROR, DIFFERENT, "crash as before, but for another reason: it was: execute raised"),
        (SOUND, FIRST, DIFFERENT, "it was pass, and is fail now"),
        (SOUND, SOUND, ReplayChange.AS_RECORDED, "pass, as before"),
    ],
)
def test_what_became_of_a_case(before: ScriptedBackend, now: ScriptedBackend, change: ReplayChange, told: str) -> None:
    """A waived failure is a failure; with nothing on record there is no change."""
    recorded = Judge(before, "x").record(tile(), Phase.SEARCH)
    found = replay(Judge(now, "x"), tile(), recorded)
    assert (found.change, found.told[: len(told)]) == (change, told)
    if recorded.verdict is not Verdict.PASS:
        waived = msgspec.structs.replace(recorded, verdict=Verdict.WAIVED, waived=str(recorded.verdict))
        assert replay(Judge(now, "x"), tile(), waived).change is change
    assert replay(Judge(now, "x"), tile()).change is None


def test_of_what_is_timed_other_elements_may_differ() -> None:
    """Those of a large output that are looked at are drawn each time."""
    timed = msgspec.structs.replace(tile(), timed=True)
    one, other = (
        ScriptedBackend(after=lambda *bound, place=place: bound[-1]["output_tensor"].view.__setitem__(place, 99))
        for place in (1, 2)
    )
    recorded = Judge(one, "x").record(timed, Phase.THROUGHPUT)
    assert recorded.verdict is Verdict.FAIL
    assert replay(Judge(other, "x"), timed, recorded).change is ReplayChange.STILL_FAILS


# --- out of results -----------------------------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two passes, three failures of one rule, one of which is small, and an invalid descriptor that was accepted."""
    write_results(tmp_path / "results.sqlite")
    return tmp_path


def write_results(path: Path, spec: str = "documented", records: Sequence[Record] = ()) -> None:
    judge, sound = Judge(FIRST, "first"), Judge(SOUND, "first")
    lax = Judge(ScriptedBackend(validate=accepting), "first")
    writer = StoreWriter(path)
    writer.start(campaign(spec=spec))
    for record in records or (
        *(sound.record(tile(seed=seed), Phase.SEARCH) for seed in (1, 2)),
        *(judge.record(tile(seed=seed), Phase.SWEEP) for seed in (1000, 3, 2000)),
        lax.record(tile(repeats=5), Phase.SWEEP),
        judge.record(tile(seed=1), Phase.SWEEP),
        sound.record(tile(seed=3), Phase.SWEEP),
    ):
        writer.record(record)
    writer.finish(ending())


def call(*arguments: object) -> Result:
    return invoke("replay", *arguments)


def test_a_case_is_found_by_number_and_by_digest(results: Path, tmp_path: Path) -> None:
    file, digest = results / "results.sqlite", tile(seed=2).digest
    for name in (f"{file}#2", f"{file}#{digest[:8]}", f"{results}#{digest}", f"{file}#{digest[:20].upper()}"):
        (found,) = read_cases(name)
        assert found.case == tile(seed=2)
        assert found.record is not None
        assert (found.record.case, found.reading) == (digest, Reading.DOCUMENTED)
    write_results(tmp_path / "observed.sqlite", spec="observed")
    assert read_cases(f"{tmp_path / 'observed.sqlite'}#1")[0].reading is Reading.OBSERVED
    numbered = tmp_path / "case #2.json"
    numbered.write_bytes(msgspec.json.encode(tile().to_json()))
    assert read_cases(str(numbered))[0].case.digest == tile().digest


def test_a_case_that_came_twice_is_taken_as_it_failed(results: Path) -> None:
    for seed in (1, 3):  # it failed the second time, and the first
        (found,) = read_cases(f"{results}#{tile(seed=seed).digest[:10]}")
        assert found.record is not None
        assert found.record.verdict is Verdict.FAIL


def test_results_alone_are_the_smallest_failures_of_their_kind(results: Path) -> None:
    found = read_cases(str(results))
    assert [one.record and one.record.rule for one in found] == ["TILE.values", "TILE.output-sizes"]
    assert found[0].case.data["input_tensor"].seed in (1, 3)


@pytest.mark.parametrize("name", ["#9", "#00000000", "#xyz", "#"])
def test_cases_that_are_not_there_are_refused(results: Path, name: str) -> None:
    with pytest.raises(FormError, match=r"no such case|expected RESULTS#ID"):
        read_cases(f"{results}{name}")


def test_at_another_level_a_case_is_decided_anew(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_bytes(msgspec.json.encode(tile().to_json()))
    for name in (json.dumps(tile().to_json()), str(file), f"{results}#2"):
        (valid,), (refused,) = read_cases(name, Level.L4_0), read_cases(name, Level.L1_0)
        assert (valid.case.level, valid.case.outcome, valid.record) == (Level.L4_0, Outcome.ACCEPT, None)
        assert (refused.case.level, refused.case.outcome) == (Level.L1_0, Outcome.REJECT)
        assert read_cases(name, HIGHEST) == read_cases(name)
    judged = call(str(file), "--backend", "reference", "--level", "1_0", "--format", "json")
    assert json.loads(judged.output)[0]["record"]["expected"] == "REJECT"


def test_the_command_tells_and_ends_as_it_should(results: Path, tmp_path: Path) -> None:
    fixed = call(str(results), "--backend", "reference")
    assert fixed.exit_code == 0
    assert f"FIXED: {results}#" in fixed.output
    assert "2 FIXED" in fixed.output
    assert "descriptor" not in fixed.output  # what is well again needs no explanation
    backend = f"{Path(__file__)}:Failing"
    still = call(f"{results}#3", "--backend", backend)
    assert (still.exit_code, "STILL FAILS" in still.output) == (1, True)
    assert "descriptor:" in still.output
    other = call(f"{results}#1", f"{results}#4", "--backend", backend, "--format", "json")
    assert other.exit_code == 1
    assert [one["change"] for one in json.loads(other.output)] == ["DIFFERENT", "STILL FAILS"]
    sound = tmp_path / "sound.sqlite"
    write_results(sound, records=[Judge(SOUND, "x").record(tile(), Phase.SWEEP)])
    found = call(sound, "--backend", "reference")
    assert (found.exit_code, found.output.strip()) == (0, "No case in the results fails.")


class Failing(ScriptedBackend):
    """What the command line loads."""

    def __init__(self) -> None:
        super().__init__(after=flip_a_bit)


def test_a_case_is_found_in_a_package(results: Path, tmp_path: Path) -> None:
    """In its folder and in its archive, which is read without leaving anything behind."""
    package = tmp_path / "package"
    package.mkdir()
    (results / "results.sqlite").rename(package / "results.sqlite")
    (package / "manifest.json").write_bytes(b"{}")
    archive = tmp_path / "package.tar.zst"
    with archive.open("xb") as file:
        write_archive(package, "package", file)
    before = sorted(tmp_path.rglob("*"))
    for name in (package, archive):
        (found,) = read_cases(f"{name}#3")
        assert found.case.digest == tile(seed=1000).digest
        assert len(read_cases(str(name))) == 2
    assert sorted(tmp_path.rglob("*")) == before
    archive.write_bytes(b"no package")
    refused = call(f"{archive}#3", "--backend", "reference")
    assert (refused.exit_code, "expected a tar archive" in refused.output) == (2, True)
