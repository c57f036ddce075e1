"""A translated page held against the English original that it carries in hidden spans.

Tables and type lines are compared by what they mean: a tensor's name, input or output, the set of counts, the set of
data types, the type with its `const` and stars. Everything else is compared as text, without regard to where on the
page it stands. How serious a change is depends on that:

* error: a name, type, number, range, level or formula that a reader would take over is wrong;
* warning: running text where a name is transliterated, translated or cut, but the rest of the page settles it; a
  sentence that is not there;
* note: a product's name.

A page without an original has no findings here.

What a text must keep:

* intervals, with their bounds and brackets; lists in braces; formulas;
* names: those that are emphasised or set as code in the original, and, emphasised or not, those that look like no
  plain word (`DML_TENSOR_DESC`, `InputTensor.Sizes`, `UINT32`, `directml.h`). A product's name (`DirectML`) in running
  text need not be kept, and plain words (`tensor`, `axis`) are the translator's;
* numbers, as far as none stands for another. Which sign separates decimals or thousands is the language's own, and
  whether a number is written as a figure or a word.

What may change: the order of all these, how often a name is repeated as long as it is there, whether a property is
named with its tensor (`DimensionCount` or `OutputTensor.DimensionCount`), and endings of words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from dml_conformance.documents.check.identifiers import (
    C_TYPES,
    LEVEL_NAME,
    TENSOR_PROPERTIES,
    Parts,
    compact,
    dotted_runs,
    is_firm,
    is_shaped,
    likeness,
    names_in,
    plain,
    take_apart,
)
from dml_conformance.documents.check.model import Remark, Remarks, remark, shortened
from dml_conformance.documents.read.model import FieldSection, LevelRow, LevelTable, Page, Place, Quoted
from dml_conformance.documents.read.tables import level_row
from dml_conformance.spec.datatypes import DataType

NOTHING = "nothing"
LONGEST = 6000  # characters of a text and its original together; the time to compare them grows with the square
_MOST_PAIRS = 4000  # of words and names that are tried for likeness; a sentence has some hundreds
_FORMULA = re.compile(r"=|\w\[|[\w)\]]\s*[-+]\s*\d|\w \+ \w")
_MINUS = re.compile(r"[-−–]\s*([0-9]+)")
_EDGES = " \t.,:;。、，*`"
_TYPE_WORDS = re.compile(r"[^\W\d]\w*|\*")


def translation_remarks(page: Page) -> list[Remark]:
    """What a page changes of the English original that it carries; in the order of the page."""
    return sorted(_faults(page), key=lambda fault: fault.at.place) if page.has_original else []


def _fault(check: str, subject: str, quoted: Quoted, found: str, expected: str) -> Remark:
    told = {"found": shortened(found), "expected": shortened(expected), "original": shortened(quoted.english)}
    return remark(check, subject, quoted, **told)


def _faults(page: Page) -> Remarks:
    compared: set[Place] = set()
    for table in page.tables:
        for row in table.rows:
            compared.update(cell.place for cell in row.cells)
            yield from _row_faults(table, row)
    for member in page.members:
        if member.type_line is not None and member.type_line.original is not None:
            compared.add(member.type_line.place)
            yield from _type_faults(member, member.type_line, member.type_line.original)
    known = known_names(page)
    for passage in page.passages:
        quoted = passage.quoted
        if not quoted.original or quoted.place in compared:
            continue
        is_cell = passage.role == "cell"
        # A heading that is nothing but the name of a field: the section's name, not a sentence with a name in it.
        is_label = is_cell or (passage.role == "heading" and passage.section.startswith("members/"))
        if not quoted.text.strip():
            lost = "translation-lost-cell" if is_cell else "translation-lost-text"
            yield _fault(lost, passage.section, quoted, NOTHING, quoted.original)
            continue
        for change in changes(quoted, known):
            what = "cell-name" if is_label and change.what in ("name", "wrong-name", "product") else change.what
            part = change.found if change.part == NOTHING else change.part
            subject = f"{passage.section}/{shortened(compact(part))}"
            yield _fault(f"translation-{what}", subject, quoted, change.found, change.part)


def known_names(page: Page) -> frozenset[str]:
    """Names of the fields that the page describes, of what tensors have, of data types and of C types."""
    fields = {declaration.name for declaration in page.declarations}
    fields.update(member.name.english for member in page.members)
    types = {data_type.name for data_type in DataType}
    return frozenset(fields) | TENSOR_PROPERTIES | types | C_TYPES


def _row_faults(table: LevelTable, row: LevelRow) -> Remarks:
    label, cells = table.level or table.heading.english, table.cells(row)
    subject = f"{label}/{cells['tensor'].english if 'tensor' in cells else row.tensor}"
    shown = level_row(row.cells, table.columns, as_shown=True)
    for column, cell in cells.items():
        if not cell.original:
            continue
        if not cell.text:
            yield _fault("translation-lost-cell", f"{subject}/{column}", cell, NOTHING, cell.original)
        elif column == "tensor" and cell.text != cell.original:
            yield _fault("translation-tensor", subject, cell, cell.text, cell.original)
        elif column == "kind" and row.kind is not None and shown.kind is None:
            yield _fault("translation-kind-word", subject, cell, cell.text, f"a word for {row.kind.lower()}")
        elif column == "kind" and row.kind is not None and shown.kind != row.kind:
            yield _fault("translation-kind", subject, cell, f"{cell.text} ({shown.kind})", row.kind)
        elif column == "dimension_counts" and not _same_counts(shown, row, cell):
            yield _fault("translation-dimension-counts", subject, cell, cell.text, cell.original)
        elif column == "data_types":
            given, wanted = Counter(shown.data_types or ()), Counter(row.data_types or ())
            extra, missing = (", ".join(names.elements()) for names in (given - wanted, wanted - given))
            if extra or missing:
                found, expected = extra or f"no {missing}", missing or f"no {extra}"
                yield _fault("translation-data-types", subject, cell, found, expected)


def _same_counts(shown: LevelRow, row: LevelRow, cell: Quoted) -> bool:
    """Whether a cell names the counts of its original; where its words are not known the numbers must be the same."""
    if shown.dimension_counts is not None and row.dimension_counts is not None:
        return shown.dimension_counts == row.dimension_counts
    return take_apart(cell.text).numbers == take_apart(cell.english).numbers


def _type_faults(member: FieldSection, line: Quoted, original: str) -> Remarks:
    """The type itself, not the word `Type` before the colon; `FLOAT` is the header's name of `float`."""
    texts = (plain(text) for text in (line.text, original))
    shown, wanted = (_TYPE_WORDS.findall(text.partition(":")[2].strip() or text) for text in texts)
    if wanted not in (shown, ["FLOAT" if word == "float" else word for word in shown]):
        found = " ".join(shown) or NOTHING
        yield _fault("translation-type", f"members/{member.name.english}", line, found, " ".join(wanted))


