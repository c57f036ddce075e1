"""Tasks: the parts that a campaign is cut into. Each is judged by itself, in this process or in another."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import zstandard

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss, LossTally
from dml_conformance.conformance.exchange.corpus import CorpusLine, read_case
from dml_conformance.conformance.judge.batch import MOST_CASES, BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import tally_of, with_losses
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.costs import Part, Stopwatch
from dml_conformance.reports.model.encoded import EncodedRecord, decode_records, encode_records
from dml_conformance.reports.model.records import Phase, Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.validator import Outcome

# Cases of a block that are judged one by one; of a slow backend no more are begun and not through.
BLOCK_CASES = 32
QUICKEST = 1  # level of Zstandard


class CaseBlock(NamedTuple):
    """Cases that are known beforehand: a stretch of a campaign's phase, or lines of a corpus.

    Attributes:
        name: in a campaign the same in every run; of lines, the corpus's file.
        phase: that they belong to.
        size: how many cases there are.
        make: gives them, in order; whoever judges calls it, so it can be pickled.
        operator: that they are about; "" where these are several, or not known.
        numbers: of the lines.
        needed: bytes of their tensors; 0 where that is not known.
    """

    name: str
    phase: Phase
    size: int
    make: Callable[[], Iterable[Case]]
    operator: str = ""
    numbers: Sequence[int] = ()
    needed: int = 0

    @classmethod
    def of_lines(cls, file: str, lines: Iterable[CorpusLine]) -> CaseBlock:
        """Lines of a corpus, which are read by whoever judges them."""
        numbers, contents = zip(*lines, strict=True)  # in a form that is quickly sent to another process
        return cls(file, Phase.SWEEP, len(numbers), partial(_read, file, numbers, contents), numbers=numbers)

    def read(self) -> CaseBlock:
        """The same with its cases made.

        Raises:
            CorpusError: a line is not as it was written.
        """
        return self._replace(make=partial(iter, tuple(self.make())))

    def emptied(self) -> CaseBlock:
        """The same without its cases, when they are judged."""
        return self._replace(make=tuple)

    def __str__(self) -> str:
        return f"lines {self.numbers[0]} to {self.numbers[-1]} of {self.name}" if self.numbers else repr(self.name)


def _read(file: str, numbers: Sequence[int], contents: Sequence[bytes]) -> Iterator[Case]:
    return (read_case(file, CorpusLine(*line)) for line in zip(numbers, contents, strict=True))


class PackedCases(NamedTuple):
    """A block of made cases, as one process gives them to another that judges, by way of a third that does not look.

    Attributes:
        size: how many.
        content: these, pickled.
        needed: bytes of their tensors.
    """

    size: int
    content: bytes
    needed: int


class MadeCases(NamedTuple):
    """What comes of the making of cases.

    Attributes:
        blocks: of them, in order.
        spent: seconds of each part of the work.
    """

    blocks: tuple[PackedCases, ...]
    spent: dict[str, float]


class CaseMaking(NamedTuple):
    """A task to make the cases of many blocks, which whoever is free judges then.

    Attributes:
        name: the same in every run of the campaign, and that of its last block.
        phase: that they belong to.
        operator: that they are about.
        make: gives the cases, in order; it can be pickled.
        size: of a block, in cases.
    """

    name: str
    phase: Phase
    operator: str
    make: Callable[[], Iterable[Case]]
    size: int

    def made(self) -> MadeCases:
        """The cases, cut into blocks and packed for another process."""
        watch = Stopwatch()
        with watch(Part.MAKE):
            blocks = tuple(
                PackedCases(len(cases), pickle.dumps(cases), needed)
                for cases, needed in _weighed_blocks(self.make(), self.size)
            )
        return MadeCases(blocks, watch.seconds)

    def blocks(self, made: MadeCases | None = None) -> Iterator[CaseBlock]:
        """The blocks as tasks, each with a name of its own; as another process made them, or made here."""
        parts: list[tuple[int, Callable[[], Iterable[Case]], int]]
        if made is None:
            made_here = _weighed_blocks(self.make(), self.size)
            parts = [(len(cases), partial(iter, cases), needed) for cases, needed in made_here]
        else:
            parts = [(packed.size, partial(pickle.loads, packed.content), packed.needed) for packed in made.blocks]
        left = sum(size for size, _, _ in parts)
        for size, make, needed in parts:
            left -= size
            name = f"{self.name}, all but {left}" if left else self.name
            yield CaseBlock(name, self.phase, size, make, self.operator, needed=needed)

    def __str__(self) -> str:
        return repr(self.name)


def blocks_of(cases: Iterable[Case], most: int) -> Iterator[tuple[Case, ...]]:
    """Cases in blocks of so many, or fewer where these are large, so that large ones are judged at the same time."""
    return (block for block, _ in _weighed_blocks(cases, most))


def _weighed_blocks(cases: Iterable[Case], most: int) -> Iterator[tuple[tuple[Case, ...], int]]:
    """The same, each with the bytes of its tensors."""
    block, weight = [], 0
    for case in cases:
        block.append(case)
        weight += executed_bytes(case)
        if len(block) == most or weight >= HEAVY_BYTES:
            yield tuple(block), weight
            block, weight = [], 0
    if block:
        yield tuple(block), weight


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
Work = CaseMaking | Task
HEAVY_BYTES = 2**24  # of tensors that end a block


def executed_bytes(case: Case) -> int:
    """Bytes of the tensors of a case that is executed; 0 of one that is decided alone."""
    if case.data is None or case.outcome is not Outcome.ACCEPT:
        return 0
    return sum(slot.tensor.element_count * slot.tensor.data_type.bits for slot in slots(case.desc)) // 8


class JudgedTask(NamedTuple):
    """What came of a task on one backend.

    Attributes:
        records: as `encode_records` makes them, or compressed.
        losses: how many processes the backend lost over it.
        spent: seconds of each part of the work.
        given_up: why the rest was not judged; "" where it was.
        unrecorded: processes that were lost over that, and that no record tells of.
        is_compressed: whether the records are.
    """

    records: bytes
    losses: LossTally
    spent: dict[str, float]
    given_up: str = ""
    unrecorded: tuple[Loss, ...] = ()
    is_compressed: bool = False

    def compressed(self) -> JudgedTask:
        """The same in a tenth of the memory."""
        return self._replace(records=zstandard.compress(self.records, QUICKEST), is_compressed=True)

    def decoded(self) -> list[EncodedRecord]:
        """The records."""
        return decode_records(zstandard.decompress(self.records) if self.is_compressed else self.records)


class TaskOutcome(NamedTuple):
    """A task was judged, on each backend."""

    backends: tuple[JudgedTask, ...]

    @property
    def size(self) -> int:
        """Bytes of its records."""
        return sum(len(judged.records) for judged in self.backends)

    def compressed(self) -> TaskOutcome:
        """The same in a tenth of the memory."""
        return TaskOutcome(tuple(judged.compressed() for judged in self.backends))


WorkOutcome = MadeCases | TaskOutcome


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
        records = self._records(task)
        if not isinstance(self.judge.backend, IsolatedBackend):
            return records
        return with_losses(records, self.judge.backend, in_the_end=isinstance(task, SearchTask))

    def judged(self, task: Task) -> JudgedTask:
        """What comes of a task; raises CorpusError."""
        before, watch = tally_of(self.judge.backend), self.judge.watch
        begin, records, given_up, unrecorded = time.perf_counter(), [], "", tuple[Loss, ...]()
        with watch(Part.MAKE):
            task = task.read()
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
        return judge.records(tuple(task.make()), task.phase)
