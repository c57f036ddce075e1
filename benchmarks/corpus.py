"""Cases for the benchmarks that take them as given, and corpora of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dml_conformance.conformance.campaign.driver import BLOCK_LINES
from dml_conformance.conformance.exchange.corpus import CorpusLine, Header, corpus_lines, in_blocks
from dml_conformance.conformance.workers.executor import Executor
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Record
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.cases import applicable_rules, numbered_case

# Every operator at every level at which there is a case of it.
CELLS = tuple((name, level) for name in operators() for level in Level if applicable_rules(name, level))


def corpus(count: int) -> list[Case]:
    """The first `count` cases of a sweep that takes operators and levels in turn."""
    return [case(n) for n in range(count)]


def case(n: int) -> Case:
    """The n-th of them."""
    return numbered_case(0, *CELLS[n % len(CELLS)], n)


def corpus_blocks(count: int) -> list[CaseBlock]:
    """A corpus of so many cases as lines, in the blocks that workers get."""
    lines = [CorpusLine(number, content) for number, content in enumerate(corpus_lines(Header.of(count, 0)), 1)]
    return [CaseBlock.of_lines("corpus", block) for block in in_blocks(lines[1:-1], BLOCK_LINES)]


class Tally(FanOut):
    """A stream that counts its records, which come as the reports take them."""

    count = 0

    def record(self, record: Record | EncodedRecord) -> None:
        self.count += 1


def judged_by(executor: Executor, blocks: Sequence[CaseBlock]) -> Callable[[], int]:
    """Judge all blocks; the count is that of the records."""

    def run() -> int:
        streams = [Tally() for _ in executor.capabilities()]
        executor.feed(blocks, streams)
        return sum(stream.count for stream in streams)

    return run
