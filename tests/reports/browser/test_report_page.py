"""The page as people meet it: in a browser, with mouse, keyboard and links that are sent to others."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import numpy as np
import pytest
import report_data
from five_operators import TileDesc
from hostile_outputs import outputs_of, pages
from report_data import of_case, plain, righted

from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.records import NOT_CONFORMANT, Difference, Record, Verdict
from dml_conformance.reports.model.summary import case_size
from dml_conformance.reports.page import html as html_module
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

Show = Callable[..., Any]

SCRIPT = "<script>alert(1)</script>"
HUGE = 2**63 + 1  # no Number holds it
STRIDED = plain(
    Verdict.FAIL,
    reason="OutputTensor: 3 of 12 elements differ",
    data_type="FLOAT16",
    layout="padded",
    case_json={
        "type": "DML_OPERATOR_GATHER",
        "desc": {
            "InputTensor": {"DataType": "FLOAT16", "Sizes": [2, 2, 3], "TotalTensorSizeInBytes": HUGE},
            "OutputTensor": {
                "DataType": "FLOAT16",
                "Sizes": [2, 2, 3],
                "Strides": [16, 8, 2],
                "TotalTensorSizeInBytes": 60,
            },
            "Axis": 1,
        },
        "rule": "it's one",
        "level": "3_0",
        "data": {},
    },
    differences=(
        Difference((0, 1, 2), "1.0", "0x3c00", "2.0", "0x4000"),
        Difference((1, 0, 0), "-0.0", "0x8000", "0.0", "0x0000"),
        Difference((1, 1, 1), "any element of the input", "", "nan", "0x7e00"),
    ),
    difference_count=3,
    reproduce="dml-conformance replay --backend torch:cuda:0 'it'\"'\"'s'",
)
RECORDS = [*report_data.some_faulty(), STRIDED]


def written(path: Path, records: list[Record], **changes: object) -> Path:
    path.write_text(report_html(report_data.report_of(records, **changes)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("single") / "report.html", RECORDS)


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every second failure of the baseline passes, and the strided case fails anew."""
    folder = tmp_path_factory.mktemp("compared")
    before = report_data.some_faulty()
    after = [righted(record) if i % 2 else record for i, record in enumerate(before)]
    before = (*before, msgspec.structs.replace(STRIDED, verdict=Verdict.PASS, differences=(), difference_count=0))
    report_data.feed(StoreWriter(folder / "old.sqlite"), before)
    report_data.feed(StoreWriter(folder / "new.sqlite"), [*after, STRIDED])
    with Store(folder / "old.sqlite") as old, Store(folder / "new.sqlite") as new:
        (folder / "report.html").write_text(report_html(CampaignReport.of([new], old)), encoding="utf-8")
    return folder / "report.html"


def matching(**traits: str) -> int:
    """How many records have these traits; `differs` is a verdict as the page has it."""
    wanted = dict(traits)
    differs = wanted.pop("differs", None)
    return sum(
        all(str(getattr(record, name)) == value for name, value in wanted.items())
        and (differs is None or record.verdict in (*NOT_CONFORMANT, Verdict.ERROR))
        for record in RECORDS
    )


def shown(page: Any, count: int) -> None:
    """Wait until so many cases are found."""
    page.wait_for_function(
        "n => document.querySelector('.found').textContent.startsWith(n + ' case') &&"
        "!document.querySelector('.found').textContent.includes('searching')",
        arg=f"{count:,}",
    )


def opened(page: Any, digest: str) -> None:
    page.wait_for_selector(f"#case-title:has-text('{digest}')")


@pytest.fixture
def case(show: Show, single: Path) -> Any:
    """The page with the strided case open."""
    page = show(single, f"#cases?case={STRIDED.case[:12]}")
    opened(page, STRIDED.case[:12])
    return page


def select(page: Any, title: str, value: str) -> None:
    """Choose a value of a filter."""
    page.locator(".filters label", has=page.get_by_text(title, exact=True)).locator("select").select_option(value)


def number_in(text: str) -> int:
    """The number that a text begins with."""
    return int(text.split()[0].replace(",", ""))


# The list.


def test_every_case_is_listed_what_differs_first_and_few_rows_are_made(show: Show, single: Path) -> None:
    page = show(single)
    assert number_in(page.text_content(".found")) == len(RECORDS)
    assert page.get_attribute(".list table", "aria-rowcount") == str(len(RECORDS) + 1)
    assert re.search("fail|crash|timeout", page.locator(".list tbody tr .column-verdict").first.text_content())
    assert 10 < page.locator(".list tbody tr").count() < 60
    page.evaluate("document.querySelector('.list').scrollTop = 1e9")
    page.wait_for_selector(f".list tr[aria-rowindex='{len(RECORDS) + 1}']")
    assert page.locator(".list tbody tr").count() < 60