class TextChange(NamedTuple):
    """Something of the original that is not in the text.

    Attributes:
        what: `range`, `code`, `level`, `name`, `wrong-name`, `product`, `number`, or `too-long` for what was not
            compared.
        part: what the original has.
        found: what the text has in its place, as it stands there.
    """

    what: str
    part: str
    found: str


def changes(quoted: Quoted, known: frozenset[str]) -> Iterator[TextChange]:
    """What of `quoted.original` the text, which is not empty, does not keep; nothing where there is no original.

    Args:
        known: names of the operator's fields and of what tensors have: plain words among them are names only where
            they are emphasised.
    """
    if not quoted.original or quoted.text == quoted.original:
        return
    if len(quoted.text) + len(quoted.original) > LONGEST:
        yield TextChange("too-long", f"{LONGEST} characters", f"{len(quoted.text) + len(quoted.original)} characters")
        return
    formulas = [piece for piece in quoted.original_marked if _is_formula(piece)]
    kept = [piece for piece in formulas if compact(piece) in compact(quoted.text)]
    yield from (TextChange("code", piece, NOTHING) for piece in formulas if piece not in kept)
    original = take_apart(quoted.original, map(plain, formulas))
    shown = take_apart(quoted.text, map(plain, kept))
    yield from _sequence_changes("range", [i.text for i in original.intervals], [i.text for i in shown.intervals])
    yield from _sequence_changes("code", original.lists, shown.lists)
    names = _Names(quoted, original, shown, known)
    yield from names.changes()
    # A rendering may hold digits: those of a name are no numbers of the text.
    yield from _number_changes(quoted, original, take_apart(quoted.text, [*map(plain, kept), *names.renderings]))


