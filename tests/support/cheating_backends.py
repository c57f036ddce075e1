"""Backends that take their decisions from the reference and compute nothing, or next to nothing: they give back what
they find where they look for it.

Each has batches too, in which the memory of all cases lies in one resource.
"""

from __future__ import annotations

import gc
import mmap
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding, Bytes, Execution, Unsupported
from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.backends.timing import time_copy, time_execution
from dml_conformance.spec.levels import Level

Elements = Any  # unsigned integers of the width of an element, in an array

OUTPUT, INPUT = "output_tensor", "input_tensor"


def elements(execution: Execution, name: str = OUTPUT) -> Elements:
    """A tensor's elements as bit patterns, where they lie in the bound memory."""
    tensor, binding = getattr(execution.desc, name), {**execution.inputs, **execution.outputs}[name]
    size = tensor.data_type.size
    strides = [stride * size for stride in tensor.effective_strides]
    return np.ndarray(tensor.sizes, f"<u{size}", binding.buffer, binding.offset, strides)


def memory_of_input(execution: Execution) -> Elements:
    """Every element that an output can be made of, each once."""
    size = execution.desc.input_tensor.data_type.size
    view = execution.inputs[INPUT].view
    return np.unique(view[: len(view) // size * size].view(f"<u{size}"))


def asked(execution: Execution) -> tuple[Any, ...]:
    """What tells a case from another one: the descriptor and what the inputs hold."""
    return (execution.desc, *(binding.view.tobytes() for binding in execution.inputs.values()))


def guard(execution: Execution) -> int:
    """The byte before the output."""
    binding = execution.outputs[OUTPUT]
    return int(binding.buffer[binding.offset - 1])


def repeated(byte: int, found: Elements) -> Elements:
    """An element of one byte over and over."""
    return found.dtype.type(int.from_bytes(bytes([byte]) * found.itemsize))


def change_bytes(found: Elements, byte: int) -> None:
    """Exclusive or of each byte."""
    found ^= repeated(byte, found)


class Cheat(ReferenceBackend):
    """Decides as the reference does; a subclass says what it leaves in an output.

    Attributes:
        came_back: how often the batch in hand came before; 0 for what comes alone, where the guard tells.
    """

    def __init__(self) -> None:
        super().__init__()
        self.came_back = 0
        self._batches: Counter[int] = Counter()

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        self.came_back = 0
        self.fill([Execution(desc, level, inputs, outputs)])

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        batch = hash(tuple(map(asked, executions)))
        self.came_back = self._batches[batch]
        self._batches[batch] += 1
        self.fill(executions)

    def fill(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.fake(execution)

    def fake(self, execution: Execution) -> None:
        raise NotImplementedError

    def compute(self, execution: Execution) -> None:
        """Do as the reference does."""
        ReferenceBackend.execute(self, *execution)

    def occasion(self, execution: Execution) -> tuple[int, int]:
        """What outputs that are changed in the same way may have in common."""
        return guard(execution), self.came_back


# --- what the poison tells --------------------------------------------------------------------------------------------


def filling(fill: Callable[[Execution, Elements], object]) -> type[Cheat]:
    """Does something with the elements of each output."""

    class Filling(Cheat):
        def fake(self, execution: Execution) -> None:
            fill(execution, elements(execution))

    return Filling


LeavesTheOutput = filling(lambda execution, found: None)
Inverts = filling(lambda execution, found: np.invert(found, out=found))
SwapsBytes = filling(lambda execution, found: np.copyto(found, found.byteswap()))
AddsOne = filling(lambda execution, found: np.add(found, found.dtype.type(1), out=found))


class UndoesThePoison(Cheat):
    """Poison was once what is expected, all bytes of it changed by one constant, and the guard told by which.

    In a batch the guard was the same every time, but the batch came back.
    """

    GUARDS = (0xC7, 0x38, 0x92, 0x6D)
    CONSTANTS = (0xFF, 0x55, 0xAA, 0x33)

    def fake(self, execution: Execution) -> None:
        known = {guard: n for n, guard in enumerate(self.GUARDS)}.get(guard(execution), 0)
        change_bytes(elements(execution), self.CONSTANTS[(known + self.came_back) % len(self.CONSTANTS)])


class SolvesForTheConstant(Cheat):
    """An output is made of elements of the input: a byte that turns each of its elements into one of them is the one
    that they were changed by. Where several do, it takes one that was found before."""

    changed: Callable[[Elements, Elements], Elements] = staticmethod(np.bitwise_xor)

    def __init__(self) -> None:
        super().__init__()
        self.found: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)

    def fill(self, executions: Sequence[Execution]) -> None:
        fitting = [self.fitting(execution) for execution in executions]
        for execution, constants in zip(executions, fitting, strict=True):
            self.found[self.occasion(execution)].update(constants if len(constants) == 1 else ())
        for execution, constants in zip(executions, fitting, strict=True):
            known = (constant for constant, _ in self.found[self.occasion(execution)].most_common())
            best = next((constant for constant in known if constant in constants), max(constants, default=0))
            found = elements(execution)
            found[...] = self.changed(found, repeated(best, found))

    def fitting(self, execution: Execution) -> list[int]:
        """The bytes that turn each element of the output, or of some that stand for it, into one of the input."""
        found, wanted = elements(execution).reshape(-1)[:4096], memory_of_input(execution)
        constants = np.arange(256, dtype=found.dtype) * repeated(1, found)
        for element in np.unique(found)[:256]:
            constants = constants[np.isin(self.changed(element, constants), wanted)]
        return (constants & 0xFF).tolist()


class SolvesForTheSummand(SolvesForTheConstant):
    changed = staticmethod(np.add)


def compute_one(execution: Execution, found: Elements, difference: Any, change: Any) -> None:
    """Compute the first element, and change all others as that one has to be changed."""
    wanted = expected_output(execution.desc, execution.inputs)[OUTPUT].values
    change(found, difference(wanted.flat[0], found.flat[0], dtype=found.dtype), out=found)


ComputesOneElement = filling(lambda *cell: compute_one(*cell, np.bitwise_xor, np.bitwise_xor))
ComputesOneSummand = filling(lambda *cell: compute_one(*cell, np.subtract, np.add))


class RemembersTheChange(Cheat):
    """Computes until it knows by what each byte of an output was changed, and from then on goes by that."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[tuple[int, int], Bytes] = {}

    def fake(self, execution: Execution) -> None:
        occasion, before = self.occasion(execution), elements(execution).copy()
        held, known = before.reshape(-1).view(np.uint8), self.known.get(occasion, np.empty(0, np.uint8))
        if len(known) >= len(held):
            elements(execution)[...] = (held ^ known[: len(held)]).view(before.dtype).reshape(before.shape)
            return
        self.compute(execution)
        self.known[occasion] = held ^ elements(execution).copy().reshape(-1).view(np.uint8)


def combining(combine: Callable[[Sequence[Elements]], Elements]) -> type[Cheat]:
    """Makes something of all that the output of a case held in its executions so far, this one included."""

    class Combining(Cheat):
        def __init__(self) -> None:
            super().__init__()
            self.held: defaultdict[tuple[Any, ...], list[Elements]] = defaultdict(list)

        def fake(self, execution: Execution) -> None:
            held = self.held[asked(execution)]
            held.append(elements(execution).copy())
            elements(execution)[...] = combine(held)

    return Combining


def majority(held: Sequence[Elements]) -> Elements:
    """Of the complements of the last three."""
    one, other, third = [~each for each in (*held, *held, *held)[-3:]]
    return one & other | one & third | other & third


ExclusiveOrOfPoisons = combining(lambda held: reduce(np.bitwise_xor, held))
AndOfPoisons = combining(lambda held: reduce(np.bitwise_and, held))
OrOfPoisons = combining(lambda held: reduce(np.bitwise_or, held))
MajorityOfPoisons = combining(majority)
PoisonBefore = combining(lambda held: held[-2:][0])


# --- what lies around it ----------------------------------------------------------------------------------------------


def echo(execution: Execution, found: Elements) -> None:
    """The input's bytes in order, over and over."""
    found[...] = np.resize(execution.inputs[INPUT].view, found.nbytes).view(found.dtype).reshape(found.shape)


CopiesTheGuard = filling(lambda execution, found: found.fill(repeated(guard(execution), found)))
# Exclusive or of poison and guard.
ChangesByTheGuard = filling(lambda execution, found: change_bytes(found, guard(execution)))
# The last byte that is bound.
CopiesThePadding = filling(lambda execution, found: found.fill(repeated(execution.outputs[OUTPUT].view[-1], found)))
EchoesTheInput = filling(echo)
# What an open element may hold, everywhere.
CopiesAnElement = filling(lambda execution, found: found.fill(memory_of_input(execution)[0]))


class SearchesMemory(Cheat):
    """Takes a run of elements of the input which is as long as the output, and nowhere what the output holds."""

    def regions(self, execution: Execution) -> Iterable[Bytes]:
        """Memory to look through."""
        raise NotImplementedError

    def fake(self, execution: Execution) -> None:
        found, wanted = elements(execution), memory_of_input(execution)
        held = found.reshape(-1).copy()
        places: Iterator[Elements] = (run for region in self.regions(execution) for run in runs(region, held, wanted))
        run = next(places, None)
        if run is not None:
            found[...] = run.reshape(found.shape)


def runs(region: Bytes, held: Elements, wanted: Elements) -> Iterator[Elements]:
    """What may be the output that is wanted: runs of elements that the input has, each other than what is held."""
    start = -region.__array_interface__["data"][0] % 8
    words = region[start : start + (len(region) - start) // 8 * 8].view(held.dtype)
    if len(words) < len(held):
        return
    counts = np.concatenate([[0], np.cumsum(np.isin(words, wanted), dtype=np.int64)])
    for place in np.flatnonzero(counts[len(held) :] - counts[: -len(held)] == len(held))[:10_000]:
        run = words[place : place + len(held)]
        if not np.any(run == held):
            yield run.copy()


def root(buffer: Any) -> Any:
    """What a buffer is part of."""
    while True:
        base = buffer.base if isinstance(buffer, np.ndarray) else buffer.obj if isinstance(buffer, memoryview) else None
        if base is None:
            return buffer
        buffer = base


class SearchesTheMapping(SearchesMemory):
    """All that the output's buffer is part of, from its end on: outputs come after inputs."""

    def regions(self, execution: Execution) -> Iterable[Bytes]:
        whole = np.frombuffer(root(execution.outputs[OUTPUT].buffer), np.uint8)
        used = max(offset_in(whole, binding) for binding in (*execution.inputs.values(), *execution.outputs.values()))
        return whole[used:], whole


def offset_in(whole: Bytes, binding: Binding) -> int:
    """Where a binding's buffer ends in a mapping."""
    start = binding.buffer.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return int(start) + len(binding.buffer)


class SearchesItsFiles(SearchesMemory):
    """What it was started with: files that have no name, mapped whole."""

    def regions(self, execution: Execution) -> Iterable[Bytes]:
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError, ValueError):
                if "memfd" in str(path.readlink()):
                    number = int(path.name)
                    yield np.frombuffer(mmap.mmap(number, os.fstat(number).st_size), np.uint8)


class SearchesItsProcess(SearchesMemory):
    """All that its process can write to, libraries aside."""

    MOST = 2**26

    def regions(self, execution: Execution) -> Iterable[Bytes]:
        maps = Path("/proc/self/maps").read_text()
        with open("/proc/self/mem", "rb", 0) as memory:  # noqa: PTH123 - unbuffered, and no regular file
            for first, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw\S+ \S+ \S+ 0\s*(?:\[heap\])?$", maps, re.M):
                with suppress(OSError):
                    memory.seek(int(first, 16))
                    content = memory.read(min(int(end, 16) - int(first, 16), self.MOST))
                    yield np.frombuffer(content, np.uint8).copy()


class SearchesItsObjects(SearchesMemory):
    """All arrays that something in its process holds."""

    def regions(self, execution: Execution) -> Iterable[Bytes]:
        for holder in gc.get_objects():
            for held in gc.get_referents(holder) if isinstance(holder, list | tuple | dict) else ():
                if isinstance(held, np.ndarray) and held.dtype.kind == "u" and held.flags.c_contiguous:
                    yield held.reshape(-1).view(np.uint8)


class TakesFromNeighbours(Cheat):
    """What the next output holds that is as large; its own, changed as that one's, where there is none."""

    def fill(self, executions: Sequence[Execution]) -> None:
        held = [elements(execution).copy() for execution in executions]
        for n, execution in enumerate(executions):
            others = (*held[n + 1 :], *held[:n])
            same = [other for other in others if other.nbytes == held[n].nbytes]
            if same:
                elements(execution)[...] = same[0].reshape(-1).view(held[n].dtype).reshape(held[n].shape)


# --- what it has seen -------------------------------------------------------------------------------------------------


def memoising(key: Callable[[Any], Any]) -> type[Cheat]:
    """Computes once for all descriptors that have something in common, and gives that whatever the inputs hold."""

    class Memoising(Cheat):
        def __init__(self) -> None:
            super().__init__()
            self.seen: dict[Any, Elements] = {}

        def fake(self, execution: Execution) -> None:
            seen = self.seen.get(key(execution.desc))
            if seen is None:
                self.compute(execution)
                self.seen[key(execution.desc)] = elements(execution).copy()
            else:
                elements(execution)[...] = seen

    return Memoising


Memoises = memoising(lambda desc: desc)
MemoisesShapes = memoising(lambda desc: (desc.operator, desc.output_tensor.data_type, desc.output_tensor.sizes))


# --- what it may not do -----------------------------------------------------------------------------------------------


def declining(most: int) -> type[ReferenceBackend]:
    """Claims to execute, and declines what has more elements than that."""

    class Declining(ReferenceBackend):
        def execute(self, desc: Any, *arguments: Any) -> None:
            if desc.output_tensor.element_count > most:
                raise Unsupported("not today")
            super().execute(desc, *arguments)

    return Declining


Declines, DeclinesMost = declining(0), declining(1)


# --- how long it took -------------------------------------------------------------------------------------------------


class FastClock(ReferenceBackend):
    """Does what is timed, and says that each run took a nanosecond."""

    def time_execution(
        self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding], repeats: int
    ) -> list[float]:
        for _ in range(repeats):
            self.execute(desc, level, inputs, outputs)
        return [1e-9] * repeats

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return time_copy(ReferenceBackend(), size, repeats)


class FastBoth(ReferenceBackend):
    """Times runs and copies, and says a fiftieth of what they took."""

    def time_execution(
        self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding], repeats: int
    ) -> list[float]:
        took = time_execution(ReferenceBackend(), Execution(desc, level, inputs, outputs), repeats)
        return [seconds / 50 for seconds in took]

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return [seconds / 50 for seconds in time_copy(ReferenceBackend(), size, repeats)]


class PatchesTheClock(ReferenceBackend):
    """Has no clock of its own, but slows the one that its process has."""

    time_execution = time_copy = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        clock = time.perf_counter
        time.perf_counter = lambda: clock() / 50


# --- what no cheat could use ------------------------------------------------------------------------------------------


class LooksForTheAnswer(ReferenceBackend):
    """Right, but raises where what it is to write lies already in the memory that it shares with the judge."""

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        self.execute_batch([Execution(desc, level, inputs, outputs)])

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self.look(execution)
        for execution in executions:
            ReferenceBackend.execute(self, *execution)

    def look(self, execution: Execution) -> None:
        answer = expected_output(execution.desc, execution.inputs)[OUTPUT].values.tobytes()
        shared = bytes(np.frombuffer(root(execution.outputs[OUTPUT].buffer), np.uint8))
        if answer in shared:
            raise LookupError(f"it is there, at {shared.index(answer)} of {len(shared)} bytes")


class ExecutesTwice(LooksForTheAnswer):
    """Finds what it has just written."""

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for _ in range(2):
            super().execute_batch(executions)
