"""Backends that do what no backend should, on one case, an output as wide as `GUILTY`, and are right otherwise."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dml_conformance.backends.base import Answer, Binding, Execution, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.levels import Level

GUILTY = 13
CHILD = [sys.executable, "-c", "import time; time.sleep(600)"]


def is_guilty(desc: Any) -> bool:
    return bool(desc.output_tensor.sizes[-1] == GUILTY)


class Awful(ReferenceBackend):
    """Does something awful before it executes the guilty case."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        if is_guilty(desc):
            self.do(inputs)
        super().execute(desc, level, inputs, outputs)

    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise NotImplementedError


class Segfaults(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        print("about to read address 0")
        ctypes.string_at(0)


class Aborts(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        os.abort()


class Exits(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        sys.exit("no more")


class ExitsAtOnce(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        os._exit(0)


class Interrupts(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise KeyboardInterrupt


class Loops(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        while True:
            pass


class Sleeps(Awful):
    """In C, without letting Python's lock go: no other thread of the process runs."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        ctypes.PyDLL(None).sleep(600)


class Stops(Awful):
    """Stops its process; nothing in it runs, no handler of a signal either."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Hogs(Awful):
    """Takes 400 MiB for a moment."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        np.ones(400 * 2**20, np.uint8)


class HogsInAChild(Awful):
    """Has another process take 400 MiB."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        subprocess.run([sys.executable, "-c", "import time; b = b'x' * (400 * 2**20); time.sleep(600)"], check=False)


class Babbles(Awful):
    """Prints more than a megabyte of anything on each of its standard streams, and is right nevertheless."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        garbage = bytes(range(256)) * 5000
        for stream in (1, 2):
            os.write(stream, garbage)


class Hangs(Awful):
    """Says something long before it hangs."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        print("x" * 2**20 + " these were its last words", file=sys.stderr)
        time.sleep(600)


class ClosesPipes(Awful):
    """Closes all files, the ones that it is asked and answers by too, and goes on."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        os.closerange(0, 4096)
        time.sleep(600)


class WritesRubbish(Awful):
    """Writes on every file that is open."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        write_everywhere(b"\xffrubbish" * 10)


class Forges(Awful):
    """Answers in place of its process that all went well, so that the real answer is one too many."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        from dml_conformance.backends.processes.framing import HEADER, MARK
        from dml_conformance.backends.processes.wire import Completion, encode

        content = encode(Completion())
        for number in range(1, 200):
            write_everywhere(HEADER.pack(MARK, len(content), number) + content)


def write_everywhere(data: bytes) -> None:
    for file in range(3, 64):
        with suppress(OSError):
            os.write(file, data)


class WritesToInput(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        inputs["input_tensor"].buffer[...] ^= 1


class WritesStray(Awful):
    """Writes a byte beside its output's resource."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        """Nothing: it is done with the outputs at hand."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        super().execute(desc, level, inputs, outputs)
        if is_guilty(desc):
            output = outputs["output_tensor"]
            self.stray(output.buffer.ctypes.data + output.offset, output.size)

    def stray(self, start: int, size: int) -> None:
        """Write there."""
        flip(start + size + 199)


class WritesBefore(WritesStray):
    def stray(self, start: int, size: int) -> None:
        flip(start - 300)


class WritesAPageAfter(WritesStray):
    def stray(self, start: int, size: int) -> None:
        flip(start + size + 4096)


class WritesBeforeItsInput(WritesStray):
    """Before the resource that lies first in memory."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        ReferenceBackend.execute(self, desc, level, inputs, outputs)
        if is_guilty(desc):
            flip(inputs["input_tensor"].buffer.ctypes.data - 300)


def flip(address: int) -> None:
    ctypes.c_uint8.from_address(address).value ^= 1


class Talks(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise ValueError("why not " * 10**6)


class Unspeakable(Exception):
    def __str__(self) -> str:
        sys.exit("not even that")


class RaisesUnspeakable(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise Unspeakable


class Declines(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise Unsupported("not thirteen")


class RunsOut(Awful):
    def do(self, inputs: Mapping[str, Binding]) -> None:
        raise MemoryError("none left")


class LeavesAChild(Awful):
    """Starts a process, and one in a session of its own, and dies."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        subprocess.Popen(CHILD)
        subprocess.Popen(CHILD, start_new_session=True)
        os.abort()


class LeavesACopy(Awful):
    """Copies itself into a session of its own, and dies."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        os.abort()


class SilencesItself(Awful):
    """Takes every way to notice a crash away from its process, and crashes in a thread."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        faulthandler.disable()
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        thread = threading.Thread(target=ctypes.string_at, args=(0,))
        thread.start()
        thread.join()


class IgnoresItsEnd(Awful):
    """Starts a process, ignores what signals it can, and goes on when nobody listens any more."""

    def do(self, inputs: Mapping[str, Binding]) -> None:
        subprocess.Popen(CHILD)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(600)


class DiesLater(ReferenceBackend):
    """Dies of the fourth decision, whatever it is about."""

    signal = signal.SIGABRT
    calls = 0

    def validate(self, desc: Any, level: Level) -> Answer:
        self.calls += 1
        if self.calls == 4:
            os.kill(os.getpid(), self.signal)
        return super().validate(desc, level)


class DiesInThe300thDecision(DiesLater):
    """In each process anew."""

    signal = signal.SIGSEGV
    at = 300

    def validate(self, desc: Any, level: Level) -> Answer:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), self.signal)
        return ReferenceBackend.validate(self, desc, level)


class IsKilledInThe300thDecision(DiesInThe300thDecision):
    signal = signal.SIGKILL


class DiesInTheNinthExecution(ReferenceBackend):
    """Of each process."""

    executions = 0

    def execute(self, *arguments: Any) -> None:
        self.executions += 1
        if self.executions == 9:
            os.abort()
        super().execute(*arguments)


class DecidesSlowly(ReferenceBackend):
    """Four decisions in a row take longer than a second, none alone does."""

    def validate(self, desc: Any, level: Level) -> Answer:
        time.sleep(0.3)
        return super().validate(desc, level)


class KillsInThe40thExecution(ReferenceBackend):
    """Itself, in each process anew."""

    executions = 0

    def execute(self, *arguments: Any) -> None:
        self.executions += 1
        if self.executions == 40:
            self.kill()
        super().execute(*arguments)

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class KillsItsGroupInThe40thExecution(KillsInThe40thExecution):
    def kill(self) -> None:
        os.killpg(0, signal.SIGKILL)


class LeaksDeciding(ReferenceBackend):
    """A megabyte with each decision."""

    def __init__(self) -> None:
        self.leaked: list[bytearray] = []

    def validate(self, desc: Any, level: Level) -> Answer:
        self.leaked.append(bytearray(b"x" * 2**20))
        return super().validate(desc, level)


class IsKilledOnce(ReferenceBackend):
    """As by somebody else, as often as the environment says: in every seventh execution of a process until then."""

    executions = 0

    def execute(self, *arguments: Any) -> None:
        self.executions += 1
        if self.executions % 7 == 0 and is_first():
            os.kill(os.getpid(), signal.SIGKILL)
        super().execute(*arguments)


class IsKilledOnceInABatch(IsKilledOnce):
    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.execute(*execution)


class IsWrongOnce(ReferenceBackend):
    """In its first execution of many; what fails then is right in the next process."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        super().execute(desc, level, inputs, outputs)
        if is_first():
            outputs["output_tensor"].view[:1] ^= 1


class IsWrong(ReferenceBackend):
    """In whatever it executes that has more than five elements."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        super().execute(desc, level, inputs, outputs)
        if desc.output_tensor.element_count > 5:
            outputs["output_tensor"].view[:1] ^= 1


def is_first() -> bool:
    """Whether this is among the first so many times that something happens, in whatever processes: as many as the
    folder of the environment's variable DML_TEST_ONCE has files, of which each time one is removed."""
    for file in Path(os.environ["DML_TEST_ONCE"]).iterdir():
        with suppress(FileNotFoundError):
            file.unlink()
            return True
    return False


class DiesAlways(ReferenceBackend):
    """Of whatever it executes that has more than five elements."""

    def execute(self, desc: Any, *arguments: Any) -> None:
        if desc.output_tensor.element_count > 5:
            os.abort()
        super().execute(desc, *arguments)


class DiesDrawing(ReferenceBackend):
    """Says what it has drawn from NumPy's and Python's own generators."""

    def execute(self, *arguments: Any) -> None:
        print(np.random.randint(2**62), random.randrange(2**62), flush=True)
        os.abort()


class DiesOfLarge(ReferenceBackend):
    """Of what has more than 50,000 elements."""

    def execute(self, desc: Any, *arguments: Any) -> None:
        if desc.output_tensor.element_count > 50_000:
            os.abort()
        super().execute(desc, *arguments)


class HangsAlways(ReferenceBackend):
    """Over whatever it executes that has more than five elements."""

    def execute(self, desc: Any, *arguments: Any) -> None:
        if desc.output_tensor.element_count > 5:
            time.sleep(600)
        super().execute(desc, *arguments)


class DiesDeciding(ReferenceBackend):
    def validate(self, desc: Any, level: Level) -> Answer:
        if is_guilty(desc):
            os.abort()
        return super().validate(desc, level)


class AnswersRubbish(ReferenceBackend):
    def validate(self, desc: Any, level: Level) -> Any:
        return ["yes"] if is_guilty(desc) else super().validate(desc, level)


class Batches(ReferenceBackend):
    """Executes batches, one by one."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.execute(*execution)

    def execute(self, *arguments: Any) -> None:
        super().execute(*arguments)


class WritesStrayInABatch(Batches):
    """Two hundred bytes behind the resource of a batch that has the guilty case, and only there."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        super().execute_batch(executions)
        if any(is_guilty(execution.desc) for execution in executions):
            buffer = executions[0].outputs["output_tensor"].buffer
            flip(buffer.ctypes.data + len(buffer) + 199)


class WritesStrayWithOthers(Batches):
    """Behind the resource of the guilty case, alone too."""

    def execute(self, desc: Any, *arguments: Any) -> None:
        super().execute(desc, *arguments)
        if is_guilty(desc):
            buffer = arguments[2]["output_tensor"].buffer
            flip(buffer.ctypes.data + len(buffer) + 199)


class DiesInABatch(Batches):
    """Dies of the guilty case, but only in a batch."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        if any(is_guilty(execution.desc) for execution in executions):
            os.abort()
        super().execute_batch(executions)


class DiesWithOthers(Batches):
    """Dies of the guilty case, alone too."""

    def execute(self, desc: Any, *arguments: Any) -> None:
        if is_guilty(desc):
            os.abort()
        super().execute(desc, *arguments)


class NeedsValidation(ReferenceBackend):
    """Executes only what this very process has decided on, and dies of the guilty case."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def validate(self, desc: Any, level: Level) -> Answer:
        self.seen.add(desc)
        return super().validate(desc, level)

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        if is_guilty(desc):
            os.abort()
        if desc not in self.seen:
            raise KeyError("never seen")
        super().execute(desc, level, inputs, outputs)

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.execute(*execution)


class CannotBeMade(ReferenceBackend):
    def __init__(self) -> None:
        raise OSError("no such device")


class DiesWhenMade(ReferenceBackend):
    def __init__(self) -> None:
        os.abort()


class ExitsWhenMade(ReferenceBackend):
    def __init__(self) -> None:
        sys.exit(3)
