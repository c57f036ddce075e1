"""The five published pages: what they are, that what is wrong on them is kept, and what the checks find on them.

Every finding was looked at: all are true. The pages are not this project's to ship, so the tests need them beside the
checkout. Their fields, tables, intervals and examples are compared with the registry's in test_page_import.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from pages_support import REAL, at, check_translation, first_word, placed

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.read import Page, read_page
from dml_conformance.documents.read.model import Form, Place

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the published pages are not beside this checkout")

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

# Findings by page with the erratum that each is, "" where it is none.
FOUND: dict[str, dict[str, str]] = {
    "gather.zh-TW.txt": {
        "property-mismatch:GATHER:OutputTensor/DataType": "GATHER-4",
        "registry-range:GATHER:IndexDimensions": "GATHER-1",
        "example-range:GATHER:1/IndexDimensions": "GATHER-1",
        "example-range:GATHER:3/IndexDimensions": "GATHER-1",
        "example-formula:GATHER:3/OutputTensor": "GATHER-2",
        "example-rule:GATHER:3/output-rank": "GATHER-2",
        "example-title:GATHER:4": "GATHER-3",
        "example-title:GATHER:5": "GATHER-3",
        "example-level:GATHER:1": "GATHER-6",
        "example-level:GATHER:2": "GATHER-6",
        "example-level:GATHER:3": "GATHER-6",
        "example-level:GATHER:4": "GATHER-6",
        "example-level:GATHER:5": "GATHER-6",
        "table-header:GATHER:4_1": "",
        "table-header:GATHER:3_0": "",
        "table-header:GATHER:2_1": "",
        "table-header:GATHER:1_0": "",
    },
    "gather_elements.it-IT.md": {
        "example-level:GATHER_ELEMENTS:1": "GATHER_ELEMENTS-3",
        "example-constraint:GATHER_ELEMENTS:1/OutputTensor.DataType": "GATHER_ELEMENTS-1",
        "older-edition:GATHER_ELEMENTS:4_1": "",
    },
    "gather_elements.zh-TW.md": {
        "example-level:GATHER_ELEMENTS:1": "GATHER_ELEMENTS-3",
        "example-constraint:GATHER_ELEMENTS:1/OutputTensor.DataType": "GATHER_ELEMENTS-1",
        "older-edition:GATHER_ELEMENTS:4_1": "",
    },
    "gather_nd.ru-RU.md": {
        "property-mismatch:GATHER_ND:OutputTensor/DataType": "GATHER_ND-3",
        "example-formula:GATHER_ND:0/OutputTensor": "GATHER_ND-1",
        "example-formula:GATHER_ND:2/OutputTensor": "GATHER_ND-1",
        "figure-impossible:GATHER_ND:IndicesDimensionCount/tuple-size": "GATHER_ND-6",
        "example-level:GATHER_ND:1": "GATHER_ND-5",
        "older-edition:GATHER_ND:4_1": "",
    },
    "tile.ja-JP.txt": {
        "example-label:TILE:1/OutputTensor": "TILE-1",
        "registry-agreement-unlisted:TILE:DimensionCount": "TILE-3",
    },
}

# Every finding on the published pages was looked at: all are true. The product name is a matter of style;
# the others give a reader a name or type that does not exist.
TRANSLATED: dict[str, tuple[str, ...]] = {
    "gather.zh-TW.txt": (),
    "tile.ja-JP.txt": (),
    "gather_elements.it-IT.md": (
        "translation-name:GATHER_ELEMENTS:members/IndicesTensor/Sizes",
        "translation-name:GATHER_ELEMENTS:members/OutputTensor/Sizes",
        "translation-name:GATHER_ELEMENTS:constraints/DataType",
    ),
    "gather_elements.zh-TW.md": (
        "translation-name:GATHER_ELEMENTS:title/directml.h",
        "translation-name:GATHER_ELEMENTS:description/Microsoft.AI.DirectML",
        "translation-name:GATHER_ELEMENTS:members/IndicesTensor/InputTensor.Sizes",
        "translation-name:GATHER_ELEMENTS:members/IndicesTensor/Sizes",
        "translation-name:GATHER_ELEMENTS:members/IndicesTensor/Axis",
        "translation-name:GATHER_ELEMENTS:members/OutputTensor/IndicesTensor.Sizes",
        "translation-name:GATHER_ELEMENTS:members/OutputTensor/InputTensor.DataType",
        "translation-name:GATHER_ELEMENTS:members/OutputTensor/Sizes",
        "translation-name:GATHER_ELEMENTS:members/OutputTensor/DataType",
        "translation-name:GATHER_ELEMENTS:constraints/DataType",
        "translation-cell-name:GATHER_ELEMENTS:requirements/directml.h",
    ),
    "gather_nd.ru-RU.md": (
        "translation-name:GATHER_ND:title/directml.h",
        "translation-name:GATHER_ND:description/Microsoft.AI.DirectML",
        "translation-product:GATHER_ND:description/DirectML",
        "translation-product:GATHER_ND:description/DirectML#2",
        "translation-name:GATHER_ND:members/IndicesTensor/InputTensor.DimensionCount",
        "translation-name:GATHER_ND:members/IndicesTensor/InputTensor.DimensionCount#2",
        "translation-name:GATHER_ND:members/IndicesTensor/IndicesTensor",
        "translation-name:GATHER_ND:members/IndicesTensor/InputTensor",
        "translation-name:GATHER_ND:members/IndicesTensor/IndicesDimensionCount",
        "translation-name:GATHER_ND:members/IndicesTensor/Sizes",
        "translation-name:GATHER_ND:members/OutputTensor/InputTensor.DimensionCount",
        "translation-name:GATHER_ND:members/OutputTensor/OutputTensor.Sizes",
        "translation-name:GATHER_ND:members/OutputTensor/IndicesTensor.Sizes",
        "translation-name:GATHER_ND:members/OutputTensor/InputTensor.Sizes",
        "translation-name:GATHER_ND:members/OutputTensor/OutputTensor.DimensionCount",
        "translation-type:GATHER_ND:members/InputDimensionCount",
        "translation-name:GATHER_ND:members/InputDimensionCount/InputTensor",
        "translation-name:GATHER_ND:members/InputDimensionCount/InputTensor.Sizes",
        "translation-type:GATHER_ND:members/IndicesDimensionCount",
        "translation-range:GATHER_ND:members/IndicesDimensionCount/[1,IndicesTensor.DimensionCount]",
        "translation-name:GATHER_ND:members/IndicesDimensionCount/IndicesTensor",
        "translation-name:GATHER_ND:members/IndicesDimensionCount/IndicesTensor.Sizes",
        "translation-name:GATHER_ND:members/IndicesDimensionCount/IndicesDimensionCount",
        "translation-name:GATHER_ND:constraints/IndicesTensor",
        "translation-name:GATHER_ND:constraints/InputTensor",
        "translation-name:GATHER_ND:constraints/OutputTensor",
        "translation-name:GATHER_ND:constraints/InputTensor#2",
        "translation-name:GATHER_ND:constraints/OutputTensor#2",
        "translation-name:GATHER_ND:constraints/DataType",
        "translation-tensor:GATHER_ND:3_0/InputTensor",
        "translation-tensor:GATHER_ND:3_0/IndicesTensor",
        "translation-tensor:GATHER_ND:3_0/OutputTensor",
        "translation-tensor:GATHER_ND:2_1/InputTensor",
        "translation-tensor:GATHER_ND:2_1/IndicesTensor",
        "translation-data-types:GATHER_ND:2_1/IndicesTensor",
        "translation-tensor:GATHER_ND:2_1/OutputTensor",
        "translation-cell-name:GATHER_ND:requirements/directml.h",
    ),
}

every_page = pytest.mark.parametrize("name", FACTS)


def page(name: str) -> Page:
    return read_page(REAL / name)


def test_all_five_are_known_here() -> None:
    assert {path.name for path in REAL.iterdir() if path.is_file()} - {"README.md"} == set(FACTS)
    assert FOUND.keys() == TRANSLATED.keys() == FACTS.keys()


@every_page
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


@every_page
def test_every_item_stands_where_its_place_says(name: str) -> None:
    text = (REAL / name).read_text(encoding="utf-8")
    items = [item for item in placed(page(name)) if item[1]]
    assert [item for item in items if not at(text, item[2]).startswith(first_word(item[1]))] == []


def test_what_is_wrong_on_a_page_is_kept_as_it_is() -> None:
    russian = page("gather_nd.ru-RU.md")
    assert [row.cells[0].text for row in russian.tables[0].rows] == ["инпуттенсор", "индицестенсор", "аутпуттенсор"]
    assert russian.tables[1].rows[1].cells[3].text == "ЗНАЧЕНИЕМ"
    assert russian.tables[1].rows[1].cells[3].original == "UINT32"
    assert [member.type_line.text.partition(": ")[2] for member in russian.members[3:]] == ["uint", "uint"]
    japanese = page("tile.ja-JP.txt")
    assert [tensor.label.text for tensor in japanese.examples[0].tensors] == ["InputTensor", "InputTensor"]
    values = japanese.examples[0].tensors[0].values
    assert values.value == [[[[1, 2, 3], [4, 5, 6]]]]
    italian = page("gather_elements.it-IT.md")
    assert italian.examples[0].tensors[2].data_type.value == "UINT32"


@every_page
def test_the_findings_on_the_page(name: str) -> None:
    """Every error is a known erratum."""
    found = check_page(page(name))
    assert {finding.id: finding.erratum for finding in found} == FOUND[name]
    for finding in found:
        assert finding.erratum or finding.severity is not Severity.ERROR, finding
        assert finding.fragment
        assert finding.place.line > 1


@every_page
def test_the_findings_on_the_translation(name: str) -> None:
    assert sorted(finding.id for finding in check_translation(page(name))) == sorted(TRANSLATED[name])


def test_what_the_russian_page_says_instead_of_the_names() -> None:
    found = {finding.id: finding for finding in check_translation(page("gather_nd.ru-RU.md"))}
    said = {finding_id.partition(":")[2].partition(":")[2]: finding.found for finding_id, finding in found.items()}
    assert said["2_1/IndicesTensor"] == "ЗНАЧЕНИЕМ"
    assert said["members/InputDimensionCount"] == "uint"
    assert said["constraints/InputTensor#2"] == "Инпуттенсор"
    assert said["members/OutputTensor/IndicesTensor.Sizes"] == "индицестенсор. размеры"
    assert said["requirements/directml.h"] == "директмл. h"
    places = {
        finding.expected: finding.place for finding in found.values() if finding.check == "translation-data-types"
    }
    assert places == {"UINT32": Place(200, 407)}


def test_two_published_translations_of_one_page_say_the_same() -> None:
    names = ("gather_elements.it-IT.md", "gather_elements.zh-TW.md")
    italian, chinese = (page(name) for name in names)
    report = check_pages([italian, chinese])
    assert report.differences == ()
    assert [(row.language, row.edition) for row in report.pages] == [("it-IT", "10/30/2020"), ("zh-TW", "10/30/2020")]
