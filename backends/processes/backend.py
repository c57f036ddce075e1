"""A backend in a process of its own, to be used like one in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partialmethod
from typing import Generic, NamedTuple, TypeVar, cast

import numpy as np

from dml_conformance.backends.base import (
    Answer,
    Backend,
    Binding,
    BoundTensor,
    Bytes,
    Capabilities,
    Execution,
    OutOfMemory,
    Unsupported,
    looked_at,
)
from dml_conformance.backends.loading import BackendError, load_backend
from dml_conformance.backends.poison import secret_bytes
from dml_conformance.backends.processes.arena import GIVES_BACK, KEPT, PAGE, Arena
from dml_conformance.backends.processes.errors import GivenUp, ProcessLost, StrayWrite
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import Loss, LossCause, LossTally, losses_together
from dml_conformance.backends.processes.process import BackendProcess, Origin
from dml_conformance.backends.processes.wire import (
    EXECUTE,
    SAME,
    TIME,
    BackendException,
    BackendInfo,
    Bound,
    Completion,
    DecisionReply,
    EncodedDesc,
    ExecutionReply,
    JobFields,
    LoadError,
    NoAnswer,
    Question,
    Validate,
    WireAnswer,
    decode_decision,
    decode_execution,
    describe,
    encode,
)
from dml_conformance.spec.errors import BrokenRunError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, tensor_at

MOST_LOST = 1000
MOST_TIMED_OUT = 50
STARTS = 3  # tries to replace a process
UNHURRIED_BYTES = 2**24  # of an execution's memory, for which it may take as long again
TIMED_RUNS = 5  # that may take as long as a case may, of all that make one measurement
ALONE = "alone, in a new process, it did not, so the likely cause is what earlier cases left behind"

_Question = tuple[OperatorDesc, Level]
_T = TypeVar("_T")


class _Inquiry(NamedTuple, Generic[_T]):
    """What is asked of whichever process there is.

    Attributes:
        make: makes the request to a process; returns it, and how much of the shared memory it uses.
        doing, decode, seconds, answers: as `BackendProcess.ask` has them.
        together: whether one answer is to much that is asked for at once, of which each may take as long.
    """

    make: Callable[[BackendProcess], tuple[bytes, int]]
    doing: str
    decode: Callable[[bytes], _T]
    seconds: float | None = None
    together: bool = False
    answers: int = 1


class IsolatedBackend:
    """A backend in a process of its own. Whatever it does there, this object can be asked again.

    It has `execute_batch` if the backend takes batches. Tensors travel through shared memory.

    Args:
        name: as on the command line.
        limits: that the process is held to.

    Attributes:
        tally: how many processes were lost.

    Raises:
        BackendError: the backend cannot be had; where it says so itself, in the same words as from `load_backend`.
    """

    execute_batch: Callable[[Sequence[Execution]], None]

    def __init__(self, name: str, limits: Limits = Limits()) -> None:  # noqa: B008 - it is frozen
        self.name = name
        self.limits = limits
        self.tally = LossTally()
        self._origin = Origin.here()
        self._lost: list[Loss] = []  # that nobody has asked for yet
        self._process: BackendProcess | None = None
        self._known = _ProcessState()
        self._prefetched: deque[_Prefetched] = deque()
        self._unasked: _LostDecision | None = None
        self._timed_work: _SharedTensors | None = None  # that is in the shared memory
        self._lent: LentMemory | None = None
        self._lost_after: set[int] = set()  # so many decisions, of processes that were lost over the next one
        self._confirmed: set[str] = set()  # ways in which processes died, and new ones too over the same case
        loaded = self._start()
        self._capabilities = loaded.capabilities
        if loaded.takes_batches:
            self.execute_batch = self._execute_batch

    def capabilities(self) -> Capabilities:
        return self._capabilities

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """As the backend does.

        Raises:
            Unsupported, MemoryError, Exception: of the same class name and message as the backend's.
            ProcessLost: there is no answer.
            GivenUp: the backend is not asked any more.
        """
        prefetched = self._taken(desc, level)
        if prefetched is not None:
            decision, known = prefetched.decision, prefetched.known
        else:
            decision = self._ask_again(self._questions([(desc, level)]), self._lost_over(desc, level))
            known = self._known
        known.decided = desc
        if isinstance(decision, WireAnswer):
            return Answer(decision.accepted, decision.reason)
        if isinstance(decision, NoAnswer):
            return cast(Answer, _ShownAs(decision.value))
        raise _exception(decision)

    def prefetch_decisions(self, questions: Sequence[_Question]) -> None:
        """Have the backend decide in one go on what it will be asked next.

        `validate` gives these answers where it is asked for the very same descriptors in the same order. The one that
        costs the process is told of when `validate` is asked for it; those behind it are asked for alone.

        Raises:
            GivenUp: the backend is not asked any more.
        """
        self._prefetched.clear()
        self._lost_over()
        if not questions:
            return
        try:
            for question, decision in zip(questions, self._asked(self._questions(questions)), strict=True):
                self._prefetched.append(_Prefetched(*question, decision, self._known))
        except ProcessLost as lost:
            lost.was_new &= not self._prefetched
            self._unasked = _LostDecision(*questions[len(self._prefetched)], lost, self._lost.pop())

    def take_losses(self) -> tuple[Loss, ...]:
        """The processes that were lost since this was asked last."""
        lost = losses_together(self._lost)
        self._lost.clear()
        return lost

    @contextmanager
    def in_a_new_process(self) -> Iterator[None]:
        """Have what is asked meanwhile done by a process that was asked nothing before; the other one goes on then.

        Raises:
            GivenUp: there is none.
        """
        aside = self._process, self._known, self._prefetched
        self._forget()
        self._prefetched = deque()
        try:
            self._start()
            yield
        except BackendError as error:
            raise GivenUp(str(error)) from None
        finally:
            if self._process is not None:
                self._process.end()
            self._process, self._known, self._prefetched = aside

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        """As the backend does; raises as `validate`, and StrayWrite."""
        self._execute([Execution(desc, level, inputs, outputs)], lambda: desc is not self._known.decided, batch=False)

    @contextmanager
    def lending(self) -> Iterator[Callable[[int], LentMemory | None]]:
        """What gives memory of so many bytes that the process shares: zeros, which begin where a page does.

        What lies there is executed where it is; it isn't copied twice, which takes most of the time of what is very
        large. But what the process goes on to write there after its answer shows. One is given at a time, for as long
        as the context lasts, and None otherwise, or where memory cannot be given back. It raises GivenUp where there is
        no room, or no process.
        """
        try:
            yield self._lend
        finally:
            lent, self._lent = self._lent, None
            if lent is not None and self._process is not None and self._process.arena is lent.arena:
                lent.arena.release(len(lent.arena.memory))

    def _lend(self, size: int) -> LentMemory | None:
        if self._lent is not None or not GIVES_BACK:
            return None
        arena = (self._process or self._replaced()).arena
        self._let_go_of_timed()
        self._lent = LentMemory.of(arena, size)
        return self._lent

    def _execute_batch(self, executions: Sequence[Execution]) -> None:
        """As the backend does; raises as `execute`."""
        # Where processes are lost, this one may not be the one that has decided on these.
        self._execute(executions, lambda: self.tally.lost > 0, batch=True)

    def _execute(self, executions: Sequence[Execution], decides: Callable[[], bool], *, batch: bool) -> None:
        """Execute a batch, or one case alone.

        Args:
            executions: the cases.
            decides: whether the process that is asked has to decide on them first.
            batch: whether they are a batch.
        """
        work = _SharedTensors(executions, self._lent)
        seconds = self.limits.seconds * (1 if batch else 1 + work.end // UNHURRIED_BYTES)
        doing = "execute_batch" if batch else "execute"
        outcome = self._ask_again(self._about(work, doing, lambda: (EXECUTE, decides(), batch), seconds, batch))
        if isinstance(outcome, Completion):
            assert self._process is not None
            self._known.decided = executions[-1].desc
            work.fetch(self._process)
        self._release(work)
        _completed(outcome)

    def close(self) -> None:
        """Let the process end by itself; the next request starts a new one."""
        if self._process is not None:
            self._process.close()
        self._forget()
        self._prefetched.clear()

    def _time_execution(
        self,
        desc: OperatorDesc,
        level: Level,
        inputs: Mapping[str, Binding],
        outputs: Mapping[str, Binding],
        repeats: int,
        *,
        cold: bool,
    ) -> list[float]:
        return self._timed("time_execution", [Execution(desc, level, inputs, outputs)], 0, repeats, cold)

    def _time_copy(self, size: int, repeats: int, *, cold: bool) -> list[float]:
        return self._timed("time_copy", [], size, repeats, cold)

    def _timed(self, doing: str, executions: Sequence[Execution], *how: int) -> list[float]:
        """By the backend's own clock, or by the host's in the backend's process; raises as `validate`.

        What the runs left is there for `fetch_timed`. Inputs stay in the shared memory while the same is timed.
        """
        work = self._timed_work
        if work is None or not work.is_of(executions):
            work = _SharedTensors(executions, self._lent)
        seconds = self.limits.seconds * TIMED_RUNS
        outcome = self._ask(self._about(work, doing, lambda: (TIME, *how), seconds, together=True))
        self._timed_work = work
        return list(_completed(outcome).seconds)

    def fetch_timed(self) -> None:
        """Copy back what the last timed runs left; it lies in the shared memory until something else is asked for.

        Raises:
            StrayWrite: something was written beside the resources.
        """
        work, process = self._timed_work, self._process
        assert work is not None
        assert process is not None
        work.fetch(process)

    # Unsupported with cold caches, where the backend cannot empty them.
    time_execution = partialmethod(_time_execution, cold=False)
    time_execution_cold = partialmethod(_time_execution, cold=True)
    time_copy, time_copy_cold = partialmethod(_time_copy, cold=False), partialmethod(_time_copy, cold=True)

    def _taken(self, desc: OperatorDesc, level: Level) -> _Prefetched | None:
        """What the backend has answered already, if it was asked ahead."""
        if not self._prefetched:
            return None
        first = self._prefetched.popleft()
        if first.desc is desc and first.level is level:
            return first
        self._prefetched.clear()
        return None

    def _lost_over(self, desc: OperatorDesc | None = None, level: Level | None = None) -> ProcessLost | None:
        """What a decision came to, if it was asked for ahead and cost the process. That is on record from now on."""
        unasked, self._unasked = self._unasked, None
        if unasked is None:
            return None
        self._lost.append(unasked.loss)
        return unasked.lost if unasked.desc is desc and unasked.level is level else None

    def _questions(self, questions: Sequence[_Question]) -> _Inquiry[DecisionReply]:
        def make(process: BackendProcess) -> tuple[bytes, int]:
            asked = tuple([Question(self._described(desc), level) for desc, level in questions])
            return encode(Validate(asked)), 0

        return _Inquiry(make, "validate", decode_decision, answers=len(questions))

    def _about(
        self, work: _SharedTensors, doing: str, what: Callable[[], Sequence[object]], seconds: float, together: bool
    ) -> _Inquiry[ExecutionReply]:
        """What is asked about tensors; `what` gives the kind of the request, and what it has beside them."""

        def make(process: BackendProcess) -> tuple[bytes, int]:
            kind, *more = what()
            is_there = work is self._timed_work
            if not is_there:
                self._let_go_of_timed()
            return encode((kind, work.put(process, is_there), work.jobs(self._described), *more)), work.end

        return _Inquiry(make, doing, decode_execution, seconds, together)

    def _described(self, desc: OperatorDesc) -> EncodedDesc:
        if desc is self._known.last:
            return SAME
        self._known.last = desc
        return describe(desc)

    def _ask_again(self, inquiry: _Inquiry[_T], lost_ahead: ProcessLost | None = None) -> _T:
        """Ask, unless that has cost a process already; once more, where the process was ended by something else, or was
        asked for one case and died that was asked other things before.

        If it does so again, the case is to blame alone, and told of as it happened then; where another one dies in the
        same way later, it is not asked for. If it does not, the case is to blame all the same, unless the process was
        ended by something else.
        """
        try:
            if lost_ahead is not None:
                raise lost_ahead
            return self._ask(inquiry)
        except ProcessLost as lost:
            is_plain = inquiry.together or lost.timed_out or lost.was_new or lost.how in self._confirmed
            if is_plain and not lost.from_outside:
                raise
            first = lost
        self._end()  # what goes on since a decision was asked for ahead
        try:
            answer = self._ask(inquiry)
        except ProcessLost as again:
            if not inquiry.together:
                self._confirmed.add(again.how)
            raise
        if first.from_outside:
            return answer
        raise ProcessLost(f"{first}; {ALONE}", first.cause)

    def _ask(self, inquiry: _Inquiry[_T]) -> _T:
        (answer,) = self._asked(inquiry)
        return answer

    def _asked(self, inquiry: _Inquiry[_T]) -> Iterator[_T]:
        """Ask the process, and a new one next time if it is lost over that."""
        make, doing, decode, seconds, together, answers = inquiry
        process = self._process or self._replaced()
        known = self._known
        try:
            content, shared = make(process)
            for answer in process.ask(content, doing, decode, answers=answers, shared=shared, seconds=seconds):
                known.answered += doing == "validate"
                yield answer
        except BaseException as error:
            self._end()
            if isinstance(error, ProcessLost):
                if doing == "validate" and known.answered:
                    error.is_regular = known.answered in self._lost_after
                    self._lost_after.add(known.answered)
                self.tally = self.tally.plus(LossTally(1, error.timed_out))
                cause = LossCause.TIME_LIMIT_TOGETHER if together and error.timed_out else error.cause
                self._lost.append(Loss(cause, error.loss.how))
            raise

    def _start(self) -> BackendInfo:
        """Have a process; returns what it says of the backend.

        Raises:
            BackendError: there is none.
        """
        try:
            process = BackendProcess(self.name, self.limits, self._origin)
            hello = process.hello()
        except ProcessLost as lost:
            self._lost.append(lost.loss)
            raise BackendError(f"backend {self.name!r}: {lost}") from None
        except OSError as error:
            raise BackendError(f"backend {self.name!r}: no process can be started for it: {error}") from error
        if isinstance(hello, LoadError):
            process.end()
            raise BackendError(hello.reason)
        self._process = process
        return hello

    def _replaced(self) -> BackendProcess:
        """A new process, in place of one that was lost or closed.

        Raises:
            GivenUp: none starts, or too many were lost.
        """
        if reason := why_given_up(self.tally):
            raise GivenUp(reason)
        for tries_left in reversed(range(STARTS)):
            try:
                self._start()
                break
            except BackendError as error:
                if not tries_left:
                    raise GivenUp(f"the backend's process is gone, and no other one starts: {error}") from None
        assert self._process is not None
        return self._process

    def _end(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.end()
        self._forget()

    def _forget(self) -> None:
        """There is no process any more; a new one knows nothing, and has nothing that was timed."""
        self._process = None
        self._known = _ProcessState()
        self._timed_work = None

    def _release(self, work: _SharedTensors) -> None:
        assert self._process is not None
        if self._lent is None or self._lent.arena is not self._process.arena:
            self._process.arena.release(work.end)

    def _let_go_of_timed(self) -> None:
        """Give back the memory of what was timed last, which nobody times any more."""
        if self._timed_work is not None:
            self._release(self._timed_work)
            self._timed_work = None


@contextmanager
def opened(name: str, limits: Limits | None) -> Iterator[Backend]:
    """A backend for as long as it is needed, in a process of its own or not.

    Args:
        name: as on the command line.
        limits: of its process; None = it is loaded into this one.

    Raises:
        BackendError: it cannot be had.
    """
    if limits is None:
        with kept_running(limits):
            yield load_backend(name)
        return
    with closing(IsolatedBackend(name, limits)) as backend:
        yield backend


@contextmanager
def kept_running(limits: Limits | None) -> Iterator[None]:
    """Have no backend in this process end it with a code of its choice.

    Args:
        limits: of backends' processes; None where they are in this one.

    Raises:
        BrokenRunError: it raised SystemExit, or something else that ends programs and is not Ctrl-C.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        if limits is not None:
            raise
        raise BrokenRunError(
            f"the backend ended the run by {type(error).__name__}; the run is incomplete, without --in-process the "
            "case that it happened over is told"
        ) from error


