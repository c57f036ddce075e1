"""Running corpora: blocks of lines go to worker processes, records come back in the corpora's order.

Workers are spawned, so that none inherits a device's state, and share nothing. What comes out does not depend on how
many there are: each block is judged by itself, and blocks are passed on in order.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from backends import load_backend
from conformance.batch import BatchJudge
from conformance.certify import environment, suite_version
from conformance.corpus import WHOLE, CorpusReader, Header, Line, Shard, in_blocks, read_case
from conformance.judge import Judge
from reports.digests import content_line
from reports.records import Campaign, Phase, Record, describe_rules, utc_now
from reports.stream import Body, Stream, Written, encodable_record
from spec.levels import Level
from spec.registry import operators
from spec.validator import Reading

BLOCK_LINES = 1024
BLOCKS_AHEAD = 3  # for each worker, so that none waits for the one that reads and writes


def describe_sweep(judge: Judge, headers: Sequence[Header], digests: Sequence[str], shard: Shard) -> Campaign:
    """What running corpora on a backend is about, before its first record.

    Args:
        judge: holds the backend.
        headers: of the corpora; at least one.
        digests: of their lines, as far as they are known.
        shard: which part of them is run.
    """
    names, labels = {name for h in headers for name in h.operators}, {label for h in headers for label in h.levels}
    chosen = tuple(name for name in operators() if name in names)
    return Campaign(
        backend=judge.capabilities.as_json(),
        suite_version=suite_version(),
        operators=chosen,
        levels=tuple(level.label for level in Level if level.label in labels),
        budget="corpus",
        seed=headers[0].seed,
        spec=judge.reading,
        started=utc_now(),
        environment=environment() | {"corpus": ", ".join(digests) or "standard input", "shard": str(shard)},
        rules=describe_rules(chosen),
    )


def planned_cases(headers: Iterable[Header], shard: Shard) -> int:
    """How many cases a part of some corpora has."""
    return sum(
        header.in_shard if shard == WHOLE else sum(number in shard for number in header.numbers()) for header in headers
    )


def blocks_of(readers: Iterable[CorpusReader], shard: Shard) -> Iterator[Block]:
    """The cases of corpora, or of a part of them, in blocks.

    Raises:
        CorpusError: a corpus is not as it was written.
    """
    for reader in readers:
        for lines in in_blocks(reader.lines(shard), BLOCK_LINES):
            yield Block.of(reader.file, lines)


class WorkerError(Exception):
    """A worker process ended before its work did."""


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
    """

    backends: tuple[str, ...]
    reading: Reading = Reading.DOCUMENTED
    one_by_one: bool = False

    def judges(self) -> list[Judge]:
        """A judge for each backend.

        Raises:
            BackendError: a backend cannot be had.
        """
        return [Judge(load_backend(name), name, self.reading) for name in self.backends]


class InProcess:
    """Judges blocks on several backends, in this process.

    Args:
        judges: of the backends.
        one_by_one: as in `Setup`.
    """

    def __init__(self, judges: Sequence[Judge], *, one_by_one: bool = False) -> None:
        self._judges = [BatchJudge(judge, one_by_one=one_by_one) for judge in judges]

    def records(self, block: Block) -> list[list[Record]]:
        """For each backend the records of a block, in order.

        Raises:
            CorpusError: a line is not as it was written.
        """
        cases = [read_case(block.file, Line(*line)) for line in zip(block.numbers, block.contents, strict=True)]
        return [list(judge.records(cases, Phase.SWEEP)) for judge in self._judges]

    def judged(self, blocks: Iterable[Block]) -> Iterator[list[list[Record]]]:
        """What `records` gives for each block, in order; blocks are taken as they are needed."""
        return map(self.records, blocks)

    def feed(self, blocks: Iterable[Block], streams: Sequence[Stream]) -> None:
        """Judge all blocks, and tell the stream of each backend; errors as for `records`."""
        for block in self.judged(blocks):
            for stream, records in zip(streams, block, strict=True):
                for record in records:
                    stream.record(record)

    def close(self) -> None:
        """Nothing: there is nothing to end."""


class Workers:
    """Processes that judge blocks as `InProcess` does; each has backends of its own.

    Args:
        setup: what they need.
        count: how many.
    """

    def __init__(self, setup: Setup, count: int) -> None:
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (setup,))
        self._most_under_way = BLOCKS_AHEAD * count

    def judged(self, blocks: Iterable[Block]) -> Iterator[list[list[Record]]]:
        """As `written`, with records as `InProcess` gives them; errors as there."""
        for block in self.written(blocks):
            yield [[written.whole() for written in records] for records in block]

    def feed(self, blocks: Iterable[Block], streams: Sequence[Stream]) -> None:
        """Judge all blocks, and tell the stream of each backend; errors as for `written`."""
        for block in self.written(blocks):
            for stream, records in zip(streams, block, strict=True):
                for written in records:
                    stream.written(written)

    def written(self, blocks: Iterable[Block]) -> Iterator[list[list[Written]]]:
        """For each backend the records of each block, in order; a few blocks are taken ahead for each worker.

        Raises:
            CorpusError: a line is not as it was written.
            WorkerError: a worker process died.
        """
        under_way: deque[Future[list[bytes]]] = deque()
        try:
            for block in blocks:
                under_way.append(self._pool.submit(_encoded_records, block))
                if len(under_way) > self._most_under_way:
                    yield _decoded(under_way.popleft())
            while under_way:
                yield _decoded(under_way.popleft())
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process ended unexpectedly, so the run is incomplete; --workers 1 shows what happens"
            ) from error

    def close(self) -> None:
        """End the processes; each finishes the block that it is at."""
        self._pool.shutdown(cancel_futures=True)


_DECODER = msgspec.msgpack.Decoder(list[Written])
_ENCODER = msgspec.msgpack.Encoder()
_BODY_ENCODER = msgspec.json.Encoder()
_worker: list[InProcess] = []


def _decoded(future: Future[list[bytes]]) -> list[list[Written]]:
    return [_DECODER.decode(records) for records in future.result()]


def _start(setup: Setup) -> None:
    """The beginning of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that reads and writes
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the cores are shared out among the workers already
    _worker.append(InProcess(setup.judges(), one_by_one=setup.one_by_one))
    gc.freeze()  # what is loaded stays, so no collection has to look at it


def _encoded_records(block: Block) -> list[bytes]:
    (judge,) = _worker
    return [_ENCODER.encode([write_down(record) for record in records]) for records in judge.records(block)]


def write_down(record: Record) -> Written:
    """A record in the form that consumers take from another process."""
    record = encodable_record(record)
    traits = msgspec.structs.replace(record, case_json={}, differences=(), reproduce="")
    return Written(traits, content_line(record), _BODY_ENCODER.encode(Body.of(record)))
