"""Running corpora: blocks of lines are judged, records come out in the corpora's order.

Here is what is judged, by what, and how one process does it; `conformance.workers` has several do it. What comes
out does not depend on how many there are: each block is judged by itself, and blocks are passed on in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from dml_conformance.backends import load_backend
from dml_conformance.backends.base import Backend, Capabilities
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.campaign.certify import environment
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusReader, Header, Line, Shard, in_blocks, read_case
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import REPEAT, Judge
from dml_conformance.reports.records import Campaign, Phase, Record, describe_rules, utc_now
from dml_conformance.reports.release import suite_version
from dml_conformance.reports.stream import Stream
from dml_conformance.spec.case import Case
from dml_conformance.spec.errors import BrokenRunError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Reading

BLOCK_LINES = 1024
BLOCK = "block"  # the unit of work that streams are told of


def describe_sweep(
    capabilities: Capabilities, setup: Setup, headers: Sequence[Header], digests: Sequence[str], shard: Shard
) -> Campaign:
    """What running corpora on a backend is about, before its first record.

    Args:
        capabilities: of the backend.
        setup: what it is judged by.
        headers: of the corpora; at least one.
        digests: of their lines, as far as they are known.
        shard: which part of them is run.
    """
    names, labels = {name for h in headers for name in h.operators}, {label for h in headers for label in h.levels}
    chosen = tuple(name for name in operators() if name in names)
    return Campaign(
        backend=capabilities.as_json(),
        suite_version=suite_version(),
        operators=chosen,
        levels=tuple(level.label for level in Level if level.label in labels),
        budget="corpus",
        seed=headers[0].seed,
        spec=setup.reading,
        started=utc_now(),
        environment=environment() | {"corpus": ", ".join(digests) or "standard input", "shard": str(shard)},
        rules=describe_rules(chosen),
        repeat=setup.repeat,
    )


def planned_cases(headers: Iterable[Header], shard: Shard) -> int:
    """How many cases a part of some corpora has."""
    return sum(
        header.in_shard if shard == WHOLE else sum(number in shard for number in header.numbers()) for header in headers
    )


def blocks_of(readers: Iterable[CorpusReader], shard: Shard, start: int = 0) -> Iterator[Block]:
    """The cases of corpora, or of a part of them, in blocks; without the first ones, if `start` says how many.

    Raises:
        CorpusError: a corpus is not as it was written.
    """
    for reader in readers:
        lines = reader.lines(shard)
        start -= sum(1 for _ in islice(lines, start))  # these are read and digested all the same
        for block in in_blocks(lines, BLOCK_LINES):
            yield Block.of(reader.file, block)


class WorkerError(BrokenRunError):
    """Worker processes ended before their work did, and others did not get further."""


class Block(NamedTuple):
    """Lines of one corpus that are judged together.

    Attributes:
        file: its name, for messages.
        numbers: of the lines.
        contents: of each.
    """

    file: str
    numbers: Sequence[int]
    contents: Sequence[bytes]

    @classmethod
    def of(cls, file: str, lines: Iterable[Line]) -> Block:
        """A block of lines, in a form that is quickly sent to another process."""
        numbers, contents = zip(*lines, strict=True)
        return cls(file, numbers, contents)


@dataclass(frozen=True)
class Setup:
    """What a process needs to judge blocks.

    Attributes:
        backends: names, as on the command line.
        reading: what counts as the specification.
        one_by_one: execute every case alone, also on a backend that takes batches.
        repeat: how often each case is executed.
        limits: of a backend in a process of its own.
        places: names that the backends are loaded by, each time one for each of them; the first process takes the
            first place, and so on, and after the last one the first again. Empty where it is the names above.
    """

    backends: tuple[str, ...]
    reading: Reading = Reading.DOCUMENTED
    one_by_one: bool = False
    repeat: int = REPEAT
    limits: Limits = field(default_factory=Limits)
    places: tuple[tuple[str, ...], ...] = ()

    def at(self, place: int) -> Setup:
        """What the process of this number needs, counted from 0."""
        return replace(self, places=(self.places[place % len(self.places)],)) if self.places else self

    @property
    def loaded_names(self) -> tuple[str, ...]:
        """The names that the backends are loaded by, at the first place."""
        return self.places[0] if self.places else self.backends

    def judge(self, number: int, backend: Backend) -> Judge:
        """What judges on the backend of this number, counted from 0."""
        return Judge(backend, self.backends[number], self.reading, repeat=self.repeat)

    def judges(self) -> list[Judge]:
        """A judge for each backend, which is loaded into this process.

        Raises:
            BackendError: a backend cannot be had.
        """
        return [self.judge(number, load_backend(name)) for number, name in enumerate(self.loaded_names)]


def read_cases(block: Block) -> list[Case]:
    """The cases of a block.

    Raises:
        CorpusError: a line is not as it was written.
    """
    return [read_case(block.file, Line(*line)) for line in zip(block.numbers, block.contents, strict=True)]


class InProcess:
    """Judges blocks on several backends, in this process.

    Args:
        judges: of the backends.
        one_by_one: as in `Setup`.

    Attributes:
        losses: of processes: none.
    """

    losses: Mapping[str, int] = MappingProxyType({})

    def __init__(self, judges: Sequence[Judge], *, one_by_one: bool = False) -> None:
        self._judges = [BatchJudge(judge, one_by_one=one_by_one) for judge in judges]

    def records(self, block: Block) -> list[list[Record]]:
        """For each backend the records of a block, in order.

        Raises:
            CorpusError: a line is not as it was written.
        """
        cases = read_cases(block)
        return [list(judge.records(cases, Phase.SWEEP)) for judge in self._judges]

    def judged(self, blocks: Iterable[Block]) -> Iterator[list[list[Record]]]:
        """What `records` gives for each block, in order; blocks are taken as they are needed."""
        return map(self.records, blocks)

    def feed(self, blocks: Iterable[Block], streams: Sequence[Stream]) -> str:
        """Judge all blocks, and tell the stream of each backend; errors as for `records`.

        Returns:
            Why not all were judged, "" as they always are.
        """
        for block in self.judged(blocks):
            for stream, records in zip(streams, block, strict=True):
                for record in records:
                    stream.record(record)
                stream.mark(BLOCK)
        return ""

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims."""
        return [each.judge.capabilities for each in self._judges]

    def close(self) -> None:
        """Nothing: there is nothing to end."""