def _is_formula(piece: str) -> bool:
    parts = take_apart(piece)
    return not parts.intervals and not parts.lists and bool(parts.names) and bool(_FORMULA.search(plain(piece)))


def _sequence_changes(what: str, wanted: Sequence[str], given: Sequence[str]) -> Iterator[TextChange]:
    missing, extra = Counter(wanted) - Counter(given), Counter(given) - Counter(wanted)
    for part, found in zip_longest(missing.elements(), extra.elements(), fillvalue=NOTHING):
        yield TextChange(what, part, found)


def is_name(piece: str, known: frozenset[str]) -> bool:
    """Whether a piece that is emphasised or set as code is a name."""
    return all(part in known for part in piece.split(".")) or is_shaped(piece)


class _Names:
    """The names of one original looked for in one text.

    Attributes:
        needed: how often each name must be there at most.
        missing: the names that are not, as often as they are not.
        rest: the plain text without intervals, lists and the names that were found in it.
        renderings: what stands in the text in place of names, as it stands in the plain text.
    """

    def __init__(self, quoted: Quoted, original: Parts, shown: Parts, known: frozenset[str]) -> None:
        self.known = known
        self.marked = [_bare(piece) for piece in quoted.marked]
        self.original_marked = [_bare(piece) for piece in quoted.original_marked]
        self.emphasised = Counter(piece for piece in self.original_marked if is_name(piece, known))
        # A plain word counts as a name as often as it is emphasised; a shaped one wherever it stands.
        stated = Counter(original.names)
        most = {name: count if is_shaped(name) else self.emphasised[name] for name, count in stated.items()}
        self.needed = stated & Counter(most)
        self.rest = shown.text
        self.renderings: list[str] = []
        self.missing: list[str] = []

    def changes(self) -> Iterator[TextChange]:
        # The longer ones first: what stands for `InputTensor.Sizes` must not be taken for an `InputTensor`.
        for length in sorted({_length(name) for name in self.needed}, reverse=True):
            missing = [name for name in self.needed if _length(name) == length for _ in range(self._take_exact(name))]
            yield from self._versions([name for name in missing if not self._is_in_longer(name)], length)
        for name in self.missing:
            found = self._joined(name) or self._same_position(name) or self._other_name(name) or self._part(name)
            if found is None and (self.needed[name] > self.missing.count(name) or not self._is_bound(name)):
                continue  # said once instead of twice, or a product that goes without its name
            yield self._change(name, found)

    def _take_exact(self, name: str) -> int:
        """Take the name out of the rest as often as it should be there; how often it is missing."""
        if name not in self.rest:
            return self.needed[name]
        self.rest, there = whole(name).subn(" ", self.rest, count=self.needed[name])
        return self.needed[name] - there

    def _versions(self, missing: list[str], length: int) -> Iterator[TextChange]:
        """Names broken by spaces, transliterated, in other letters or in part of these; the likest pairs first."""
        while missing:
            names, runs = dict.fromkeys(missing), list(dotted_runs(self.rest, length))
            if len(names) * len(runs) > _MOST_PAIRS:
                break
            pairs = [(sum(map(likeness, words, name.split("."))), name, run) for words, run in runs for name in names]
            score, name, run = max(pairs, key=lambda pair: pair[0], default=(0.0, "", ""))
            if not score:
                break
            missing.remove(name)
            yield self._change(name, run)
        self.missing += missing

    def _change(self, name: str, found: str | None) -> TextChange:
        if found is not None:
            self.renderings.append(found)
            self.rest = self.rest.replace(found, " ", 1)
        if LEVEL_NAME.fullmatch(name):
            return TextChange("level", name, found or NOTHING)
        is_kept = found is None or found in name.split(".") or found.startswith(name)  # in part, or with the next word
        if found is not None and not is_kept and self._is_valid(found):
            return TextChange("wrong-name", name, found)
        return TextChange("name" if self._is_bound(name) else "product", name, found or NOTHING)

    def _is_bound(self, name: str) -> bool:
        return bool(self.emphasised[name]) or is_firm(name, self.known)

    def _is_valid(self, name: str) -> bool:
        """Whether it is the right name of something, of the page or of the header."""
        if all(part in self.known for part in name.split(".")):
            return True
        return name.isascii() and is_firm(name, self.known) and "." not in name

    def _is_in_longer(self, name: str) -> bool:
        """Whether the text has the name as a part of a right one that it writes out."""
        return name in self.rest and any(name in o.split(".") and self._is_valid(o) for o in names_in(self.rest))

    def _joined(self, name: str) -> str | None:
        """The name with the next word, where the space between them is lost."""
        match = re.search(rf"(?<!\w){re.escape(name)}\w+", self.rest)
        return None if match is None else match[0]

    def _same_position(self, name: str) -> str | None:
        """The emphasised piece of the text that stands where the original emphasises the name."""
        free = [piece for piece in self.marked if piece and piece in self.rest and piece not in self.needed]
        if len(self.marked) == len(self.original_marked):
            pairs = zip(self.original_marked, self.marked, strict=True)
            return next((piece for wanted, piece in pairs if wanted == name and piece in free), None)
        if name not in self.original_marked:
            return None
        return next((piece for piece in free if any(part in piece for part in name.split("."))), None)

    def _other_name(self, name: str) -> str | None:
        """A name that the original does not have there; no part of one that is missing, which was only cut."""
        valid = [other for other in names_in(self.rest) if is_shaped(other) and self._is_valid(other)]
        cut = {part for other in self.missing for part in other.split(".")} if valid else set()
        others = [other for other in valid if other not in cut]
        return max(others, key=lambda o: SequenceMatcher(None, o, name, autojunk=False).ratio(), default=None)

    def _part(self, name: str) -> str | None:
        parts = name.split(".") if "." in name else []
        return next((part for part in reversed(parts) if part in self.rest and whole(part).search(self.rest)), None)


