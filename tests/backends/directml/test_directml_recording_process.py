"""The process that records: made up for the purpose, and the real one with a made-up library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from directml_fakes import GATHER, fake_library, tile
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml import DirectmlError, LibraryCrash, stubs
from dml_conformance.backends.directml.library import Library
from dml_conformance.backends.directml.process import Worker
from dml_conformance.backends.directml.recording import process as process_module
from dml_conformance.backends.directml.recording.calls import BindingProperties, Recording, Stage
from dml_conformance.backends.directml.recording.process import OperatorRefused, Recorder, RecordingError, header_name
from dml_conformance.backends.directml.recording.protocol import Recorded, Request, Tensor
from dml_conformance.backends.directml.structs import HEADER, Packer
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.gather_elements import GatherElementsDesc
from dml_conformance.spec.tensor import TensorDesc

ADDRESS = 4096
NOTHING = Stage(BindingProperties(0, 0, 0), ())
RECORDING = Recording("GATHER", (), NOTHING, NOTHING)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Recorder]:
    """Makes a recorder whose process runs these lines for each `request`, with `data` as what was sent."""

    def make(answers: str) -> Recorder:
        script = f"""
import os, signal
import msgspec
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.backends.processes.framing import send
from dml_conformance.backends.directml.recording.protocol import *
from dml_conformance.backends.directml.structs import HEADER

def reply(answer=None, signal=0):
    text = b"" if answer is None else msgspec.json.encode(answer)
    send(1, msgspec.msgpack.encode(Reply(0, text.decode())), signal)

send(1, msgspec.msgpack.encode(Hello(address={ADDRESS}, level=0x6200)))
while data := os.read(0, 1 << 16):
    request = msgspec.json.decode(data[HEADER.size:], type=Request)
    {answers}
"""
        monkeypatch.setattr(process_module, "Worker", lambda code: Worker(script))
        monkeypatch.setattr(process_module.stubs, "build", lambda cache: tmp_path)
        return Recorder(Library(Path("fake.so"), "0" * 64, None))

    return make


def test_what_is_asked_for(recorder: Callable[[str], Recorder]) -> None:
    desc = replace(GATHER, input_tensor=replace(GATHER.input_tensor, flags=TensorFlag.OWNED_BY_DML))
    with recorder("reply(Failed(data.hex()))") as asked, pytest.raises(RecordingError) as told:
        asked.record([desc, replace(GATHER, indices_tensor=None)], offset=512)
    data = bytes.fromhex(str(told.value))
    assert HEADER.unpack_from(data) == (len(data) - HEADER.size,)
    request = msgspec.json.decode(data[HEADER.size :], type=Request)
    assert request.offset == 512
    first, second = request.operators
    assert first.name == "GATHER"
    assert first.block == bytes(Packer(ADDRESS).pack(desc))
    assert first.inputs == (Tensor("InputTensor", 24, True), Tensor("IndicesTensor", 16, False))
    assert first.outputs == (Tensor("OutputTensor", 32, False),)
    assert second.inputs == (Tensor("InputTensor", 24, False), None)


def test_recordings_come_back(recorder: Callable[[str], Recorder]) -> None:
    answer = msgspec.json.encode(Recorded((RECORDING, RECORDING)))
    with recorder(f"reply(msgspec.json.decode({answer!r}, type=Recorded))") as asked:
        assert asked.record([GATHER]) == (RECORDING, RECORDING)
        assert asked.hello.level == 0x6200


def test_a_refusal_names_the_operator(recorder: Callable[[str], Recorder]) -> None:
    with recorder("reply(Refused(1, 'it answered no'))") as asked, pytest.raises(OperatorRefused) as told:
        asked.record([GATHER])
    assert (told.value.index, str(told.value)) == (1, "it answered no")


def test_a_crash_is_told_and_the_next_request_is_answered(recorder: Callable[[str], Recorder]) -> None:
    answers = "reply(signal=signal.SIGSEGV) if request.offset else reply(Failed('this one'))"
    with recorder(answers) as asked:
        with pytest.raises(LibraryCrash, match=r"died of SIGSEGV; it was to record GATHER, TILE$"):
            asked.record([GATHER, tile(DataType.INT8)], offset=16)
        with pytest.raises(RecordingError, match=r"^this one$"):
            asked.record([GATHER])


def test_a_process_that_ends_is_told(recorder: Callable[[str], Recorder]) -> None:
    with recorder("raise SystemExit(3)") as asked, pytest.raises(DirectmlError, match="ended with code 3"):
        asked.record([GATHER])


def test_a_descriptor_that_the_structs_cannot_hold_is_not_sent(recorder: Callable[[str], Recorder]) -> None:
    wide = TensorDesc.of(DataType.FLOAT32, (1, 2), (2, 1))
    with recorder("reply(Failed('was sent'))") as asked, pytest.raises(Unsupported, match="1 strides for 2 sizes"):
        asked.record([replace(GATHER, input_tensor=replace(wide, strides=(1,)))])


@pytest.mark.parametrize(
    ("attribute", "name"), [("input_tensor", "InputTensor"), ("output_gradient_tensor", "OutputGradientTensor")]
)
def test_tensors_are_called_as_in_the_header(attribute: str, name: str) -> None:
    assert header_name(attribute) == name


@pytest.fixture
def real_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """One with a made-up library that decides and compiles nothing."""
    library = fake_library(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Recorder(Library(library, "0" * 64, None)) as recorder:
        yield recorder


def test_the_real_process_says_what_the_library_refuses(real_process: Recorder) -> None:
    assert (real_process.hello.level, real_process.hello.unexpected) == (Level.L6_2, ())
    for _ in range(2):
        with pytest.raises(OperatorRefused, match=r"^IDMLDevice::CreateOperator answered E_INVALIDARG$"):
            real_process.record([tile(DataType.FLOAT32)])
        with pytest.raises(OperatorRefused, match=r"^IDMLDevice::CompileOperator answered E_INVALIDARG$"):
            real_process.record([GATHER])


def test_the_real_process_survives_the_library(real_process: Recorder) -> None:
    crashes = GatherElementsDesc(GATHER.input_tensor, GATHER.indices_tensor, GATHER.output_tensor, 0)
    for _ in range(2):
        with pytest.raises(LibraryCrash, match=r"died of SIGABRT: .*broken; it was to record GATHER_ELEMENTS$"):
            real_process.record([crashes])
        with pytest.raises(OperatorRefused):
            real_process.record([GATHER])


def test_a_request_longer_than_a_pipe_holds_arrives_whole(real_process: Recorder) -> None:
    with pytest.raises(OperatorRefused) as told:
        real_process.record([tile(DataType.FLOAT32)] * 200)
    assert told.value.index == 0


def test_a_library_that_cannot_be_loaded_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if stubs.find_compiler() is None:
        pytest.skip("there is no C compiler")
    with pytest.raises(DirectmlError, match="cannot load the DirectML library"):
        Recorder(Library(tmp_path / "missing.so", "0" * 64, None))
