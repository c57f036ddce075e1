"""How far pages agree with the facts, in numbers and as a page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from commands import invoke
from page_factories import page_of, page_of_facts, row, table

from dml_conformance.documents.check.agreement import Shares, agreements
from dml_conformance.documents.read.model import Declaration, Page, Place
from dml_conformance.documents.report import agreement_page
from dml_conformance.spec.operator_facts import operator_facts

POOLING = page_of_facts("MAX_POOLING")


def shares(page: Page) -> dict[str, str]:
    [agreement] = agreements([page])[page.operator]
    return dict(zip(Shares._fields, map(str, agreement.shares), strict=True))


@pytest.mark.parametrize("name", operator_facts())
def test_a_page_that_says_what_the_facts_say_agrees_in_everything(name: str) -> None:
    [agreement] = agreements([page_of_facts(name)])[name]
    assert all(share.agreeing == share.every > 0 for share in agreement.shares)


def test_a_table_by_function_is_held_against_the_one_most_like_it() -> None:
    page = page_of_facts("REDUCE")
    every = len(operator_facts()["REDUCE"].support_tables) * 2  # InputTensor and OutputTensor
    assert shares(page)["data_types"] == f"{every}/{every}"
    of_sums = next(n for n, of_level in enumerate(page.tables) if "FLOAT16" in (of_level.rows[1].data_types or ()))
    rows = (page.tables[of_sums].rows[0], row("OutputTensor", "Output", (4,), ["FLOAT64"]))
    changed = msgspec.structs.replace(page.tables[of_sums], rows=rows)
    tables = (*page.tables[:of_sums], changed, *page.tables[of_sums + 1 :])
    assert shares(msgspec.structs.replace(page, tables=tables))["data_types"] == f"{every - 1}/{every}"


def test_what_differs_or_is_missing_does_not_agree() -> None:
    declared = (*POOLING.declarations[:3], Declaration("Strides", "UINT", Place(13, 3)))
    tables = (
        table("1_0", [row("InputTensor", "Input", (4,), ["FLOAT32"])]),
        table("3_0", [row("InputTensor", "Input", (4, 5), ["FLOAT32"]), *POOLING.tables[1].rows[1:]]),
    )
    changed = msgspec.structs.replace(
        POOLING, declarations=declared, introduced_in=None, availability=(), tables=tables
    )
    assert shares(changed) == {
        "fields": "4/7",
        "types": "3/4",
        "introduction": "0/1",
        "levels": "2/3",
        "rows": "3/4",
        "dimension_counts": "2/3",
        "data_types": "1/3",
    }


def test_the_page_has_a_line_for_every_operator_and_joins_pages_with_the_same_numbers() -> None:
    german = msgspec.structs.replace(POOLING, language="de-DE")
    older = msgspec.structs.replace(POOLING, language="ja-JP", tables=POOLING.tables[1:])
    lines = agreement_page(agreements([POOLING, german, older, page_of("TILE")])).splitlines()
    found = [line.split(" | ")[:3] for line in lines if line.startswith(("| MAX_POOLING |", "| TILE", "| all"))]
    assert found == [
        ["| all", "", "25/25"],
        ["| MAX_POOLING", "en-US, de-DE", "7/7"],
        ["| MAX_POOLING", "ja-JP", "7/7"],
        ["| TILE*", "en-US", "4/4"],
    ]
    assert sum(line.startswith("| ") for line in lines) == 177 + 1 + 3
    assert "2 of 177 operators have a page; there are 4 pages." in lines


def test_the_command_writes_it(tmp_path: Path) -> None:
    page = Path(__file__).parent.parent / "pages" / "tile.en-US.md"
    target = tmp_path / "pages.md"
    invoke("spec", "check-page", "--format", "agreement", "-o", target, page)
    assert "| TILE* | en-US | 4/4 | 4/4 | 1/1 |" in target.read_text()
