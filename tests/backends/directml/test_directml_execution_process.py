"""The process that executes, from both sides: with a worker made up for the purpose, and with made-up devices in it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pytest
from directml_execution_fakes import World
from directml_fakes import GATHER
from places import SUPPORT

from dml_conformance.backends.base import Binding
from dml_conformance.backends.directml.com import HResult
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.opening import ExecutionDevice
from dml_conformance.backends.directml.execution.process import (
    BoundResource,
    DeviceProcess,
    ExecutionError,
    NoMemory,
    start,
)
from dml_conformance.backends.directml.execution.protocol import (
    Buffer,
    Copy,
    CreationResult,
    Decide,
    ExecutionProblem,
    ProblemKind,
    RunOperator,
    RunTimes,
    decode_reply,
    encode,
)
from dml_conformance.backends.directml.execution.server import TOOK_TOO_LONG, DeadlineTimer, Server
from dml_conformance.backends.directml.protocol import Reply as DecisionReply
from dml_conformance.backends.directml.structs import BLOCK_SIZE, Packer
from dml_conformance.backends.processes.framing import Receiver, send, write
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level

BLOCK = bytes(range(40))


def fake_process(answers: str, hello: str = "address=4096, level=0x6200, data_types=(1, 2)") -> DeviceProcess:
    """A process that speaks the worker's protocol without any library.

    Args:
        answers: Python that gets each `request`, its `block` and its `resources`.
        hello: arguments of what it says first.
    """
    script = f"""
import os, sys
from dml_conformance.backends.directml.execution.protocol import *
from dml_conformance.backends.directml.protocol import Hello
from dml_conformance.backends.processes.framing import Receiver, send, write

receiver = Receiver(0, in_turn=False)

def reply(message, *resources):
    send(1, encode(message))
    for data in resources:
        write(1, data)

reply(Hello({hello}))
while (received := receiver.receive()) is not None:
    request = decode_request(received[1])
    block = bytearray(getattr(request, "block", 0))
    receiver.read_into(memoryview(block))
    resources = [bytearray(length) for length in getattr(request, "lengths", [])]
    for data in resources:
        receiver.read_into(memoryview(data))
    {answers}
