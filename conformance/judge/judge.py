"""Judging one case on one backend: ask for its decision, execute, compare, and say which rule the verdict is about."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import psutil
from msgspec.structs import replace

from dml_conformance.backends.base import RAISED, Answer, Backend, Binding, Bindings, Bytes, Capabilities, Unsupported
from dml_conformance.backends.directml.structs import beyond_structs
from dml_conformance.backends.foreign_text import place_of
from dml_conformance.backends.heap import room_for
from dml_conformance.backends.onnxruntime.forms import beyond_onnx
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import ProcessLost, StrayWrite
from dml_conformance.backends.reference import (
    Expectation,
    LargeExpectation,
    expected_in_turns,
    expected_output,
    expected_parts,
)
from dml_conformance.backends.reference.layout import put
from dml_conformance.conformance.judge.accuracy import CountedErrors, errors_of
from dml_conformance.conformance.judge.compare import EQUAL, OutputComparison, compare
from dml_conformance.conformance.judge.comparison_check import check_comparison, is_checked
from dml_conformance.conformance.judge.losses import tally_of
from dml_conformance.conformance.judge.memory import (
    LARGE_BYTES,
    CaseMemory,
    Expected,
    InputMemory,
    Lend,
    OutputMemory,
    Sample,
    UnwrittenElements,
    allowed_elements,
    is_in_turns,
    laid_out,
    unlike_parts,
)
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.conformance.judge.placement import needed_placement
from dml_conformance.conformance.judge.timed import TimedMemory
from dml_conformance.reports.model.costs import Part, Stopwatch
from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.records import NEVER_WRITTEN, NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.case import Case, Placement, digest_of
from dml_conformance.spec.divergences import recognise
from dml_conformance.spec.operator import OperatorSpec, inputs, outputs, slots, tensor_at, with_tensors
from dml_conformance.spec.registry import rule as rule_named
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.rules import ACCEPTANCE, CLAIMS, Category
from dml_conformance.spec.tensor import TensorDesc, clusters, packed_strides
from dml_conformance.spec.tensor_rules import BINDING, IN_PLACE, INPUTS_UNCHANGED, OUTPUT_BOUNDS, STRIDES
from dml_conformance.spec.validator import Outcome, Reading, decide
from dml_conformance.strategies.cases import execution_rules
from dml_conformance.strategies.tensors import layout_kind
from dml_conformance.strategies.values import (
    DOMAINS,
    OVERLAPPING,
    buffer_size,
    in_place_input,
    materialize,
    output_in_place,
    overlaps,
    overwritable_input,
)

FAR_OFFSET = 2**20  # bytes, from which on what lies before a tensor counts among the memory that a case needs
# Larger cases are decided on, not executed.
MAX_BYTES = 2**34
# What a machine or a device may be too small for. It is no fault of a backend, and nothing that it did right.
LACKING_BYTES = 2**30
COPIES = 3  # of a case's tensors that harness and backend need together
MOST_WAITING = 60.0  # seconds for memory that other processes have
# Of cases of more bytes or elements some boxes of the outputs are looked at: those around the places that fewer bits of
# an element's or a byte's address end at, and so many others, which nobody can foretell.
SAMPLED = 2**31
SAMPLED_BOXES = 64
# Larger cases are executed once, unless races are hunted: poison is never what is expected, so what is not written
# shows all the same.
MOST_REPEATED = 2**24

REPEAT = 2  # executions of a case, unless something else is asked for
# One case in so many is executed once more than the others: a fault on every n-th call, n being even, would else always
# meet a case that was executed just before.
ONCE_MORE = 7

# One small executed case in so many has a digest of its outputs on record, also where the others have none.
DIGESTED_OF = 16

TIMED_RUNS = 32  # of a timed case that is judged again; as many as a warm-up has
FIRST_RUNS, LAST_RUNS = "after the first timed runs", "after the last timed runs"

# How a reason begins where a backend declines; those written for the protocol before claims were binding do.
DECLINED = "declined what its claims cover (Capabilities.scopes is where a backend says what it does not do)"

# Why a descriptor has not the form in which it would reach a backend, by `Capabilities.form`.
LACKING = {"DirectML.h": beyond_structs, "ONNX": beyond_onnx}

IN_PLACE_OF = 2  # Of cases that may be executed in place one in so many is, besides those that are about it.
MOST_REBOUND = 2**20  # bytes; larger cases that fail are not bound otherwise: smaller ones tell what it is about

# What is said of memory; a wrong value in a case about it is none of its business.
_OF_MEMORY = (OUTPUT_BOUNDS, INPUTS_UNCHANGED, BINDING)
# What is said of where elements lie. It is broken where the same case with packed tensors of their own passes.
_OF_LAYOUT = (STRIDES, IN_PLACE)

_PATTERNS = frozenset(pattern for patterns in DOMAINS.values() for pattern in patterns)


class WrittenCase(NamedTuple):
    """A case that is executed, as JSON.

    Attributes:
        content: what `Case.to_json` gives, with the placement.
        digest: of the case.
    """

    content: dict[str, Any]
    digest: str

    @classmethod
    def of(cls, case: Case) -> tuple[WrittenCase, Placement]:
        """The case as JSON, and how it is bound."""
        content = case.to_json()
        digest = digest_of(content)
        placement = case.placement or Placement.drawn(digest)
        content["placement"] = msgspec.to_builtins(placement)
        return cls(content, digest), placement


class Judgement(NamedTuple):
    """A verdict and what it rests on, before it becomes a record; `written` is None where nothing was executed."""

    verdict: Verdict
    rule: str
    answered: str = ""
    reason: str = ""
    seconds: float = 0.0
    comparison: OutputComparison = EQUAL
    output: str = ""
    errors: Errors | None = None
    written: WrittenCase | None = None


class Pending(NamedTuple):
    """A case that the backend accepted, as it should, and that is to be executed.

    Attributes:
        case: about `rule`.
        rule: id of the rule that the execution is about.
        answered: the backend's decision.
        seconds: that it took.
        needed: bytes of the tensors' memory, alignment included and guards not; of much memory those near elements.
        placement: how the tensors are bound.
        written: the case as JSON.
    """

    case: Case
    rule: str
    answered: str
    seconds: float
    needed: int
    placement: Placement
    written: WrittenCase

    @property
    def is_sampled(self) -> bool:
        """Whether of the outputs a sample is looked at, as bytes or elements, which may share memory, are too many."""
        return self.needed > SAMPLED or (
            self.needed > LARGE_BYTES and any(slot.tensor.element_count > SAMPLED for slot in slots(self.case.desc))
        )

    @property
    def rule_of_values(self) -> str:
        """Id of the rule that is broken where outputs are wrong, or there are none."""
        return f"{self.case.operator}.values" if self.rule in _OF_MEMORY else self.rule

    def judged(self, verdict: Verdict, reason: str = "", seconds: float = 0.0) -> Judgement:
        """A verdict on the execution, of which so many seconds were spent in the backend."""
        spent = self.seconds + seconds
        return Judgement(verdict, self.rule, self.answered, reason, spent, written=self.written)

    def raised(self, error: BaseException, function: str) -> Judgement:
        """The verdict where a function of the backend raised something in place of executing."""
        judged = self.judged(*verdict_on(error, function))
        if isinstance(error, Unsupported):
            return judged._replace(rule=CLAIMS)
        return judged._replace(rule=OUTPUT_BOUNDS if isinstance(error, StrayWrite) else self.rule_of_values)


class Judge:
    """Judges cases on one backend. It holds the backend to its claims and to nothing else.

    Args:
        backend: the backend.
        backend_name: how the command line names it, for the lines that reproduce a case.
        reading: what counts as the specification.
        claims: what the backend is held to, where that is less than all that it claims.
        digests_outputs: whether records have a digest of each executed case's outputs; else those of some have.
        repeat: how often each case is executed, with the same inputs and other poison; it passes if it does each time.
            A large one is executed once unless this is more than `REPEAT`.
        tolerance: the bounds that results of arithmetic are held to.

    Attributes:
        watch: seconds of the parts of its work.
    """

    def __init__(
        self,
        backend: Backend,
        backend_name: str,
        reading: Reading = Reading.DOCUMENTED,
        *,
        claims: Capabilities | None = None,
        digests_outputs: bool = False,
        repeat: int = REPEAT,
        tolerance: Tolerance = DIRECTML,
    ) -> None:
        self.backend = backend
        self.backend_name = backend_name
        self.reading = reading
        self.digests_outputs = digests_outputs
        self.repeat = repeat
        self.tolerance = tolerance
        self.watch = Stopwatch()
        # A backend in this process gains nothing by being asked ahead.
        self.prefetches = isinstance(backend, IsolatedBackend)
        self._executed = 0
        self.capabilities: Capabilities = backend.capabilities() if claims is None else claims
        self._executes = self.capabilities.executes and Category.EXECUTION in self.capabilities.enforces
        self._decides = Category.ACCEPTANCE in self.capabilities.enforces
        self._levels = frozenset(self.capabilities.levels)
        self._operators = frozenset(self.capabilities.operators)

    def record(self, case: Case, phase: Phase) -> Record:
        """Judge a case and describe the outcome for the reports."""
        case = case.read(self.reading)
        return self.describe(case, phase, self.judge(case))

    def describe(self, case: Case, phase: Phase, judged: Judgement) -> Record:
        """The record of a case, in this judge's reading, that came to a judgement."""
        with self.watch(Part.RECORD):
            return self._described(case, phase, judged)

    def _described(self, case: Case, phase: Phase, judged: Judgement) -> Record:
        if case.placement is not None:
            case = case.bound(case.placement)
        spec = spec_of(case.desc)
        output = next((slot.tensor for slot in outputs(case.desc)), None)
        index_type, pattern = _index_facts(spec, case)
        passed = judged.verdict is Verdict.PASS
        content = case.to_json() if judged.written is None else {**judged.written.content, "rule": case.rule}
        return Record(
            case=digest_of(content) if judged.written is None else judged.written.digest,
            operator=spec.name,
            level=case.level.label,
            phase=phase,
            rule=judged.rule,
            verdict=judged.verdict,
            expected=str(case.outcome),
            answered=judged.answered,
            reason=judged.reason,
            data_type=output.data_type.name if output is not None else "",
            index_type=index_type,
            rank=len(output.sizes) if output is not None else 0,
            layout=_layout(case),
            pattern=pattern if self._is_executed(case) else "",
            seconds=round(judged.seconds, 6),  # as results files hold it in least room
            case_json=content,
            differences=judged.comparison.shown,
            difference_count=judged.comparison.wrong,
            reproduce="" if passed else reproduce_line(case, self.backend_name, self.reading, self.tolerance),
            output=judged.output,
            errors=judged.errors,
        )

    def judge(self, case: Case) -> Judgement:
        """The verdict on one case."""
        decided = self.decide(case)
        return decided if isinstance(decided, Judgement) else self.execute(decided)

    def prefetch(self, cases: Iterable[Case]) -> None:
        """Have the backend decide on all that it will be asked when these cases are judged in order, where that saves
        time.

        Raises:
            GivenUp: the backend is not asked any more.
        """
        if isinstance(self.backend, IsolatedBackend):
            claimed = [case for case in cases if not self._why_not_asked(case.read(self.reading))]
            with self.watch(Part.DECIDE):
                self.backend.prefetch_decisions([(case.desc, case.level) for case in claimed])

    def decide(self, case: Case) -> Judgement | Pending:
        """Ask the backend for its decision: the verdict on the case, unless it is to be executed now."""
        case = case.read(self.reading)
        rule = self._rule(case)
        if rule != case.rule:
            case = replace(case, rule=rule)
        if why := self._why_not_asked(case):
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, reason=why)
        started = time.perf_counter()
        try:
            with self.watch(Part.DECIDE):
                answer = self.backend.validate(case.desc, case.level)
        except RAISED as error:
            verdict, reason = verdict_on(error, "validate")
            if isinstance(error, Unsupported):
                if case.outcome is Outcome.UNSPECIFIED:
                    return Judgement(Verdict.OBSERVED, case.rule, reason=reason)
                return Judgement(verdict, CLAIMS, reason=reason)
            return Judgement(verdict, case.rule, reason=reason + self._known(case, "crash"))
        if not isinstance(answer, Answer):
            return Judgement(Verdict.CRASH, case.rule, reason=f"validate returned {answer!r}, not an Answer")
        seconds = time.perf_counter() - started
        answered = "accept" if answer.accepted else "reject"
        if case.outcome is Outcome.UNSPECIFIED:
            reason = answered + "ed" + (f": {answer.reason}" if answer.reason else "")
            return Judgement(Verdict.OBSERVED, case.rule, answered, reason, seconds)
        if case.outcome is Outcome.REJECT:
            return self._judge_invalid(case, answer, answered, seconds)
        if not answer.accepted:
            return self._judge_refusal(case, answer, answered, seconds)
        if self._is_executed(case):
            return self._pending(case, answered, seconds)
        if case.rule and rule_named(case.rule).category not in self.capabilities.enforces:
            reason = f"category {rule_named(case.rule).category} is not claimed"
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, answered, reason, seconds)
        reason = ""
        if case.data is not None:
            reason = "decided only; " + ("no page says what it computes" if case.broken else "execution is not claimed")
        return Judgement(Verdict.PASS, case.rule, answered, reason, seconds)

    def execute(self, pending: Pending) -> Judgement:
        """Execute one case, bound as its placement says, and judge what the backend left there each time.

        A rule of layout is broken where the case passes without it. Where it passes once it is bound otherwise, wrong
        values are a failure of binding. What is said of memory beside tensors says enough, and at other offsets it may
        go unseen. Neither is tried where it takes long or would cost the backend's process again.
        """
        if pending.case.timed:
            return self._execute_timed(pending)
        before = tally_of(self.backend)
        judged = self._execute(pending)
        is_beside = judged.rule in (OUTPUT_BOUNDS, INPUTS_UNCHANGED)
        if judged.verdict is Verdict.PASS:
            return self._in_place_too(pending, judged)
        if judged.verdict not in NOT_CONFORMANT or is_beside:
            return judged
        is_cheap = pending.needed <= MOST_REBOUND and tally_of(self.backend) == before
        if not judged.rule.endswith(".accuracy"):
            plain = f"{pending.case.operator}.values" if judged.rule in _OF_LAYOUT else judged.rule
            judged = judged._replace(rule=(self.broken_layout(pending) if is_cheap else "") or plain)
        if judged.verdict is not Verdict.FAIL or pending.needed > MOST_REBOUND:
            return judged

        def fails(placement: Placement) -> bool:
            return self._execute(pending._replace(placement=placement)).verdict is Verdict.FAIL

        needed = needed_placement(pending.placement, fails)
        return judged._replace(rule=BINDING, reason=f"{judged.reason}, only {needed}") if needed else judged

    def execute_on(self, pending: Pending, contents: dict[str, Bytes]) -> tuple[Judgement, dict[str, Bytes]]:
        """Execute a case on other contents than its recipes give; gives the memory of its outputs, too, by slot."""
        written: dict[str, OutputMemory] = {}
        judged = self._execute(pending, contents, written)
        return judged, {key: _left(each) for key, each in written.items()}

    def _in_place_too(self, pending: Pending, passed: Judgement) -> Judgement:
        """The verdict on a case that passed, once it was executed with an output in an input's memory, if it is to be.

        What is computed decides whether that shows: limits that hold for every element hide that an input was lost.
        So it is not left to the few cases that are about it.
        """
        case = pending.case
        over = overwritable_input(case) if _is_in_place_too(pending) and self.repeat > 1 else None
        if any(scope.outside(case.desc, is_in_place=True) for scope in self.capabilities.scopes):
            return passed
        contents = None if over is None else self.contents(pending)
        if over is None or contents is None or isinstance(contents, Judgement):
            return passed
        data = dict(case.data or {})
        data[over.key] = replace(data[over.key], in_place=True)
        there = pending._replace(case=replace(case, data=data), rule=IN_PLACE)
        with self.watch(Part.MAKE):
            memory = case_memory(there.case, pending.placement)
            read = memory.put_inputs(contents)
        with self.watch(Part.EXPECT):
            expected = self.expected(pending, _copies({key: each.binding for key, each in read.items()}))
        judged = self._execute_once(there, memory, read, {}, expected, UnwrittenElements())
        if judged.verdict not in NOT_CONFORMANT:
            return passed
        is_beside = judged.rule in (OUTPUT_BOUNDS, INPUTS_UNCHANGED)
        where = f"where {output_in_place(case.desc, over.key).name} is bound to the memory of {over.name}"
        return judged._replace(rule=judged.rule if is_beside else IN_PLACE, reason=f"{judged.reason}, {where} alone")

    def broken_layout(self, pending: Pending) -> str:
        """Id of the rule of layout without which a case that failed passes, each time; "" where there is none."""
        case = pending.case
        own = {key: replace(recipe, in_place=False) for key, recipe in (case.data or {}).items()}
        packed = {slot.key: TensorDesc.of(slot.tensor.data_type, slot.tensor.sizes) for slot in slots(case.desc)}
        is_strided = any(
            slot.tensor.effective_strides != packed_strides(slot.tensor.sizes) for slot in slots(case.desc)
        )
        others = {
            IN_PLACE: replace(case, data=own) if in_place_input(case) else None,
            STRIDES: replace(case, desc=with_tensors(case.desc, packed), data=own) if is_strided else None,
        }
        passing = (rule for rule, other in others.items() if other is not None and not self._fails_as(pending, other))
        broken = next(passing, "")
        return broken if broken and self._execute(pending).verdict in NOT_CONFORMANT else ""

    def _fails_as(self, pending: Pending, other: Case) -> bool:
        """Whether a case with the same elements in other tensors fails too, or cannot be tried."""
        again = self._pending(other, pending.answered, 0.0)
        if isinstance(again, Judgement) or again.needed > MOST_REBOUND:
            return True
        contents = self.contents(pending)
        if isinstance(contents, Judgement):
            return True
        if not overlaps(other):
            contents = {
                slot.key: laid_out(contents[slot.key], slot.tensor, there.tensor)
                for slot, there in zip(inputs(pending.case.desc), inputs(other.desc), strict=True)
            }
        data = {key: replace(recipe, period=0) for key, recipe in (other.data or {}).items()}
        again = again._replace(case=replace(other, data=data), placement=pending.placement)
        return self._execute(again, contents).verdict in NOT_CONFORMANT

    def timed_memory(self, pending: Pending) -> TimedMemory | Judgement:
        """The memory of a case that is timed; or the verdict, where its recipes give no data."""
        contents = self.contents(pending)
        if isinstance(contents, Judgement):
            return contents
        return TimedMemory(pending.case, pending.placement, contents, self.tolerance)

    def judge_timed(self, pending: Pending, memory: TimedMemory, runs: str) -> Judgement:
        """The verdict on what the last of some timed runs left; `runs` says which they were. Raises StrayWrite."""
        memory.fetch(self.backend)
        judged = self.judge_memory(pending, 0.0, memory.read, memory.written, memory.expected, UnwrittenElements())
        untouched = [slot.name for slot in outputs(pending.case.desc) if memory.is_untouched(slot)]
        if judged.verdict is Verdict.PASS and untouched:
            judged = pending.judged(Verdict.FAIL, f"{untouched[0]}: nothing was written to it")
        return judged if judged.verdict is Verdict.PASS else judged._replace(reason=f"{judged.reason}, {runs}")

    def _execute_timed(self, pending: Pending) -> Judgement:
        memory = self.timed_memory(pending)
        if isinstance(memory, Judgement):
            return memory
        judged = pending.judged(Verdict.PASS)
        for repeats in (1, TIMED_RUNS):
            try:
                memory.run(self.backend, repeats)
                judged = self.judge_timed(pending, memory, FIRST_RUNS if repeats == 1 else LAST_RUNS)
            except RAISED as error:
                return pending.raised(error, "time_execution")
            if judged.verdict is not Verdict.PASS:
                break
        return judged

    def _execute(
        self,
        pending: Pending,
        contents: dict[str, Bytes] | Judgement | None = None,
        written: dict[str, OutputMemory] | None = None,
    ) -> Judgement:
        """Execute a case, with what its recipes give or with other contents; `written` is given its outputs.

        A very large one, whose outputs nobody asks for, lies in the memory that the backend's process shares.
        """
        with room_for(pending.needed):
            if written is None and pending.is_sampled and isinstance(self.backend, IsolatedBackend):
                with self.backend.lending() as lend:
                    return self._execute_in(lend, pending, contents, {})
            return self._execute_in(lambda _: None, pending, contents, {} if written is None else written)

    def _execute_in(
        self,
        lend: Lend,
        pending: Pending,
        contents: dict[str, Bytes] | Judgement | None,
        written: dict[str, OutputMemory],
    ) -> Judgement:
        """The same, in memory that may be lent."""
        case = pending.case
        contents = self.contents(pending) if contents is None else contents
        if isinstance(contents, Judgement):
            return contents
        with self.watch(Part.MAKE):
            memory = case_memory(case, pending.placement, lend)
            read = memory.put_inputs(contents)
        with self.watch(Part.EXPECT):
            expected = self.expected(pending, {key: each.binding for key, each in read.items()})
        is_in_place = bool(in_place_input(case))
        if not is_in_place:
            del contents  # or a large case would need its memory twice
        unwritten = UnwrittenElements()
        counted = CountedErrors()
        first = self._execute_once(pending, memory, read, written, expected, unwritten, counted)
        if first.verdict is not Verdict.PASS:
            return first
        first = first._replace(errors=counted.errors)  # those of a repetition are no others
        if pending.needed > (MOST_REPEATED if self.repeat <= REPEAT else LACKING_BYTES):
            return first
        self._executed += 1
        once_more = self.repeat > 1 and self._executed % ONCE_MORE == 0
        for execution in range(1, self.repeat + once_more):
            if is_in_place:
                read = memory.put_inputs(contents)
            again = self._execute_once(pending, memory, read, written, expected, unwritten)
            if again.verdict is not Verdict.PASS:
                return not_the_first(again, execution)
        return self.unless_unwritten(first, unwritten)

    def _execute_once(
        self,
        pending: Pending,
        memory: CaseMemory,
        read: Mapping[str, InputMemory],
        written: dict[str, OutputMemory],
        expected: Mapping[str, Expected],
        unwritten: UnwrittenElements,
        counted: CountedErrors | None = None,
    ) -> Judgement:
        """Execute a case into poisoned outputs; `written` has those of the execution before, and then these."""
        case = pending.case
        sources = {key: each.binding for key, each in read.items()}
        in_place = _bound_together(case)[1:]
        for slot in outputs(case.desc):
            if slot.key in in_place:
                written[slot.key] = memory.now(slot)
                continue
            with self.watch(Part.EXPECT):
                written[slot.key] = memory.poison(
                    slot,
                    expected[slot.key],
                    written.get(slot.key),
                    lambda part: allowed_elements(part, case.desc, sources),
                )
        targets = {key: each.binding for key, each in written.items()}
        started = time.perf_counter()
        try:
            with self.watch(Part.EXECUTE):
                self.backend.execute(case.desc, case.level, sources, targets)
        except RAISED as error:
            judged = pending.raised(error, "execute")
            is_lacking = isinstance(error, MemoryError) and pending.needed > LACKING_BYTES
            return pending.judged(Verdict.NOT_SUPPORTED, judged.reason) if is_lacking else judged
        seconds = time.perf_counter() - started
        with self.watch(Part.COMPARE):
            return self.judge_memory(pending, seconds, read, written, expected, unwritten, counted)

    def unless_unwritten(self, passed: Judgement, unwritten: UnwrittenElements) -> Judgement:
        """A pass, unless elements were never written in several executions."""
        if self.repeat < 2 or not (count := unwritten.count):
            return passed
        reason = f"{count} elements of the output were not written: they hold what they held before, each time"
        return passed._replace(verdict=Verdict.FAIL, reason=reason)

    def contents(self, pending: Pending) -> dict[str, Bytes] | Judgement:
        """What the inputs hold, by slot; or the verdict, where the case's recipes give no data."""
        try:
            with self.watch(Part.MAKE):
                return materialize(pending.case)
        except ValueError as error:
            return pending.judged(Verdict.ERROR, f"there is no such data: {error}")

    def expected(self, pending: Pending, read: Bindings) -> Mapping[str, Expected]:
        """What the outputs have to hold, by slot; of very large ones a sample."""
        found = expected_results(pending, read, self.tolerance)
        if not pending.is_sampled:
            return found
        return {
            slot.key: Sample.drawn(found[slot.key], slot.tensor.sizes, SAMPLED_BOXES, _edges(slot.tensor))
            for slot in outputs(pending.case.desc)
        }

    def digests(self, pending: Pending) -> bool:
        """Whether the record of a case has a digest of its outputs."""
        return self.digests_outputs or (pending.needed <= MOST_REBOUND and is_digested(pending.written.digest))

    def judge_memory(
        self,
        pending: Pending,
        seconds: float,
        read: Mapping[str, InputMemory],
        written: Mapping[str, OutputMemory],
        expected: Mapping[str, Expected],
        unwritten: UnwrittenElements,
        counted: CountedErrors | None = None,
    ) -> Judgement:
        """The verdict on the memory of a case after an execution.

        Args:
            pending: the case.
            seconds: that the backend took over it.
            read, written: the inputs and outputs by slot, as the backend left them.
            expected: what the outputs have to hold, by slot.
            unwritten: is told of the outputs.
            counted: counts the errors of results that pass.

        Raises:
            GivenUp: what compares was changed.
        """
        case = pending.case
        results = outputs(case.desc)
        passed = pending.judged(Verdict.PASS, seconds=seconds)
        if self.digests(pending):
            parts = ((written[slot.key], *part) for slot in results for part in expected[slot.key].parts())
            passed = passed._replace(output=output_digest((memory.elements[box], p.open) for memory, box, p in parts))
        for slot in results:
            outside = written[slot.key].changed_outside()
            if outside:
                reason = f"{slot.name}: bytes changed outside the tensor, at {outside} from its start"
                return passed._replace(verdict=Verdict.FAIL, rule=OUTPUT_BOUNDS, reason=reason)
        overwritten = in_place_input(case)
        for slot in inputs(case.desc):
            if slot.key != overwritten and not read[slot.key].is_unchanged:
                reason = f"{slot.name}: the input's memory was written to"
                return passed._replace(verdict=Verdict.FAIL, rule=INPUTS_UNCHANGED, reason=reason)
        sources = {key: memory.binding for key, memory in read.items()}
        for slot in results:
            found = _compared(case, written[slot.key], expected[slot.key], sources, counted)
            if found.wrong:
                reason = f"{slot.name}: {found.wrong} of {slot.tensor.element_count} elements differ"
                accuracy = f"{case.operator}.accuracy"
                rule = f"{case.operator}.values" if pending.rule == accuracy else pending.rule_of_values
                if found.inaccurate == found.wrong and accuracy in execution_rules(case.operator, case.level):
                    rule, reason = accuracy, f"{reason} by more than they may"
                errors = self.errors(case, written, expected)
                return passed._replace(verdict=Verdict.FAIL, rule=rule, reason=reason, comparison=found, errors=errors)
            unwritten.look(slot.key, written[slot.key], expected[slot.key])
        if is_checked(pending.written.digest, pending.needed):
            for slot in results:
                check_comparison(partial(_compared, case), written[slot.key], expected[slot.key], sources)
        return passed

    def _pending(self, case: Case, answered: str, seconds: float) -> Judgement | Pending:
        tensors = [slot.tensor for slot in slots(case.desc)]
        written, placement = WrittenCase.of(case)
        needed = sum(buffer_size(tensor) + tensor.guaranteed_base_offset_alignment for tensor in tensors)
        needed += max((offset for offset in placement.offsets if offset >= FAR_OFFSET), default=0)
        if needed > MAX_BYTES:
            reason = f"the tensors need {needed} bytes, the harness executes cases of up to {MAX_BYTES}"
            return Judgement(Verdict.ERROR, case.rule, answered, reason, seconds)
        if needed > LARGE_BYTES:  # what lies between tensors and elements far apart is never touched
            needed = sum(part.stop - part.start for tensor in tensors for part in clusters(tensor))
        if needed > LACKING_BYTES and (free := _free(COPIES * needed)) < COPIES * needed:
            reason = f"decided only: it takes some {COPIES * needed} bytes of memory, {free} are free"
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, answered, reason, seconds)
        rule = case.rule if rule_named(case.rule).category is Category.EXECUTION else f"{case.operator}.values"
        return Pending(case, rule, answered, seconds, needed, placement, written)

    def _is_executed(self, case: Case) -> bool:
        """What is valid by observation alone is not: nothing says what executing it would do."""
        return case.data is not None and case.outcome is Outcome.ACCEPT and not case.broken and self._executes

    def _rule(self, case: Case) -> str:
        """Id of the rule that a verdict is about.

        It is one of execution only if the case is executed. A valid descriptor that is decided on alone keeps all rules
        of descriptors, and is about none in particular unless it says so.
        """
        if case.broken:
            return case.rule if case.rule in case.broken else case.broken[0]
        if self._is_executed(case):
            return case.rule or f"{case.operator}.values"
        return case.rule if case.rule and rule_named(case.rule).is_descriptor_rule else ""

    def _why_not_asked(self, case: Case) -> str:
        """What of a case the backend does not claim, in words; "" where it is asked."""
        claims, scopes = self.capabilities, self.capabilities.scopes
        if case.operator not in self._operators:
            return f"operator {case.operator} is not claimed"
        if case.level not in self._levels:
            return f"level {case.level} is not claimed"
        if scopes:
            is_in_place = bool(in_place_input(case))
            if outside := next(filter(None, (each.outside(case.desc, is_in_place=is_in_place) for each in scopes)), ""):
                return f"outside of the claims: {outside}"
        if case.outcome is Outcome.REJECT and (unclaimed := self._why_not_refused(case)):
            return unclaimed
        if case.outcome is not Outcome.REJECT and not self._is_executed(case) and not self._decides:
            return "decisions are not claimed"
        if claims.form and (lacking := LACKING[claims.form](case.desc)):
            return f"outside of the claims: {lacking}"
        return ""

    def _why_not_refused(self, case: Case) -> str:
        """Why it is not claimed that an invalid descriptor is turned down; "" where it is.

        A backend that does not claim a category is not held to it, and gets no credit for it either. The same goes for
        a rule that the level asked for has and the level by whose rules the backend decides has not.
        """
        claimed = [name for name in case.broken if rule_named(name).category in self.capabilities.enforces]
        if not claimed:
            return f"category {rule_named(case.rule or case.broken[0]).category} is not claimed"
        own_level = self.capabilities.decides_at
        if own_level is None or case.level >= own_level:
            return ""
        is_rule_there = not set(claimed).isdisjoint(decide(case.desc, own_level, self.reading).rules)
        return "" if is_rule_there else f"not claimed: level {own_level}, by whose rules it decides, has no such rule"

    def _judge_invalid(self, case: Case, answer: Answer, answered: str, seconds: float) -> Judgement:
        """An invalid descriptor that is claimed to be turned down."""
        rule = case.rule
        if answer.accepted:
            broken = decide(case.desc, case.level, self.reading).violations
            found = next((f"found {each.where}: {each.found}; " for each in broken if each.rule.id == rule), "")
            reason = f"accepted, though {found}the rule says: {rule_named(rule).statement}"
            return Judgement(Verdict.FAIL, rule, answered, reason + self._known(case, answered), seconds)
        return Judgement(Verdict.PASS, rule, answered, seconds=seconds)

    def _judge_refusal(self, case: Case, answer: Answer, answered: str, seconds: float) -> Judgement:
        """A valid descriptor was refused, and nothing executed: that is about no rule of execution.

        What is valid by observation alone was refused by the rule that the pages leave open.
        """
        words = f": {answer.reason}" if answer.reason else ""
        if not self._decides:
            reason = f"{DECLINED} by refusing a valid descriptor{words}"
            return Judgement(Verdict.FAIL, CLAIMS, answered, reason, seconds)
        rule = case.rule if case.broken else ACCEPTANCE
        reason = f"rejected a valid descriptor{words}"
        return Judgement(Verdict.FAIL, rule, answered, reason + self._known(case, answered), seconds)

    def errors(
        self, case: Case, written: Mapping[str, OutputMemory], expected: Mapping[str, Expected]
    ) -> Errors | None:
        """How far the results of a case are from the exact ones."""
        return errors_of(
            (elements, part, slot.tensor.data_type, times)
            for slot in outputs(case.desc)
            for elements, part, times in unlike_parts(written[slot.key], expected[slot.key])
        )

    def _known(self, case: Case, answer: str) -> str:
        """What a reason ends with where DirectML's own library is on record for the same; it excuses nothing."""
        level = self.capabilities.decides_at or case.level
        known = recognise(case.desc, decide(case.desc, level, self.reading), answer, level)
        return f"; DirectML itself does so: {', '.join(each.id for each in known)}" if known else ""


