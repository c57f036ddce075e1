"""CSV, a row a case, for spreadsheets and data frames: RFC 4180, written as the stream comes.

A spreadsheet runs a cell that begins like a formula. What comes from a backend might, so such a cell gets an apostrophe
before it; numbers are never negative here and stay as they are.
"""

from __future__ import annotations

import csv
from operator import attrgetter
from typing import TextIO

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import TRAITS, Campaign, Record
from dml_conformance.reports.model.stream import Consumer

COLUMNS = (
    "backend",
    "device",
    "number",
    "case",
    *TRAITS,
    "seconds",
    "difference_count",
    "reason",
    "reproduce",
)
_traits = attrgetter(*TRAITS)
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # the wide forms count too


class CsvWriter(Consumer):
    """A consumer that writes rows to a text stream opened without newline translation.

    Args:
        stream: where to.
        header: whether the names of the columns come first; not so for the second campaign in one file.
    """

    def __init__(self, stream: TextIO, *, header: bool = True) -> None:
        self._writer = csv.writer(stream, lineterminator="\r\n")
        self._header = header
        self._about: tuple[str, ...] = ()
        self._number = 0

    def start(self, campaign: Campaign) -> None:
        self._about = (cell(campaign.backend["name"]), cell(campaign.backend["device"]))
        if self._header:
            self._writer.writerow(COLUMNS)

    def record(self, record: Record | EncodedRecord) -> None:
        record = record.whole()
        self._number += 1
        self._writer.writerow(
            (
                *self._about,
                self._number,
                record.case,
                *(cell(str(trait)) for trait in _traits(record)),
                f"{record.seconds:.9f}",
                record.difference_count,
                cell(record.reason),
                cell(record.reproduce),
            )
        )


def cell(text: str) -> str:
    """A text on one line that no spreadsheet takes for a formula."""
    if not text:
        return text
    line = one_line(text)
    return f"'{line}" if line.startswith(_FORMULA) else line
