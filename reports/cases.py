"""The cases that a page holds: a row for each that fits, with all there is to say of as many as fit.

A page may hold a million results in five megabytes only by leaving some out. What differs comes first; of the rest
those are kept whose digest is smallest, which is a fair sample and the same one in every campaign, and the first few
of each operator, level, rule and verdict. Rows and cases are compressed in blocks that the page unpacks when it shows
them.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import msgspec

from reports.records import NOT_CONFORMANT, Campaign, Ending, Record, Throughput, Verdict
from reports.stream import Written

MAX_ROWS = 120_000  # rows of a page's list of cases
# Bytes of cases, not yet compressed, that are held in memory for a campaign: those that differ, and the others.
MAX_DIFFERING_HELD, MAX_OTHERS_HELD = 128 << 20, 64 << 20
MAX_CASE = 32 << 10  # bytes of one case; a longer one is left to results.sqlite
ALWAYS = 3  # cases of each operator, level, rule and verdict that are kept whatever their digests
MAX_STRATA = 20_000
BLOCK = 128  # cases compressed together
SHOWN_DIGITS = 12  # of a case's digest, by which a page names it
_ROW_CHARACTERS = 20  # of the budget for each row, of which it takes about half
_TRIAL_BLOCKS = 32  # compressed first, to know how many cases will fit

TRAITS = (
    "operator",
    "level",
    "phase",
    "rule",
    "verdict",
    "expected",
    "answered",
    "data_type",
    "index_type",
    "rank",
    "layout",
    "pattern",
)
CAMPAIGN, CHANGE = "campaign", "change"  # traits that a record has on a page and not in its stream
DIFFERING = frozenset((*NOT_CONFORMANT, Verdict.ERROR))
# What it takes to run a case again; the rest of its JSON repeats the row or says where it came from.
_CASE_FIELDS = ("type", "desc", "level", "data", "rule")

_traits = attrgetter(*TRAITS)
_encode = msgspec.json.Encoder().encode
_FIRST = -1  # before every digest
_LAST = 1 << 64


class _Row(msgspec.Struct, array_like=True):
    """One case that is kept: where it stands in the sample, its traits, and its text while there is room for it."""

    priority: int
    digest: str
    traits: tuple[Any, ...]
    text: bytes | None


class _Sample:
    """Rows of bounded number and size: those with the smallest digests, and the first of each stratum."""

    def __init__(self, most_held: int, wanted: Collection[str]) -> None:
        self.seen = 0
        self._most_held = most_held
        self.rows: list[_Row] = []
        self._wanted = wanted
        self._strata: dict[tuple[str, str, str, Verdict], int] = {}
        self._row_limit = self._text_limit = _LAST
        self._held = 0

    def add(self, record: Record, whole: Callable[[], Record]) -> None:
        """Take a record, of which the case is looked at in the whole one alone."""
        self.seen += 1
        stratum = (record.operator, record.level, record.rule, record.verdict)
        found = self._strata.get(stratum, 0)
        if found < ALWAYS and (found or len(self._strata) < MAX_STRATA):
            self._strata[stratum] = found + 1
            priority = _FIRST
        elif record.case in self._wanted:
            priority = _FIRST
        else:
            priority = int(record.case[:16], 16)
            if priority >= self._row_limit:
                return
        text = _text(whole()) if priority < self._text_limit else None
        self.rows.append(_Row(priority, record.case[:SHOWN_DIGITS], _traits(record), text))
        if text is not None:
            self._held += len(text)
            while self._held > self._most_held and self._text_limit > 1:
                self._drop_texts()
        while len(self.rows) > 2 * MAX_ROWS and self._row_limit > 1:
            self._row_limit //= 2
            self.rows = [row for row in self.rows if row.priority < self._row_limit]
            self._held = sum(len(row.text) for row in self.rows if row.text is not None)

    def _drop_texts(self) -> None:
        self._text_limit = min(self._text_limit, self._row_limit) * 3 // 4
        for row in self.rows:
            if row.text is not None and row.priority >= self._text_limit:
                self._held -= len(row.text)
                row.text = None


class Cases:
    """A consumer that keeps the cases a page may show, in bounded memory.

    Args:
        wanted: digests of cases that are kept whatever else there is.

    Attributes:
        differing: those that failed, crashed, timed out, or broke the harness.
        others: the rest.
    """

    def __init__(self, wanted: Collection[str] = ()) -> None:
        self.differing = _Sample(MAX_DIFFERING_HELD, wanted)
        self.others = _Sample(MAX_OTHERS_HELD, wanted)
        self.rules: Sequence[Mapping[str, Any]] = ()

    def start(self, campaign: Campaign) -> None:
        self.rules = campaign.rules

    def record(self, record: Record) -> None:
        self._sample_of(record).add(record, lambda: record)

    def written(self, written: Written) -> None:
        self._sample_of(written.traits).add(written.traits, written.whole)

    def _sample_of(self, record: Record) -> _Sample:
        return self.differing if record.verdict in DIFFERING else self.others

    def throughput(self, row: Throughput) -> None:
        """Nothing: measurements are no cases."""

    def finish(self, ending: Ending) -> None:
        """Nothing is left to do."""


def _text(record: Record) -> bytes | None:
    """The case as JSON, exactly as it was recorded, then what came of it; None where that is too long for a page."""
    case = _encode({name: record.case_json[name] for name in _CASE_FIELDS if name in record.case_json})
    outcome = _encode(
        (record.reason, record.difference_count, record.differences, record.reproduce, round(record.seconds, 9))
    )
    text = case + b"\t" + outcome  # a tab within JSON is written \t
    return text if len(text) <= MAX_CASE else None


@dataclass(frozen=True)
class Told:
    """What a page says of the cases that it holds.

    Attributes:
        total: cases of the campaigns.
        differing: of these, the ones that differ.
        rows: cases in the page's list.
        differing_rows: of these, the ones that differ.
        whole: cases that the page has whole.
        differing_whole: of these, the ones that differ.
    """

    total: int
    differing: int
    rows: int
    differing_rows: int
    whole: int
    differing_whole: int


def all_of(campaigns: Mapping[str, Cases]) -> Told:
    """What a page with room for every case would say."""
    differing = sum(cases.differing.seen for cases in campaigns.values())
    total = differing + sum(cases.others.seen for cases in campaigns.values())
    return Told(total, differing, total, differing, total, differing)


@dataclass(frozen=True)
class Embedded:
    """The cases as the page carries them, each text base64 of deflated bytes.

    Attributes:
        rows: the rows, column by column.
        flags: a bit for each row: whether its case is there whole.
        blocks: the whole cases, in the order of their rows.
        told: what the page says of it all.
    """

    rows: str
    flags: str
    blocks: Sequence[str]
    told: Told

    @property
    def size(self) -> int:
        """Characters in the page."""
        return len(self.rows) + len(self.flags) + sum(len(block) + 1 for block in self.blocks)


def embed(
    campaigns: Mapping[str, Cases], budget: int, changes: Mapping[tuple[str, str], str] | None = None
) -> Embedded:
    """The cases of campaigns, by label, in about `budget` characters.

    Args:
        campaigns: by the label that the page gives them.
        budget: characters. Rows come first, some ten characters each and no more than about half of it; whole cases
            fill the rest.
        changes: what became of a case since the baseline, by label and the shown digits of its digest.
    """
    kept = _kept(campaigns, changes or {})[: max(0, budget // _ROW_CHARACTERS)]
    columns = _columns(campaigns, kept)
    # Alike stands beside alike, which reads and compresses best.
    keys = list(zip((not row.differs for row in kept), *(column.codes for column in columns), strict=True))
    order = sorted(range(len(kept)), key=keys.__getitem__)
    rows = _packed(
        _head(campaigns, columns, len(kept))
        + b"".join(column.packed(order) for column in columns)
        + b"".join(bytes.fromhex(kept[i].row.digest) for i in order)
    )
    spare = budget - len(rows) - len(kept) // 6 - 1024  # the flags at their worst, and what stands around it all
    whole, blocks = _fitting([(i, text) for i in order if (text := kept[i].row.text) is not None], spare)
    told = replace(
        all_of(campaigns),
        rows=len(kept),
        differing_rows=sum(row.differs for row in kept),
        whole=len(whole),
        differing_whole=sum(kept[i].differs for i in whole),
    )
    bits = "".join("1" if i in whole else "0" for i in order)
    flags = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))
    return Embedded(rows, _packed(flags), blocks, told)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row among those of all campaigns."""

    row: _Row
    differs: bool
    label: str
    change: str