def expected_results(
    pending: Pending, read: Bindings, tolerance: Tolerance
) -> Mapping[str, Expectation | LargeExpectation]:
    """What the outputs of a case have to hold, by slot; computed anew, part by part, where they are large."""
    if in_place_input(pending.case):  # which the execution writes over
        return expected_output(pending.case.desc, _copies(read), tolerance)
    if pending.is_sampled:
        return expected_parts(pending.case.desc, read, tolerance)
    period = max((recipe.period for recipe in (pending.case.data or {}).values()), default=0)
    if pending.needed > LARGE_BYTES:
        return expected_parts(pending.case.desc, read, tolerance, period)
    return expected_in_turns(pending.case.desc, read, tolerance, period)


def _left(output: OutputMemory) -> Bytes:
    """What an output holds, with zeros beside its elements."""
    memory = np.zeros(buffer_size(output.tensor), np.uint8)
    put(Binding(memory, 0, memory.size), output.tensor, output.elements)
    return memory


def _edges(tensor: TensorDesc) -> list[int]:
    """Elements before and behind which an address has one bit more than short integers or FLOAT32 have."""
    ends = {2**bits // size for bits in (24, 31, 32) for size in (1, tensor.data_type.size)}
    return [place for end in sorted(ends) for place in (end - 1, end)]


def _free(needed: int) -> int:
    """Bytes of memory that are free, as soon as so many are, or when others have had long to give some back."""
    give_up = time.monotonic() + MOST_WAITING
    while (memory := psutil.virtual_memory()).available < needed <= memory.total and time.monotonic() < give_up:
        time.sleep(1)
    return int(memory.available)


def is_digested(digest: str) -> bool:
    """Whether a case of this digest, where it is small and executed, has a digest of its outputs in every record."""
    return int(digest[-4:], 16) % DIGESTED_OF == 0


def _is_in_place_too(pending: Pending) -> bool:
    """Whether a case is executed in place as well: a small one in two, told by its digest, so that it always is."""
    return pending.needed <= MOST_REBOUND and int(pending.written.digest[:2], 16) % IN_PLACE_OF == 0


def _copies(read: Bindings) -> dict[str, Binding]:
    return {key: Binding(bound.view.copy(), 0, bound.size) for key, bound in read.items()}


def _compared(
    case: Case, output: OutputMemory, expected: Expected, read: Bindings, counted: CountedErrors | None = None
) -> OutputComparison:
    """What differs of an output; of one that does not the errors are counted, as its parts may be computed here."""
    found, data_type = EQUAL, output.tensor.data_type
    if is_in_turns(expected):
        for elements, part, times in unlike_parts(output, expected):
            found = compare(elements, part, data_type, allowed_elements(part, case.desc, read))
            if found.wrong:
                break
            if counted is not None:
                counted.add(elements, part, data_type, times)
        if not found.wrong:
            return EQUAL
        found = EQUAL
    for box, part in expected.parts():
        allowed, start = allowed_elements(part, case.desc, read), [along.start for along in box]
        elements = output.elements[box]
        found = found.and_then(compare(elements, part, data_type, allowed, start))
        if counted is not None and not found.wrong:
            counted.add(elements, part, data_type)
    return with_unwritten(found, output)


def with_unwritten(found: OutputComparison, output: OutputMemory) -> OutputComparison:
    """The same, where an element that holds what it held before has no value: it was never written.

    One of a byte may hold that by chance, so those are told together or not at all.
    """
    if output.poison is None:
        return found
    elements = output.elements
    is_left = [elements[each.coordinates] == output.poison[each.coordinates] for each in found.shown]
    if output.tensor.data_type.size == 1 and not all(is_left):
        return found
    told = (
        replace(each, actual=NEVER_WRITTEN, ulp=None) if left else each
        for each, left in zip(found.shown, is_left, strict=True)
    )
    return found._replace(shown=tuple(told))


def case_memory(case: Case, placement: Placement, lend: Lend = lambda _: None) -> CaseMemory:
    """The memory of a case, where its inputs overlap if they are to, and an output lies in an input if it is to."""
    return CaseMemory(case.desc, placement, _bound_together(case) or _overlapping(case), lend)


def _bound_together(case: Case) -> list[str]:
    """The input whose memory an output is bound to, and that output; none where all have their own."""
    overwritten = in_place_input(case)
    return [overwritten, output_in_place(case.desc, overwritten).key] if overwritten else []


def _overlapping(case: Case) -> list[str]:
    """The inputs that lie in one range of memory."""
    index = spec_of(case.desc).index
    if index is None or not overlaps(case):
        return []
    data = case.data or {}
    return [key for key, recipe in data.items() if recipe.pattern == OVERLAPPING or key == index.indices]


def reproduce_line(
    case: Case, backend_name: str, reading: Reading = Reading.DOCUMENTED, tolerance: Tolerance = DIRECTML
) -> str:
    """One shell line that judges the case again."""
    content = case.to_json()
    del content["expect"], content["origin"]
    text = msgspec.json.encode(content).decode()
    spec = "" if reading is Reading.DOCUMENTED else f"--spec {reading} "
    spec += "" if tolerance.name == DIRECTML.name else f"--accuracy {tolerance.name} "
    return f"dml-conformance replay {spec}--backend {shlex.quote(backend_name)} {shlex.quote(text)}"


def not_the_first(judged: Judgement, execution: int) -> Judgement:
    """A verdict on an execution, counted from 0, before which the case passed."""
    reason = f"{judged.reason}, in execution {execution + 1} on the same inputs; it passed before"
    return judged._replace(reason=reason)


def verdict_on(error: BaseException, function: str) -> tuple[Verdict, str]:
    """What it comes to that a function of a backend raised something, and the reason that is given."""
    if isinstance(error, Unsupported):
        return Verdict.FAIL, f"{DECLINED}: {str(error) or 'without a reason'}"
    if isinstance(error, ProcessLost):
        return Verdict.TIMEOUT if error.timed_out else Verdict.CRASH, str(error)
    if isinstance(error, StrayWrite):
        return Verdict.FAIL, str(error)
    return Verdict.CRASH, f"{function} raised {exception_text(error)}{place_of(error)}"


def exception_text(error: BaseException) -> str:
    """An exception in one line, cut where it is long."""
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 500 else text[:497] + "..."


def _index_facts(spec: OperatorSpec, case: Case) -> tuple[str, str]:
    """The index tensor's type, and the pattern of the indices or, without indices, of the values."""
    if spec.index is not None:
        tensor = tensor_at(case.desc, spec.index.indices)
        recipe = (case.data or {}).get(spec.index.indices)
        return (tensor.data_type.name if tensor is not None else ""), (recipe.pattern if recipe else "")
    patterns = [recipe.pattern for recipe in (case.data or {}).values() if recipe.pattern in _PATTERNS]
    return "", patterns[0] if patterns else ""


def _layout(case: Case) -> str:
    """The least ordinary layout among the tensors of a case that is executed."""
    if case.data is None:
        return ""
    kinds = {layout_kind(slot.tensor) for slot in slots(case.desc)}
    for kind in ("overlapping", "interleaved", "broadcast", "permuted", "padded"):
        if kind in kinds:
            return kind
    return "packed"