def unfold_families(page: Any) -> None:
    """Every family of the map with its operators below it."""
    for button in page.locator("button.family[aria-expanded=false]").all():
        button.click()


def test_a_red_cell_of_the_map_opens_its_smallest_case(show: Show, single: Path) -> None:
    page = show(single)
    unfold_families(page)
    cell = page.locator(".matrix td.not-conformant a").first
    state = dict(parse_qsl(cell.get_attribute("href").partition("?")[2]))
    cell.click()
    page.wait_for_selector("#case:not([hidden])")
    traits = {name: state[name] for name in ("operator", "level")}
    shown(page, matching(**traits, differs="differs"))
    differing = [record for record in RECORDS if record.verdict in NOT_CONFORMANT]
    at = [r for r in differing if (r.operator, r.level) == (state["operator"], state["level"])]
    assert state["case"] == min((case_size(r), r.case) for r in at)[1][:12]
    assert state["case"] in page.text_content("#case")


def test_a_family_folds_out_to_its_operators_and_in_again(show: Show, single: Path) -> None:
    """What is folded is no part of the page until it is opened."""
    page = show(single)
    before = page.locator("*").count()
    assert page.locator("button.family").count() > 0
    unfold_families(page)
    operators = set(page.locator(".matrix tbody.unfolded th").all_text_contents())
    assert {record.operator for record in RECORDS} >= operators > set()
    cells = page.locator(".matrix tbody.unfolded td")
    assert cells.count() == len(operators) * (page.locator(".matrix thead tr").first.locator("th").count() - 1)
    for button in page.locator("button.family[aria-expanded=true]").all():
        button.click()
    assert page.locator("*").count() == before
    place = page.locator(".every-operator")
    assert place.locator("table").count() == 0
    place.locator("summary").click()
    page.wait_for_selector(".every-operator table")
    assert place.locator("td[title]").count() == len(report_data.summary_of(RECORDS).matrix())


# One operator, and the search.


def test_an_operator_has_a_view_of_all_that_is_about_it(show: Show, single: Path) -> None:
    page = show(single)
    unfold_families(page)
    page.locator(".matrix a", has_text="GATHER_ND1").first.click()
    page.wait_for_function("location.hash === '#operator?operator=GATHER_ND1'")
    view = page.locator("#operator")
    assert page.evaluate("document.activeElement.id") == "operator-title"
    assert view.locator("h2").text_content() == "GATHER_ND1"
    assert not page.locator("#matrix").is_visible()
    for title in ("Operators by feature level", "Cases by rule", "What differs", "Throughput", "Errata that apply"):
        assert view.get_by_role("heading", name=title, exact=True).count() == 1
    of_operator = [record for record in RECORDS if record.operator == "GATHER_ND1"]
    rules = view.get_by_role("group", name="Cases of GATHER_ND1 by rule").locator("tbody tr")
    assert rules.count() == len({record.rule for record in of_operator})
    assert rules.first.locator(".not-conformant").count() == 1
    owners = set(view.locator("[data-operator]").evaluate_all("all => all.map(each => each.dataset.operator)"))
    assert all("GATHER_ND1" in names.split() for names in owners)
    # On the way down its cases stay those of the operator and rule.
    link = rules.first.locator("td a").first
    count = number_in(link.text_content())
    rule = rules.first.locator("th").text_content()
    link.click()
    shown(page, count)
    assert count == matching(operator="GATHER_ND1", rule=rule, differs="differs")
    assert page.locator("#matrix").is_visible()
    assert not view.is_visible()
    page.locator(".list tbody a").first.click()
    page.locator("#case-title a").click()
    page.wait_for_function("location.hash === '#operator?operator=GATHER_ND1'")
    view.get_by_role("link", name="All operators").click()
    page.wait_for_selector("#operator", state="hidden")
    assert page.locator("#operator *").count() == 1  # its heading
    page.evaluate("location.hash = '#operator?operator=%3Cb%3E'")
    page.wait_for_selector("#operator:has-text('nothing of it')")
    assert view.locator("h2").inner_html() == "&lt;b&gt;"