def _kept(campaigns: Mapping[str, Cases], changes: Mapping[tuple[str, str], str]) -> list[_Kept]:
    """The rows that the page shows, most wanted first: what changed, what differs, the rest; within each by digest."""
    found = [
        _Kept(row, differs, label, changes.get((label, row.digest), ""))
        for label, cases in campaigns.items()
        for differs, sample in ((True, cases.differing), (False, cases.others))
        for row in sample.rows
    ]
    found.sort(key=lambda kept: (not kept.change, not kept.differs, kept.row.priority, kept.row.digest))
    return found[:MAX_ROWS]


@dataclass(frozen=True)
class _Column:
    """One trait of all rows, as numbers of labels."""

    name: str
    labels: Sequence[str]
    codes: Sequence[int]

    @property
    def width(self) -> int:
        """Bytes of a number."""
        return 1 if len(self.labels) <= 1 << 8 else 2 if len(self.labels) <= 1 << 16 else 4

    def packed(self, order: Sequence[int]) -> bytes:
        letter = {1: "B", 2: "H", 4: "I"}[self.width]
        return struct.pack(f"<{len(order)}{letter}", *map(self.codes.__getitem__, order))


def _columns(campaigns: Mapping[str, Cases], kept: Sequence[_Kept]) -> list[_Column]:
    columns = [
        _column(CAMPAIGN, [row.label for row in kept], list(campaigns)),
        _column(CHANGE, [row.change for row in kept]),
    ]
    traits = zip(*(row.row.traits for row in kept), strict=True) if kept else ((),) * len(TRAITS)
    for name, values in zip(TRAITS, traits, strict=True):
        columns.append(_column(name, values, list(Verdict) if name == "verdict" else None))
    return columns


