"""The five published pages: what they are, that what is wrong on them is kept, and what the checks find on them.

Every finding was looked at: all are true. The pages are not this project's to ship, so the tests need them beside the
checkout. Their fields, tables, intervals and examples are compared with the registry's in test_page_import.py.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from pages_support import REAL, at, check_translation, first_word, placed

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.read import Page, read_page
from dml_conformance.documents.read.model import Form

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the published pages are not beside this checkout")

# Of each page: operator, edition, introduced-in level, numbers of the examples, paragraphs by member, and how many
# constraints there are.
FACTS: dict[str, tuple[Any, ...]] = {
    "gather.zh-TW.txt": ("GATHER", None, "1_0", [1, 2, 3, 4, 5], (1, 3, 3, 1, 1), 2),
    "gather_elements.it-IT.md": ("GATHER_ELEMENTS", "10/30/2020", "2_1", [1], (1, 5, 2, 1), 2),
    "gather_elements.zh-TW.md": ("GATHER_ELEMENTS", "10/30/2020", "2_1", [1], (1, 5, 2, 1), 2),
    "gather_nd.ru-RU.md": ("GATHER_ND", "10/31/2020", "2_1", [0, 1, 2], (1, 7, 5, 2, 2), 2),
    "tile.ja-JP.txt": ("TILE", None, "1_0", [1], (1, 1, 1, 1), 1),
}
# What is found on each page, and the erratum that it is. Every finding was looked at: all are true.
with Path(__file__).with_name("published.tsv").open(encoding="utf-8", newline="") as file:
    FOUND = list(csv.DictReader(file, delimiter="\t"))

every_page = pytest.mark.parametrize("name", FACTS)


def page(name: str) -> Page:
    return read_page(REAL / name)


def test_all_five_are_known_here() -> None:
    assert {path.name for path in REAL.iterdir() if path.is_file()} - {"README.md"} == set(FACTS)
    assert {row["page"] for row in FOUND} == set(FACTS)


@every_page
def test_what_the_page_states(name: str) -> None:
    found = page(name)
    numbers = [example.number for example in found.examples]
    text = tuple(len(member.text) for member in found.members)
    stated = (found.operator, found.edition, found.introduced_in, numbers, text, len(found.constraints))
    assert stated == FACTS[name]
    assert found.problems == ()
    assert found.language == name.split(".")[1]
    assert found.form is (Form.TEXT if name.endswith(".txt") else Form.MARKDOWN)
    assert found.structure == f"DML_{found.operator}_OPERATOR_DESC"
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
    """Every error of the page itself is a known erratum."""
    found = check_page(page(name))
    translated = check_translation(page(name))
    expected = {row["finding"]: row["erratum"] for row in FOUND if row["page"] == name}
    assert {finding.id: finding.erratum or "" for finding in (*found, *translated)} == expected
    for finding in found:
        assert finding.erratum or finding.severity is not Severity.ERROR, finding
        assert finding.fragment
        assert finding.place.line > 1


def test_two_published_translations_of_one_page_say_the_same() -> None:
    names = ("gather_elements.it-IT.md", "gather_elements.zh-TW.md")
    italian, chinese = (page(name) for name in names)
    report = check_pages([italian, chinese])
    assert report.differences == ()
    assert [(row.language, row.edition) for row in report.pages] == [("it-IT", "10/30/2020"), ("zh-TW", "10/30/2020")]
