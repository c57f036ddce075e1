"""Campaigns side by side: each column says what its records say, and the command writes a page or nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import report_data
from commands import invoke
from html_page import Page
from msgspec.structs import replace
from report_data import another, plain, righted

from dml_conformance.reports.model.records import (
    NOT_CONFORMANT,
    Caches,
    Phase,
    Record,
    Throughput,
    Timing,
    Verdict,
    describe_rules,
)
from dml_conformance.reports.model.summary import CellVerdict, FailureKind, Summary, case_size
from dml_conformance.reports.model.text import binary_size, counts_text, share_of_copy
from dml_conformance.reports.page import html as html_module
from dml_conformance.reports.page.changes import ChangeKind
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignCell, CampaignReport, DifferenceGroup, RuleRow
from dml_conformance.reports.store.results import Store, StoreError, StoreWriter


def of_stores(*campaigns: tuple[Iterable[Record], dict[str, Any]]) -> CampaignReport:
    """Campaigns by their records and what of them is not as usual, through stores."""
    with ExitStack() as stack:
        paths = [report_data.stored(records, **changes) for records, changes in campaigns]
        return CampaignReport.of([stack.enter_context(Store(path)) for path in paths])


def compared(*campaigns: tuple[str, Iterable[Record]]) -> CampaignReport:
    """Campaigns by the backend's name, through stores."""
    return of_stores(*((records, {"backend": report_data.backend(name=name)}) for name, records in campaigns))


@pytest.fixture(scope="module")
def pair() -> CampaignReport:
    records = report_data.some_faulty()
    return compared(("good", map(righted, records)), ("bad", records))


@pytest.fixture(scope="module")
def text(pair: CampaignReport) -> str:
    return report_html(pair)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def row(rows: Sequence[RuleRow], rule: str, about: str = "") -> RuleRow:
    (found,) = [row for row in rows if row.rule.id == rule and about in ("", row.about)]
    return found


def group(report: CampaignReport, rule: str, operator: str = "") -> DifferenceGroup:
    (found,) = [
        group
        for _, groups in report.differences()
        for group in groups
        if group.rule.id == rule and operator in ("", group.operator)
    ]
    return found


def texts(cells: Iterable[CampaignCell]) -> list[str]:
    return [cell.text for cell in cells]


# The campaigns.


def test_the_head_has_a_column_for_each_campaign(pair: CampaignReport, page: Page) -> None:
    assert page.all("h1")[0][1] == "good and bad"
    assert "2 campaigns side by side: 1 conformant within narrower claims, 1 not conformant." in page.text()
    good, bad = (summary.digests for summary in pair.summaries)
    assert {text for _, text in page.all("tr")} >= {
        "Outcome◒conformant within narrower claims✗not conformant",
        "DeviceNVIDIA H100 80GB HBM3NVIDIA H100 80GB HBM3",
        "Specificationas documentedas documented",
        f"Results digest{good.results}{bad.results}",
        f"Content digest{good.content}{bad.content}",
        "Budget and seedstandard, 20250304standard, 20250304",
        "numpy2.2.32.2.3",
    }


def test_campaigns_of_one_backend_are_told_apart() -> None:
    summaries = [
        report_data.summary_of([plain()], backend=report_data.backend(name=name), started=started)
        for name, started in (("a", "2025-01-01"), ("b", "2025-01-01"), ("b", "2025-01-02"), ("b", "2025-01-02"))
    ]
    assert CampaignReport(summaries).labels == ["a", "b, 2025-01-01", "b, 2025-01-02 (1)", "b, 2025-01-02 (2)"]


def test_what_the_campaigns_were_asked_for_is_compared() -> None:
    one = report_data.summary_of([plain()])
    other = report_data.summary_of([plain()], seed=2, levels=("3_0",), spec="observed")
    assert CampaignReport([one, one]).unlike() == []
    assert CampaignReport([one, one, other]).unlike() == ["levels", "specification", "seed"]
    assert "levels, specification, seed differ" in Page(report_html(CampaignReport([one, one, other]))).text()


# Operators by level.


