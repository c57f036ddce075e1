"""Judging many cases in one go, on a backend that executes batches; with the same verdicts as one by one.

The tensors of a batch lie in one resource, which exists twice: as the backend gets it, with the outputs poisoned, and
as the backend should leave it. Where both are the same afterwards, every case of the batch has passed; a case whose
part differs is looked at as `Judge` does. Whatever is found wrong is executed again alone, so that no case is blamed
for what another one did to it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from dml_conformance.backends.base import (
    RAISED,
    Backend,
    Batched,
    Bindings,
    Bytes,
    Execution,
    Unsupported,
    takes_batches,
)
from dml_conformance.backends.poison import secret_bytes
from dml_conformance.backends.reference import Expectation, expected_output
from dml_conformance.conformance.judge.accuracy import errors_of
from dml_conformance.conformance.judge.comparison_check import comparison_changed, is_checked
from dml_conformance.conformance.judge.judge import (
    Judge,
    Judgement,
    Pending,
    not_the_first,
    verdict_on,
)
from dml_conformance.conformance.judge.memory import (
    InputMemory,
    Layout,
    OutputMemory,
    Stretch,
    UnwrittenElements,
    allowed_elements,
    elements_at,
    make_wrong,
    page_aligned,
)
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.reports.model.costs import Part
from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.operator import inputs, outputs
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import OUTPUT_BOUNDS
from dml_conformance.strategies.values import in_place_input, overlaps

MOST_CASES = 1024  # decided on before the first of them is executed
MOST_PREFETCHED = 64  # decided on in one go, where each is executed alone
MOST_CASE_BYTES = 2**18  # larger cases are executed alone: they gain nothing
MOST_BYTES = 2**25  # of a batch's tensors
_TRUE = {size: int.from_bytes(bytes([True]) * size) for size in (1, 2, 4, 8)}  # in each byte of an element


class _Member(NamedTuple):
    """A case of a batch and what its inputs hold, by slot."""

    pending: Pending
    contents: Mapping[str, Bytes]


class _Failure(NamedTuple):
    """What a batch raised: the verdict that it comes to, in words, and whether a smaller batch may do."""

    verdict: Verdict
    told: str
    lacks_memory: bool


class BatchJudge:
    """Judges many cases as a `Judge` does, in batches if its backend takes them.

    Args:
        judge: holds the backend.
        one_by_one: execute every case alone, whatever the backend takes.
    """

    def __init__(self, judge: Judge, *, one_by_one: bool = False) -> None:
        self.judge = judge
        self.in_batches = not one_by_one and takes_batches(judge.backend)
        self._most_bytes = MOST_BYTES

    def records(self, cases: Iterable[Case], phase: Phase) -> Iterator[Record]:
        """The record of each case, in order; takes in up to `MOST_CASES` cases before it gives the first record."""
        judge = self.judge
        most = MOST_CASES if self.in_batches else MOST_PREFETCHED if judge.prefetches else 1
        cases = iter(cases)
        while chunk := [case.read(judge.reading) for case in islice(cases, most)]:
            if self.in_batches:
                for case, judged in zip(chunk, self.judgements(chunk), strict=True):
                    yield judge.describe(case, phase, judged)
            else:
                judge.prefetch(chunk)
                for case in chunk:
                    yield judge.record(case, phase)

    def judgements(self, cases: Sequence[Case]) -> list[Judgement]:
        """The verdicts on cases, in order."""
        judged: dict[int, Judgement] = {}
        waiting: dict[int, _Member] = {}
        used = 0
        self.judge.prefetch(cases)
        for count, case in enumerate(cases):
            decided = self.judge.decide(case)
            shares = overlaps(case) or bool(in_place_input(case)) or _shares_bytes(case)
            if isinstance(decided, Pending) and (decided.needed > MOST_CASE_BYTES or shares):
                decided = self.judge.execute(decided)
            if isinstance(decided, Pending):
                if used + decided.needed > self._most_bytes:
                    judged.update(self._executed(waiting))
                    waiting, used = {}, 0
                contents = self.judge.contents(decided)
                if isinstance(contents, Judgement):
                    judged[count] = contents
                else:
                    waiting[count] = _Member(decided, contents)
                    used += decided.needed
            else:
                judged[count] = decided
        judged.update(self._executed(waiting))
        return [judged[n] for n in range(len(cases))]

    def _executed(self, members: Mapping[int, _Member]) -> Iterator[tuple[int, Judgement]]:
        return zip(members, self._execute(list(members.values())), strict=True)

    def _execute(self, members: Sequence[_Member]) -> Sequence[Judgement]:
        if not members:
            return []
        watch = self.judge.watch
        with watch(Part.EXPECT):
            batch = _Batch(members, self.judge.tolerance)
        wrong: dict[int, Judgement] = {}
        seconds = 0.0
        for execution in range(self.judge.repeat):
            with watch(Part.EXPECT):
                batch.poison()
            started = time.perf_counter()
            with watch(Part.EXECUTE):
                failure = self._failure(batch)
            if failure is not None:
                break
            seconds = seconds or (time.perf_counter() - started) / len(members)
            with watch(Part.COMPARE):
                wrong = self._wrong(batch, seconds, execution)
            if wrong:
                break
        else:
            wrong = self._unwritten(batch, seconds)
        if failure is None:
            return self._judged(batch, seconds, wrong)
        # Here the exception is gone, and with it what it held of the failed attempt's memory.
        del batch
        if failure.lacks_memory:
            return self._split(members)
        # A batch may take longer than a case may, which is no fault.
        is_fault = failure.verdict not in (Verdict.NOT_SUPPORTED, Verdict.TIMEOUT)
        return self._one_to_blame(members, failure) if is_fault else self._one_by_one(members)

    def _failure(self, batch: _Batch) -> _Failure | None:
        """Have the backend execute a batch; returns what it raised."""
        backend: Backend = self.judge.backend
        assert isinstance(backend, Batched)
        try:
            backend.execute_batch(batch.executions)
        except Unsupported as error:  # which claims leave open: they are about cases, not about batches
            return _Failure(Verdict.NOT_SUPPORTED, str(error), lacks_memory=False)
        except RAISED as error:
            return _Failure(*verdict_on(error, "execute_batch"), isinstance(error, MemoryError))
        return None

    def _one_by_one(self, members: Sequence[_Member]) -> list[Judgement]:
        return [self.judge.execute(member.pending) for member in members]

    def _split(self, members: Sequence[_Member]) -> Sequence[Judgement]:
        """What did not fit at once, in halves; later batches are smaller from the start."""
        if len(members) == 1:
            return self._one_by_one(members)
        self._most_bytes = max(self._most_bytes // 2, MOST_CASE_BYTES)
        half = len(members) // 2
        return [*self._execute(members[:half]), *self._execute(members[half:])]

    def _one_to_blame(self, members: Sequence[_Member], failure: _Failure) -> list[Judgement]:
        """A batch raised something. Where no case of it fails alone, the batches themselves are at fault."""
        judged = self._one_by_one(members)
        if any(each.verdict in NOT_CONFORMANT for each in judged):
            return judged
        batches = (_Batch([member], self.judge.tolerance) for member in members)
        guilty = [n for n, batch in enumerate(batches) if self._failure(batch) is not None]
        for n in guilty or [0]:
            what = "a batch of this case" if guilty else f"a batch of {len(members)} cases from this one on"
            reason = f"{failure.told}, on {what}; alone: {judged[n].verdict}"
            rule = OUTPUT_BOUNDS if failure.verdict is Verdict.FAIL else judged[n].rule
            judged[n] = judged[n]._replace(verdict=failure.verdict, rule=rule, reason=reason)
        return judged

    def _wrong(self, batch: _Batch, seconds: float, execution: int) -> dict[int, Judgement]:
        """The cases that an execution of a batch did not pass, each by its own part of the memory."""
        wrong: dict[int, Judgement] = {}
        for n in batch.touched():
            found = batch.judged_alone(n, self.judge, seconds)
            if found.verdict is not Verdict.PASS:
                wrong[n] = not_the_first(found, execution) if execution else found
        return wrong

    def _unwritten(self, batch: _Batch, seconds: float) -> dict[int, Judgement]:
        """The cases that passed every time by what was there before."""
        judged = {
            n: self.judge.unless_unwritten(batch.members[n].pending.judged(Verdict.PASS, seconds=seconds), unwritten)
            for n, unwritten in batch.unwritten.items()
        }
        return {n: found for n, found in judged.items() if found.verdict is not Verdict.PASS}

    def _judged(self, batch: _Batch, seconds: float, wrong: Mapping[int, Judgement]) -> Sequence[Judgement]:
        passed = [
            pending.judged(Verdict.PASS, seconds=seconds)._replace(
                output=batch.output_digest(n) if self.judge.digests(pending) else "", errors=errors
            )
            for n, ((pending, _), errors) in enumerate(zip(batch.members, batch.errors(), strict=True))
        ]
        if not wrong:
            batch.check_comparison()
            return passed
        alone = {n: self.judge.execute(batch.members[n].pending) for n in wrong}
        guilty = {n for n, found in alone.items() if found.verdict in NOT_CONFORMANT}
        if not guilty:
            for n, found in wrong.items():
                passed[n] = found._replace(reason=f"in a batch: {found.reason}; alone: {alone[n].verdict}")
            return passed
        # Once more without these: others may have suffered from them, or have done damage where they did too.
        others = [n for n in range(len(passed)) if n not in guilty]
        again = self._execute([batch.members[n] for n in others])
        judged = dict(zip(others, again, strict=True)) | {n: alone[n] for n in guilty}
        return [judged[n] for n in sorted(judged)]


class _Batch:
    """Cases laid out in one resource.

    Attributes:
        members: the cases.
        executions: what the backend gets.
        unwritten: of the cases that were looked at alone, by number.
    """

    def __init__(self, members: Sequence[_Member], tolerance: Tolerance) -> None:
        self.members = members
        self._tolerance = tolerance
        self._layouts: list[Layout] = []
        end = 0
        for pending, _ in members:
            layout = Layout.of(pending.case.desc, pending.placement, after=end)
            self._layouts.append(layout)
            end = layout.end
        end = -(-end // 8) * 8
        self._ends = np.array([*(layout.end for layout in self._layouts[:-1]), end])
        self._wanted = secret_bytes(end)
        self._found = page_aligned(end)
        self._before: Bytes | None = None
        self._is_element, self._is_free = np.zeros(end, np.bool_), np.ones(end, np.bool_)
        self._expected = [self._fill(member, layout) for member, layout in zip(members, self._layouts, strict=True)]
        self._is_free &= ~self._is_element
        self.executions = [
            self._execution(pending.case, layout) for (pending, _), layout in zip(members, self._layouts, strict=True)
        ]
        self.unwritten: defaultdict[int, UnwrittenElements] = defaultdict(UnwrittenElements)

    def poison(self) -> None:
        """Make the memory what it is before an execution: inputs as they are, all else secret bytes.

        No byte of an output's exact element is the wanted one, what is not exact is wrong, and no byte of anything but
        inputs is what it was last time, unless it had to be drawn again.
        """
        avoided = [self._wanted] if self._before is None else [self._wanted, self._before]
        fresh = secret_bytes(len(self._wanted), *avoided)
        np.copyto(self._wanted, fresh, where=self._is_free)
        np.copyto(self._found, self._wanted)
        np.copyto(self._found, fresh, where=self._is_element)
        for (pending, _), layout, expected in zip(self.members, self._layouts, self._expected, strict=True):
            for slot in outputs(pending.case.desc):
                if (part := expected[slot.key]).open is not None:
                    stretch, desc = layout.stretches[slot.key], pending.case.desc
                    last = None if self._before is None else _elements(self._before, stretch, slot.tensor)
                    allowed = allowed_elements(part, desc, layout.bindings(self._wanted))
                    make_wrong(_elements(self._found, stretch, slot.tensor), part, slot.tensor.data_type, allowed, last)
        self._before = self._found.copy()

    def touched(self) -> list[int]:
        """The cases in whose part of the memory a byte is not as it should be, or may be another: what is left open,
        and padding."""
        return self._touched(self._found)

    def check_comparison(self) -> None:
        """Have what finds these cases look at a copy of the memory in which an output of some cases is wrong.

        Raises:
            GivenUp: it does not find one of them.
        """
        checked = [n for n, (pending, _) in enumerate(self.members) if is_checked(pending.written.digest, 0)]
        if checked:
            spoiled = self._found.copy()
            for n in checked:
                first = outputs(self.members[n].pending.case.desc)[0]
                start = self._layouts[n].stretches[first.key].start
                spoiled[start] = self._wanted[start] ^ 1
            if not set(checked) <= set(self._touched(spoiled)):
                raise comparison_changed()

    def _touched(self, found: Bytes) -> list[int]:
        differing = np.flatnonzero(found.view(np.uint64) != self._wanted.view(np.uint64)) * 8
        if not differing.size:
            return []
        return [int(n) for n in np.unique(np.searchsorted(self._ends, differing, side="right"))]

    def output_digest(self, n: int) -> str:
        """Of a case, over what the backend left in its outputs."""
        layout, expected = self._layouts[n], self._expected[n]
        return output_digest(
            (_elements(self._found, layout.stretches[slot.key], slot.tensor), expected[slot.key].open)
            for slot in outputs(self.members[n].pending.case.desc)
        )

    def judged_alone(self, n: int, judge: Judge, seconds: float) -> Judgement:
        """The verdict on one case by its own part of the memory."""
        pending, layout = self.members[n].pending, self._layouts[n]
        assert self._before is not None
        read, written = {}, {}
        for slot in inputs(pending.case.desc):
            begin, _, _, end = stretch = layout.stretches[slot.key]
            wanted = self._wanted[begin:end].tobytes()
            read[slot.key] = InputMemory(stretch.binding(self._found), [self._found[begin:end]], [wanted])
        for slot in outputs(pending.case.desc):
            stretch, tensor = layout.stretches[slot.key], slot.tensor
            before, found = (stretch.around(memory, tensor) for memory in (self._before, self._found))
            poison = _elements(self._before, stretch, tensor)
            written[slot.key] = OutputMemory(stretch.binding(self._found), tensor, found, before, poison)
        return judge.judge_memory(pending, seconds, read, written, self._expected[n], self.unwritten[n])

    def errors(self) -> list[Errors | None]:
        """Of each case, those of what the backend left in its outputs."""
        return [
            errors_of(
                (_elements(self._found, layout.stretches[key], tensor), wanted[key], tensor.data_type, 1)
                for key, _, _, tensor in outputs(pending.case.desc)
            )
            for (pending, _), layout, wanted in zip(self.members, self._layouts, self._expected, strict=True)
        ]

    def _fill(self, member: _Member, layout: Layout) -> dict[str, Expectation]:
        """Write what a case's memory should hold in the end; returns what is right there, in views of the memory."""
        desc, memory = member.pending.case.desc, self._wanted
        bound: Bindings = layout.bindings(memory)
        for key, content in member.contents.items():
            held = slice(bound[key].offset, bound[key].offset + content.size)
            memory[held] = content
            self._is_free[held] = False
        expected = expected_output(desc, bound, self._tolerance)
        for slot in outputs(desc):
            stretch, tensor = layout.stretches[slot.key], slot.tensor
            _elements(self._is_element.view(np.uint8), stretch, tensor)[...] = _TRUE[tensor.data_type.size]
            wanted = _elements(memory, stretch, tensor)
            wanted[...] = expected[slot.key].values
            expected[slot.key] = expected[slot.key]._replace(values=wanted)
        return expected

    def _execution(self, case: Case, layout: Layout) -> Execution:
        """The arguments of a case's execution."""
        bound = layout.bindings(self._found)
        read, written = ({slot.key: bound[slot.key] for slot in of(case.desc)} for of in (inputs, outputs))
        return Execution(case.desc, case.level, read, written)


def _shares_bytes(case: Case) -> bool:
    """Whether elements of an output share bytes, so that no view of memory has them."""
    return any(slot.tensor.data_type.shares_bytes for slot in outputs(case.desc))


def _elements(memory: Bytes, stretch: Stretch, tensor: TensorDesc) -> Bits:
    return elements_at(memory, stretch.start, tensor)
