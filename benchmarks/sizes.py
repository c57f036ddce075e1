"""How much each benchmark does in a round, and how many rounds there are."""

from __future__ import annotations

from typing import NamedTuple

MIB = 2**20


class Sizes(NamedTuple):
    """Amounts of work.

    Attributes:
        rounds: of most benchmarks; odd, so that a median is one of them.
        heavy_rounds: of those whose rounds take seconds.
        cases: built with the seeded chooser in a round.
        examples: drawn by Hypothesis in a round, for each operator.
        corpus: descriptors decided on.
        judged: cases judged in a round, by one process.
        swept: cases judged in a round, by several processes, for each of them.
        records: stored and rendered.
        many_records: aggregated into one page.
        distinct_records: how many of them are not repetitions.
        large_bytes: an output of the large tensors.
        index_rows: index tuples for the onnx package.
        calls: of one small operator in a round.
    """

    rounds: int
    heavy_rounds: int
    cases: int
    examples: int
    corpus: int
    judged: int
    swept: int
    records: int
    many_records: int
    distinct_records: int
    large_bytes: int
    index_rows: int
    calls: int


SIZES = {
    "full": Sizes(
        rounds=9,
        heavy_rounds=3,
        cases=2000,
        examples=60,
        corpus=6000,
        judged=1500,
        swept=8192,
        records=100_000,
        many_records=1_000_000,
        distinct_records=8000,
        large_bytes=64 * MIB,
        index_rows=1_000_000,
        calls=2000,
    ),
    # To see that every benchmark runs; the figures mean nothing.
    "tiny": Sizes(
        rounds=1,
        heavy_rounds=1,
        cases=100,
        examples=2,
        corpus=100,
        judged=100,
        swept=64,
        records=300,
        many_records=600,
        distinct_records=150,
        large_bytes=64 * 1024,
        index_rows=500,
        calls=2,
    ),
}
