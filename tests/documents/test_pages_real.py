"""The five real pages: what they are, how much text stands where, and that what is wrong on them is kept.

Their fields, tables, intervals and examples are compared with the registry's in test_page_import.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from pages_support import REAL, at, first_word, placed

from dml_conformance.documents.read import Page, read_page
from dml_conformance.documents.read.model import Form

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real pages are not here; they are not shipped")

# Of each page: operator, language, edition, introduced-in level, numbers of the examples, paragraphs by member, and
# how many constraints there are.
FACTS: dict[str, dict[str, Any]] = {
    "gather.zh-TW.txt": {
        "head": ("GATHER", "zh-TW", None, "1_0", Form.TEXT),
        "examples": [1, 2, 3, 4, 5],
        "text": (1, 3, 3, 1, 1),
        "constraints": 2,
    },
    "gather_elements.it-IT.md": {
        "head": ("GATHER_ELEMENTS", "it-IT", "10/30/2020", "2_1", Form.MARKDOWN),
        "examples": [1],
        "text": (1, 5, 2, 1),
        "constraints": 2,
    },
    "gather_elements.zh-TW.md": {
        "head": ("GATHER_ELEMENTS", "zh-TW", "10/30/2020", "2_1", Form.MARKDOWN),
        "examples": [1],
        "text": (1, 5, 2, 1),
        "constraints": 2,
    },
    "gather_nd.ru-RU.md": {
        "head": ("GATHER_ND", "ru-RU", "10/31/2020", "2_1", Form.MARKDOWN),
        "examples": [0, 1, 2],
        "text": (1, 7, 5, 2, 2),
        "constraints": 2,
    },
    "tile.ja-JP.txt": {
        "head": ("TILE", "ja-JP", None, "1_0", Form.TEXT),
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
    assert tuple(len(member.text) for member in found.members) == facts["text"]
    assert [example.number for example in found.examples] == facts["examples"]
    assert len(found.constraints) == facts["constraints"]
    assert len(found.availability) == 1
    assert found.has_original == (found.form is Form.MARKDOWN)


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