def _bare(piece: str) -> str:
    return plain(piece).strip(_EDGES)


def _length(name: str) -> int:
    return name.count(".") + 1


def whole(name: str) -> re.Pattern[str]:
    """The name, but not as part of a longer one."""
    return re.compile(rf"(?<![A-Za-z0-9_.]){re.escape(name)}(?![A-Za-z0-9_])(?!\.[A-Za-z_])")


def _number_changes(quoted: Quoted, original: Parts, shown: Parts) -> Iterator[TextChange]:
    """Numbers put for others; one that is only lost or added may stand as a word in one of the languages."""
    wanted, given = Counter(original.numbers), Counter(shown.numbers)
    missing, extra = wanted - given, given - wanted
    if Counter(original.joined) != Counter(shown.joined):
        yield from (TextChange("number", *pair) for pair in zip(missing.elements(), extra.elements(), strict=False))
    if missing or extra:
        return
    # The hyphen of a compound may stand before a number, but never in place of a minus; nor is a difference negative.
    minus, original_minus = (Counter(_MINUS.findall(plain(text))) for text in (quoted.text, quoted.original or ""))
    for lost in (Counter(original.negative) - minus).elements():
        yield TextChange("number", f"-{lost}", lost)
    for found in (Counter(shown.negative) - original_minus).elements():
        yield TextChange("number", found, f"-{found}")
