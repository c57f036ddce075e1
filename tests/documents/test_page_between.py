"""A page against another on the same operator: what differs, and which of the two is the older edition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from page_factories import gather, interval, quoted, table, translated_row, value

from dml_conformance.documents.check.between import STATEMENTS, DifferentOperators, check_between
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read.model import (
    CodeBlock,
    Declaration,
    FieldSection,
    Page,
    PageExample,
    Passage,
    Place,
    PrintedInterval,
    Quoted,
)

OTHER = gather("other.md")


def replaced(items: tuple[Any, ...], index: int, **changes: Any) -> tuple[Any, ...]:
    """The items with one of them changed; with no changes it is left out."""
    new = (msgspec.structs.replace(items[index], **changes),) if changes else ()
    return (*items[:index], *new, *items[index + 1 :])


def with_part(part: str, index: int, **changes: Any) -> Page:
    """The page with one entry of a part changed, or without it."""
    return gather(**{part: replaced(getattr(OTHER, part), index, **changes)})


def with_rows(rows: Any) -> Page:
    return with_part("tables", 0, rows=rows)


def with_row(table_index: int, row_index: int, **changes: Any) -> Page:
    return with_part("tables", table_index, rows=replaced(OTHER.tables[table_index].rows, row_index, **changes))


def with_kind(row_index: int, kind: str, word: str) -> Page:
    cells = replaced(OTHER.tables[0].rows[row_index].cells, 1, text=word)
    return with_row(0, row_index, kind=kind, cells=cells)


def with_axis(**changes: Any) -> Page:
    return with_part("members", 3, **changes)


def with_example(**changes: Any) -> Page:
    return with_part("examples", 0, **changes)


def with_tensor(**changes: Any) -> Page:
    return with_example(tensors=replaced(OTHER.examples[0].tensors, 0, **changes))


def introduced(label: str) -> tuple[Quoted, ...]:
    return (quoted(f"Introduced in DML_FEATURE_LEVEL_{label}.", 30),)


ROWS = OTHER.tables[0].rows
SWAPPED = (OTHER.declarations[1], OTHER.declarations[0], *OTHER.declarations[2:])
TWICE = (*ROWS, ROWS[0])

# What is changed, the id without operator, what the page says and what the other does.
CHANGED = {
    "structure": (gather(structure="DML_GATHER1_OPERATOR_DESC"), "between-structure:syntax/structure"),
    "a field less": (gather(declarations=OTHER.declarations[:3]), "between-field:syntax/Axis"),
    "a field more": (
        gather(declarations=(*OTHER.declarations, Declaration("Count", "UINT", Place(14, 1)))),
        "between-field:syntax/Count",
    ),
    "no syntax block": (gather(declarations=()), "between-syntax:syntax"),
    "order of the fields": (gather(declarations=SWAPPED), "between-field-order:syntax/order"),
    "type in the syntax block": (with_part("declarations", 3, type="UINT64"), "between-field-type:syntax/Axis/type"),
    "a section less": (gather(members=OTHER.members[:3]), "between-member:member/Axis"),
    "type in the section": (with_axis(type="INT"), "between-member-type:member/Axis/type"),
    "a range opened": (
        with_axis(ranges=(interval("(0, InputTensor.DimensionCount)"),)),
        "between-range:member/Axis/range",
    ),
    "a range closed": (
        with_axis(ranges=(interval("[0, InputTensor.DimensionCount]"),)),
        "between-range:member/Axis/range",
    ),
    "another bound": (
        with_axis(ranges=(interval("[1, InputTensor.DimensionCount)"),)),
        "between-range:member/Axis/range",
    ),
    "a range lost": (with_axis(ranges=()), "between-range:member/Axis/range"),
    "a level in a section": (
        with_part("members", 1, text=(quoted("Since DML_FEATURE_LEVEL_2_1", 23),)),
        "between-member-level:member/IndicesTensor/levels",
    ),
    "introduction": (gather(availability=introduced("2_0")), "between-introduced-in:introduced-in"),
    "introduction lost": (gather(availability=()), "between-introduced-in:introduced-in"),
    "a row less": (with_rows(ROWS[:2]), "between-tensor:table/3_0/OutputTensor"),
    "a row twice": (with_rows(TWICE), "between-tensor:table/3_0/InputTensor#2"),
    "rows in another order": (with_rows(ROWS[::-1]), "between-row-order:table/3_0/row-order"),
    "kind": (with_kind(0, "Output", "Output"), "between-kind:table/3_0/InputTensor/kind"),
    "counts": (
        with_row(0, 1, dimension_counts=(4,)),
        "between-dimension-counts:table/3_0/IndicesTensor/dimension-counts",
    ),
    "types": (with_row(1, 1, data_types=("INT32",)), "between-data-types:table/1_0/IndicesTensor/data-types"),
    "a cell lost": (with_row(1, 1, data_types=None), "between-data-types:table/1_0/IndicesTensor/data-types"),
    "an example less": (gather(examples=()), "between-example:example/1"),
    "an attribute": (
        with_example(attributes={**OTHER.examples[0].attributes, "Axis": value(1, 61)}),
        "between-example-value:example/1/Axis",
    ),
    "sizes": (with_tensor(sizes=value([3], 62)), "between-example-value:example/1/InputTensor/Sizes"),
    "a type in an example": (
        with_tensor(data_type=value("FLOAT16", 62)),
        "between-example-value:example/1/InputTensor/DataType",
    ),
    "a value": (with_tensor(values=value([1, 3], 63)), "between-example-value:example/1/InputTensor/values"),
    "strides": (
        with_tensor(properties={"Strides": value([1], 62)}),
        "between-example-value:example/1/InputTensor/Strides",
    ),
    "pseudocode": (
        gather(code_blocks=(CodeBlock("description", "output[i] = input[i]", "pseudocode", Place(5, 1)),)),
        "between-code:code/description",
    ),
    "pseudocode lost": (gather(code_blocks=()), "between-lost-code:code/description"),
    "a sentence": (
        gather(passages=(Passage("description", "sentence", quoted("Collects elements.", 4)),)),
        "between-text:description/0",
    ),
}


@pytest.mark.parametrize(("page", "expected"), CHANGED.values(), ids=CHANGED)
def test_what_differs_is_found_on_either_page(page: Page, expected: str) -> None:
    check, _, subject = expected.partition(":")
    severity = next(statement.severity for statement in STATEMENTS if statement.name == check)
    found = check_between(page, OTHER)
    finding = next(finding for finding in found if finding.id == f"{check}:GATHER:{subject}")
    assert (finding.severity, finding.against, finding.path) == (severity, "other.md", "page.md")
    assert {f.check for f in found} == {check}
    back = next(other for other in check_between(OTHER, page) if other.id == finding.id)
    assert (back.found, back.expected) == (finding.expected, finding.found)


def test_a_page_agrees_with_itself_in_another_language() -> None:
    translated = tuple(
        table(
            str(level_table.level),
            [
                translated_row(
                    original.place.line,
                    name,
                    {"Input": "Eingabe", "Output": "Ausgabe"}[original.kind or ""],
                    f"von {original.cells[2].text}",
                    ", ".join(reversed(original.data_types or ())),
                    counts=original.dimension_counts,
                    originals=tuple(cell.text for cell in original.cells),
                )
                for name, original in zip(("инпут", "индекс", "аут"), level_table.rows, strict=True)
            ],
        )
        for level_table in OTHER.tables
    )
    sentence = Quoted("Sammelt Elemente.", Place(4, 1), "Gathers elements.")
    page = gather(
        language="de-DE",
        tables=translated,
        code_blocks=(CodeBlock("description", "output[i]=input[indices[i]] // so", "pseudocode", Place(5, 1)),),
        passages=(Passage("description", "sentence", sentence),),
    )
    assert check_between(page, OTHER) == []


@pytest.mark.parametrize(
    "ranges",
    [(interval("[0, InputTensor.DimensionCount-1]"),), (interval("[0 , InputTensor.DimensionCount)"),)],
    ids=["the last one named", "white space"],
)
def test_one_range_in_two_spellings_is_the_same(ranges: tuple[PrintedInterval, ...]) -> None:
    assert check_between(with_axis(ranges=ranges), OTHER) == []


def test_scraped_values_without_nesting_are_the_same() -> None:
    assert check_between(with_tensor(values=value([1, 2, 3, 4, 5, 6], 63)), OTHER) == []


def test_the_older_edition_is_told_from_an_error() -> None:
    older = gather("older.md", tables=OTHER.tables[1:])
    (finding,) = check_between(older, OTHER)
    assert finding.id == "between-edition:GATHER:table/3_0"
    assert finding.severity is Severity.NOTE
    assert finding.found == "not there"
    assert "older.md is an older edition" in finding.why
    (back,) = check_between(OTHER, older)
    assert back.id == finding.id
    assert "older.md is an older edition" in back.why


@pytest.mark.parametrize(
    "page",
    [
        gather(tables=OTHER.tables[:1]),
        gather(tables=OTHER.tables[1:], availability=introduced("2_0")),
        gather(tables=replaced(OTHER.tables[1:], 0, heading=quoted("DML_FEATURE_LEVEL_2_0", 50))),
        gather(tables=()),
        msgspec.structs.replace(
            with_row(1, 0, dimension_counts=(5,)), tables=with_row(1, 0, dimension_counts=(5,)).tables[1:]
        ),
    ],
    ids=["the oldest table lost", "another introduction", "another level", "no tables", "an older table differs"],
)
def test_a_missing_table_is_an_error_where_more_than_the_edition_differs(page: Page) -> None:
    lost = [finding for finding in check_between(page, OTHER) if finding.id.endswith(("table/3_0", "table/1_0"))]
    assert lost
    assert all(f.check == "between-table" and f.severity is Severity.ERROR for f in lost)


def test_what_stands_under_a_lost_table_is_not_told_again() -> None:
    assert [f.check for f in check_between(gather(tables=OTHER.tables[:1]), OTHER)] == ["between-table"]


def test_a_finding_stands_where_the_page_says_it_or_should() -> None:
    (kind,) = check_between(with_kind(2, "Input", "Input"), OTHER)
    assert (kind.place, kind.fragment) == (ROWS[2].cells[1].place, "Input")
    (lost,) = check_between(with_rows(ROWS[:2]), OTHER)
    assert (lost.place, lost.fragment) == (OTHER.tables[0].heading.place, "DML_FEATURE_LEVEL_3_0 and above")


def test_pages_on_different_operators_are_refused() -> None:
    tile = gather("tile.md", operator="TILE")
    with pytest.raises(
        DifferentOperators, match=r"page\.md is about GATHER, tile\.md about TILE: only pages on the same"
    ):
        check_between(gather(), tile)


def test_sentences_are_compared_only_where_both_are_english() -> None:
    page = gather(language="de-DE", passages=(Passage("description", "sentence", quoted("Sammelt Elemente.", 4)),))
    assert check_between(page, OTHER) == []


@pytest.fixture(params=["member", "example"])
def doubled(request: pytest.FixtureRequest) -> Page:
    makers: dict[str, Callable[[], Page]] = {
        "member": lambda: gather(members=(*OTHER.members, FieldSection(quoted("Axis", 29), "UINT"))),
        "example": lambda: gather(
            examples=(*OTHER.examples, PageExample(1, None, {}, (), Place(70, 1), 71)),
        ),
    }
    return makers[request.param]()


def test_what_stands_twice_is_found(doubled: Page) -> None:
    assert any(finding.id.endswith("#2") for finding in check_between(doubled, OTHER))
    assert check_between(doubled, doubled) == []


def test_types_are_compared_without_white_space() -> None:
    tight = OTHER.declarations[0].type.replace(" *", "*")
    page = with_part("declarations", 0, type=tight)
    assert check_between(page, OTHER) == []
