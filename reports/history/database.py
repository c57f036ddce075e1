"""Sums of many runs in one small SQLite file.

A file holds for each run what it was, how it came out, its verdicts by operator and level, and the median throughput of
each operator, data type, size and state of the caches. Runs of one backend on one device are a series, in the order of
their start; `reports.history.trends` says what changed in it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.records import NOT_CONFORMANT, Caches, Campaign, Timing, Verdict
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.store.checks import LONGEST_FACT, check_lengths
from dml_conformance.reports.store.databases import ADDING, DatabaseReader, UnreadableError, guard
from dml_conformance.spec.errors import BadInputError

APPLICATION_ID = 0x444D4C48  # "DMLH", in the file's header
SCHEMA_VERSION = 3
_SCHEMA = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    backend TEXT NOT NULL,
    device TEXT NOT NULL,
    started TEXT NOT NULL,
    outcome TEXT NOT NULL,
    json TEXT NOT NULL
);
CREATE TABLE verdicts (
    run INTEGER NOT NULL REFERENCES run,
    operator TEXT NOT NULL,
    level TEXT NOT NULL,
    verdict TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (run, operator, level, verdict)
) WITHOUT ROWID;
CREATE TABLE throughput (
    run INTEGER NOT NULL REFERENCES run,
    operator TEXT NOT NULL,
    data_type TEXT NOT NULL,
    output_bytes INTEGER NOT NULL,
    caches TEXT NOT NULL,
    bytes_per_second REAL NOT NULL,
    PRIMARY KEY (run, operator, data_type, output_bytes, caches)
) WITHOUT ROWID;
"""


class HistoryError(BadInputError):
    """A history file that cannot be read or written; the message names the file and what was expected."""


class HistoryRun(msgspec.Struct, frozen=True):
    """One run of a series.

    Attributes:
        digest: of its whole stream, which tells it from every other.
        backend: its name.
        device: that it ran on.
        started: ISO 8601.
        outcome: conformant, not conformant or incomplete.
        suite_version: of the suite.
        versions: of the backend's libraries.
        setup: what its cases and verdicts follow from: suite, budget, seed, specification, accuracy, operators, levels
            and what was saved. Counts of runs with the same setup can be compared with each other.
        counts: records by operator and verdict.
        throughput: median bytes per second, by what was timed.
    """

    digest: str
    backend: str
    device: str
    started: str
    outcome: str
    suite_version: str
    versions: dict[str, str]
    setup: str
    counts: dict[str, dict[str, int]]
    throughput: dict[Timing, float]

    def failed(self, operator: str) -> int:
        """Cases of an operator that failed, crashed or timed out."""
        return sum(self.counts.get(operator, {}).get(str(verdict), 0) for verdict in NOT_CONFORMANT)

    def total(self, *verdicts: Verdict) -> int:
        """Cases that ended in one of these."""
        return sum(of_operator.get(str(verdict), 0) for of_operator in self.counts.values() for verdict in verdicts)


class _About(msgspec.Struct, frozen=True):
    """The rest of a run, as JSON in its row."""

    suite_version: str
    versions: dict[str, str]
    setup: str


# What a row has, unless the file is damaged: SQLite takes any value into any column.
_RUN_TEXTS = ("digest", "backend", "device", "started", "outcome")
_RunRow = tuple[int, str, str, str, str, str, str]
_TimingRow = tuple[str, str, int, str, float]
_SUMS = "SELECT operator, verdict, sum(count) FROM verdicts WHERE run = ? GROUP BY operator, verdict"
_TIMED_COLUMNS = "operator, data_type, output_bytes, caches, bytes_per_second"
_TIMED = f"SELECT {_TIMED_COLUMNS} FROM throughput WHERE run = ? ORDER BY 1, 2, 4, 3"  # noqa: S608 - constants only


