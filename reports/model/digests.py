"""SHA-256 over what a campaign found, so that a certificate can be held against the results it rests on.

Both digests are over the stream and not over a file's bytes: the same results stored by another version of SQLite have
the same digests. Records count in their order, and so do measurements, which a file has behind them.
"""

from __future__ import annotations

import hashlib

from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Campaign, Ending, Record, Throughput, content_line
from dml_conformance.reports.model.stream import Consumer


class Digests(Consumer):
    """A consumer that digests the stream.

    `results` covers what was tested and how it came out: for each record the line `CASE VERDICT`, where CASE is the
    case's digest. Timing, devices and dates are no part of it, so two runs of the same cases with the same verdicts
    agree. `docs/reference/files.md` tells how it is computed from a results file without the suite.

    `content` covers everything: campaign, records, measurements and ending, each as one line of JSON with sorted keys.
    """

    def __init__(self) -> None:
        self._results = hashlib.sha256()
        self._content = hashlib.sha256()
        self._rows: list[Throughput] = []  # failures of what is timed come between them

    def start(self, campaign: Campaign) -> None:
        self._add(campaign)

    def record(self, record: Record | EncodedRecord) -> None:
        self._results.update(f"{record.traits.case} {record.traits.verdict}\n".encode())
        self._content.update(record.line + b"\n")

    def throughput(self, row: Throughput) -> None:
        self._rows.append(row)

    def finish(self, ending: Ending) -> None:
        for row in self._rows:
            self._add(row)
        self._add(ending)

    @property
    def results(self) -> str:
        return self._results.hexdigest()

    @property
    def content(self) -> str:
        return self._content.hexdigest()

    def _add(self, item: Campaign | Throughput | Ending) -> None:
        self._content.update(content_line(item) + b"\n")