def test_the_matrix_has_a_row_for_each_backend(pair: CampaignReport, page: Page) -> None:
    cells = [(a, text) for a, text in page.all("td") if "title" in a]
    expected = [
        (cell, at in pair.split_cells())
        for operator in pair.operators
        for summary in pair.summaries
        for cell in summary.matrix()
        if (at := (cell.operator, cell.level)) and cell.operator == operator
    ]
    assert len(cells) == len(expected)
    for (attributes, text), (cell, split) in zip(cells, expected, strict=True):
        assert attributes["title"].startswith(counts_text(cell.counts) or "no cases")
        assert text.startswith(cell.verdict.symbol)
        assert ("split" in attributes["class"].split()) == text.endswith("the backends differ here") == split


def test_cells_are_framed_where_verdicts_differ(pair: CampaignReport) -> None:
    good, bad = ({(c.operator, c.level): c.verdict for c in s.matrix()} for s in pair.summaries)
    assert pair.split_cells() == {at for at in good if good[at] is not bad[at]}
    assert 0 < len(pair.split_cells()) < len(good)


def test_what_a_campaign_was_not_asked_for_is_no_verdict() -> None:
    scopes = [
        {"operators": ("GATHER",), "levels": ("2_0", "3_0")},
        {"operators": ("GATHER", "TILE"), "levels": ("3_0", "4_0")},
    ]
    found = of_stores(*(([plain()], scope) for scope in scopes))
    assert found.levels == ["2_0", "3_0", "4_0"]
    (gather, rows), (tile, tile_rows) = found.matrix
    assert (gather, tile) == ("GATHER", "TILE")
    assert [[cell is None for cell in cells] for _, cells in rows] == [[False, False, True], [True, False, False]]
    assert all(cell is None for cell in tile_rows[0][1])
    page = Page(report_html(found))
    assert sum(text == "not asked" for _, text in page.all("td")) == 6
    assert texts(dict(found.executed())["TILE"])[0] == "not asked for"


# Decisions.


def test_wrong_decisions_stand_beside_right_ones(pair: CampaignReport, page: Page) -> None:
    records = [r for r in report_data.some_faulty() if r.rule == "GATHER.axis-range" and r.expected == "REJECT"]
    accepted = sum(record.answered == "accept" for record in records)
    found = row(pair.decisions(), "GATHER.axis-range", "reject")
    assert 0 < accepted < len(records)
    assert texts(found.cells) == [
        f"{len(records):,} rejected",
        f"{accepted:,} accepted, {len(records) - accepted:,} rejected",
    ]
    assert [cell.verdict for cell in found.cells] == [CellVerdict.CONFORMANT, CellVerdict.NOT_CONFORMANT]
    shown = f"GATHER.axis-rangereject✓{texts(found.cells)[0]}✗{texts(found.cells)[1]}"
    assert any(text == shown for _, text in page.all("tr"))


def test_a_witness_tells_what_every_campaign_made_of_it(pair: CampaignReport, page: Page) -> None:
    shown = group(pair, "GATHER.axis-range")
    sizes = [
        group.smallest_size
        for group in pair.summaries[1].failures.values()
        if (group.rule, group.kind) == ("GATHER.axis-range", "decision")
    ]
    assert case_size(shown.cases[0].record) == min(sizes)
    for witness in shown.cases:
        assert witness.owners == ["bad"]
        assert texts(witness.answers) == ["rejected, as specified", "accepted, wrong"]
        assert " ".join(witness.record.reproduce.split()) in {text for _, text in page.all("pre")}
    (count,) = shown.counts
    told = f"bad{count.operator}rejectaccept{count.count:,}{count.levels}"
    assert told in {text for _, text in page.all("tr")}


def test_a_case_that_a_campaign_does_not_have_is_said_to_be_missing() -> None:
    failing = plain(Verdict.FAIL, rule="GATHER.axis-range", expected="REJECT", number=1)
    found = compared(("good", [plain()]), ("bad", [failing]))
    (witness,) = group(found, "GATHER.axis-range").cases
    assert texts(witness.answers) == ["not in this campaign", "accepted, wrong"]


