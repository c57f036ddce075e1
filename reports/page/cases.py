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
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.records import FEW_DIFFERENCES, NOT_CONFORMANT, TRAITS, Record, Verdict
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.store.results import RankedCase, Store

MAX_ROWS = 120_000  # rows of a page's list of cases
MAX_CASE = 32 << 10  # bytes of one case; a longer one is left to results.sqlite
FIRST_KEPT = 3  # cases of each operator, level, rule and verdict that are kept whatever their digests
MAX_TOLD_IN_FULL = 3 << 20  # bytes of cases with all the differences that were recorded
BLOCK = 128  # cases compressed together
SHOWN_DIGITS = 12  # of a case's digest, by which a page names it
_ROW_CHARACTERS = 40  # of the budget for each row, of which it takes about a quarter
_TRIAL_BLOCKS = 32  # compressed first, to know how many cases will fit
_NEARLY_FULL = 0.95  # of the budget: so full that no more cases are looked for

CAMPAIGN, CHANGE = "campaign", "change"  # traits that a record has on a page and not in its stream
DIFFERING = frozenset((*NOT_CONFORMANT, Verdict.ERROR))
# What it takes to run a case again; the rest of its JSON repeats the row or says where it came from.
_CASE_FIELDS = ("type", "desc", "level", "data", "rule")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class CarriedCases:
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


def all_of(summaries: Sequence[Summary]) -> CarriedCases:
    """What a page with room for every case would say."""
    differing = sum(summary.counts[verdict] for summary in summaries for verdict in DIFFERING)
    total = sum(summary.total for summary in summaries)
    return CarriedCases(total, differing, total, differing, total, differing)


@dataclass(frozen=True)
class Embedded:
    """The cases as the page carries them, each text base64 of deflated bytes.

    Attributes:
        rows: the rows, column by column.
        flags: a bit for each row: whether its case is there whole.
        blocks: the whole cases, in the order of their rows.
        carried: what the page says of it all.
    """

    rows: str
    flags: str
    blocks: Sequence[str]
    carried: CarriedCases


class _Row(NamedTuple):
    """A case of a campaign, and what became of it since the baseline."""

    campaign: str
    change: str
    case: RankedCase

    @property
    def traits(self) -> tuple[Any, ...]:
        """As the page's columns have them."""
        return (self.campaign, self.change, *self.case.traits)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Most wanted first: what changed, what differs, of that the smallest, the first of their kinds, the rest."""
        return not self.change, not self.case.differs, not self.case.is_wanted, not self.case.is_first, self.case.key


def embed(
    campaigns: Mapping[str, Path],
    summaries: Sequence[Summary],
    budget: int,
    changes: Mapping[tuple[str, str], str] | None = None,
    first: Collection[str] = (),
    told: Mapping[str, Any] | None = None,
) -> Embedded:
    """The cases of campaigns in about `budget` characters.

    Args:
        campaigns: results files, by the label that the page gives them.
        summaries: of the same.
        budget: characters. Rows come first, some ten characters each and no more than about a quarter of it; whole
            cases fill the rest.
        changes: what became of a case since the baseline, by label and the shown digits of its digest.
        first: of the cases that differ those that are wanted most, by the shown digits of their digests.
        told: what else the page's script is told.
    """
    most = min(MAX_ROWS, max(0, budget // _ROW_CHARACTERS))
    rows = sorted(_listed(campaigns, changes or {}, first, most), key=lambda row: row.rank)[:most]
    columns = _columns(rows, list(campaigns))
    # Alike stands beside alike, which reads and compresses best.
    order = sorted(range(len(rows)), key=lambda n: (not rows[n].case.differs, *(column.codes[n] for column in columns)))
    digits = "".join(rows[n].case.key[:SHOWN_DIGITS] for n in order)
    listed = _packed(
        _head(summaries, columns, len(order), told or {})
        + b"".join(column.packed(order) for column in columns)
        + bytes.fromhex(digits)
    )
    spare = budget - len(listed) - len(order) // 6 - 1024  # the flags at their worst, and what stands around it all
    whole, blocks = _fitting(_texts(campaigns, rows), order, spare) if spare > 0 else (set[int](), list[str]())
    flags = np.packbits(np.array([n in whole for n in order], np.bool_), bitorder="little").tobytes()
    carried = replace(
        all_of(summaries),
        rows=len(order),
        differing_rows=sum(row.case.differs for row in rows),
        whole=len(whole),
        differing_whole=sum(rows[n].case.differs for n in whole),
    )
    return Embedded(listed, _packed(flags), blocks, carried)


def _listed(
    campaigns: Mapping[str, Path], changes: Mapping[tuple[str, str], str], first: Collection[str], most: int
) -> Iterator[_Row]:
    for label, path in campaigns.items():
        changed = {digits: change for (owner, digits), change in changes.items() if owner == label}
        with Store(path) as store:
            for case in store.ranked(most, DIFFERING, FIRST_KEPT, (changed, first), SHOWN_DIGITS):
                yield _Row(label, changed.get(case.key[:SHOWN_DIGITS], ""), case)


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
        return struct.pack(f"<{len(order)}{letter}", *(self.codes[n] for n in order))


def _columns(rows: Sequence[_Row], campaigns: Sequence[str]) -> list[_Column]:
    """Each trait with its labels in the order that the page's menus have: their own, where no other is known."""
    columns = []
    for i, name in enumerate((CAMPAIGN, CHANGE, *TRAITS)):
        values = [row.traits[i] for row in rows]
        found = set(values)
        known: Sequence[Any] | None = {CAMPAIGN: campaigns, "verdict": list(Verdict)}.get(name)
        labels = sorted(found) if known is None else [label for label in known if label in found]
        numbers = {label: number for number, label in enumerate(labels)}
        columns.append(
            _Column(name, [str(label) for label in labels], array("I", [numbers[value] for value in values]))
        )
    return columns


