"""What judges blocks in other processes, whichever these are: records come back written down, in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from dml_conformance.conformance.campaign.sweep import BLOCK, Block, Setup
from dml_conformance.conformance.workers.messages import Judged, Losses
from dml_conformance.conformance.workers.quarantine import too_many
from dml_conformance.reports.encoded import EncodedRecord
from dml_conformance.reports.records import Record
from dml_conformance.reports.stream import Stream


class Elsewhere(ABC):
    """Judges blocks as `InProcess` does, in processes of which any may be lost.

    Args:
        setup: what they need.

    Attributes:
        given_up: why the last blocks were not all judged; "" if they were.
    """

    def __init__(self, setup: Setup) -> None:
        self.given_up = ""
        self._setup = setup

    @abstractmethod
    def written(self, blocks: Iterable[Block]) -> Iterator[list[list[EncodedRecord]]]:
        """For each backend the records of each block, in order; blocks are taken ahead.

        It ends early, and `given_up` says why, where a backend took down too many processes of its own.
        """

    def judged(self, blocks: Iterable[Block]) -> Iterator[list[list[Record]]]:
        """As `written`, with whole records."""
        for block in self.written(blocks):
            yield [[written.whole() for written in records] for records in block]

    def feed(self, blocks: Iterable[Block], streams: Sequence[Stream]) -> str:
        """Judge blocks, and tell the stream of each backend; errors as for `written`.

        Returns:
            Why not all were judged; "" if they were.
        """
        for block in self.written(blocks):
            for stream, records in zip(streams, block, strict=True):
                for written in records:
                    stream.encoded_record(written)
                stream.mark(BLOCK)
        return self.given_up

    def _gives_up(self, losses: list[Losses], judged: Judged) -> bool:
        """Whether no more blocks are judged after this one; adds up what was lost."""
        losses[:] = [before.plus(more) for before, more in zip(losses, judged.losses, strict=True)]
        self.given_up = judged.given_up or next(filter(None, map(too_many, self._setup.backends, losses)), "")
        return bool(self.given_up)