def test_one_case_that_fails_in_two_campaigns_is_shown_once() -> None:
    failing = plain(Verdict.FAIL, rule="GATHER.axis-range", expected="REJECT")
    crashing = replace(another(failing, 2), verdict=Verdict.CRASH, answered="")
    found = compared(("a", [failing]), ("b", [failing, crashing]))
    shown = row(found.decisions(), "GATHER.axis-range")
    groups = {group.kind: group for _, of in found.differences() for group in of}
    assert [(case.record, case.owners) for case in groups["decision"].cases] == [(failing, ["a", "b"])]
    assert [(case.record, case.owners) for case in groups["crash"].cases] == [(crashing, ["b"])]
    assert [count.label for count in groups["decision"].counts] == ["a", "b"]
    assert texts(shown.cells) == ["1 accepted", "1 accepted, 1 crashed"]
    assert shown.weight == 3


def test_decisions_on_valid_descriptors_are_compared_whether_executed_or_not() -> None:
    wrong_value = plain(Verdict.FAIL, number=1)
    executing = [plain(), wrong_value, plain(Verdict.NOT_SUPPORTED, number=2)]
    deciding = [replace(record, verdict=Verdict.PASS, rule="") for record in executing]
    refusing = [plain(Verdict.FAIL, answered="reject"), *deciding[1:]]
    found = compared(("executing", executing), ("deciding", deciding), ("refusing", refusing))
    shown = row(found.decisions(), "no rule in particular", "accept")
    assert texts(shown.cells) == ["3 accepted", "3 accepted", "2 accepted, 1 rejected"]
    assert [cell.symbol for cell in shown.cells] == ["✓", "✓", "✗"]
    ((_, (decision,)), (_, (output,))) = found.differences()
    assert [[case.owners for case in of.cases] for of in (decision, output)] == [[["refusing"]], [["executing"]]]


def test_rules_that_are_not_claimed_are_no_passes_and_come_last(pair: CampaignReport) -> None:
    rows = pair.decisions()
    assert [bool(row.weight) for row in rows] == sorted((bool(row.weight) for row in rows), reverse=True)
    unclaimed = row(rows, "TENSOR.total-size", "reject").cells[1]
    assert unclaimed.text.endswith("not claimed")
    assert (unclaimed.symbol, row(rows, "TENSOR.total-size", "reject").weight) == ("–", 0)


def test_backends_that_agree_have_no_decisions_to_show() -> None:
    records = report_data.some_sound()
    found = compared(("a", records), ("b", records))
    assert found.decisions() == found.outputs() == []
    assert "Nothing. No judged case came out otherwise" in Page(report_html(found)).text()


# Outputs.


def test_outputs_that_differ_are_counted_and_shown(pair: CampaignReport, text: str, page: Page) -> None:
    failing = [
        record
        for record in report_data.some_faulty()
        if record.verdict in NOT_CONFORMANT and record.answered == "accept" and record.expected == "ACCEPT"
    ]
    rows = {(row.about, row.rule.id): row for row in pair.outputs()}
    assert set(rows) == {(record.operator, record.rule) for record in failing}
    for (operator, rule), shown in rows.items():
        verdicts = Counter(r.verdict for r in failing if (r.operator, r.rule) == (operator, rule))
        for verdict, word in (("fail", "differ"), ("crash", "crashed"), ("timeout", "timed out")):
            assert (f"{verdicts[Verdict(verdict)]} {word}" in shown.cells[1].text) == (verdicts[Verdict(verdict)] > 0)
        assert shown.cells[0].text.endswith("as specified")
        for witness in group(pair, rule, operator).cases:
            told = {"fail": "output wrong", "crash": "crashed", "timeout": "timed out"}[witness.record.verdict]
            assert texts(witness.answers) == ["accepted, as specified", told]
            assert " ".join(witness.record.reproduce.split()) in {text for _, text in page.all("pre")}
            assert all(difference.actual_bits in text for difference in witness.record.differences)


