"""`directml record`, with a stand-in for the process that records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner, Result
from directml_fakes import GATHER, tile

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml.errors import LibraryCrash
from dml_conformance.backends.directml.library import Library
from dml_conformance.backends.directml.profiles import Profile
from dml_conformance.backends.directml.protocol import Hello
from dml_conformance.backends.directml.recording.calls import BindingProperties, Dispatch, Recording, Stage
from dml_conformance.backends.directml.recording.process import OperatorRefused, RecordingError
from dml_conformance.conformance.cli import main
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.examples import examples
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc

TILE = tile(DataType.FLOAT32)
REFUSED = OperatorRefused(0, "IDMLDevice::CreateOperator answered E_INVALIDARG")
RECORDED = Recording(
    "GATHER",
    (),
    Stage(BindingProperties(0, 0, 0), ()),
    Stage(BindingProperties(3, 1, 2), (Dispatch(4, 1, 1),)),
)


class FakeRecorder:
    """In the place of `Recorder`. What it answers is chosen by the operator's name: a recording or an exception."""

    answers: dict[str, Recording | Exception]
    asked: list[OperatorDesc]
    profile: Profile | None = None

    def __init__(self, library: Library, profile: Profile) -> None:
        FakeRecorder.profile = profile
        self.hello = Hello(level=Level.L5_2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def record(self, descs: Sequence[OperatorDesc]) -> tuple[Recording, ...]:
        (desc,) = descs
        self.asked.append(desc)
        answer = self.answers[desc.operator]
        if isinstance(answer, Exception):
            raise answer
        return (answer,)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Runs the command in a folder with files; operators get these answers."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "gather": desc_to_json(GATHER),
        "both": [desc_to_json(GATHER), desc_to_json(TILE)],
        "nothing": {"dispatchables": {"a": {"type": "DML_OPERATOR_CONVOLUTION"}}},
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    levels: list[Level | None] = []

    def find_library(level: Level | None) -> Library:
        levels.append(level)
        return Library(Path("some.so"), "a" * 64, None)

    monkeypatch.setattr("dml_conformance.backends.directml.library.find_library", find_library)
    monkeypatch.setattr("dml_conformance.backends.directml.recording.process.Recorder", FakeRecorder)

    def run(*arguments: str, gather: Recording | Exception = RECORDED, tile: Recording | Exception = RECORDED) -> Any:
        FakeRecorder.answers, FakeRecorder.asked = {"GATHER": gather, "TILE": tile}, []
        result: Any = CliRunner().invoke(main, ["directml", "record", *arguments], prog_name="dml-conformance")
        result.levels = levels
        return result

    return run


def test_recordings_are_printed_with_their_place(run: Callable[..., Result]) -> None:
    result = run("gather.json", "both.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert FakeRecorder.asked == [GATHER, GATHER, TILE]
    lines = result.stdout.splitlines()
    assert lines[0] == "a build not known here, level 5_2, on a recording device (full)"
    heads = [line for line in lines if line.endswith(("GATHER", "TILE"))]
    assert heads == [
        "gather.json: DML_OPERATOR_GATHER",
        "both.json: [0]: DML_OPERATOR_GATHER",
        "both.json: [1]: DML_OPERATOR_TILE",
    ]
    assert lines[3:8] == [
        "  compiled",
        "    no calls",
        "  initialized, with 0 descriptors, 0 bytes of temporary and 0 of persistent memory",
        "    no calls",
        "  dispatched, with 3 descriptors, 1 byte of temporary and 2 of persistent memory",
    ]
    assert lines[8].split() == ["Dispatch", "4", "x", "1", "x", "1", "groups"]


def test_an_example_is_named_by_its_id(run: Callable[..., Result]) -> None:
    result = run("GATHER/1", "--level", "5_0", "--device-profile", "least")
    assert result.exit_code == 0
    assert FakeRecorder.asked == [examples()["GATHER/1"].with_types()]
    assert FakeRecorder.profile is not None
    assert FakeRecorder.profile.name == "least"
    assert result.levels == [Level.L5_0]  # type: ignore[attr-defined]  # see `run`
    assert "\nGATHER/1: DML_OPERATOR_GATHER\n" in result.stdout


def test_a_file_goes_before_an_example_of_the_same_name(run: Callable[..., Result]) -> None:
    Path("GATHER").mkdir()
    Path("GATHER/1").write_text(json.dumps(desc_to_json(TILE)))
    assert run("GATHER/1").exit_code == 0
    assert FakeRecorder.asked == [TILE]


def test_as_json(run: Callable[..., Result]) -> None:
    result = run("both.json", "--format", "json", tile=REFUSED)
    value = json.loads(result.stdout)
    assert value["format"] == 1
    assert value["library"] == {"version": "a build not known here", "sha256": "a" * 64, "level": "5_2"}
    assert value["device_profile"] == "full"
    gather, tiled = value["operators"]
    assert (gather["source"], gather["where"], gather["operator"]) == ("both.json", "[0]", "GATHER")
    assert gather["problem"] == ""
    assert gather["recording"]["execution"] == {
        "binding_properties": {
            "RequiredDescriptorCount": 3,
            "TemporaryResourceSize": 1,
            "PersistentResourceSize": 2,
        },
        "calls": [{"Call": "Dispatch", "ThreadGroupCountX": 4, "ThreadGroupCountY": 1, "ThreadGroupCountZ": 1}],
    }
    assert tiled["recording"] is None
    assert tiled["problem"] == "refused: IDMLDevice::CreateOperator answered E_INVALIDARG"


@pytest.mark.parametrize(
    ("problem", "code", "told"),
    [
        (REFUSED, 1, "refused: IDMLDevice::CreateOperator answered E_INVALIDARG"),
        (Unsupported("33 entries"), 2, "33 entries"),
        (LibraryCrash("the DirectML library died of SIGSEGV"), 3, "the DirectML library died of SIGSEGV"),
        (RecordingError("it does not provide for X (slot 3)"), 3, "it does not provide for X (slot 3)"),
    ],
)
def test_what_cannot_be_recorded_is_told_and_the_rest_recorded(
    run: Callable[..., Result], problem: Exception, code: int, told: str
) -> None:
    result = run("both.json", gather=problem)
    assert result.exit_code == code
    assert result.stderr == f"dml-conformance: both.json: [0]: {told}\n"
    assert "both.json: [0]: DML_OPERATOR_GATHER: not recorded\n" in result.stdout
    assert "both.json: [1]: DML_OPERATOR_TILE\n  compiled\n" in result.stdout


def test_the_worst_outcome_is_the_exit_code(run: Callable[..., Result]) -> None:
    assert run("both.json", gather=LibraryCrash("died"), tile=REFUSED).exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.json",), "missing.json: cannot be read: No such file or directory"),
        (("gather.json", "nothing.json"), "nothing.json: has no operator known here, only DML_OPERATOR_CONVOLUTION"),
        (("gather.json", "--device-profile", "odd"), "'odd' is none of full, no-doubles"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_recorded(
    run: Callable[..., Result], arguments: tuple[str, ...], told: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, FakeRecorder.asked, result.stdout) == (2, [], "")
    assert told in result.stderr