def test_operators_rules_and_verdicts_are_found_by_name(show: Show, single: Path) -> None:
    page = show(single)
    search = page.get_by_role("searchbox", name="Find an operator, a rule or a verdict")
    found = page.locator(".finds li")
    search.fill("gather_nd")
    kinds = found.locator("span").all_text_contents()
    assert {kind.strip() for kind in kinds[:2]} == {"operator"}
    search.fill("axis-range rule")
    assert all("axis-range" in text for text in found.locator("a").all_text_contents())
    search.fill("timeout")
    search.press("Enter")
    shown(page, matching(verdict="timeout"))
    assert found.count() == 0
    search.fill("no such thing")
    assert page.locator(".find [role=status]").text_content() == "0 found"
    search.press("Escape")
    assert search.input_value() == ""


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("title", "value", "traits"),
    [
        ("Verdict", "crash", {"verdict": "crash"}),
        ("Verdict", "differs", {"differs": "differs"}),
        ("Operator", "TILE", {"operator": "TILE"}),
        ("Level", "4_1", {"level": "4_1"}),
        ("Rule", "GATHER.axis-range", {"rule": "GATHER.axis-range"}),
        ("Type", "INT8", {"data_type": "INT8"}),
        ("Dimensions", "3", {"rank": "3"}),
        ("Phase", "sweep", {"phase": "sweep"}),
        ("Layout", "padded", {"layout": "padded"}),
        ("Index type", "-", {"index_type": ""}),
    ],
)
def test_a_filter_shows_the_cases_of_its_value(
    show: Show, single: Path, title: str, value: str, traits: dict[str, str]
) -> None:
    page = show(single)
    select(page, title, value)
    wanted = matching(**traits)
    assert 0 < wanted < len(RECORDS)
    shown(page, wanted)


def test_filters_add_up_and_are_cleared(show: Show, single: Path) -> None:
    page = show(single, "#cases?operator=GATHER&verdict=fail")
    shown(page, matching(operator="GATHER", verdict="fail"))
    page.get_by_role("button", name="Clear").click()
    shown(page, len(RECORDS))


def test_text_finds_traits_digests_and_what_stands_in_a_case(show: Show, single: Path) -> None:
    page = show(single)
    text = page.get_by_label("Text")
    text.fill(RECORDS[7].case[:12])
    shown(page, 1)
    recipes = [recipe for r in RECORDS for recipe in (r.case_json.get("data") or {}).values()]
    seed = max((str(recipe.get("seed", "")) for recipe in recipes), key=len)
    text.fill(f"gather {seed}")
    wanted = [
        r
        for r in RECORDS
        if seed in json.dumps(r.case_json) + r.reproduce and "gather" in json.dumps(r.case_json).lower()
    ]
    shown(page, len(wanted))
    text.fill("no such thing anywhere")
    shown(page, 0)


def test_a_heading_sorts(show: Show, single: Path) -> None:
    page = show(single)
    for order, level in (("ascending", min(r.level for r in RECORDS)), ("descending", max(r.level for r in RECORDS))):
        page.get_by_role("button", name="Level").click()
        page.wait_for_selector(f".list th[aria-sort={order}]")
        assert page.locator(".list tbody tr .column-level").first.text_content() == level


# Links.


def test_a_link_shows_the_same_to_whoever_gets_it(show: Show, single: Path) -> None:
    page = show(single)
    page.get_by_label("Text").fill("strides")
    page.wait_for_function("location.hash === '#cases?text=strides'")
    select(page, "Verdict", "fail")
    page.wait_for_function("location.hash.includes('verdict=fail')")
    page.locator(".list tbody a").nth(1).click()
    title = page.locator("#case-title").text_content()
    fragment = "#" + page.url.partition("#")[2]
    page.wait_for_function("!document.querySelector('.found').textContent.includes('searching')")
    other = show(single, fragment)
    other.wait_for_selector("#case-title")
    shown(other, number_in(page.text_content(".found")))
    assert other.locator("#case-title").text_content() == title
    assert other.get_by_label("Text").input_value() == "strides"


def test_back_and_forward_go_through_what_was_shown(show: Show, single: Path) -> None:
    page = show(single)
    page.goto(single.as_uri() + "#cases?operator=TILE")
    shown(page, matching(operator="TILE"))
    page.locator(".list tbody a").first.click()
    page.wait_for_selector("#case:not([hidden])")
    digest = page.locator("#case-title .mono").text_content()
    page.go_back()
    page.wait_for_selector("#case", state="hidden")
    shown(page, matching(operator="TILE"))
    page.go_forward()
    opened(page, digest)


