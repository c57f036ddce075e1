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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import (
    FEW_DIFFERENCES,
    NOT_CONFORMANT,
    TRAITS,
    Campaign,
    Record,
    Verdict,
)
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.reports.page.sample import ALWAYS, BLOCK, KEY_BITS, CaseSample, Codes, SamplePart

MAX_ROWS = 120_000  # rows of a page's list of cases
MAX_HELD = 12 << 20  # bytes of compressed cases held in memory for each sample of a campaign; a page has half of that
MAX_CASE = 32 << 10  # bytes of one case; a longer one is left to results.sqlite
FIRST_KEPT = 3  # cases of each operator, level, rule and verdict that are kept whatever their digests
MAX_STRATA = 20_000
MAX_TOLD_IN_FULL = 3 << 20  # bytes of cases with all the differences that were recorded
SHOWN_DIGITS = 12  # of a case's digest, by which a page names it
_ROW_CHARACTERS = 40  # of the budget for each row, of which it takes about a quarter
_TRIAL_BLOCKS = 32  # compressed first, to know how many cases will fit
_NEARLY_FULL = 0.95  # of the budget: so full that no more cases are looked for

CAMPAIGN, CHANGE = "campaign", "change"  # traits that a record has on a page and not in its stream
DIFFERING = frozenset((*NOT_CONFORMANT, Verdict.ERROR))
# What it takes to run a case again; the rest of its JSON repeats the row or says where it came from.
_CASE_FIELDS = ("type", "desc", "level", "data", "rule")

_traits = attrgetter(*TRAITS)
_encode = msgspec.json.Encoder().encode