def test_crashes_before_and_after_the_decision_are_kept_apart() -> None:
    early = plain(Verdict.CRASH, answered="")
    late = plain(Verdict.CRASH, answered="accept", number=1)
    found = compared(("a", [early, early, late]))
    (decided,) = found.decisions()
    (executed,) = found.outputs()
    assert texts(decided.cells) == ["1 accepted, 2 crashed"]
    assert texts(executed.cells) == ["1 crashed, of 1"]
    assert [case.record.case for case in group(found, early.rule).cases] == [early.case]


def test_cases_executed_are_counted_by_operator(pair: CampaignReport) -> None:
    kinds = {rule_id: rule["kind"] for rule_id, rule in pair.rules.items()}
    for operator, (good, bad) in pair.executed():
        records = [r for r in report_data.some_faulty() if r.operator == operator and kinds[r.rule] == "execution"]
        wrong = [r for r in records if r.verdict in NOT_CONFORMANT]
        assert good.text == f"{len(records):,} as specified"
        assert bad.text.endswith(f"of {sum(r.verdict != 'not-supported' for r in records):,}") == bool(wrong)
        assert bad.symbol == ("✗" if wrong else "✓")


def test_what_is_not_executed_is_no_pass() -> None:
    decided = plain(rule="")
    found = of_stores(
        ([plain()], {"backend": report_data.backend(name="executing")}),
        ([decided], {"backend": report_data.backend(name="deciding", executes=False)}),
        ([decided], {"backend": report_data.backend(name="shy", enforces=["shape"])}),
    )
    cells = dict(found.executed())["GATHER"]
    assert texts(cells) == ["1 as specified", "execution not available", "execution not claimed"]
    assert [cell.symbol for cell in cells] == ["✓", "–", "–"]
    assert texts(dict(found.executed())["TILE"])[0] == "nothing executed"
    assert "–execution not available" in {text for _, text in Page(report_html(found)).all("td")}


# What the specification leaves open.


def opened(answered: str, verdict: Verdict = Verdict.OBSERVED, reason: str = "") -> Record:
    rule = "GATHER.leading-index-sizes"
    return plain(verdict, rule=rule, expected="UNSPECIFIED", answered=answered, reason=reason)


def test_disagreement_on_what_is_open_is_marked() -> None:
    agreed = plain(Verdict.OBSERVED, rule="TENSOR.output-overlap", expected="UNSPECIFIED", answered="reject")
    found = compared(
        ("a", [opened("accept", reason="accepted"), another(agreed, 1)]),
        ("b", [opened("reject", reason="rejected: no such shape"), another(agreed, 1)]),
        ("c", [opened("", Verdict.CRASH), another(agreed, 1)]),
    )
    first, second = found.unspecified()
    assert (first.rule.id, first.is_split) == ("GATHER.leading-index-sizes", True)
    assert (second.rule.id, second.is_split, list(second.cases)) == ("TENSOR.output-overlap", False, [])
    assert texts(first.cells) == ["1 accepted", "1 rejected", "1 crashed"]
    assert [cell.symbol for cell in first.cells] == ["○", "○", "✗"]
    assert [cell.more for cell in first.cells[:2]] == ["at 3_0", "at 3_0; rejected: no such shape"]
    assert texts(first.cases[0].answers) == ["accepted", "rejected", "crashed"]
    headers = [text for _, text in Page(report_html(found)).all("th")]
    assert f"≠ The backends differ: {first.rule.erratum}" in headers
    assert second.rule.erratum in headers


def test_the_case_shown_for_what_is_open_is_one_on_which_campaigns_disagree() -> None:
    agreed = plain(Verdict.OBSERVED, rule="TENSOR.output-overlap", expected="UNSPECIFIED", answered="reject")
    disputed = replace(another(agreed, 1), operator="TILE")
    later = replace(another(agreed, 2), operator="GATHER_ND")
    found = compared(
        ("a", [agreed, disputed, later]),
        ("b", [agreed, replace(disputed, answered="accept"), later]),
    )
    (shown,) = found.unspecified()
    assert [witness.record.case for witness in shown.cases] == [disputed.case]
    assert shown.about == "GATHER, TILE, GATHER_ND"