def test_a_case_that_the_page_has_not_is_said_to_be_elsewhere(show: Show, single: Path) -> None:
    page = show(single, "#cases?case=000000000000")
    page.wait_for_selector("#case:has-text('This page does not hold the case')")
    assert show(single, "#cases?case=%3Cb%3E&operator=none").locator("#case b").count() == 0


# One case.


def test_a_case_tells_its_rule_in_words_with_its_source(case: Any) -> None:
    """Numbers beyond what a browser counts exactly stay exact."""
    rule = next(rule for rule in report_data.campaign().rules if rule["id"] == STRIDED.rule)
    assert rule["statement"][1:] in case.text_content("#case")
    assert case.get_attribute("#case a:has-text('Source')", "href") == rule["source"]
    assert STRIDED.reason in case.text_content("#case")
    assert case.locator("#case pre").last.text_content().count(str(HUGE)) == 1
    assert case.locator("#case td.number", has_text=str(HUGE)).count() == 1


def test_differing_cells_are_marked_with_value_bits_and_place_in_memory(case: Any) -> None:
    grid = case.locator("#case .grid").first
    slices = case.locator("#case .choices select").nth(1).locator("option")
    assert slices.all_text_contents() == ["[0, :, :], 1 ≠", "[1, :, :], 2 ≠"]
    assert grid.locator("td.differs").count() == 1
    assert grid.locator("tbody td").count() == 6
    cell = grid.locator("td.differs")
    assert cell.text_content() == "differs: 1.0≠ but got 2.0"
    # 0 * 16 + 1 * 8 + 2 * 2 elements of two bytes
    assert cell.get_attribute("title") == "[0, 1, 2], element 12 in memory, byte 24"
    case.get_by_label("Show").select_option("bits")
    assert cell.text_content() == "differs: 0x3c00≠ but got 0x4000"
    case.get_by_label("Show").select_option("offset")
    assert cell.text_content() == "differs: ≠ 12"
    assert grid.locator("td.same").first.text_content() == "0"
    case.get_by_label("Slice").select_option("[1, :, :]")
    assert grid.locator("td.differs").count() == 2
    rows = case.locator("#case table:has(caption:has-text('differing elements')) tbody tr")
    told = rows.nth(1).locator("th, td").all_text_contents()
    assert told == ["1, 0, 0", "-0.0", "0x8000", "0.0", "0x0000", "16", "32"]
    assert "open" in rows.nth(2).text_content()


def with_wrong_elements(wrong: list[int], recorded: int) -> Record:
    """TILE to 2 x 3 x 8 elements, of which some came out as 99."""
    output = TensorDesc.of(DataType.FLOAT32, (2, 3, 8))
    case = Case.of(TileDesc(TensorDesc.of(DataType.FLOAT32, (2, 3, 4)), output, (1, 1, 2)), HIGHEST)
    places = [tuple(map(int, np.unravel_index(at, output.sizes))) for at in wrong[:recorded]]
    differences = tuple(Difference(place, "10.0", "0x41200000", "99.0", "0x42c60000") for place in places)
    return plain(
        Verdict.FAIL,
        operator="TILE",
        rule="TILE.values",
        case_json=case.to_json(),
        differences=differences,
        difference_count=len(wrong),
    )


def test_cells_that_were_not_recorded_are_told_from_those_that_agree(show: Show, tmp_path: Path) -> None:
    record = with_wrong_elements([9, 11, 13, 40], 2)
    page = show(written(tmp_path / "report.html", [record]), f"#cases?case={record.case[:12]}")
    grid = page.locator("#case .grid").first
    assert grid.locator("td.differs").count() == 2
    assert grid.locator("td.same").count() == 10  # up to the last one recorded, which is element 11 of 48
    unknown = grid.locator("td.unknown")
    assert unknown.count() == 12
    assert unknown.first.text_content() == "·"
    assert grid.locator("td.differs").first.text_content() == "differs: 10.0≠ but got 99.0"
    assert grid.locator("td.same").first.text_content() == "="
    assert "4 elements differ; the first 2 are recorded" in page.text_content("#case figcaption")


def test_memory_of_a_strided_tensor_is_drawn(case: Any) -> None:
    memory = case.locator("#case details", has_text="Memory of OutputTensor")
    memory.locator("summary").click()
    cells = memory.locator("td")
    assert cells.count() == 1 + 16 + 8 + 2 * 2  # from the first element to the last
    assert memory.locator("td.same, td.differs").count() == 12
    assert memory.locator("td.differs").all_text_contents() == ["≠ 0,1,2", "≠ 1,0,0", "≠ 1,1,1"]
    assert cells.nth(12).text_content() == "≠ 0,1,2"
    assert cells.nth(1).text_content() == "gap"


