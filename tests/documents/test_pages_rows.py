"""What rows say beyond counts and types: optional, an array; and tables by variant or of no level."""

from __future__ import annotations

import pytest
from pages_support import FRONT, beside, parsed

from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import LevelRow, LevelTable, Page

START = f"""{FRONT}# DML_X_OPERATOR_DESC structure

```
struct DML_X_OPERATOR_DESC {{
  UINT PartCount;
  _Field_size_(PartCount) const DML_TENSOR_DESC* PartTensors;
  _Maybenull_ const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT SizeCount;
  _Field_size_opt_(SizeCount) const UINT* Limits;
}};
```

## Availability

Since `DML_FEATURE_LEVEL_2_1`.

"""
HEADER = "| Tensor | Kind | Dimensions | Supported dimension counts | Supported data types |\n|-|-|-|-|-|\n"


def rows_of(*rows: str) -> str:
    return HEADER + "".join(f"| {row} |\n" for row in rows) + "\n"


TABLE = rows_of(
    "PartTensors | Array of inputs | { N, [Depth], 1 } | 2 to 3 | INT8",
    "BiasTensor | Optional input | { Sizes[] } or { 1 } | 1 to 3 | INT8",
    "OutputTensor | Output | as the parts | 2 to 3 | INT8",
)


def table_findings(page: Page) -> set[str]:
    return {finding.id for finding in check_page(page) if finding.check.startswith(("table", "row"))}


def test_annotations_are_facts_of_a_declaration() -> None:
    page = parsed(START)
    assert [(d.name, d.type, d.optional, d.count_field) for d in page.declarations] == [
        ("PartCount", "UINT", False, ""),
        ("PartTensors", "const DML_TENSOR_DESC *", False, "PartCount"),
        ("BiasTensor", "const DML_TENSOR_DESC *", True, ""),
        ("OutputTensor", "const DML_TENSOR_DESC *", False, ""),
        ("SizeCount", "UINT", False, ""),
        ("Limits", "const UINT *", True, "SizeCount"),
    ]


def test_annotations_stand_in_the_type_line_too() -> None:
    text = "## -struct-fields\n\n### -field Bias\n\nType: \\_Maybenull\\_ **const DML_TENSOR_DESC\\***\n\nAdded.\n"
    page = parsed(f"---\nUID: NS:directml.DML_X_OPERATOR_DESC\n---\n\n{text}")
    (member,) = page.members
    assert (member.type, member.optional, member.count_field) == ("const DML_TENSOR_DESC *", True, "")
    assert PageSubject.of(page).fields["Bias"].optional


@pytest.mark.parametrize(
    "lines",
    [
        "## Members\n\n`Axis`\n\nUINT Axis;\n\nType: UINT",
        "## Membres\n\n`Axis`\n\nUINT Axis ;\n\nType : UINT",  # as the French set it
    ],
)
def test_a_declaration_above_the_type_line_is_no_text(lines: str) -> None:
    (member,) = parsed(f"{FRONT}# DML_X_OPERATOR_DESC structure\n\n{lines}\n\nWhich one.\n").members
    assert (member.type, [quoted.text for quoted in member.text]) == ("UINT", ["Which one."])


def one_row(kind: str) -> LevelRow:
    heading = "## Tensor support\n\n### DML_FEATURE_LEVEL_2_1 and above\n\n"
    (table,) = parsed(START + heading + rows_of(f"A | {kind} | | 4 | INT8")).tables
    return table.rows[0]


@pytest.mark.parametrize(
    ("cell", "facts"),
    [
        ("Input", ("Input", False, False)),
        ("Optional input", ("Input", True, False)),
        ("Array of inputs", ("Input", False, True)),
        ("Array of optional outputs", ("Output", True, True)),
        ("Optionale Ausgabe", ("Output", True, False)),
        ("Matriz de entradas", ("Input", False, True)),
        ("Необязательный ввод", ("Input", True, False)),
        ("選擇性輸入", ("Input", True, False)),
        ("Input facoltativo", ("Input", True, False)),
        ("輸出陣列", ("Output", False, True)),
        ("Array of inputs and outputs", (None, False, True)),
        ("Inputs, more or less", (None, False, False)),
    ],
)
def test_whether_a_tensor_is_optional_or_an_array_stands_beside_its_kind(
    cell: str, facts: tuple[str | None, bool, bool]
) -> None:
    row = one_row(cell)
    assert (row.kind, row.optional, row.array) == facts


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        ("BiasTensor Optional input 1 to 8 INT8, UINT8", ("BiasTensor", "Input", True, ("INT8", "UINT8"))),
        ("BiasTensor 選用輸入 1 to 8 INT8", ("BiasTensor", "Input", True, ("INT8",))),
        ("BiasTensor Entrada opcional 1 to 8 INT8", ("BiasTensor", "Input", True, ("INT8",))),
        # A data type in other letters does not cost the table.
        ("InputTensor Input 1 to 8 Uint32", ("InputTensor", "Input", False, ("Uint32",))),
        ("InputTensor Input 1 to 8 float32", ("InputTensor", "Input", False, ("float32",))),
    ],
)
def test_a_row_in_text(row: str, facts: tuple[str, str, bool, tuple[str, ...]]) -> None:
    level, header = "DML_FEATURE_LEVEL_2_1 and above", "Tensor Kind Supported dimension counts Supported data types"
    text = f"DML_X_OPERATOR_DESC structure\n\nTensor support\n\n{level}\n\n{header}\n{row}\n"
    ((found,),) = (table.rows for table in parsed(text).tables)
    assert (found.tensor, found.kind, found.optional, found.data_types) == facts


