"""What passed, looked at once more before a run says so: a process that no backend was ever in computes a sample again.

A backend that shares the memory of the process that judges can have changed what that takes for right.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, count, islice, zip_longest

from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.conformance.judge.judge import DIGESTED_OF, is_digested
from dml_conformance.conformance.workers.process import JudgeProcess
from dml_conformance.conformance.workers.setup import WorkerError
from dml_conformance.conformance.workers.tasks import executed_bytes
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Campaign, Record, Verdict
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.spec.case import Case
from dml_conformance.spec.validator import Reading

COMPUTED_OF = 500  # cases that were executed and passed, of which one is computed again
LEAST, MOST = 20, 300  # of them in a run
MOST_BYTES = 2**20  # of a case's tensors


class PassedSample(Consumer):
    """Holds some of the cases that passed, of each operator those with the greatest digests, until they are computed
    again."""

    def __init__(self) -> None:
        self._reading, self._tolerance = Reading.DOCUMENTED, ""
        self._most = MOST  # of an operator
        self._passed = 0
        self._held: defaultdict[str, list[tuple[str, int, Record]]] = defaultdict(list)  # heaps
        self._numbers = count()  # so that no two records are compared

    def start(self, campaign: Campaign) -> None:
        self._reading, self._tolerance = Reading(campaign.spec), campaign.accuracy
        self._most = -(-MOST // max(1, len(campaign.operators)))

    def record(self, record: Record | EncodedRecord) -> None:
        traits = record.traits
        if traits.verdict is not Verdict.PASS or not traits.output or not is_digested(traits.case):
            return
        self._passed += 1
        held = self._held[traits.operator]
        if len(held) == self._most and traits.case <= held[0][0]:
            return
        whole = record.whole()
        if executed_bytes(Case.from_json(whole.case_json)) <= MOST_BYTES:
            push = heapq.heappush if len(held) < self._most else heapq.heapreplace
            push(held, (traits.case, next(self._numbers), whole))

    def chosen(self) -> list[Record]:
        """The cases to be computed again, as many of one operator as of another, as far as it has so many."""
        wanted = min(max(self._passed * DIGESTED_OF // COMPUTED_OF, LEAST), MOST)
        in_turn = chain.from_iterable(zip_longest(*(sorted(held, reverse=True) for held in self._held.values())))
        return [drawn[-1] for drawn in islice(filter(None, in_turn), wanted)]

    def why_untrusted(self) -> str:
        """Why what passed is no evidence: what one of the cases left is not what a new process computes; "" where
        nothing speaks against it."""
        chosen = self.chosen()
        if not chosen:
            return ""
        try:
            with closing(JudgeProcess()) as process:
                cases = [record.case_json for record in chosen]
                digests = process.right_digests(cases, self._reading, self._tolerance)
        except (ProcessLost, WorkerError) as error:
            return f"some cases that passed could not be computed again: {error}"
        return next(self._wrong(chosen, digests), "")

    @staticmethod
    def _wrong(chosen: list[Record], digests: list[str]) -> Iterator[str]:
        for record, digest in zip(chosen, digests, strict=True):
            if record.output != digest:
                yield (
                    f"{record.operator}: case {record.case[:16]} passed, but its outputs are not what a new process "
                    f"computes: expected the digest {digest}, found {record.output}; what judged was changed, or this "
                    "machine does not always compute the same"
                )