def test_the_line_that_reproduces_a_case_is_copied_and_the_case_downloaded(case: Any) -> None:
    case.locator("#case button.copy").first.click()
    case.wait_for_selector("#case button.copy:has-text('Copied')")
    assert case.evaluate("navigator.clipboard.readText()") == STRIDED.reproduce
    case.get_by_role("button", name="Write it as a DxDispatch model").click()
    case.wait_for_function("navigator.clipboard.readText().then(text => text.includes('export-model'))")
    words = shlex.split(case.evaluate("navigator.clipboard.readText()"))
    assert json.loads(words.pop(2)) == STRIDED.case_json
    assert words == ["dml-conformance", "export-model", "--out", f"case-{STRIDED.case[:12]}"]
    case.locator("#differences button.copy").first.click()
    line = case.locator("#differences .command pre").first.text_content()
    case.wait_for_function("line => navigator.clipboard.readText().then(text => text === line)", arg=line)
    with case.expect_download() as download:
        case.get_by_role("button", name="Download the case").click()
    assert download.value.suggested_filename == f"case-{STRIDED.case[:12]}.json"
    assert json.loads(download.value.path().read_text()) == STRIDED.case_json


def test_what_was_left_out_is_said(show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "MAX_PAGE", 600_000)
    page = show(written(tmp_path / "small.html", list(report_data.faulty(3000))), "#cases?verdict=pass")
    assert "The rest was left out" in page.text_content("#cases > p")
    texts = set()
    links = page.locator(".list tbody a").evaluate_all("all => all.map(a => [a.textContent, a.getAttribute('href')])")
    for digest, address in links[:12]:  # a click may meet a row that is drawn anew, and be lost
        page.evaluate("address => { location.hash = address }", address)
        opened(page, digest)
        texts.add("no room" in page.text_content("#case"))
    assert True in texts


# Keyboard.


def test_the_list_and_its_cases_are_reached_by_keys(show: Show, single: Path) -> None:
    page = show(single)
    page.locator(".list").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement"
    assert page.evaluate(f"{focused}.dataset.index") == "2"
    page.keyboard.press("End")
    assert page.evaluate(f"{focused}.dataset.index") == str(len(RECORDS) - 1)
    page.keyboard.press("Home")
    first = page.evaluate(f"{focused}.textContent")
    page.keyboard.press("Enter")
    opened(page, first)
    assert page.evaluate(f"{focused}.id") == "case-title"
    page.keyboard.press("j")
    page.wait_for_function("digest => !document.querySelector('#case-title').textContent.includes(digest)", arg=first)
    page.keyboard.press("k")
    opened(page, first)
    page.keyboard.press("/")
    assert page.evaluate(f"{focused}.type") == "search"
    page.keyboard.type("j/")  # letters are letters there
    assert page.get_by_label("Text").input_value() == "j/"
    page.keyboard.press("Escape")
    page.wait_for_selector("#case", state="hidden")


# What comes from outside.


def test_markup_from_outside_is_text(show: Show, tmp_path: Path) -> None:
    hostile = msgspec.structs.replace(
        STRIDED,
        rule=SCRIPT,
        answered=SCRIPT,
        reason=f"<img src=x onerror=alert(1)>\u202e{SCRIPT}",
        data_type=SCRIPT,
        layout=SCRIPT,
        reproduce=SCRIPT,
        differences=(Difference((0,), SCRIPT, SCRIPT, SCRIPT, SCRIPT),),
    )
    hostile = of_case(hostile, {"type": SCRIPT, "desc": {SCRIPT: SCRIPT, "</script><script>alert(2)": 1}})
    described = report_data.backend(name=f'"{SCRIPT}', device=SCRIPT)
    digits = hostile.case[:12]
    page = show(written(tmp_path / "hostile.html", [hostile, plain()], backend=described), f"#cases?case={digits}")
    opened(page, digits)
    assert page.locator("#case script, #case img, .filters script").count() == 0
    assert SCRIPT in page.text_content("#case")
    assert "\\u202e" in page.text_content("#case")
    assert page.locator("dd", has_text=SCRIPT).count() >= 1