def _head(summaries: Sequence[Summary], columns: Sequence[_Column], rows: int, told: Mapping[str, Any]) -> bytes:
    """What says how to read the rows, with the rules in words: its length in four bytes, then JSON."""
    rules = {rule["id"]: rule for summary in summaries for rule in summary.campaign.rules}
    text = _encode(
        {
            "rows": rows,
            "block": BLOCK,
            "digits": SHOWN_DIGITS,
            "columns": [{"name": c.name, "width": c.width, "labels": c.labels} for c in columns],
            "differing": [str(verdict) for verdict in Verdict if verdict in DIFFERING],
            "rules": {i: [rule["statement"], rule["source"], rule["erratum"]] for i, rule in rules.items()},
            **told,
        }
    )
    return struct.pack("<I", len(text)) + text


def _texts(campaigns: Mapping[str, Path], rows: Sequence[_Row]) -> dict[int, bytes]:
    """The cases of rows as JSON, by row, but for those that are too long for a page.

    Of cases with many differences all are told only as long as there is room for such cases.
    """
    texts: dict[int, bytes] = {}
    in_full = 0
    for label, of_campaign in grouped(range(len(rows)), lambda n: rows[n].campaign).items():
        numbers = {rows[n].case.number: n for n in of_campaign}
        with Store(campaigns[label]) as store:
            for number, record in store.numbered(numbers):
                text = _text(record)
                if len(record.differences) > FEW_DIFFERENCES:
                    if in_full < MAX_TOLD_IN_FULL and len(text) <= MAX_CASE:
                        in_full += len(text)
                    else:
                        text = _text(record.in_brief())
                if len(text) <= MAX_CASE:
                    texts[numbers[number]] = text
    return texts


def _text(record: Record) -> bytes:
    """The case as JSON, exactly as it was recorded, then what came of it."""
    case = _encode({name: record.case_json[name] for name in _CASE_FIELDS if name in record.case_json})
    outcome = _encode(
        (
            record.reason,
            record.difference_count,
            [(d.coordinates, d.expected, d.expected_bits, d.actual, d.actual_bits, d.ulp) for d in record.differences],
            record.reproduce,
        )
    )
    return case + b"\t" + outcome  # a tab within JSON is written \t


def _fitting(texts: Mapping[int, bytes], order: Sequence[int], budget: int) -> tuple[set[int], list[str]]:
    """Which rows have their case whole, as many of the most wanted as fit, and these cases in blocks, in order."""
    placed = [n for n in order if n in texts]
    lengths = [len(texts.get(n, b"")) for n in range(len(order))]
    fits: tuple[set[int], list[str]] = set(), []
    if not placed:
        return fits
    trials = [placed[at : at + BLOCK] for at in range(0, len(placed), max(BLOCK, len(placed) // _TRIAL_BLOCKS))]
    tried = sum(lengths[n] for trial in trials for n in trial)
    characters_per_byte = sum(len(_block(texts, trial)) for trial in trials) / tried
    most = budget / characters_per_byte  # bytes of texts that are tried
    while True:
        sums = accumulate(lengths)  # of the most wanted ones up to a row
        whole = {n for n, size in enumerate(sums) if size <= most and n in texts}
        chosen = [n for n in placed if n in whole]
        blocks = [_block(texts, chosen[at : at + BLOCK]) for at in range(0, len(chosen), BLOCK)]
        taken = sum(len(block) + 1 for block in blocks)
        if taken <= budget:
            is_full = not blocks or taken > _NEARLY_FULL * budget or len(whole) == len(placed)
            if is_full or fits[1]:
                return whole, blocks
            fits = whole, blocks  # and one more attempt, with more of them
        elif fits[1]:
            return fits
        most = min(most, sum(lengths)) * 0.97 * budget / taken


def _block(texts: Mapping[int, bytes], rows: Sequence[int]) -> str:
    return _packed(b"\n".join(texts[n] for n in rows))


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()