def test_what_a_row_says_is_read_by_its_original_for_the_checks() -> None:
    heading = "## Tensor support\n\n### DML_FEATURE_LEVEL_2_1 and above\n\n"
    page = parsed(START + heading + rows_of(f"A | {beside('Ввод', 'Optional input')} | | 4 | INT8"))
    ((row,),) = (table.rows for table in PageSubject.of(page).tables)
    assert (row.kind, row.optional, row.array) == ("Input", True, False)


# Tables of no level


def test_the_only_table_of_a_page_holds_from_the_introduction_on() -> None:
    page = parsed(f"{START}## Tensor support\n\n{TABLE}")
    assert [table.level for table in page.tables] == [None]
    assert [table.label for table in PageSubject.of(page).tables] == ["2_1"]
    assert table_findings(page) == set()


def test_a_table_of_no_level_beside_another_or_without_an_introduction_is_a_fault() -> None:
    second = f"### DML_FEATURE_LEVEL_3_0 and above\n\n{TABLE}"
    page = parsed(f"{START}## Tensor support\n\n{TABLE}{second}")
    assert "table-level:X:1" in table_findings(page)
    page = parsed(START.replace("Since", "Not before").replace("DML_FEATURE_LEVEL_2_1", "that") + f"## All\n\n{TABLE}")
    assert "table-level:X:1" in table_findings(page)


def test_a_table_may_lack_its_outer_bars() -> None:
    table = TABLE.replace("\n| ", "\n").replace(" |\n", "\n").removeprefix("| ").replace("|-|", "-|", 1)
    pages = [parsed(f"{START}## Tensor support\n\n{form}") for form in (TABLE, table)]
    rows = [[(row.tensor, row.kind, row.dimension_counts) for row in p.tables[0].rows] for p in pages]
    assert rows[0] == rows[1]
    assert pages[1].problems == ()


# Variants

VARIANTS = f"""{START}## Tensor support by mode

### First and second

#### DML_FEATURE_LEVEL_3_0 and above

{TABLE.replace("INT8", "INT8, UINT8")}#### DML_FEATURE_LEVEL_2_1 and above

{TABLE}### Third

#### DML_FEATURE_LEVEL_2_1 and above

{TABLE.replace("INT8", "FLOAT32")}"""


def variants(tables: tuple[LevelTable, ...]) -> list[tuple[str, str | None]]:
    return [("" if table.variant is None else table.variant.text, table.level) for table in tables]


def test_a_level_may_have_a_table_for_each_variant() -> None:
    page = parsed(VARIANTS)
    assert {p.section for p in page.passages if p.quoted.text == "Tensor support by mode"} == {"support"}
    assert variants(page.tables) == [("First and second", "3_0"), ("First and second", "2_1"), ("Third", "2_1")]
    subject = PageSubject.of(page)
    assert [table.label for table in subject.tables] == [
        "3_0 (First and second)",
        "2_1 (First and second)",
        "2_1 (Third)",
    ]
    assert subject.table_at == {}
    assert table_findings(page) == set()


def test_a_variant_may_not_have_two_tables_of_a_level() -> None:
    page = parsed(f"{VARIANTS}#### DML_FEATURE_LEVEL_2_1 and above\n\n{TABLE}")
    assert "table-twice:X:2_1 (Third)" in table_findings(page)


def test_a_heading_of_a_section_ends_the_variants() -> None:
    last = f"## Tensor support\n\n### DML_FEATURE_LEVEL_3_0 and above\n\n{TABLE}"
    assert variants(parsed(VARIANTS + last).tables)[-1] == ("", "3_0")