"""
    return DeviceProcess(script)


def resource(content: bytes, *, is_owned: bool = False) -> BoundResource:
    """A resource whose middle is bound."""
    buffer = np.frombuffer(b"<" * 16 + content + b">" * 16, np.uint8).copy()
    return BoundResource(Binding(buffer, 16, len(content)), is_owned)


# --- the side that asks ------------------------------------------------------------------------------------------


def test_decisions_are_asked_with_the_block() -> None:
    process = fake_process("reply(CreationResult(-1 if bytes(block) == bytes(range(40)) else 0))")
    assert process.hello.data_types == (1, 2)
    assert process.ask(BLOCK) == DecisionReply(-1, "")
    assert process.ask(BLOCK[1:]) == DecisionReply(0, "")
    process.close()
    assert not process.is_running


def test_resources_come_back_into_the_callers_memory() -> None:
    process = fake_process(
        "for n, data in enumerate(resources): data[0] = 65 + n\n"
        "    reply(RunTimes([0.5] * request.repeats), *resources)"
    )
    data, output = resource(b"d" * 8), resource(b"o" * 4)
    assert process.execute(BLOCK, [data, None], [output]) == []
    assert data.binding.buffer.tobytes() == b"A" + b"<" * 15 + b"d" * 8 + b">" * 16
    assert output.binding.buffer.tobytes() == b"B" + b"<" * 15 + b"o" * 4 + b">" * 16
    assert process.execute(BLOCK, [data], [output], repeats=3) == [0.5] * 3
    process.close()


def test_what_the_worker_is_told_of_resources() -> None:
    process = fake_process("reply(ExecutionProblem(ProblemKind.FAILED, repr((request.inputs, request.outputs))))")
    with pytest.raises(ExecutionError) as told:
        process.execute(BLOCK, [resource(b"d" * 8, is_owned=True), None], [resource(b"o" * 4)])
    inputs = (Buffer(0, 40, 16, 8, True), None)
    assert str(told.value) == repr((inputs, (Buffer(1, 36, 16, 4, False),)))
    process.close()


def test_a_resource_that_is_bound_twice_is_sent_once() -> None:
    process = fake_process(
        "data, = resources; data[-1] = 65 + request.outputs[0].resource; reply(RunTimes(), *resources)"
    )
    both = resource(b"d" * 8)
    process.execute(BLOCK, [both], [both])
    assert both.binding.buffer.tobytes() == b"<" * 16 + b"d" * 8 + b">" * 15 + b"A"
    process.close()


def test_large_resources_pass() -> None:
    process = fake_process("reply(RunTimes(), *reversed(resources))")
    one, other = resource(b"1" * 3_000_000), resource(b"2" * 3_000_000)
    process.execute(BLOCK, [one], [other])
    assert (one.binding.view == ord("2")).all()
    assert (other.binding.view == ord("1")).all()
    process.close()


def test_copies_are_timed() -> None:
    process = fake_process("reply(RunTimes([request.size / 1000] * request.repeats))")
    assert process.copy(500, 2) == [0.5, 0.5]
    process.close()


def test_problems_are_told_apart() -> None:
    process = fake_process(
        "reply(ExecutionProblem(ProblemKind(('no memory', 'failed', 'device removed')[block[0]]), 'as it is'))"
    )
    with pytest.raises(NoMemory, match="as it is"):
        process.execute(bytes([0]), [], [])
    with pytest.raises(ExecutionError, match="as it is"):
        process.execute(bytes([1]), [], [])
    assert process.is_running
    with pytest.raises(ExecutionError, match="as it is"):
        process.execute(bytes([2]), [], [])
    assert not process.is_running, "there is no device any more"


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        ("sys.stderr.write('broken\\n' * 9); sys.stderr.flush(); os.abort()", r"^died of SIGABRT: .*broken broken$"),
        ("os._exit(3)", r"^ended with code 3$"),
        ("os.write(1, b'half'); os._exit(3)", r"^ended with code 3$"),
        ("reply(RunTimes()); os._exit(3)", r"^ended with code 3$"),  # and no resources
    ],
)
def test_a_process_that_dies_is_told_with_its_last_words(answer: str, how: str) -> None:
    process = fake_process(answer)
    with pytest.raises(LibraryCrash, match=how):
        process.execute(BLOCK, [resource(b"d" * 8)], [])
    assert not process.is_running


def test_a_process_that_was_dead_already_is_told() -> None:
    process = fake_process("pass")
    process._child.process.kill()
    process._child.process.wait()
    with pytest.raises(LibraryCrash, match="died of SIGKILL"):
        process.execute(BLOCK, [resource(b"d" * 1_000_000)], [])


def test_only_the_end_of_many_words_is_kept() -> None:
    process = fake_process("[print('word', n, file=sys.stderr) for n in range(100_000)]; os._exit(3)")
    with pytest.raises(LibraryCrash, match=r"word 99999$") as told:
        process.ask(BLOCK)
    assert len(str(told.value)) < 500


def test_why_a_device_cannot_be_had_is_told() -> None:
    with pytest.raises(DirectmlError, match=r"^no such device$"):
        fake_process("", hello="error='no such device'")
    with pytest.raises(DirectmlError, match=r"^the process that executes ended with code 5$"):
        DeviceProcess("raise SystemExit(5)")
    with pytest.raises(DirectmlError, match="does not speak as expected"):
        DeviceProcess("print('hello, who is there?')")


def test_the_real_worker_tells_what_is_missing(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("libraries are loaded in another way here")
    missing = str(tmp_path / "missing.so")
    with pytest.raises(DirectmlError, match=r"cannot load .*missing\.so"):
        start(Setup("libdirectml.so", missing, dxcore=missing))


# --- the side that answers ---------------------------------------------------------------------------------------


class FakeDirectml:
    """Decides by the first byte of a block's descriptor; `types` are those of the operators that it was asked for."""

    def __init__(self) -> None:
        self.types: list[int] = []

    def create_operator(self, desc: int) -> int:
        self.types.append(ctypes.c_uint32.from_address(desc).value)
        return -1 if ctypes.string_at(desc, 1) == b"!" else 0


def asked(*requests: tuple[Any, bytes]) -> IO[bytes]:
    """Requests in a file, each with what follows it."""
    file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by whoever asks
    for request, blocks in requests:
        send(file.fileno(), encode(request))
        write(file.fileno(), blocks)
    file.seek(0)
    return file


def serve(
    world: World, *requests: tuple[Any, bytes], memory: Any = None, directml: FakeDirectml | None = None
) -> list[tuple[Any, bytes]]:
    """The worker's replies, each with what follows it, to requests, each with what follows it."""
    memory = memory or ctypes.create_string_buffer(BLOCK_SIZE)
    opened = ExecutionDevice(world.gpu, directml or FakeDirectml(), "made up", {}, ())  # type: ignore[arg-type]
    found = []
    with asked(*requests) as file, TemporaryFile(buffering=0) as replies:
        Server(opened, memory, file.fileno(), replies.fileno(), DeadlineTimer()).serve()
        replies.seek(0)
        receiver = Receiver(replies.fileno(), in_turn=False)
        resources = iter(request.lengths if isinstance(request, RunOperator) else [] for request, _ in requests)
        while (received := receiver.receive()) is not None:
            reply = decode_reply(received[1])
            wanted = next(resources)
            data = bytearray(sum(wanted) if isinstance(reply, RunTimes) else 0)
            receiver.read_into(memoryview(data))
            found.append((reply, bytes(data)))
    return found


EXECUTE = RunOperator(8, (Buffer(0, 48, 16, 16), None), (Buffer(1, 32, 16, 16),))
RESOURCES = b"<" * 16 + b"0123456789abcdef" + b">" * 16 + b"?" * 32