def test_what_one_reading_judges_is_not_said_to_be_open() -> None:
    judged = replace(opened("reject", Verdict.PASS), expected="REJECT")
    campaigns = ([opened("accept"), plain(number=1)], {}), ([judged], {"spec": "observed"}), ([plain()], {})
    (shown,) = of_stores(*campaigns).unspecified()
    assert texts(shown.cells) == ["1 accepted", "1 rejected", "no case"]
    assert [cell.symbol for cell in shown.cells] == ["○", "✓", ""]
    assert shown.cells[1].more == "judged: the specification is read as observed"
    assert not shown.is_split


# Throughput, runs.


def timed(name: str, rows: Iterable[Throughput]) -> Summary:
    """A campaign that timed these alone."""
    summary = Summary()
    summary.start(report_data.campaign(backend=report_data.backend(name=name)))
    for row in rows:
        summary.throughput(row)
    summary.finish(report_data.ending())
    return summary


def test_throughput_is_side_by_side() -> None:
    rows = [row for row in report_data.throughputs() if row.caches is Caches.WARM]
    slow = replace(rows[1], seconds=tuple(8000 * seconds for seconds in rows[1].seconds))
    page = Page(report_html(CampaignReport([timed("fast", rows), timed("slow", [slow])])))
    told = [text for _, text in page.all("tr")]
    for row in rows:
        first = f"{row.data_type}{binary_size(row.output_bytes)}, warm{figures(row)}"
        second = figures(slow) if row is rows[1] else "not timed"
        assert any(text.endswith(first + second) for text in told), first + second


def figures(row: Throughput) -> str:
    return f"{row.bytes_per_second / 1e9:,.3g}{share_of_copy(row)}"


def test_one_size_stands_for_all_of_them() -> None:
    """The largest that the most campaigns have."""
    rows = [row for row in report_data.throughputs() if row.timing[:2] == ("TILE", "INT8")]
    compared = CampaignReport([timed("a", rows), timed("b", rows[:2])])
    shown = [each.timing for each in compared.throughput()["TILE"]]
    assert shown == sorted((row.timing for row in rows), key=by_size)
    at_once = compared.throughput_at_once()["TILE"]
    assert sorted((each.timing.size, each.timing.caches) for each in at_once) == [
        (report_data.SIZES[0], "cold"),
        (report_data.SIZES[0], "warm"),
    ]
    assert all(row is not None for each in at_once for row in each.rows)


def by_size(timing: Timing) -> tuple[int, int]:
    return list(Caches).index(timing.caches), timing.size


# The page.


def test_groups_and_rows_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "MAX_GROUPS", 3)
    monkeypatch.setattr(html_module, "MAX_ROWS", 5)
    failing = [plain(Verdict.FAIL, rule=f"GATHER.rule-{i}", expected="REJECT", number=i) for i in range(8)]
    page = Page(report_html(compared(("a", failing), ("b", failing))))
    assert len(page.all("article")) == 3
    assert "5 more rules in the reports" in page.text()
    assert "3 more rows in the reports" in page.text()
    assert len([text for _, text in page.all("tr") if re.match(r"GATHER\.rule-\dreject", text)]) == 5


def test_what_differs_most_is_named_first_and_leads_to_its_cases(page: Page, pair: CampaignReport) -> None:
    places: dict[tuple[str, str], set[tuple[str, str]]] = {}  # a decision is of all operators, all else of one
    for summary in pair.summaries:
        for group in summary.failures.values():
            operator = "" if group.kind is FailureKind.DECISION else group.operator
            places.setdefault((group.rule, operator), set()).update((group.operator, level) for level in group.levels)
    first = pair.most()[0]
    assert first.breadth == max(map(len, places.values())) == len(places[first.rule.id, first.operator])
    told = page.all("li")[0][1]
    assert told.startswith(f"{first.rule.id}: ")
    assert f" at {first.levels}; smallest case of {first.count:,} " in told
    assert f"{first.cases[0].record.reproduce}Copy the line" in told
    links = {attributes["href"] for attributes, _ in page.all("a")}
    groups = [group for summary in pair.summaries for group in summary.failures.values()]
    smallest = min((of.smallest_size, of.smallest.case) for of in groups if of.rule == first.rule.id)
    operator = f"operator={first.operators[0]}&" if len(first.operators) == 1 else ""
    assert f"#cases?{operator}rule={first.rule.id}&verdict=differs&case={smallest[1][:12]}" in links