def _column(name: str, values: Sequence[Any], order: Sequence[Any] | None = None) -> _Column:
    """A trait's labels in the order given, or else their own, which is that of the page's menus."""
    found = set(values)
    labels = sorted(found) if order is None else [label for label in order if label in found]
    numbers = {label: i for i, label in enumerate(labels)}
    return _Column(name, [str(label) for label in labels], [numbers[value] for value in values])


def _head(campaigns: Mapping[str, Cases], columns: Sequence[_Column], rows: int) -> bytes:
    """What says how to read the rows, with the rules in words: its length in four bytes, then JSON."""
    rules = {rule["id"]: rule for cases in campaigns.values() for rule in cases.rules}
    text = _encode(
        {
            "rows": rows,
            "block": BLOCK,
            "digits": SHOWN_DIGITS,
            "columns": [{"name": c.name, "width": c.width, "labels": c.labels} for c in columns],
            "differing": [str(verdict) for verdict in Verdict if verdict in DIFFERING],
            "rules": {i: [rule["statement"], rule["source"], rule["erratum"]] for i, rule in rules.items()},
        }
    )
    return struct.pack("<I", len(text)) + text


def _fitting(texts: Sequence[tuple[int, bytes]], budget: int) -> tuple[set[int], list[str]]:
    """As many of the most wanted as fit when compressed, by number, and their blocks in the order given."""
    count = len(texts)
    wanted = sorted(number for number, _ in texts)
    if count > _TRIAL_BLOCKS * BLOCK:
        step = count // _TRIAL_BLOCKS
        trial = sum(len(_block(texts[i : i + BLOCK])) for i in range(0, count - BLOCK, step)[:_TRIAL_BLOCKS])
        count = min(count, int(budget * _TRIAL_BLOCKS * BLOCK / trial))
    while count > 0:
        last = wanted[count - 1]
        chosen = [(number, text) for number, text in texts if number <= last]
        blocks = [_block(chosen[i : i + BLOCK]) for i in range(0, count, BLOCK)]
        size = sum(len(block) + 1 for block in blocks)
        if size <= budget:
            return set(wanted[:count]), blocks
        count = min(count - 1, int(count * 0.97 * budget / size))
    return set(), []


def _block(texts: Sequence[tuple[int, bytes]]) -> str:
    return _packed(b"\n".join(text for _, text in texts))


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()