@pytest.mark.slow
def test_nothing_of_what_comes_from_outside_runs(tmp_path: Path, show: Show) -> None:
    """`show` sees to it that no page opens a dialog, asks for anything or says anything on the console."""
    outputs = outputs_of(tmp_path)
    shown = 0
    for name, _ in pages(outputs):
        if (outputs.folder / name).exists():
            page = show(outputs.folder / name)
            assert page.evaluate("document.querySelectorAll('img[onerror], [onload]').length") == 0
            assert "alert(1)" in page.evaluate("document.documentElement.textContent"), name
            shown += 1
    assert shown >= 5


# Several campaigns.


def test_regressions_lead_to_their_cases_and_say_what_each_campaign_made_of_them(show: Show, compared: Path) -> None:
    page = show(compared)
    assert page.locator("h2").first.text_content() == "Since the baseline"
    row = page.locator("#changes tbody tr").first
    assert row.locator("th").text_content() == "regression"
    row.locator("a").click()
    shown(page, 1)
    page.locator(".list tbody a").first.click()
    opened(page, STRIDED.case[:12])
    elsewhere = page.locator("#case table:has(caption:has-text('Every time'))")
    verdicts = [text.strip("✓✗") for text in elsewhere.locator(".verdict").all_text_contents()]
    assert sorted(verdicts) == ["fail", "pass"]
    elsewhere.locator("a:not([aria-current])").click()
    page.wait_for_selector("#case dd:has-text('baseline')")
    assert page.locator("#case td.differs").count() == 0


def test_a_repair_is_found_by_its_link(show: Show, compared: Path) -> None:
    page = show(compared)
    link = page.locator("#changes tbody tr", has_text="repair").first.locator("a")
    count = number_in(link.text_content())
    link.click()
    shown(page, count)


# Accuracy.


def test_what_was_computed_is_sorted_by_its_use_of_the_bound_or_by_any_heading(show: Show, tmp_path: Path) -> None:
    figures = (("GATHER", 3.0, 0.1), ("TILE", 12.0, 0.25), ("GATHER_ND", 0.5, 1.5))
    records = [
        plain(number=n, operator=operator, data_type="FLOAT32", errors=Errors(ulp, ((0, 5),), (), used))
        for n, (operator, ulp, used) in enumerate(figures)
    ]
    page = show(written(tmp_path / "report.html", records))
    table = page.locator("#accuracy table.sortable")
    names = table.locator("tbody th")
    assert names.all_text_contents() == ["GATHER_ND", "TILE", "GATHER"]
    assert table.locator("[aria-sort]").text_content() == "Of the bound"
    table.get_by_role("button", name="Largest error, ULP").click()
    assert names.all_text_contents() == ["TILE", "GATHER", "GATHER_ND"]
    table.get_by_role("button", name="Operator").click()
    assert names.all_text_contents() == ["GATHER", "GATHER_ND", "TILE"]
    table.get_by_role("button", name="Operator").press("Enter")
    assert names.all_text_contents() == ["TILE", "GATHER_ND", "GATHER"]
    assert table.locator("[aria-sort=descending]").text_content() == "Operator"


# Everyone.


@pytest.mark.few(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window(show: Show, single: Path, compared: Path, scheme: str, width: int) -> None:
    for path in (single, compared):
        page = show(path, color_scheme=scheme, viewport={"width": width, "height": 900})
        page.goto(path.as_uri() + f"#cases?case={STRIDED.case[:12]}")
        opened(page, STRIDED.case[:12])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 384) == (scheme == "dark")


def test_on_paper_nothing_is_folded_and_nothing_is_a_control(show: Show, single: Path) -> None:
    page = show(single)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    for selector in (".filters", ".list", "nav.contents", "#differences .copy >> nth=0"):
        assert not page.locator(selector).is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


def test_without_scripts_all_but_the_list_is_there(show: Show, single: Path) -> None:
    page = show(single, java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert page.locator(".matrix td").count() > 10
    assert "needs JavaScript" in page.text_content("#cases")


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "scheme"), [("single", "dark"), ("compared", "light")])
def test_no_accessibility_fault_is_found(
    show: Show, request: pytest.FixtureRequest, assert_accessible: Callable[..., None], name: str, scheme: str
) -> None:
    path = request.getfixturevalue(name)
    page = show(path, f"#cases?case={STRIDED.case[:12]}", color_scheme=scheme, bypass_csp=True)
    opened(page, STRIDED.case[:12])
    scrolling = 'role="group"|<pre |id="case-title"'  # the last takes the focus from a link to it
    assert_accessible(page, scrolling, 1000)