def why_given_up(tally: LossTally) -> str:
    """Why a backend that lost so many processes is not asked any more; "" if it is."""
    if not tally.reaches(MOST_LOST, MOST_TIMED_OUT):
        return ""
    counted = f"{tally.timed_out} times for taking too long" if tally.lost < MOST_LOST else f"{tally.lost} times"
    return f"the backend's process was lost {counted}, so the backend is not asked any more"


class _ProcessState:
    """What the process that is asked has been told, and has answered.

    Attributes:
        last: the descriptor that it was told of last.
        decided: the one that it decided on last.
        answered: how many decisions it made.
    """

    def __init__(self) -> None:
        self.answered = 0
        self.last: OperatorDesc | None = None
        self.decided: OperatorDesc | None = None


class _Prefetched(NamedTuple):
    """A decision that was asked for ahead, and what is known of the process that made it."""

    desc: OperatorDesc
    level: Level
    decision: DecisionReply
    known: _ProcessState


class _LostDecision(NamedTuple):
    """A decision that was asked for ahead and cost the process, which nobody was told of yet."""

    desc: OperatorDesc
    level: Level
    lost: ProcessLost
    loss: Loss


class LentMemory(NamedTuple):
    """Memory that a process shares, behind what stays allocated there, so that it is zeros.

    Attributes:
        arena: of the process.
        start: its first byte in the arena.
        memory: it, as this process sees it.
    """

    arena: Arena
    start: int
    memory: Bytes

    @classmethod
    def of(cls, arena: Arena, size: int) -> LentMemory:
        """So many bytes of an arena.

        Raises:
            GivenUp: there is no room.
        """
        start = KEPT + PAGE
        _reserve(arena, start + _in_pages(size) + PAGE)
        return cls(arena, start, arena.memory[start : start + size])

    @property
    def end(self) -> int:
        """Where other tensors may begin, after the guard behind it."""
        return self.start + _in_pages(self.memory.size) + PAGE

    def put(self, place: int, content: Bytes) -> None:
        """Copy bytes to a place of it."""
        if self.arena.memory.size:
            self.arena.put(self.start + place, content)
        else:  # the process is gone, and with it all but what is seen of it
            self.memory[place : place + content.size] = content

    def place(self, memory: Bytes) -> int:
        """Where in the arena memory of this process lies that may be part of it; 0 where it is not."""
        place = _address(memory) - _address(self.memory)
        return self.start + place if place >= 0 and place + memory.size <= self.memory.size else 0


