"""Backends that do what no backend should, on one case, an output as wide as `GUILTY`, and are right otherwise."""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
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
Holds = Callable[[Any], bool]  # of a descriptor
LEAKED: list[bytearray] = []


def is_guilty(desc: Any) -> bool:
    return bool(desc.output_tensor.sizes[-1] == GUILTY)


def before(do: Callable[[], object], holds: Holds = is_guilty) -> Kind:
    """Does something before it executes a case for whose descriptor something holds."""

    class Awful(ReferenceBackend):
        def execute(self, desc: Any, *rest: Any) -> None:
            if holds(desc):
                do()
            super().execute(desc, *rest)

    return Awful


def after(do: Callable[[Any, Any], object], holds: Holds = is_guilty) -> Kind:
    """Does something with the input and the output when it has executed such a case."""

    class Awful(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            if holds(desc):
                do(inputs["input_tensor"], outputs["output_tensor"])

    return Awful


def deciding(do: Callable[[], object], holds: Holds) -> Kind:
    """Does something before it decides on such a case."""

    class Awful(ReferenceBackend):
        def validate(self, desc: Any, level: Level) -> Answer:
            if holds(desc):
                do()
            return super().validate(desc, level)

    return Awful


def in_batches(kind: Kind) -> Kind:
    """Executes batches, case by case."""

    class Batches(kind):  # type: ignore[misc, valid-type]
        def execute_batch(self, executions: Sequence[Execution]) -> None:
            for execution in executions:
                self.execute(*execution)

        def execute(self, *arguments: Any) -> None:
            super().execute(*arguments)

    return Batches


def call(number: int) -> Holds:
    """Holds in the call of that number, whatever it is about, in each process anew."""
    calls = itertools.count(1)
    return lambda _: next(calls) == number


def every(number: int) -> Holds:
    calls = itertools.count(1)
    return lambda _: next(calls) % number == 0


def larger(count: int) -> Holds:
    """Holds of what has more elements than that."""
    return lambda desc: bool(desc.output_tensor.element_count > count)


def raising(error: type[BaseException], *words: str) -> Callable[[], None]:
    def deed() -> None:
        raise error(*words)

    return deed


def kill(how: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), how)


def when_made(do: Callable[[], object]) -> Kind:
    class Awful(ReferenceBackend):
        def __init__(self) -> None:
            do()

    return Awful


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


def flip_behind(resource: Any) -> None:
    flip(resource.ctypes.data + len(resource) + 199)


def make_wrong(_: Any, output: Any) -> None:
    output.view[:1] ^= 1


def is_first() -> bool:
    """Whether this is among the first so many times that something happens, in whatever processes: as many as the
    folder of the environment's variable DML_TEST_ONCE has files, of which each time one is removed."""
    for file in Path(os.environ["DML_TEST_ONCE"]).iterdir():
        with suppress(FileNotFoundError):
            file.unlink()
            return True
    return False


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


Segfaults = before(segfault)
Aborts = before(os.abort)
Exits = before(lambda: sys.exit("no more"))
ExitsAtOnce = before(lambda: os._exit(0))
Interrupts = before(raising(KeyboardInterrupt))
Loops = before(loop)
# In C, without letting Python's lock go: no other thread of the process runs.
Sleeps = before(lambda: ctypes.PyDLL(None).sleep(600))
# Nothing in the process runs then, no handler of a signal either.
Stops = before(lambda: os.kill(os.getpid(), signal.SIGSTOP))
Hangs = before(say_much_and_hang)
Hogs = before(lambda: np.ones(400 * 2**20, np.uint8))
HogsInAChild = before(hog_in_a_child)
Babbles = before(babble)
ClosesPipes = before(close_pipes)
WritesRubbish = before(lambda: write_everywhere(b"\xffrubbish" * 10))
Forges = before(forge)
Talks = before(raising(ValueError, "why not " * 10**5))
RaisesUnspeakable = before(raising(Unspeakable))
Declines = before(raising(Unsupported, "not thirteen"))
RunsOut = before(raising(MemoryError, "none left"))
LeavesAChild = before(leave_a_child)
LeavesACopy = before(leave_a_copy)
SilencesItself = before(silence_itself)
IgnoresItsEnd = before(ignore_its_end)

WritesToInput = after(write_to_input)
WritesStray = after(lambda _, output: flip(start_of(output) + output.size + 199))
WritesBefore = after(lambda _, output: flip(start_of(output) - 300))
WritesAPageAfter = after(lambda _, output: flip(start_of(output) + output.size + 4096))
# Before the resource that lies first in memory.
WritesBeforeItsInput = after(lambda source, _: flip(source.buffer.ctypes.data - 300))

DiesAlways = before(os.abort, larger(5))
HangsAlways = before(lambda: time.sleep(600), larger(5))

DiesInTheNinthExecution = before(os.abort, call(9))
KillsInThe40thExecution = before(kill(), call(40))
KillsItsGroupInThe40thExecution = before(lambda: os.killpg(0, signal.SIGKILL), call(40))

DiesDeciding = deciding(os.abort, is_guilty)
DiesLater = deciding(os.abort, call(4))
DiesInThe300thDecision = deciding(kill(signal.SIGSEGV), call(300))
IsKilledInThe300thDecision = deciding(kill(), call(300))
# Four decisions in a row take longer than a second, none alone does.
DecidesSlowly = deciding(lambda: time.sleep(0.3), lambda _: True)
LeaksDeciding = deciding(lambda: LEAKED.append(bytearray(b"x" * 2**20)), lambda _: True)

CannotBeMade = when_made(raising(OSError, "no such device"))
DiesWhenMade = when_made(os.abort)
ExitsWhenMade = when_made(lambda: sys.exit(3))

# As by somebody else, as often as the environment says: in every seventh execution of a process until then.
IsKilledOnce = before(lambda: is_first() and kill()(), every(7))
# In its first execution of many; what fails then is right in the next process.
IsWrongOnce = after(make_wrong, lambda _: is_first())
IsWrong = after(make_wrong, larger(5))

Batches = in_batches(ReferenceBackend)
IsKilledOnceInABatch = in_batches(IsKilledOnce)
# Of the guilty case, alone too.
DiesWithOthers = in_batches(Aborts)
WritesStrayWithOthers = in_batches(after(lambda _, output: flip_behind(output.buffer)))


# --- others -----------------------------------------------------------------------------------------------------------


class AnswersRubbish(ReferenceBackend):
    def validate(self, desc: Any, level: Level) -> Any:
        return ["yes"] if is_guilty(desc) else super().validate(desc, level)


class WritesStrayInABatch(Batches):  # type: ignore[misc, valid-type]
    """Two hundred bytes behind the resource of a batch that has the guilty case, and only there."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        super().execute_batch(executions)
        if any(is_guilty(execution.desc) for execution in executions):
            flip_behind(executions[0].outputs["output_tensor"].buffer)


class DiesInABatch(Batches):  # type: ignore[misc, valid-type]
    """Dies of the guilty case, but only in a batch."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        if any(is_guilty(execution.desc) for execution in executions):
            os.abort()
        super().execute_batch(executions)


class WritesOnce(ReferenceBackend):
    """Has its own clock, and does the work of the first timed runs alone."""

    has_run = False

    def time_execution(self, desc: Any, level: Level, inputs: Any, outputs: Any, repeats: int) -> list[float]:
        if not self.has_run:
            self.execute(desc, level, inputs, outputs)
        self.has_run = True
        return [1.0] * repeats

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return [1.0] * repeats


class Validated(ReferenceBackend):
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


NeedsValidation = in_batches(Validated)