# Since a baseline.


def judged(number: int, verdict: Verdict, **changes: object) -> Record:
    answered = "reject" if verdict is Verdict.FAIL else "accept"
    return plain(verdict, number, answered=answered, **changes)


BEFORE = (
    judged(1, Verdict.PASS),
    judged(2, Verdict.FAIL),
    judged(3, Verdict.FAIL),
    judged(4, Verdict.FAIL),
    judged(5, Verdict.CRASH),
    judged(7, Verdict.PASS),
)
AFTER = (
    judged(1, Verdict.FAIL),
    judged(2, Verdict.PASS),
    judged(3, Verdict.NOT_SUPPORTED),
    judged(5, Verdict.FAIL),
    judged(6, Verdict.TIMEOUT, operator="TILE", rule="TILE.values"),
    judged(7, Verdict.PASS),
)


def since(before: Iterable[Record], after: Iterable[Record], names: tuple[str, str] = ("old", "new")) -> CampaignReport:
    old, new = (
        report_data.stored(records, backend=report_data.backend(name=name))
        for name, records in zip(names, (before, after), strict=True)
    )
    with Store(old) as baseline, Store(new) as store:
        return CampaignReport.of([store], baseline)


def test_what_changed_since_the_baseline_is_told_case_by_case() -> None:
    found = since(BEFORE, AFTER)
    assert found.labels == ["new", "old, baseline"]
    numbers = {plain(number=number).case: number for number in range(8)}
    told = [
        (row.kind, row.operator, numbers[row.first.case], row.first.before, row.first.after) for row in found.changes()
    ]
    assert told == [
        ("regression", "GATHER", 1, "pass", "fail"),
        ("new difference", "TILE", 6, "", "timeout"),
        ("no longer judged", "GATHER", 3, "fail", "not-supported"),
        ("no longer tried", "GATHER", 4, "fail", ""),
        ("repair", "GATHER", 2, "fail", "pass"),
    ]
    assert {change: count for change, count, _ in found.change_counts()} == dict.fromkeys(ChangeKind, 1)
    assert found.headline().endswith("since the baseline 2 more cases differ, 1 repaired.")


def test_a_baseline_of_the_same_name_is_told_apart() -> None:
    assert since(BEFORE, BEFORE, ("x", "x")).labels == ["x", "x, baseline"]
    assert since(BEFORE, BEFORE, ("x", "x, baseline")).labels == ["x, baseline", "x, baseline run"]


def test_a_change_is_shown_first_and_leads_to_its_cases() -> None:
    page = Page(report_html(since(BEFORE, AFTER)))
    assert page.all("h2")[0][1] == "Since the baseline"
    links = [attributes["href"] for attributes, _ in page.all("a")]
    assert "#cases?campaign=new&change=regression&operator=GATHER&rule=GATHER.values" in links
    # What is no longer tried is in the baseline's list alone.
    gone = "#cases?campaign=old%2C+baseline&change=no+longer+tried&operator=GATHER&rule=GATHER.values"
    assert gone in links


def test_a_case_that_came_up_twice_counts_once_with_its_worse_verdict() -> None:
    before = (judged(1, Verdict.PASS), judged(1, Verdict.PASS, phase=Phase.SWEEP))
    after = (judged(1, Verdict.FAIL), judged(1, Verdict.PASS, phase=Phase.SWEEP))
    assert [(row.kind, row.count) for row in since(before, after).changes()] == [("regression", 1)]
    back = since(after, before).changes()
    assert [(row.kind, row.count) for row in back] == [("repair", 1)]


def test_nothing_changed_is_said() -> None:
    assert "Nothing changed" in Page(report_html(since(BEFORE, BEFORE))).text()


