"""Backends that do what no backend should, on one case, an output as wide as `GUILTY`, and are right otherwise."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dml_conformance.backends.base import Answer, Execution, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.levels import Level

GUILTY = 13
CHILD = [sys.executable, "-c", "import time; time.sleep(600)"]
Kind = type[ReferenceBackend]


def is_guilty(desc: Any) -> bool:
    return bool(desc.output_tensor.sizes[-1] == GUILTY)


def before(holds: Callable[[Any], bool], do: Callable[[], object]) -> Kind:
    """Does something before it executes a case for whose descriptor something holds."""

    class Awful(ReferenceBackend):
        def execute(self, desc: Any, *rest: Any) -> None:
            if holds(desc):
                do()
            super().execute(desc, *rest)

    return Awful


def before_guilty(do: Callable[[], object]) -> Kind:
    return before(is_guilty, do)


def before_large(count: int, do: Callable[[], object]) -> Kind:
    """Does something before it executes what has more elements than that."""
    return before(lambda desc: desc.output_tensor.element_count > count, do)


def after_guilty(do: Callable[[Any, Any], object]) -> Kind:
    """Does something with the input and the output when it has executed the guilty case."""

    class Awful(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            if is_guilty(desc):
                do(inputs["input_tensor"], outputs["output_tensor"])

    return Awful


def in_execution(number: int, do: Callable[[], object]) -> Kind:
    """Does something in the execution of that number, in each process anew."""

    class Awful(ReferenceBackend):
        executions = 0

        def execute(self, *arguments: Any) -> None:
            self.executions += 1
            if self.executions == number:
                do()
            super().execute(*arguments)

    return Awful


def in_decision(number: int, how: signal.Signals) -> Kind:
    """Dies of a signal in the decision of that number, whatever it is about, in each process anew."""

    class Awful(ReferenceBackend):
        decisions = 0

        def validate(self, desc: Any, level: Level) -> Answer:
            self.decisions += 1
            if self.decisions == number:
                os.kill(os.getpid(), how)
            return super().validate(desc, level)

    return Awful


def when_made(do: Callable[[], object]) -> Kind:
    class Awful(ReferenceBackend):
        def __init__(self) -> None:
            do()

    return Awful


def raising(error: type[BaseException], *words: str) -> Callable[[], None]:
    def deed() -> None:
        raise error(*words)

    return deed


# --- deeds ------------------------------------------------------------------------------------------------------------


def segfault() -> None:
    print("about to read address 0")
    ctypes.string_at(0)


def loop() -> None:
    while True:
        pass


def hog_in_a_child() -> None:
    subprocess.run([sys.executable, "-c", "import time; b = b'x' * (400 * 2**20); time.sleep(600)"], check=False)


def babble() -> None:
    """Print more than a megabyte of anything on each of the standard streams."""
    for stream in (1, 2):
        os.write(stream, bytes(range(256)) * 5000)


def say_much_and_hang() -> None:
    print("x" * 2**20 + " these were its last words", file=sys.stderr)
    time.sleep(600)


def close_pipes() -> None:
    """Close all files, the ones that it is asked and answers by too, and go on."""
    os.closerange(0, 4096)
    time.sleep(600)


def forge() -> None:
    """Answer in place of its process that all went well, so that the real answer is one too many."""
    from dml_conformance.backends.processes.framing import HEADER, MARK
    from dml_conformance.backends.processes.wire import Completion, encode

    content = encode(Completion())
    for number in range(1, 200):
        write_everywhere(HEADER.pack(MARK, len(content), number) + content)


def write_everywhere(data: bytes) -> None:
    for file in range(3, 64):
        with suppress(OSError):
            os.write(file, data)


def write_to_input(source: Any, _: Any) -> None:
    source.buffer[...] ^= 1


def start_of(binding: Any) -> int:
    """The address of what is bound."""
    return int(binding.buffer.ctypes.data) + int(binding.offset)


def flip(address: int) -> None:
    ctypes.c_uint8.from_address(address).value ^= 1


class Unspeakable(Exception):
    def __str__(self) -> str:
        sys.exit("not even that")


def leave_a_child() -> None:
    """Start a process, and one in a session of its own, and die."""
    subprocess.Popen(CHILD)
    subprocess.Popen(CHILD, start_new_session=True)
    os.abort()


def leave_a_copy() -> None:
    """Copy itself into a session of its own, and die."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    os.abort()


