"""What the tests of the directml backend share: descriptors, stand-ins for the worker, the installed library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from five_operators import GatherDesc, TileDesc

from dml_conformance.backends.directml import backend as backend_module
from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.library import LibraryFile, find_library
from dml_conformance.backends.directml.process import DecisionProcess
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc

GATHER = GatherDesc(
    TensorDesc.of(DataType.FLOAT32, (3, 2)),
    TensorDesc.of(DataType.UINT32, (1, 4)),
    TensorDesc.of(DataType.FLOAT32, (4, 2)),
    0,
    1,
)


def tile(data_type: DataType, size: int = 2) -> TileDesc:
    """A valid one, in one dimension, that repeats once."""
    tensor = TensorDesc.of(data_type, (size,))
    return TileDesc(tensor, tensor, (1,))


def fake_worker(
    answers: str, hello: str = "address=4096, level=0x6200, data_types=tuple(range(1, 12))"
) -> DecisionProcess:
    """A process that speaks the worker's protocol without any library.

    Args:
        answers: Python that gets each `block` and calls `reply(code, signal, text)`.
        hello: arguments of what it says first.
    """
    script = f"""
import os, signal, sys, time
import msgspec
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.backends.processes.framing import HEADER, MARK, send

def reply(code=0, signal=0, text=b""):
    send(1, msgspec.msgpack.encode(Reply(code, text.decode())), signal)

send(1, msgspec.msgpack.encode(Hello({hello})))
while block := os.read(0, 1 << 16):
    {answers}
"""
    return DecisionProcess(script)


def use_fake_worker(monkeypatch: pytest.MonkeyPatch, answers: str, **more: str) -> list[DecisionProcess]:
    """Have new backends talk to a fake worker. Returns a list that gets the workers started."""
    started: list[DecisionProcess] = []

    def start(*_: object) -> DecisionProcess:
        started.append(fake_worker(answers, **more))
        return started[-1]

    monkeypatch.setattr(backend_module, "find_library", lambda level: LibraryFile(Path("fake.so"), "0" * 64, None))
    monkeypatch.setattr(backend_module, "start", start)
    return started


def fake_library(folder: Path) -> Path:
    """Compile the made-up library into a folder; skips the test where there is no compiler."""
    compiler = stubs.find_compiler()
    if compiler is None:
        pytest.skip("there is no C compiler")
    source = Path(__file__).with_name("directml_fake_library.c")
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", str(folder / "fake.so"), str(source)], check=True)
    return folder / "fake.so"


def library_or_skip(level: Level) -> LibraryFile:
    """The installed library of a level; skips the test where there is none."""
    try:
        return find_library(level)
    except DirectmlError as error:
        pytest.skip(str(error))