class HistoryFile(DatabaseReader):
    """A history file. Use it as a context manager, or `close` it.

    Args:
        path: of the file.
        create: make it where there is none, and bring one of an older release into today's form. Without it nothing is
            written.

    Raises:
        HistoryError: from every method, where the file is none of ours, is damaged or cannot be written.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not path.exists() and not create:
            raise HistoryError(f"{path}: no such file; 'dml-conformance history add {path} RESULTS' makes one")
        self._is_writable = create
        super().__init__(path, create=create)

    def _open(self) -> None:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        if self._is_writable and not self._size:
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        if self._pragma("application_id") != APPLICATION_ID:
            raise HistoryError(f"{self.path}: an SQLite file, but no history of this suite")
        if (version := self._pragma("user_version")) != SCHEMA_VERSION:
            raise HistoryError(f"{self.path}: a history of version {version}; this release reads {SCHEMA_VERSION}")
        guard(self._connection, self._size, ADDING)

    def add(self, summary: Summary) -> bool:
        """Add a run; False where the same one is there already."""
        campaign = summary.campaign
        about = _About(campaign.suite_version, campaign.backend.get("versions", {}), setup_of(campaign))
        row = (
            summary.digests.content,
            campaign.backend["name"],
            campaign.backend["device"],
            campaign.started,
            str(summary.conformance),
            msgspec.json.encode(about).decode(),
        )
        counts = [(cell, *count) for cell in summary.matrix() for count in cell.counts.items() if count[1]]
        timed = {row.timing: row.bytes_per_second for row in summary.throughputs if row.is_plausible}
        with self._using(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            insert = "INSERT INTO run VALUES (NULL, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING RETURNING id"
            new = connection.execute(insert, row).fetchone()
            if new is None:
                return False
            connection.executemany(
                "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?)",
                [(new[0], cell.operator, cell.level, str(verdict), count) for cell, verdict, count in counts],
            )
            connection.executemany(
                "INSERT INTO throughput VALUES (?, ?, ?, ?, ?, ?)",
                [(new[0], *timing[:3], str(timing.caches), speed) for timing, speed in timed.items()],
            )
        return True

    def series(self) -> dict[tuple[str, str], list[HistoryRun]]:
        """The runs of each backend on each device, in the order of their start."""
        found: list[HistoryRun] = []
        with self._using():
            query = f"SELECT id, {', '.join(_RUN_TEXTS)}, json FROM run ORDER BY backend, device, started, id"  # noqa: S608 - constants only
            for identity, *texts, about in self._rows(query, _RunRow):
                names: dict[str, Any] = dict(zip(_RUN_TEXTS, texts, strict=True))
                check_lengths("run", names)
                rest = msgspec.json.decode(about, type=_About)
                check_lengths("setup", rest.setup, LONGEST_FACT)
                check_lengths("versions", rest.versions)
                counts: dict[str, dict[str, int]] = {}
                for operator, verdict, count in self._rows(_SUMS, tuple[str, str, int], identity):
                    counts.setdefault(operator, {})[verdict] = count
                throughput = {
                    Timing(operator, data_type, size, Caches(caches)): _positive(rate)
                    for operator, data_type, size, caches, rate in self._rows(_TIMED, _TimingRow, identity)
                }
                found.append(HistoryRun(**names, **msgspec.structs.asdict(rest), counts=counts, throughput=throughput))
        return grouped(found, lambda run: (run.backend, run.device))

    def _rows(self, query: str, kind: Any, *parameters: Any) -> list[Any]:
        """What a query gives, each row held against its type, and its names against how long they may be."""
        rows: list[Any] = msgspec.convert(self._connection.execute(query, parameters).fetchall(), list[kind])
        if parameters:
            for row in rows:
                check_lengths("names", [value for value in row if isinstance(value, str)])
        return rows

    @contextmanager
    def _using(self) -> Iterator[None]:
        try:
            yield
        except UnreadableError as error:
            raise HistoryError(f"{self.path}: {error}") from error
        except (sqlite3.Error, OSError, msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise HistoryError(f"{self.path}: no history of this suite, or it cannot be used: {error}") from error


def _positive(value: float) -> float:
    """A rate or share, of which only a damaged file has one that is not above 0; raises ValueError."""
    if not 0 < value < math.inf:
        raise ValueError(f"expected throughput above 0, found {value!r}")
    return value


def setup_of(campaign: Campaign) -> str:
    """What a campaign's cases and verdicts follow from."""
    setup = (
        f"suite {campaign.suite_version}",
        f"budget {campaign.budget}",
        f"seed {campaign.seed}",
        str(campaign.spec),
        f"accuracy {campaign.accuracy}",
        ", ".join(campaign.operators),
        ", ".join(campaign.levels),
        campaign.environment.get("saved failures", ""),
    )
    return "; ".join(filter(None, setup))