class _SharedTensors:
    """Executions as they are laid out in the shared memory: each resource once, at the start of a page, in the order in
    which they lie in the memory of this process; where that is lent, they lie there already.

    What lies between the resources, and a page before the first and after the last, is guarded: it holds random bytes
    that nobody else knows before, so that a write there shows.

    Attributes:
        end: bytes that they need.
    """

    def __init__(self, executions: Sequence[Execution], lent: LentMemory | None = None) -> None:
        self._starts: dict[int, int] = {}  # by what tells resources apart
        self._resources: list[tuple[int, int]] = []  # where each starts and ends
        self._parts: list[tuple[Bytes, slice]] = []  # of them that are copied, and the place of each
        self._outputs: list[tuple[Bytes, slice]] = []  # those of resources that outputs lie in
        self._of = executions
        written = {id(binding.buffer) for execution in executions for binding in execution.outputs.values()}
        bound: dict[int, list[tuple[OperatorDesc, str, Binding]]] = {}
        for desc, _, inputs, outputs in executions:
            for key, binding in (*inputs.items(), *outputs.items()):
                bound.setdefault(id(binding.buffer), []).append((desc, key, binding))
        buffers = [bindings[0][2].buffer for bindings in bound.values()]
        self._lent = lent if lent is not None and buffers and all(map(lent.place, buffers)) else None
        begin = 0
        if lent is not None:
            begin = lent.end if self._lent is None else lent.start - PAGE
        self.end = begin + PAGE
        for identity, bindings in sorted(bound.items(), key=lambda each: _address(each[1][0][2].buffer)):
            buffer = bindings[0][2].buffer
            start, length = self._lent.place(buffer) if self._lent is not None else self.end, len(buffer)
            self._starts[identity] = start
            self._resources.append((start, start + length))
            parts = [
                (buffer[part], slice(start + part.start, start + part.stop))
                for part in looked_at(length, _tensors(bindings))
            ]
            self._parts += parts
            self._outputs += parts if identity in written else []
            self.end = start + _in_pages(length)
        self._executions = [
            (desc, level, self._bounds(inputs), self._bounds(outputs)) for desc, level, inputs, outputs in executions
        ]
        self.end += PAGE
        ends = [begin, *(end for _, end in self._resources)]
        starts = [*(start for start, _ in self._resources), self.end]
        self._gaps = list(zip(ends, starts, strict=True))
        self._guard = b""

    def jobs(self, described: Callable[[OperatorDesc], EncodedDesc]) -> list[JobFields]:
        """As they are sent."""
        return [(described(desc), level, inputs, outputs) for desc, level, inputs, outputs in self._executions]

    def is_of(self, executions: Sequence[Execution]) -> bool:
        """Whether they are of the same tensors in the same memory."""
        return _places(self._of) == _places(executions)

    def put(self, process: BackendProcess, is_there: bool = False) -> int:
        """Copy the resources to a process, or those of outputs alone where all are there. Returns how much memory it
        shares.

        Raises:
            GivenUp: there is no room.
        """
        shared = _reserve(process.arena, self.end)
        memory = process.arena.memory
        if not self._lies_in(process):
            for part, place in self._outputs if is_there else self._parts:
                process.arena.put(place.start, part)
        guard = secret_bytes(sum(end - start for start, end in self._gaps))
        self._guard = guard.tobytes()
        for start, end in self._gaps:
            memory[start:end], guard = guard[: end - start], guard[end - start :]
        return shared

    def fetch(self, process: BackendProcess) -> None:
        """Copy them back.

        Raises:
            StrayWrite: something was written beside them.
        """
        memory = process.arena.memory
        for part, place in () if self._lies_in(process) else self._parts:
            if part.flags.writeable:
                part[:] = memory[place]
        if b"".join([memory[start:end].data for start, end in self._gaps]) != self._guard:
            raise StrayWrite(self._stray(memory))

    def _lies_in(self, process: BackendProcess) -> bool:
        """Whether this process and that one have the resources in the same memory."""
        return self._lent is not None and self._lent.arena is process.arena

    def _stray(self, memory: Bytes) -> str:
        """Where the guard has changed, told by the resource that is next to it."""
        guard = np.frombuffer(self._guard, np.uint8)
        for n, (start, end) in enumerate(self._gaps):
            changed = np.flatnonzero(memory[start:end] != guard[: end - start])
            guard = guard[end - start :]
            if changed.size:
                before, after = (int(changed[0]) + 1, end - start - int(changed[-1]))
                is_after = n > 0 and (n == len(self._gaps) - 1 or before <= after)
                where = f"{before} bytes after the end" if is_after else f"{after} bytes before the start"
                return f"{changed.size} bytes changed outside of every resource, {where} of {self._named(n - is_after)}"
        raise AssertionError("the guard is as it was")

    def _named(self, resource: int) -> str:
        """A resource, by the tensors that are bound in it."""
        start = self._resources[resource][0]
        bounds = [bound for _, _, inputs, outputs in self._executions for bound in (*inputs, *outputs)]
        names = dict.fromkeys(name for name, at, *_ in bounds if at == start)
        return f"that of {' and '.join(names)}" if len(self._resources) > 1 else "the only one"

    def _bounds(self, bindings: Mapping[str, Binding]) -> list[Bound]:
        return [
            (name, self._starts[id(buffer)], len(buffer), offset, size, buffer.flags.writeable)
            for name, (buffer, offset, size) in bindings.items()
        ]


