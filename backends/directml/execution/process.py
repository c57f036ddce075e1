"""The process that executes, as seen from the one that asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from dml_conformance.backends.base import Binding
from dml_conformance.backends.directml import protocol as decisions
from dml_conformance.backends.directml.errors import LibraryCrash
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.protocol import (
    Buffer,
    Copy,
    CreationResult,
    Decide,
    ExecutionProblem,
    ProblemKind,
    Request,
    RunOperator,
    RunTimes,
    decode_reply,
    encode,
)
from dml_conformance.backends.directml.process import LibraryProcess
from dml_conformance.backends.processes.child_process import main_of
from dml_conformance.backends.processes.framing import send, write


class ExecutionError(RuntimeError):
    """A library refused what a valid descriptor and valid bindings asked for, or lost the device over it."""


class NoMemory(RuntimeError):
    """The device has no memory for it."""


class BoundResource(NamedTuple):
    """A resource to execute on.

    Attributes:
        binding: the resource, which gets what the device left in it, and the range bound.
        is_owned: see `submission.Bound`.
    """

    binding: Binding
    is_owned: bool = False


def start(setup: Setup) -> DeviceProcess:
    """Start a process with a device.

    Raises:
        DirectmlError: see `DeviceProcess`.
    """
    arguments = msgspec.json.encode(setup).decode()
    return DeviceProcess(main_of("dml_conformance.backends.directml.execution.server", arguments))


class DeviceProcess(LibraryProcess):
    """One running worker. Once a call has raised `LibraryCrash`, or it has been closed, it is of no use any more.

    Args:
        code: Python that it runs.

    Raises:
        DirectmlError: it could not be started, or says why it cannot work.
    """

    name = "the process that executes"

    def ask(self, block: bytes | bytearray | memoryview) -> decisions.Reply:
        """Whether the library creates an operator.

        Args:
            block: of a `structs.Packer`.

        Raises:
            LibraryCrash: the process is gone.
        """
        self._send(Decide(len(block)), [block])
        reply = decode_reply(self._received()[1])
        assert isinstance(reply, CreationResult), reply
        return decisions.Reply(reply.code, "")

    def execute(
        self,
        block: bytes | bytearray | memoryview,
        inputs: Sequence[BoundResource | None],
        outputs: Sequence[BoundResource | None],
        repeats: int = 0,
    ) -> list[float]:
        """Run an operator on resources, which get what the device left in them.

        Args:
            block: of a `structs.Packer`.
            inputs: in the order of the operator's struct, None for a tensor left out.
            outputs: likewise.
            repeats: how many runs to time, after a warm-up; 0 to run it once, untimed.

        Returns:
            Seconds of each timed run.

        Raises:
            NoMemory: the device has none for this.
            ExecutionError: a library refused; if the device was lost, the process is gone.
            LibraryCrash: the process is gone.
        """
        buffers = {id(bound.binding.buffer): bound.binding.buffer for bound in (*inputs, *outputs) if bound is not None}
        numbers = {identity: number for number, identity in enumerate(buffers)}
        request = RunOperator(len(block), _described(inputs, numbers), _described(outputs, numbers), repeats)
        self._send(request, [block, *(buffer.data for buffer in buffers.values())])
        done = self._done()
        try:
            for buffer in buffers.values():
                self._receiver.read_into(buffer.data)
        except EOFError:
            raise self._gone() from None
        return done.seconds

    def copy(self, size: int, repeats: int) -> list[float]:
        """Seconds of each of several copies of `size` bytes on the device.

        Raises:
            NoMemory, ExecutionError, LibraryCrash: see `execute`.
        """
        self._send(Copy(size, repeats), [])
        return self._done().seconds

    def _send(self, request: Request, blocks: Sequence[bytes | bytearray | memoryview]) -> None:
        try:
            send(self._child.requests, encode(request))
            for block in blocks:
                write(self._child.requests, block)
        except OSError:  # a broken pipe, under whatever name the system has for it
            raise self._gone() from None

    def _done(self) -> RunTimes:
        reply = decode_reply(self._received()[1])
        if isinstance(reply, ExecutionProblem):
            if reply.problem is ProblemKind.NO_MEMORY:
                raise NoMemory(reply.message)
            if reply.problem is ProblemKind.DEVICE_REMOVED:
                self.close()
            raise ExecutionError(reply.message)
        assert isinstance(reply, RunTimes), reply
        return reply

    def _gone(self) -> LibraryCrash:
        return LibraryCrash(self._end())


def _described(resources: Sequence[BoundResource | None], numbers: Mapping[int, int]) -> tuple[Buffer | None, ...]:
    """As the protocol has them; `numbers` are those of the arrays, by identity."""
    return tuple(None if resource is None else _buffer(resource, numbers) for resource in resources)


def _buffer(resource: BoundResource, numbers: Mapping[int, int]) -> Buffer:
    array, offset, size = resource.binding
    return Buffer(numbers[id(array)], len(array), offset, size, resource.is_owned)