# Stores.


def test_a_store_knows_what_became_of_a_case() -> None:
    records = [plain(Verdict.FAIL, number=i, answered="reject") for i in range(5)]
    records[3] = replace(records[3], verdict=Verdict.CRASH, answered="")
    with Store(report_data.stored(records)) as store:
        found = store.answers([record.case for record in records[1:]] + ["f" * 64])
    assert found == {record.case: (record.verdict, record.answered) for record in records[1:]}


SOME_RULES = describe_rules(["TILE"])


@pytest.mark.parametrize(
    "changes",
    [
        {"backend": {"name": "x"}},
        {"rules": ({"id": "x"},)},
        {"rules": ({**SOME_RULES[0], "operators": None},)},
        {"rules": ({**SOME_RULES[0], "since": "7_0"},)},
        {"rules": ({**SOME_RULES[0], "until": "x"},)},
        {"levels": ("7_0",)},
        {"operators": ("TILE",)},
    ],
    ids=["backend", "rules", "operators of a rule", "since", "until", "levels", "record"],
)
def test_a_store_that_is_no_campaign_of_this_suite_is_refused(changes: dict[str, object]) -> None:
    path = report_data.stored([plain()], **changes)
    told = re.escape(f"{path}: holds no campaign of this suite")
    with pytest.raises(StoreError, match=told), Store(path) as store:
        CampaignReport.of([store])


# The command.


@pytest.fixture
def results(tmp_path: Path) -> list[Path]:
    """A folder of reports of one campaign, and the results file of another."""
    folder, other = tmp_path / "certification", tmp_path / "other.sqlite"
    folder.mkdir()
    records = report_data.some_faulty()[:200]
    report_data.feed(StoreWriter(folder / "results.sqlite"), records, backend=report_data.backend(name="bad"))
    report_data.feed(StoreWriter(other), map(righted, records), backend=report_data.backend(name="good"))
    return [folder, other]


def test_files_and_folders_become_one_page_that_is_replaced_when_asked(tmp_path: Path, results: list[Path]) -> None:
    page = tmp_path / "new" / "report.html"
    result = invoke("report", *results, "-o", page)
    assert result.exit_code == 0, result.output
    outcomes = ["campaign  outcome", "bad       not conformant", "good      conformant within narrower claims"]
    assert result.stdout.splitlines() == [*outcomes, f"Report: {page}"]
    assert Page(page.read_text(encoding="utf-8")).all("h1")[0][1] == "bad and good"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report.html"]
    result = invoke("report", results[1], "--baseline", results[0], "-o", page, "--replace")
    assert "bad, baseline  not conformant" in result.stdout
    assert "regressions did not differ before" in Page(page.read_text(encoding="utf-8")).text()


def test_a_single_campaign_gets_its_ordinary_page(tmp_path: Path, results: list[Path]) -> None:
    assert invoke("report", results[1], "-o", tmp_path / "report.html").exit_code == 0
    with Store(results[1]) as store:
        report = CampaignReport([store.summary()], [results[1]])
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_html(report)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("certification", "-o", "page.html"), "page.html: exists; name another file"),
        (("certification", "-o", "other.sqlite", "--replace"), "other.sqlite: is no HTML page; it is not replaced"),
        (("certification", "certification/results.sqlite", "-o", "x"), "given twice"),
        (("certification", "--baseline", "certification", "-o", "x"), "given twice"),
        (("certification", "page.html", "-o", "x"), "page.html"),
        (("certification", "missing.sqlite", "-o", "x"), "missing.sqlite"),
        (("certification", ".", "-o", "x"), "."),
        (("certification", "-o", "page.html/report.html"), "page.html"),
    ],
)
def test_wrong_usage_is_one_line_and_changes_nothing(
    tmp_path: Path, results: list[Path], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text("<!DOCTYPE html> old")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    result = invoke("report", *arguments)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert told in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_page_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, results: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = invoke("report", *results, "-o", tmp_path / "report.html")
    assert result.exit_code == 2
    assert "report.html: cannot be written: No space left on device" in result.stderr
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".html"]