def silence_itself() -> None:
    """Take every way to notice a crash away from its process, and crash in a thread."""
    faulthandler.disable()
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    thread = threading.Thread(target=ctypes.string_at, args=(0,))
    thread.start()
    thread.join()


def ignore_its_end() -> None:
    """Start a process, ignore what signals it can, and go on when nobody listens any more."""
    subprocess.Popen(CHILD)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


Segfaults = before_guilty(segfault)
Aborts = before_guilty(os.abort)
Exits = before_guilty(lambda: sys.exit("no more"))
ExitsAtOnce = before_guilty(lambda: os._exit(0))
Interrupts = before_guilty(raising(KeyboardInterrupt))
Loops = before_guilty(loop)
# In C, without letting Python's lock go: no other thread of the process runs.
Sleeps = before_guilty(lambda: ctypes.PyDLL(None).sleep(600))
# Nothing in the process runs then, no handler of a signal either.
Stops = before_guilty(lambda: os.kill(os.getpid(), signal.SIGSTOP))
Hangs = before_guilty(say_much_and_hang)
Hogs = before_guilty(lambda: np.ones(400 * 2**20, np.uint8))
HogsInAChild = before_guilty(hog_in_a_child)
Babbles = before_guilty(babble)
ClosesPipes = before_guilty(close_pipes)
WritesRubbish = before_guilty(lambda: write_everywhere(b"\xffrubbish" * 10))
Forges = before_guilty(forge)
Talks = before_guilty(raising(ValueError, "why not " * 10**5))
RaisesUnspeakable = before_guilty(raising(Unspeakable))
Declines = before_guilty(raising(Unsupported, "not thirteen"))
RunsOut = before_guilty(raising(MemoryError, "none left"))
LeavesAChild = before_guilty(leave_a_child)
LeavesACopy = before_guilty(leave_a_copy)
SilencesItself = before_guilty(silence_itself)
IgnoresItsEnd = before_guilty(ignore_its_end)

WritesToInput = after_guilty(write_to_input)
WritesStray = after_guilty(lambda _, output: flip(start_of(output) + output.size + 199))
WritesBefore = after_guilty(lambda _, output: flip(start_of(output) - 300))
WritesAPageAfter = after_guilty(lambda _, output: flip(start_of(output) + output.size + 4096))
# Before the resource that lies first in memory.
WritesBeforeItsInput = after_guilty(lambda source, _: flip(source.buffer.ctypes.data - 300))

DiesAlways = before_large(5, os.abort)
HangsAlways = before_large(5, lambda: time.sleep(600))
DiesOfLarge = before_large(50_000, os.abort)

DiesInTheNinthExecution = in_execution(9, os.abort)
KillsInThe40thExecution = in_execution(40, lambda: os.kill(os.getpid(), signal.SIGKILL))
KillsItsGroupInThe40thExecution = in_execution(40, lambda: os.killpg(0, signal.SIGKILL))

DiesLater = in_decision(4, signal.SIGABRT)
DiesInThe300thDecision = in_decision(300, signal.SIGSEGV)
IsKilledInThe300thDecision = in_decision(300, signal.SIGKILL)

CannotBeMade = when_made(raising(OSError, "no such device"))
DiesWhenMade = when_made(os.abort)
ExitsWhenMade = when_made(lambda: sys.exit(3))


# --- others -----------------------------------------------------------------------------------------------------------


class DecidesSlowly(ReferenceBackend):
    """Four decisions in a row take longer than a second, none alone does."""

    def validate(self, desc: Any, level: Level) -> Answer:
        time.sleep(0.3)
        return super().validate(desc, level)


class DiesDeciding(ReferenceBackend):
    def validate(self, desc: Any, level: Level) -> Answer:
        if is_guilty(desc):
            os.abort()
        return super().validate(desc, level)


class AnswersRubbish(ReferenceBackend):
    def validate(self, desc: Any, level: Level) -> Any:
        return ["yes"] if is_guilty(desc) else super().validate(desc, level)


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

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        super().execute(desc, level, inputs, outputs)
        if is_first():
            outputs["output_tensor"].view[:1] ^= 1


class IsWrong(ReferenceBackend):
    """In whatever it executes that has more than five elements."""

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
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

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        if is_guilty(desc):
            os.abort()
        if desc not in self.seen:
            raise KeyError("never seen")
        super().execute(desc, level, inputs, outputs)

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.execute(*execution)