def test_requests_are_answered_in_turn() -> None:
    world = World()
    assert serve(
        world,
        (Decide(16), b"length..accepted"),
        (Decide(9), b"length..!"),
        (EXECUTE, b"block..." + RESOURCES),
        (Copy(100, 2), b""),
        (Decide(16), b"length..accepted"),
    ) == [
        (CreationResult(0), b""),
        (CreationResult(-1), b""),
        (RunTimes(), RESOURCES[:48] + b"?" * 16 + b"0123456789abcdef"),
        (RunTimes([0.025, 0.025]), b""),
        (CreationResult(0), b""),
    ]
    world.gpu.close()
    assert world.alive == []
    timed = RunOperator(8, EXECUTE.inputs, EXECUTE.outputs, repeats=3)
    ((reply, resources),) = serve(World(), (timed, b"block..." + RESOURCES))
    assert (reply, resources[-16:]) == (RunTimes([0.025] * 3), b"0123456789abcdef")


def test_a_problem_is_answered_and_the_next_request_too() -> None:
    world = World()
    world.fails["CompileOperator"] = HResult.E_INVALIDARG
    refused = ExecutionProblem(ProblemKind.FAILED, "IDMLDevice::CompileOperator answered E_INVALIDARG")
    replies = serve(world, (EXECUTE, b"block..." + RESOURCES), (Decide(16), b"length..accepted"))
    assert replies == [(refused, b""), (CreationResult(0), b"")]
    world.fails = {"CreateCommittedResource": HResult.E_OUTOFMEMORY}
    ((reply, _),) = serve(world, (Copy(100, 2), b""))
    assert reply == ExecutionProblem(ProblemKind.NO_MEMORY, "the device has no memory for a buffer of 100 bytes")


@pytest.mark.parametrize("fails", [{}, {"CompileOperator": HResult.E_FAIL}])
def test_nothing_is_answered_after_the_device_is_gone(fails: dict[str, HResult]) -> None:
    world = World()
    world.removed, world.fails = HResult.DXGI_ERROR_DEVICE_REMOVED, fails
    ((reply, _),) = serve(world, (EXECUTE, b"block..." + RESOURCES), (Decide(16), b"length..accepted"))
    assert reply.problem is ProblemKind.DEVICE_REMOVED
    assert "the device was removed: ID3D12Device::GetDeviceRemovedReason answered DXGI_ERROR_DEVICE_R" in reply.message
    assert ("CompileOperator answered E_FAIL" in reply.message) is bool(fails)


def test_requests_that_break_off_end_the_worker() -> None:
    assert serve(World(), (EXECUTE, b"block..." + RESOURCES[:-1])) == []


def test_the_block_lies_where_the_packer_was_told() -> None:
    memory, directml = ctypes.create_string_buffer(BLOCK_SIZE), FakeDirectml()
    block = bytes(Packer(ctypes.addressof(memory)).pack(GATHER))
    serve(World(), (Decide(len(block)), block), memory=memory, directml=directml)
    assert directml.types == [67], "the type of GATHER"


def test_what_takes_too_long_ends_the_process() -> None:
    script = """
import sys, time
from dml_conformance.backends.directml.execution.server import DeadlineTimer
dog = DeadlineTimer(0.3)
with dog:
    pass
time.sleep(0.6)  # nothing is awaited now
sys.stdout.write("still there")
sys.stdout.flush()
with dog:
    time.sleep(600)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (TOOK_TOO_LONG, "still there")
    assert done.stderr == "no answer after 0.3 seconds\n"


def test_the_worker_tells_of_itself_and_ends_with_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dml_conformance.backends.directml.process.STOP_SECONDS", 120)  # on a busy machine, too
    script = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from directml_execution_fakes import World
from dml_conformance.backends.directml.execution import server
from dml_conformance.backends.directml.execution.opening import ExecutionDevice
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level

class Directml:
    def level(self): return Level.L6_2
    def data_types(self): return frozenset((DataType.UINT8, DataType.FLOAT32))
    def create_operator(self, desc): return 7
    def close(self): print("closed", file=sys.stderr)

world = World()  # whose objects live as long as it does, and no longer

def open_device(setup):
    print("noise on standard output", setup.d3d12, flush=True)
    return ExecutionDevice(world.gpu, Directml(), "made up", {{"driver": "1.2"}}, ())

server.open_device = open_device
server.main('{{"directml": "a.so", "d3d12": "b.so"}}')
"""
    process = DeviceProcess(script)
    hello = process.hello
    assert (hello.level, hello.data_types) == (Level.L6_2, (DataType.FLOAT32, DataType.UINT8))
    assert (hello.device, hello.versions) == ("made up", {"driver": "1.2"})
    assert process.ask(BLOCK).code == 7
    output = resource(b"?" * 16)
    process.execute(BLOCK, [resource(b"0123456789abcdef")], [output])
    assert output.binding.view.tobytes() == b"0123456789abcdef"
    assert process._end() == "ended with code 0: noise on standard output b.so closed"
