"""A translated page held against the English original that it carries in hidden spans.

Tables and type lines are compared by what they mean: a tensor's name, input or output, the set of counts, the set of
data types, the type with its `const` and stars. Everything else is compared as text, see `translation_text`. How
serious a change is depends on where it stands:

* error: a name, type, number, range, level or formula that a reader would take over is wrong;
* warning: running text where a name is transliterated, translated or cut, but the rest of the page settles it; a
  sentence that is not there;
* note: a product's name.

A page without an original has no findings here.
"""

from __future__ import annotations

import re
from collections import Counter

from dml_conformance.documents.check.identifiers import C_TYPES, TENSOR_PROPERTIES, compact, plain, take_apart
from dml_conformance.documents.check.model import Remark, Remarks, remark, shortened
from dml_conformance.documents.check.translation_text import NOTHING, changes
from dml_conformance.documents.read.model import FieldSection, LevelRow, LevelTable, Page, Place, Quoted
from dml_conformance.documents.read.tables import level_row
from dml_conformance.spec.datatypes import DataType

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
    shown, wanted = (_TYPE_WORDS.findall(_after_colon(plain(text))) for text in (line.text, original))
    if ["FLOAT" if word == "float" else word for word in shown] == wanted:
        return
    if shown != wanted:
        found = " ".join(shown) or NOTHING
        yield _fault("translation-type", f"members/{member.name.english}", line, found, " ".join(wanted))


def _after_colon(text: str) -> str:
    return text.partition(":")[2].strip() or text
