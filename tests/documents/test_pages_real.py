"""The five real pages: every fact that they state is found, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pages_support import REAL, at, first_word, placed

from dml_conformance.documents.read import Page, read_page
from dml_conformance.documents.read.model import Form

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real pages are not here; they are not shipped")

TENSOR = "const DML_TENSOR_DESC *"
EIGHT = tuple(range(1, 9))
INPUT, INDICES, OUTPUT = "InputTensor", "IndicesTensor", "OutputTensor"

# Of each page: operator, language, edition, introduced-in level, types by field, level with the number of data types
# by row, numbers of the examples, paragraphs by member, and how many passages carry an original.
FACTS: dict[str, dict[str, Any]] = {
    "gather.zh-TW.txt": {
        "head": ("GATHER", "zh-TW", None, "1_0", Form.TEXT),
        "fields": {INPUT: TENSOR, INDICES: TENSOR, OUTPUT: TENSOR, "Axis": "UINT", "IndexDimensions": "UINT"},
        "tables": {"4_1": (11, 4, 11), "3_0": (8, 4, 8), "2_1": (8, 1, 8), "1_0": (2, 1, 2)},
        "examples": [1, 2, 3, 4, 5],
        "text": (1, 3, 3, 1, 1),
        "constraints": 2,
    },
    "gather_elements.it-IT.md": {
        "head": ("GATHER_ELEMENTS", "it-IT", "10/30/2020", "2_1", Form.MARKDOWN),
        "fields": {INPUT: TENSOR, INDICES: TENSOR, OUTPUT: TENSOR, "Axis": "UINT"},
        "tables": {"3_0": (8, 4, 8), "2_1": (8, 1, 8)},
        "examples": [1],
        "text": (1, 5, 2, 1),
        "constraints": 2,
    },
    "gather_elements.zh-TW.md": {
        "head": ("GATHER_ELEMENTS", "zh-TW", "10/30/2020", "2_1", Form.MARKDOWN),
        "fields": {INPUT: TENSOR, INDICES: TENSOR, OUTPUT: TENSOR, "Axis": "UINT"},
        "tables": {"3_0": (8, 4, 8), "2_1": (8, 1, 8)},
        "examples": [1],
        "text": (1, 5, 2, 1),
        "constraints": 2,
    },
    "gather_nd.ru-RU.md": {
        "head": ("GATHER_ND", "ru-RU", "10/31/2020", "2_1", Form.MARKDOWN),
        "fields": {
            INPUT: TENSOR,
            INDICES: TENSOR,
            OUTPUT: TENSOR,
            "InputDimensionCount": "UINT",
            "IndicesDimensionCount": "UINT",
        },
        "tables": {"3_0": (8, 4, 8), "2_1": (8, 1, 8)},
        "examples": [0, 1, 2],
        "text": (1, 7, 5, 2, 2),
        "constraints": 2,
    },
    "tile.ja-JP.txt": {
        "head": ("TILE", "ja-JP", None, "1_0", Form.TEXT),
        "fields": {INPUT: TENSOR, OUTPUT: TENSOR, "RepeatsCount": "UINT", "Repeats": "const UINT *"},
        "tables": {"4_1": (10, 10), "3_1": (8, 8), "2_1": (8, 8), "1_0": (2, 2)},
        "examples": [1],
        "text": (1, 1, 1, 1),
        "constraints": 1,
    },
}


def page(name: str) -> Page:
    return read_page(REAL / name)


def test_all_five_are_known_here() -> None:
    assert {path.name for path in REAL.iterdir() if path.is_file()} - {"README.md"} == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_what_the_page_states(name: str) -> None:
    found, facts = page(name), FACTS[name]
    assert found.problems == ()
    assert (found.operator, found.language, found.edition, found.introduced_in, found.form) == facts["head"]
    assert found.structure == f"DML_{found.operator}_OPERATOR_DESC"
    assert {declaration.name: declaration.type for declaration in found.declarations} == facts["fields"]
    # The Russian page shows `uint`; that is its own fault, and kept.
    types = {member.name.text: member.type for member in found.members}
    assert {field: kind.upper() if kind == "uint" else kind for field, kind in types.items() if kind} == facts["fields"]
    assert tuple(len(member.text) for member in found.members) == facts["text"]
    assert [example.number for example in found.examples] == facts["examples"]
    assert len(found.constraints) == facts["constraints"]
    assert len(found.availability) == 1
    assert found.has_original == (found.form is Form.MARKDOWN)


@pytest.mark.parametrize("name", FACTS)
def test_its_tables(name: str) -> None:
    found, facts = page(name), FACTS[name]
    sizes = {table.level: tuple(len(row.data_types or ()) for row in table.rows) for table in found.tables}
    assert sizes == facts["tables"]
    assert len(found.tables) == len(sizes)
    for table in found.tables:
        assert table.columns == ("tensor", "kind", "dimension_counts", "data_types")
        counts = EIGHT if table.level in ("3_0", "3_1", "4_1") else (4,)
        assert {row.dimension_counts for row in table.rows} == {counts}
        assert [row.kind for row in table.rows] == ["Input"] * (len(table.rows) - 1) + ["Output"]
        assert {len(row.cells) for row in table.rows} == {4}
        assert len(table.header) == (3 if name == "gather.zh-TW.txt" else 4)


@pytest.mark.parametrize("name", FACTS)
def test_every_item_stands_where_its_place_says(name: str) -> None:
    text = (REAL / name).read_text(encoding="utf-8")
    items = [item for item in placed(page(name)) if item[1]]
    assert [item for item in items if not at(text, item[2]).startswith(first_word(item[1]))] == []


def test_what_is_wrong_on_a_page_is_kept_as_it_is() -> None:
    russian = page("gather_nd.ru-RU.md")
    assert [row.tensor for row in russian.tables[0].rows] == ["инпуттенсор", "индицестенсор", "аутпуттенсор"]
    assert russian.tables[1].rows[1].data_types == ("ЗНАЧЕНИЕМ",)
    assert russian.tables[1].rows[1].cells[3].original == "UINT32"
    assert [member.type for member in russian.members[3:]] == ["uint", "uint"]
    japanese = page("tile.ja-JP.txt")
    assert [tensor.label.text for tensor in japanese.examples[0].tensors] == ["InputTensor", "InputTensor"]
    values = japanese.examples[0].tensors[0].values
    assert values is not None
    assert values.value == [[[[1, 2, 3], [4, 5, 6]]]]
    italian = page("gather_elements.it-IT.md")
    assert italian.examples[0].tensors[2].data_type is not None
    assert italian.examples[0].tensors[2].data_type.value == "UINT32"


@pytest.mark.parametrize(
    ("name", "field", "intervals"),
    [
        ("gather.zh-TW.txt", "Axis", [("0", "InputTensor.DimensionCount", True, False)]),
        ("gather.zh-TW.txt", "IndexDimensions", [("0", "IndicesTensor.DimensionCount", True, False)]),
        ("gather_elements.it-IT.md", "Axis", [("0", "InputTensor.DimensionCount", True, False)] * 2),
        ("gather_nd.ru-RU.md", "InputDimensionCount", [("1", "InputTensor.DimensionCount", True, True)] * 2),
        (
            "gather_nd.ru-RU.md",
            "IndicesDimensionCount",
            [("1", "индицестенсор. DimensionCount", True, True), ("1", "IndicesTensor.DimensionCount", True, True)],
        ),
        ("tile.ja-JP.txt", "OutputTensor", [("0", "InputTensor.DimensionCount-1", True, True)]),
    ],
)
def test_intervals(name: str, field: str, intervals: list[tuple[str, str, bool, bool]]) -> None:
    (member,) = (member for member in page(name).members if member.name.text == field)
    assert [(r.low, r.high, r.low_closed, r.high_closed) for r in member.ranges] == intervals


def test_values_of_the_nested_examples() -> None:
    found = page("gather.zh-TW.txt")
    example = found.examples[3]
    assert {name: value.value for name, value in example.attributes.items()} == {"Axis": 2, "IndexDimensions": 2}
    assert [tensor.sizes and tensor.sizes.value for tensor in example.tensors] == [[1, 3, 3], [1, 1, 2], [3, 1, 2]]
    assert [tensor.values and tensor.values.value for tensor in example.tensors] == [
        [[[1, 2, 3], [4, 5, 6], [7, 8, 9]]],
        [[[0, 2]]],
        [[[1, 3]], [[4, 6]], [[7, 9]]],
    ]
    roles = [block.role for block in found.code_blocks]
    assert roles == ["pseudocode", "syntax", "formula", *["example"] * 5]
