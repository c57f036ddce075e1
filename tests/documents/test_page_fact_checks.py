"""Pages of operators that the registry does not have, held against the facts."""

from __future__ import annotations

import msgspec
import pytest
from page_factories import bare_page, page_of_facts, quoted, row, table

from dml_conformance.documents.check.alone import check_page
from dml_conformance.documents.check.fact_checks import CHECKS
from dml_conformance.documents.read.model import Declaration, FieldSection, LevelTable, Page, Place
from dml_conformance.spec.operator_facts import operator_facts
from dml_conformance.spec.registry import operators

OTHERS = [name for name in operator_facts() if name not in operators()]


def remarks(page: Page) -> set[str]:
    """What the checks here find."""
    names = {check.described.name for check in CHECKS}
    return {finding.id for finding in check_page(page) if finding.check in names}


@pytest.mark.parametrize("name", OTHERS)
def test_a_page_that_says_what_the_facts_say_has_no_finding(name: str) -> None:
    assert remarks(page_of_facts(name)) == set()


POOLING = page_of_facts("MAX_POOLING")  # tables of 5_0, 3_0 and 1_0


def declared(*changes: tuple[str, str]) -> Page:
    return msgspec.structs.replace(
        POOLING, declarations=tuple(Declaration(name, kind, Place(10 + n, 3)) for n, (name, kind) in enumerate(changes))
    )


FIELDS = [(declaration.name, declaration.type) for declaration in POOLING.declarations]


def tabled(page: Page, *tables: LevelTable) -> Page:
    return msgspec.structs.replace(page, tables=tables)


def with_rows(counts: tuple[int, ...], types: list[str], level: str = "1_0") -> Page:
    tensors = [row("InputTensor", "Input", counts, types), row("OutputTensor", "Output", counts, types)]
    return tabled(POOLING, table(level, tensors))


def introduced(level: str) -> Page:
    sentence = quoted(f"This operator was introduced in DML_FEATURE_LEVEL_{level}.")
    return msgspec.structs.replace(POOLING, introduced_in=level, availability=(sentence,))


FLOATS = ["FLOAT32", "FLOAT16"]
FAULTS = [
    ("fact-field:Strides", declared(*(field for field in FIELDS if field[0] != "Strides"))),
    ("fact-field:Slope", declared(*FIELDS, ("Slope", "FLOAT"))),
    ("fact-field-order:OutputTensor", declared(FIELDS[1], FIELDS[0], *FIELDS[2:])),
    ("fact-field-type:Strides", declared(*((name, "UINT" if name == "Strides" else kind) for name, kind in FIELDS))),
    ("fact-introduction:level", introduced("2_0")),
    ("fact-table-missing:3_0", tabled(POOLING, POOLING.tables[0], POOLING.tables[2])),
    ("fact-table-unknown:2_0", tabled(POOLING, *POOLING.tables, with_rows((4,), FLOATS, "2_0").tables[0])),
    ("fact-dimension-counts:1_0/InputTensor", with_rows((4, 5, 6), FLOATS)),
    ("fact-data-types:1_0/OutputTensor", with_rows((4,), ["FLOAT32", "UINT8"])),
]


@pytest.mark.parametrize(("fault", "page"), FAULTS, ids=[fault for fault, _ in FAULTS])
def test_a_difference_is_found(fault: str, page: Page) -> None:
    check, _, subject = fault.partition(":")
    assert f"{check}:{page.operator}:{subject}" in remarks(page)


def test_every_check_has_a_difference_here() -> None:
    assert {fault.partition(":")[0] for fault, _ in FAULTS} == {check.described.name for check in CHECKS}


def test_an_older_edition_is_no_fault() -> None:
    assert remarks(tabled(POOLING, *POOLING.tables[2:])) == set()


def test_a_table_whose_level_cannot_be_read_may_be_the_one_that_is_missing() -> None:
    unread = msgspec.structs.replace(POOLING.tables[1], level=None, heading=quoted("Earlier"))
    assert remarks(tabled(POOLING, POOLING.tables[0], unread, POOLING.tables[2])) == set()


def test_tables_that_were_only_inferred_accuse_no_page() -> None:
    inferred = page_of_facts("ELEMENT_WISE_BIT_XOR")
    swapped = [row(name, "Input", (4,), ["FLOAT64"]) for name in ("ATensor", "BTensor", "OutputTensor")]
    assert remarks(tabled(inferred, table("3_0", swapped))) == set()


def test_a_page_without_a_syntax_block_has_the_fields_of_its_sections() -> None:
    sections = tuple(FieldSection(quoted(name), None if name == "Strides" else kind) for name, kind in FIELDS)
    page = msgspec.structs.replace(POOLING, declarations=(), members=sections)
    assert remarks(page) == set()
    assert remarks(msgspec.structs.replace(page, members=sections[1:])) == {"fact-field:MAX_POOLING:InputTensor"}


def test_the_registry_has_its_own_checks_and_an_unknown_operator_none() -> None:
    assert remarks(bare_page("TILE", "tile.md", introduced_in="2_0", declarations=POOLING.declarations)) == set()
    assert remarks(bare_page("PICK", "pick.md", introduced_in="2_0", declarations=POOLING.declarations)) == set()


def test_the_note_on_an_operator_says_what_was_compared() -> None:
    [note] = [finding for finding in check_page(POOLING) if finding.check == "unknown-operator"]
    assert "the facts" in note.why
    assert "tables" not in note.expected
    [note] = [f for f in check_page(bare_page("PICK", "pick.md")) if f.check == "unknown-operator"]
    assert note.why.endswith("alone")
    assert "tables" in note.expected
