"""A page beside another on the same operator: what differs, and what is only another way to say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from page_factories import gather, interval, quoted, table, translated_row, value

from dml_conformance.documents.check.differences import differences
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

# What is changed, and the subject of what differs.
CHANGED = {
    "structure": (gather(structure="DML_GATHER1_OPERATOR_DESC"), "syntax/structure"),
    "a field less": (gather(declarations=OTHER.declarations[:3]), "syntax/Axis"),
    "a field more": (
        gather(declarations=(*OTHER.declarations, Declaration("Count", "UINT", Place(14, 1)))),
        "syntax/Count",
    ),
    "no syntax block": (gather(declarations=()), "syntax"),
    "order of the fields": (gather(declarations=SWAPPED), "syntax/order"),
    "type in the syntax block": (with_part("declarations", 3, type="UINT64"), "syntax/Axis/type"),
    "a section less": (gather(members=OTHER.members[:3]), "member/Axis"),
    "type in the section": (with_axis(type="INT"), "member/Axis/type"),
    "a range opened": (
        with_axis(ranges=(interval("(0, InputTensor.DimensionCount)"),)),
        "member/Axis/range",
    ),
    "a range closed": (
        with_axis(ranges=(interval("[0, InputTensor.DimensionCount]"),)),
        "member/Axis/range",
    ),
    "another bound": (
        with_axis(ranges=(interval("[1, InputTensor.DimensionCount)"),)),
        "member/Axis/range",
    ),
    "a range lost": (with_axis(ranges=()), "member/Axis/range"),
    "a level in a section": (
        with_part("members", 1, text=(quoted("Since DML_FEATURE_LEVEL_2_1", 23),)),
        "member/IndicesTensor/levels",
    ),
    "introduction": (gather(availability=introduced("2_0")), "introduced-in"),
    "introduction lost": (gather(availability=()), "introduced-in"),
    "a row less": (with_rows(ROWS[:2]), "table/3_0/OutputTensor"),
    "a row twice": (with_rows(TWICE), "table/3_0/InputTensor#2"),
    "rows in another order": (with_rows(ROWS[::-1]), "table/3_0/row-order"),
    "kind": (with_kind(0, "Output", "Output"), "table/3_0/InputTensor/kind"),
    "counts": (
        with_row(0, 1, dimension_counts=(4,)),
        "table/3_0/IndicesTensor/dimension-counts",
    ),
    "types": (with_row(1, 1, data_types=("INT32",)), "table/1_0/IndicesTensor/data-types"),
    "a cell lost": (with_row(1, 1, data_types=None), "table/1_0/IndicesTensor/data-types"),
    "an example less": (gather(examples=()), "example/1"),
    "an attribute": (
        with_example(attributes={**OTHER.examples[0].attributes, "Axis": value(1, 61)}),
        "example/1/Axis",
    ),
    "sizes": (with_tensor(sizes=value([3], 62)), "example/1/InputTensor/Sizes"),
    "a type in an example": (
        with_tensor(data_type=value("FLOAT16", 62)),
        "example/1/InputTensor/DataType",
    ),
    "a value": (with_tensor(values=value([1, 3], 63)), "example/1/InputTensor/values"),
    "strides": (
        with_tensor(properties={"Strides": value([1], 62)}),
        "example/1/InputTensor/Strides",
    ),
    "pseudocode": (
        gather(code_blocks=(CodeBlock("description", "output[i] = input[i]", "pseudocode", Place(5, 1)),)),
        "code/description",
    ),
    "pseudocode lost": (gather(code_blocks=()), "code/description"),
}


def differing(page: Page, other: Page = OTHER) -> list[str]:
    """The subjects of what two pages do not say alike."""
    return [difference.subject for difference in differences([page, other])]


@pytest.mark.parametrize(("page", "subject"), CHANGED.values(), ids=CHANGED)
def test_what_differs_is_told(page: Page, subject: str) -> None:
    assert subject in differing(page)
    assert sorted(differing(page)) == sorted(differing(OTHER, page))


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
    assert differing(page) == []


@pytest.mark.parametrize(
    "ranges",
    [(interval("[0, InputTensor.DimensionCount-1]"),), (interval("[0 , InputTensor.DimensionCount)"),)],
    ids=["the last one named", "white space"],
)
def test_one_range_in_two_spellings_is_the_same(ranges: tuple[PrintedInterval, ...]) -> None:
    assert differing(with_axis(ranges=ranges)) == []


def test_a_row_that_is_missing_is_no_other_order() -> None:
    assert differing(with_rows(ROWS[1:])) == ["table/3_0/InputTensor"]


def test_scraped_values_without_nesting_are_the_same() -> None:
    assert differing(with_tensor(values=value([1, 2, 3, 4, 5, 6], 63))) == []


def test_what_stands_under_a_lost_table_is_not_told_again() -> None:
    assert differing(gather(tables=OTHER.tables[:1])) == ["table/1_0"]


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
    assert any(subject.endswith("#2") for subject in differing(doubled))
    assert differing(doubled, doubled) == []


def test_types_are_compared_without_white_space() -> None:
    tight = OTHER.declarations[0].type.replace(" *", "*")
    page = with_part("declarations", 0, type=tight)
    assert differing(page) == []