class Cases(Consumer):
    """A consumer that keeps the cases a page may show, in bounded memory.

    Args:
        wanted: digests of cases that are kept whatever else there is.

    Attributes:
        differing: those that failed, crashed, timed out, or broke the harness.
        others: the rest.
        codes: for each trait the numbers that the samples have for its values.
    """

    def __init__(self, wanted: Collection[str] = ()) -> None:
        self.differing = CaseSample(MAX_ROWS, MAX_HELD)
        self.others = CaseSample(MAX_ROWS, MAX_HELD)
        self.codes = [Codes() for _ in TRAITS]
        self.rules: Sequence[Mapping[str, Any]] = ()
        self._wanted = wanted
        self._strata: dict[tuple[str, str, str, Verdict], int] = {}
        self._told_in_full = 0

    def start(self, campaign: Campaign) -> None:
        self.rules = campaign.rules

    def record(self, record: Record | EncodedRecord) -> None:
        whole, record = record.whole, record.traits
        sample = self.differing if record.verdict in DIFFERING else self.others
        sample.seen += 1
        key = int(record.case[: KEY_BITS // 4], 16)
        if self._is_first(record) or record.case in self._wanted:
            sample.add_always(key, self._codes(record), lambda: self._text(whole()))
        else:
            sample.add(key, lambda: self._codes(record), lambda: self._text(whole()))

    def _is_first(self, record: Record) -> bool:
        """Whether it is one of the first of its operator, level, rule and verdict."""
        stratum = (record.operator, record.level, record.rule, record.verdict)
        found = self._strata.get(stratum, 0)
        if found >= FIRST_KEPT or (not found and len(self._strata) >= MAX_STRATA):
            return False
        self._strata[stratum] = found + 1
        return True

    def _codes(self, record: Record) -> list[int]:
        return [codes[value] for codes, value in zip(self.codes, _traits(record), strict=True)]

    def _text(self, record: Record) -> bytes | None:
        """The case as JSON, exactly as it was recorded, then what came of it; None where that is too long for a page.

        Of a case with many differences all are told only as long as there is room for such cases.
        """
        if len(record.differences) > FEW_DIFFERENCES and self._told_in_full < MAX_TOLD_IN_FULL:
            text = _text(record)
            if len(text) <= MAX_CASE:
                self._told_in_full += len(text)
                return text
        text = _text(record.in_brief())
        return text if len(text) <= MAX_CASE else None


def _text(record: Record) -> bytes:
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


def all_of(campaigns: Mapping[str, Cases]) -> CarriedCases:
    """What a page with room for every case would say."""
    differing = sum(cases.differing.seen for cases in campaigns.values())
    total = differing + sum(cases.others.seen for cases in campaigns.values())
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


def embed(
    campaigns: Mapping[str, Cases],
    budget: int,
    changes: Mapping[tuple[str, str], str] | None = None,
    first: Collection[str] = (),
    told: Mapping[str, Any] | None = None,
) -> Embedded:
    """The cases of campaigns, by label, in about `budget` characters.

    Args:
        campaigns: by the label that the page gives them.
        budget: characters. Rows come first, some ten characters each and no more than about a quarter of it; whole
            cases fill the rest.
        changes: what became of a case since the baseline, by label and the shown digits of its digest.
        first: of the cases that differ those that are wanted most, by the shown digits of their digests.
        told: what else the page's script is told.
    """
    rows = _Rows(campaigns, changes or {}, first, min(MAX_ROWS, max(0, budget // _ROW_CHARACTERS)))
    columns = rows.columns()
    # Alike stands beside alike, which reads and compresses best.
    order = np.lexsort([column.codes for column in reversed(columns)] + [~rows.differs])
    listed = _packed(
        _head(campaigns, columns, len(order), told or {})
        + b"".join(column.packed(order) for column in columns)
        + rows.digests(order)
    )
    spare = budget - len(listed) - len(order) // 6 - 1024  # the flags at their worst, and what stands around it all
    whole, blocks = _fitting(rows, order, spare)
    carried = replace(
        all_of(campaigns),
        rows=len(order),
        differing_rows=int(rows.differs.sum()),
        whole=int(whole.sum()),
        differing_whole=int(rows.differs[whole].sum()),
    )
    return Embedded(listed, _packed(np.packbits(whole[order], bitorder="little").tobytes()), blocks, carried)


@dataclass(frozen=True)
class _Column:
    """One trait of all rows, as numbers of labels."""

    name: str
    labels: Sequence[str]
    codes: npt.NDArray[np.uint32]

    @property
    def width(self) -> int:
        """Bytes of a number."""
        return 1 if len(self.labels) <= 1 << 8 else 2 if len(self.labels) <= 1 << 16 else 4

    def packed(self, order: npt.NDArray[np.intp]) -> bytes:
        return self.codes[order].astype(f"<u{self.width}").tobytes()


class _Rows:
    """Rows of several campaigns, most wanted first: what changed, what differs, of that the smallest, the first of
    their kinds, the rest; within each by digest.

    Args:
        campaigns: by label; at least one.
        changes, first: as for `embed`.
        most: rows.

    Attributes:
        differs: whether the case differs.
        lengths: bytes of the case's text; 0 where there is none.
    """

    def __init__(
        self,
        campaigns: Mapping[str, Cases],
        changes: Mapping[tuple[str, str], str],
        first: Collection[str],
        most: int,
    ) -> None:
        self._parts: list[SamplePart] = []
        self._labels = list(campaigns)
        self._values = [Codes() for _ in (CHANGE, *TRAITS)]
        self._values[0][""]  # the number of no change is 0
        found: list[npt.NDArray[Any]] = []
        for number, (label, cases) in enumerate(campaigns.items()):
            shared = [
                np.array([values[value] for value in codes], np.uint32)
                for values, codes in zip(self._values[1:], cases.codes, strict=True)
            ]
            for differs, sample in ((True, cases.differing), (False, cases.others)):
                for name, part in sample.parts.items():
                    rows = np.zeros(len(part.keys), _ROW)
                    rows["campaign"], rows["differs"], rows["always"] = number, differs, name == ALWAYS
                    rows["part"], rows["place"] = len(self._parts), np.arange(len(rows))
                    rows["key"], rows["length"] = part.keys, part.lengths
                    codes = np.frombuffer(part.codes, np.uint32).reshape(-1, len(TRAITS))
                    for i, values in enumerate(shared):
                        rows["codes"][:, i + 1] = values[codes[:, i]] if len(rows) else 0
                    if changes:
                        told = [changes.get((label, _digest(key)), "") for key in part.keys]
                        rows["codes"][:, 0] = [self._values[0][change] for change in told]
                    self._parts.append(part)
                    found.append(rows)
        rows = np.concatenate(found)
        shown = rows["key"] >> np.uint64(KEY_BITS - 4 * SHOWN_DIGITS)
        is_first = np.isin(shown, np.array([int(digits, 16) for digits in first], np.uint64))
        wanted = np.lexsort((rows["key"], ~rows["always"], ~is_first, ~rows["differs"], rows["codes"][:, 0] == 0))
        self._rows: npt.NDArray[Any] = rows[wanted[:most]]

    @property
    def differs(self) -> npt.NDArray[np.bool_]:
        return self._rows["differs"]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return self._rows["length"]

    def digests(self, order: npt.NDArray[np.intp]) -> bytes:
        keys = self._rows["key"][order].astype(f">u{KEY_BITS // 8}")
        return keys.view(np.uint8).reshape(-1, KEY_BITS // 8)[:, : SHOWN_DIGITS // 2].tobytes()

    def columns(self) -> list[_Column]:
        """Each trait with its labels in the order that the page's menus have."""
        columns = [_column(CAMPAIGN, self._labels, self._rows["campaign"], self._labels)]
        for i, (name, values) in enumerate(zip((CHANGE, *TRAITS), self._values, strict=True)):
            order = list(Verdict) if name == "verdict" else None
            columns.append(_column(name, list(values), self._rows["codes"][:, i], order))
        return columns

    def texts(self, chosen: npt.NDArray[np.bool_]) -> dict[int, bytes]:
        """The texts of the rows that are chosen, by row."""
        found: dict[int, bytes] = {}
        numbers = np.flatnonzero(chosen)
        numbers = numbers[np.lexsort((self._rows["place"][numbers], self._rows["part"][numbers]))]
        for name in np.unique(self._rows["part"][numbers]):
            part = self._parts[name]
            here = numbers[self._rows["part"][numbers] == name]
            # A text's number among its part's: how many rows before it have one.
            ordinals = np.cumsum(np.frombuffer(part.lengths, np.uint32) > 0) - 1
            found.update(_picked(part.texts(), ordinals[self._rows["place"][here]].tolist(), here.tolist()))
        return found


_ROW = np.dtype(
    [
        ("campaign", np.uint32),
        ("part", np.uint32),
        ("place", np.uint32),
        ("length", np.uint32),
        ("key", np.uint64),
        ("codes", np.uint32, (1 + len(TRAITS),)),
        ("differs", np.bool_),
        ("always", np.bool_),
    ]
)


def _digest(key: int) -> str:
    """The shown digits of a case's digest."""
    return f"{key >> (KEY_BITS - 4 * SHOWN_DIGITS):0{SHOWN_DIGITS}x}"


def _picked(texts: Iterator[bytes], ordinals: Sequence[int], names: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The texts with these numbers, which rise, under these names."""
    wanted = iter(zip(ordinals, names, strict=True))
    ordinal, name = next(wanted)
    for n, text in enumerate(texts):
        if n == ordinal:
            yield name, text
            ordinal, name = next(wanted, (-1, -1))


def _column(name: str, values: Sequence[Any], codes: npt.NDArray[Any], order: Sequence[Any] | None = None) -> _Column:
    """A trait's labels, those that there are, in the order given, or else their own, which is that of the page's menus.

    Args:
        name: of the trait.
        values: by number.
        codes: the numbers of the rows' values.
        order: of the values.
    """
    found = {values[code]: code for code in np.unique(codes).tolist()}
    labels = sorted(found) if order is None else [label for label in order if label in found]
    numbers = np.zeros(len(values), np.uint32)
    numbers[[found[label] for label in labels]] = np.arange(len(labels))
    return _Column(name, [str(label) for label in labels], numbers[codes])


def _head(campaigns: Mapping[str, Cases], columns: Sequence[_Column], rows: int, told: Mapping[str, Any]) -> bytes:
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
            **told,
        }
    )
    return struct.pack("<I", len(text)) + text


def _fitting(rows: _Rows, order: npt.NDArray[np.intp], budget: int) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Which rows have their case whole, as many of the most wanted as fit, and these cases in blocks, in order."""
    having = rows.lengths > 0
    sums = np.cumsum(rows.lengths, dtype=np.int64)  # of the texts up to a row
    fits: tuple[npt.NDArray[np.bool_], list[str]] = (np.zeros(len(order), np.bool_), [])
    if budget <= 0 or not having.any():
        return fits
    texts: dict[int, bytes] = {}
    most = budget / _characters_per_byte(rows, order[having[order]])  # bytes of texts that are tried
    while True:
        whole = having & (sums <= most)
        missing = whole.copy()
        missing[list(texts)] = False
        texts.update(rows.texts(missing))
        chosen = order[whole[order]].tolist()
        blocks = [_block([texts[row] for row in chosen[i : i + BLOCK]]) for i in range(0, len(chosen), BLOCK)]
        size = sum(len(block) + 1 for block in blocks)
        if size <= budget:
            is_full = not blocks or size > _NEARLY_FULL * budget or whole.sum() == having.sum()
            if is_full or fits[1]:
                return whole, blocks
            fits = whole, blocks  # and one more attempt, with more of them
        elif fits[1]:
            return fits
        most = min(most, sums[-1]) * 0.97 * budget / size


def _characters_per_byte(rows: _Rows, order: npt.NDArray[np.intp]) -> float:
    """How much a byte of a text takes in the page, by a few blocks from all over."""
    starts = range(0, len(order), max(BLOCK, len(order) // _TRIAL_BLOCKS))
    trials = [order[start : start + BLOCK] for start in starts]
    chosen = np.zeros(len(rows.lengths), np.bool_)
    chosen[np.concatenate(trials)] = True
    texts = rows.texts(chosen)
    size = sum(len(_block([texts[row] for row in trial.tolist()])) for trial in trials)
    return size / sum(map(len, texts.values()))


def _block(texts: Sequence[bytes]) -> str:
    return _packed(b"\n".join(texts))


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()
