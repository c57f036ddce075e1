"""Tasks: the parts that a campaign is cut into. Each is judged by itself, in this process or in another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss, LossTally
from dml_conformance.conformance.exchange.corpus import CorpusLine, read_case
from dml_conformance.conformance.judge.batch import MOST_CASES, BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import tally_of, with_losses
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.costs import Part
from dml_conformance.reports.model.encoded import encode_records
from dml_conformance.reports.model.records import Phase, Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.validator import Outcome

# Cases of a block that are judged one by one; of a slow backend no more are begun and not through.
BLOCK_CASES = 32


class CaseBlock(NamedTuple):
    """Cases that are known beforehand: a stretch of a campaign's phase, or lines of a corpus.

    Attributes:
        name: in a campaign the same in every run; of lines, the corpus's file.
        phase: that they belong to.
        cases: in order.
        numbers: of the lines, where the cases are read by whoever judges them.
        contents: of each line.
    """

    name: str
    phase: Phase
    cases: tuple[Case, ...] = ()
    numbers: Sequence[int] = ()
    contents: Sequence[bytes] = ()

    @classmethod
    def of_lines(cls, file: str, lines: Iterable[CorpusLine]) -> CaseBlock:
        """Lines of a corpus, in a form that is quickly sent to another process."""
        numbers, contents = zip(*lines, strict=True)
        return cls(file, Phase.SWEEP, (), numbers, contents)

    @property
    def operator(self) -> str:
        """Of the first case; "" where the cases are still to be read."""
        return self.cases[0].operator if self.cases else ""

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self.cases) or len(self.numbers)

    def read(self) -> CaseBlock:
        """The same with the cases of its lines.

        Raises:
            CorpusError: a line is not as it was written.
        """
        if self.cases:
            return self
        lines = zip(self.numbers, self.contents, strict=True)
        return self._replace(cases=tuple([read_case(self.name, CorpusLine(*line)) for line in lines]))

    def emptied(self) -> CaseBlock:
        """The same without its cases, when they are judged."""
        return self._replace(cases=(), contents=())

    def __str__(self) -> str:
        return f"lines {self.numbers[0]} to {self.numbers[-1]} of {self.name}" if self.numbers else repr(self.name)


class SearchTask(NamedTuple):
    """Cases that the search comes upon.

    Attributes:
        name: the same in every run of the campaign.
        operator: that they are about.
        level: that they are for.
        rule: id of the rule that they break, or are about.
        examples: how many are tried.
        seed: of the search.
    """

    name: str
    operator: str
    level: Level
    rule: str
    examples: int
    seed: int

    @property
    def phase(self) -> Phase:
        """The search."""
        return Phase.SEARCH

    def read(self) -> SearchTask:
        """Itself; its cases are made when it is judged."""
        return self

    def emptied(self) -> SearchTask:
        """Itself."""
        return self

    def __str__(self) -> str:
        return repr(self.name)


Task = CaseBlock | SearchTask
HEAVY_BYTES = 2**24  # of tensors that end a block, so that large cases are judged at the same time


def executed_bytes(case: Case) -> int:
    """Bytes of the tensors of a case that is executed; 0 of one that is decided alone."""
    if case.data is None or case.outcome is not Outcome.ACCEPT:
        return 0
    return sum(slot.tensor.element_count * slot.tensor.data_type.bits for slot in slots(case.desc)) // 8


class JudgedTask(NamedTuple):
    """What came of a task on one backend.

    Attributes:
        records: as `encode_records` makes them.
        losses: how many processes the backend lost over it.
        spent: seconds of each part of the work.
        given_up: why the rest was not judged; "" where it was.
        unrecorded: processes that were lost over that, and that no record tells of.
    """

    records: bytes
    losses: LossTally
    spent: dict[str, float]
    given_up: str = ""
    unrecorded: tuple[Loss, ...] = ()


class TaskOutcome(NamedTuple):
    """A task was judged, on each backend."""

    backends: tuple[JudgedTask, ...]


class TaskJudge:
    """Judges tasks on one backend.

    Args:
        judge: holds the backend.
        one_by_one: execute every case alone, also on a backend that takes batches.
    """

    def __init__(self, judge: Judge, *, one_by_one: bool = False) -> None:
        self.judge = judge
        self._batches = BatchJudge(judge, one_by_one=one_by_one)
        self._one_by_one = BatchJudge(judge, one_by_one=True)

    def block_size(self, phase: Phase) -> int:
        """How many cases a block of a phase should have."""
        return MOST_CASES if phase is Phase.SWEEP and self._batches.in_batches else BLOCK_CASES

    def records(self, task: Task) -> Iterator[Record]:
        """The records of a task, judged as they are asked for, each with the processes that were lost over it.

        Raises:
            CorpusError: a line is not as it was written.
            GivenUp: the backend is not asked any more.
        """
        records = self._records(task.read())
        if not isinstance(self.judge.backend, IsolatedBackend):
            return records
        return with_losses(records, self.judge.backend, in_the_end=isinstance(task, SearchTask))

    def judged(self, task: Task) -> JudgedTask:
        """What comes of a task; raises CorpusError."""
        before, watch = tally_of(self.judge.backend), self.judge.watch
        begin, records, given_up, unrecorded = time.perf_counter(), [], "", tuple[Loss, ...]()
        try:
            for record in self.records(task):
                records.append(record)
        except GivenUp as reason:
            given_up, unrecorded = str(reason), reason.lost
        with watch(Part.RECORD):
            encoded = encode_records(records)
        losses = tally_of(self.judge.backend).since(before)
        spent = watch.taken()
        spent[Part.OTHER.value] = time.perf_counter() - begin - sum(spent.values())
        return JudgedTask(encoded, losses, spent, given_up, unrecorded)

    def _records(self, task: Task) -> Iterator[Record]:
        if isinstance(task, SearchTask):
            return search(self.judge, task.operator, task.level, task.rule, task.examples, task.seed)
        judge = self._batches if task.phase is Phase.SWEEP else self._one_by_one
        return judge.records(task.cases, task.phase)