def _places(executions: Sequence[Execution]) -> list[tuple[int, dict[str, tuple[int, int, int]]]]:
    """What tells executions apart as long as their memory is held."""
    return [
        (id(desc), {key: (id(buffer), offset, size) for key, (buffer, offset, size) in {**inputs, **outputs}.items()})
        for desc, _, inputs, outputs in executions
    ]


def _tensors(bound: Iterable[tuple[OperatorDesc, str, Binding]]) -> Iterator[BoundTensor]:
    for desc, key, (_, start, size) in bound:
        if (tensor := tensor_at(desc, key)) is not None:
            yield BoundTensor(start, size, tensor)


def _in_pages(size: int) -> int:
    """Bytes from the start of a page to that of one behind a resource of this size."""
    return (size // PAGE + 1) * PAGE


def _reserve(arena: Arena, size: int) -> int:
    """How much memory is shared when there is room for so many bytes.

    Raises:
        GivenUp: there is none.
    """
    try:
        return arena.reserve(size)
    except OSError as error:
        raise GivenUp(f"there is no room for {size} bytes of shared memory: {error}") from error


def _address(memory: Bytes) -> int:
    """Where memory begins; `ctypes.data` takes ten times as long."""
    address: int = memory.__array_interface__["data"][0]
    return address


class _ShownAs:
    """What `validate` returned in place of an Answer, shown as it showed itself."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown


def _completed(outcome: ExecutionReply) -> Completion:
    if isinstance(outcome, BackendException):
        raise _exception(outcome)
    return outcome


_KINDS: Mapping[str, type[Exception]] = {"Unsupported": Unsupported, "MemoryError": OutOfMemory}


def _exception(raised: BackendException) -> Exception:
    """An exception whose class has the name of the one that was raised, and that is caught where that would be."""
    kind = _KINDS.get(raised.kind, Exception)
    if raised.name != kind.__name__:
        kind = type(raised.name.replace("\0", ""), (kind,), {})
    error = kind(raised.text)
    error.raised_at = raised.place  # type: ignore[attr-defined]
    return error
