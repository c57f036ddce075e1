"""The page: it says what the records say, shows what comes from outside as text, and needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median

import msgspec
import pytest
import report_data
from html_page import Page
from report_data import of_case, plain, righted

from dml_conformance.reports.model import templating
from dml_conformance.reports.model.grouping import family_name, grouped
from dml_conformance.reports.model.records import Caches, Caveat, Record, Verdict, at_largest_size
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import CellVerdict, Conformance, FailureKind, Summary
from dml_conformance.reports.model.text import brief_seconds, counts_text, share_of_copy
from dml_conformance.reports.page import html as html_module
from dml_conformance.reports.page.html import MAX_PAGE, report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.spec.accuracy import TOLERANCES

URL_ATTRIBUTES = {"src", "href", "action", "poster", "data", "srcset", "xlink:href", "formaction"}


def rendered(records: Iterable[Record], **changes: object) -> str:
    return report_html(report_data.report_of(records, **changes))


@pytest.fixture(scope="module", params=["one", "two"])
def any_page(request: pytest.FixtureRequest, faulty: str) -> Page:
    """Of one campaign, and of two."""
    if request.param == "one":
        return Page(faulty)
    records = report_data.some_faulty()
    paths = [report_data.stored(records), report_data.stored(map(righted, records))]
    with Store(paths[0]) as one, Store(paths[1]) as two:
        return Page(report_html(CampaignReport.of([one, two])))


@pytest.fixture(scope="module")
def faulty() -> str:
    return rendered(report_data.some_faulty())


@pytest.fixture(scope="module")
def page(faulty: str) -> Page:
    return Page(faulty)


def test_the_verdict_comes_first(page: Page) -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    assert page.all("h1")[0][1] == "torch:cuda:0 is not conformant"
    assert page.all("title")[0][1] == "torch:cuda:0: not conformant"
    text = page.text()
    for value in (
        summary.headline(),
        summary.digests.results,
        summary.digests.content,
        "AMD EPYC 9554 64-Core Processor",
        "20250304",
        "torch 2.8.0",
        "took 1 min 12 s",
    ):
        assert value in text


def begun() -> Summary:
    summary = Summary()
    summary.start(report_data.campaign())
    return summary


@pytest.mark.parametrize(
    ("summary", "title", "told"),
    [
        (
            lambda: report_data.summary_of(report_data.some_sound()),
            "torch:cuda:0 is conformant within narrower claims",
            ("Nothing. No judged case came out otherwise",),
        ),
        (
            lambda: report_data.cut_off("the device was lost"),
            "The result for torch:cuda:0 is incomplete",
            ("The run did not reach its end: the device was lost.",),
        ),
        (
            begun,
            "The result for torch:cuda:0 is incomplete",
            (
                "No case passed.",
                "Nothing was timed in this run.",
                "No case touched what the specification leaves open.",
            ),
        ),
    ],
    ids=["sound", "cut off", "begun"],
)
def test_what_there_is_not_is_said(summary: Callable[[], Summary], title: str, told: tuple[str, ...]) -> None:
    page = Page(report_html(CampaignReport([summary()])))
    assert page.all("h1")[0][1] == title
    for text in told:
        assert text in page.text()


def test_the_ways_that_a_backends_work_is_done_stand_at_the_head() -> None:
    paths = {"outputs of 1 MiB": "kernels", "smaller outputs": "eager <b>, as before"}
    backend = report_data.backend(paths=paths)
    assert "outputs of 1 MiB: kernels; smaller outputs: eager &lt;b&gt;, as before" in rendered([], backend=backend)


@pytest.mark.parametrize("name", TOLERANCES)
def test_the_tolerance_stands_below_the_verdict(name: str) -> None:
    (line,) = (text for _, text in Page(rendered([], accuracy=name)).all("p") if "standard budget" in text)
    assert f"seed 20250304, tolerance {name}; on NVIDIA" in line


def test_an_incomplete_run_says_what_it_lacks() -> None:
    page = Page(report_html(CampaignReport([report_data.cut_off("the device was lost")])))
    assert page.all("h1")[0][1] == "The result for torch:cuda:0 is incomplete"
    assert "The run did not reach its end: the device was lost." in page.text()


def test_a_page_can_be_made_before_anything_happened() -> None:
    summary = Summary()
    summary.start(report_data.campaign())
    text = Page(report_html(CampaignReport([summary]))).text()
    assert "No case passed." in text
    assert "Nothing was timed in this run." in text
    assert "No case touched what the specification leaves open." in text


# What comes from outside.

SCRIPT = "<script>alert(1)</script>"


def assert_only_own_scripts(text: str) -> None:
    """Two that hold the cases as base64 and are not run, and the one that is."""
    types = [attributes.get("type", "") for attributes, _ in Page(text).all("script")]
    assert types == ["text/plain", "text/plain", ""]
    assert text.count("<script") == 3
    for attributes, content in Page(text).all("script")[:2]:
        assert re.fullmatch("[A-Za-z0-9+/= ]*", content), attributes


def hostile(record: Record) -> Record:
    """A record with markup wherever a backend or a corpus could put it."""
    difference = msgspec.structs.replace(
        next(r.differences[0] for r in report_data.some_faulty() if r.differences), expected=SCRIPT, actual=SCRIPT
    )
    return msgspec.structs.replace(
        of_case(record, {"type": SCRIPT, "desc": {SCRIPT: SCRIPT}, "data": [SCRIPT]}),
        rule=f'"{SCRIPT}',
        answered=SCRIPT,
        reason=f'" onload="x {SCRIPT}\x00\u202e\u2066',
        data_type=SCRIPT,
        index_type=SCRIPT,
        layout=SCRIPT,
        pattern=SCRIPT,
        reproduce=f"'{SCRIPT}x\x07y",
        differences=(difference,),
        difference_count=1,
    )


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_from_outside_becomes_markup(count: int, tmp_path: Path) -> None:
    """No field of a record, a measurement or a campaign, of one or of two."""
    row = msgspec.structs.replace(report_data.throughputs()[0], shape=SCRIPT, data_type=SCRIPT, operator=SCRIPT)
    records = [hostile(plain(verdict)) for verdict in Verdict]
    opened = plain(Verdict.OBSERVED, rule="GATHER.leading-index-sizes", expected="UNSPECIFIED", reason="\x1b[31m")
    names = {
        "name": f'"{SCRIPT}',
        "device": f"{SCRIPT}\x08\u2066",
        "versions": {SCRIPT: SCRIPT},
        "enforces": [SCRIPT, "execution"],
    }
    harmful = {"statement": SCRIPT, "erratum": SCRIPT, "source": "javascript:alert(1)"}
    changes: dict[str, object] = dict.fromkeys(("budget", "suite_version", "started"), SCRIPT)
    changes |= {"environment": {SCRIPT: SCRIPT}, "backend": report_data.backend(**names)}
    changes["rules"] = tuple({**rule, **harmful} for rule in report_data.campaign().rules)
    summaries, paths = [Summary() for _ in range(count)], [tmp_path / f"{n}.sqlite" for n in range(count)]
    for answer, summary, path in zip(("accept", "reject"), summaries, paths, strict=False):
        stream = FanOut(summary, StoreWriter(path))
        stream.start(report_data.campaign(**changes))
        for record in (*records, msgspec.structs.replace(opened, answered=answer), plain(Verdict.FAIL)):
            stream.record(record)
        stream.throughput(row)
        stream.finish(report_data.ending())
    text = report_html(CampaignReport(summaries, paths, [{}] * count))
    assert_only_own_scripts(text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    page = Page(text)
    assert not [attributes for _, attributes, _ in page.elements if any(n.startswith("on") for n in attributes)]
    assert {attributes["href"][:1] for attributes, _ in page.all("a")} == {"#"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    for shown in (r"\x00\u202e\u2066", r"x\x07y", r"\x08\u2066"):
        assert shown in text


# No network.


def test_the_page_loads_nothing(any_page: Page) -> None:
    for tag, attributes, _ in any_page.elements:
        for name in URL_ATTRIBUTES & set(attributes):
            if tag == "a":
                assert attributes[name].startswith(("#", "https://learn.microsoft.com/")), attributes
            else:
                assert attributes[name] == "data:,", (tag, attributes)
    style = any_page.all("style")[0][1]
    assert "@import" not in style
    assert "url(" not in style
    assert not {"iframe", "object", "embed", "base", "form"} & {tag for tag, _, _ in any_page.elements}


def test_the_policy_allows_the_pages_own_script_and_nothing_else(page: Page, faulty: str) -> None:
    policy = next(a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    script = faulty[faulty.index("<script>") + len("<script>") : faulty.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


# What it says.


def test_the_matrix_tells_verdicts_in_words_and_symbols(page: Page) -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    cells = [(a, text) for a, text in page.all("td") if "title" in a]
    assert len(cells) == len(summary.matrix())
    for (attributes, text), cell in zip(cells, summary.matrix(), strict=True):
        assert attributes["title"] == (counts_text(cell.counts) or "no cases")
        assert text.startswith(cell.verdict.symbol)
        word = f"{cell.counts.failed:,} differ" if cell.counts.failed else cell.verdict.word
        assert text.endswith(word)


def test_the_map_has_the_worst_of_each_family() -> None:
    """TILE alone, GATHER_ND and GATHER_ND1 together; where several differ the link to the cases names none of them."""
    summary = report_data.summary_of(report_data.some_faulty())
    report = CampaignReport([summary])
    cells = {(cell.operator, cell.level): cell for cell in summary.matrix()}
    rows = report.family_rows()
    assert [operator for row in rows for operator in row.operators] == sorted(
        summary.campaign.operators, key=[operator for row in rows for operator in row.operators].index
    )
    assert any(len(row.operators) > 1 for row in rows)
    for row in rows:
        assert row.name == (family_name(row.operators[0]) if len(row.operators) > 1 else row.operators[0])
        for level, cell in zip(report.levels, row.cells[0][1], strict=True):
            found = [cells[operator, level] for operator in row.operators]
            differing = [each for each in found if each.counts.failed]
            assert cell is not None
            assert (cell.verdict is CellVerdict.NOT_CONFORMANT) == bool(differing)
            assert ("operator" in cell.traits) == (len(differing) == 1)
            assert cell.is_hollow >= any(each.counts[Verdict.NOT_SUPPORTED] for each in found)


def test_every_verdict_of_a_cell_has_a_word_a_meaning_and_a_colour() -> None:
    style = html_module._text("report.css")
    for verdict in CellVerdict:
        assert verdict.word
        assert verdict.meaning
        assert f".{str(verdict).replace(' ', '-')} {{ --tone" in style
    for conformance in Conformance:
        assert f".{str(conformance).replace(' ', '-')} {{ --tone" in style
    assert set(html_module.VERDICT_MEANINGS) == set(Verdict)


def test_differences_are_shown_with_rule_source_witness_and_command(page: Page, faulty: str) -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    commands = {text for _, text in page.all("pre")}
    links = {attributes["href"] for attributes, text in page.all("a") if text == "Source"}
    rules = {rule["id"]: rule for rule in summary.campaign.rules}
    assert {group.kind for group in summary.failures.values()} == set(FailureKind) - {FailureKind.ERROR}
    for group in summary.failures.values():
        assert " ".join(group.smallest.reproduce.split()) in commands
        assert rules[group.rule]["source"] in links
        assert f"{group.count:,} case{'s' * (group.count != 1)}" in page.text()
        for difference in group.smallest.differences:
            assert difference.expected_bits in faulty
            assert difference.actual_bits in faulty
    decision = next(g for g in summary.failures.values() if g.kind is FailureKind.DECISION and g.operator == "GATHER")
    assert any(text.startswith(f"GATHERrejectaccept{decision.count:,}") for _, text in page.all("tr"))


def test_a_right_decision_is_not_red_where_the_outputs_differ(faulty: str) -> None:
    pairs = re.findall(r'<td class="expected">(\w+)</td><td( class="actual")?>(\w+)</td>', faulty)
    assert {bool(mark) for expected, mark, answered in pairs if expected == answered} == {False}
    assert {bool(mark) for expected, mark, answered in pairs if expected != answered} == {True}


def test_throughput_is_text_beside_its_bar(page: Page) -> None:
    rows = [text for _, text in page.all("tr")]
    widths, expected = [float(attributes["width"]) for attributes, _ in page.all("rect")], []
    for caches in Caches:
        shown = [row for row in at_largest_size(report_data.throughputs()) if row.caches is caches]
        for row in shown:
            told = (
                f"{row.data_type}256 MiB{row.bytes_per_second / 1e9:,.4g}{row.copy_bytes_per_second / 1e9:,.4g}"
                f"{share_of_copy(row)}"
                f"{row.useful_bytes / max(row.seconds) / 1e9:,.4g} to {row.useful_bytes / min(row.seconds) / 1e9:,.4g}"
            )
            assert any(text.endswith(told) for text in rows), told
        fastest = max(max(row.useful_bytes / min(row.seconds), row.copy_bytes_per_second) for row in shown)
        by_family = grouped(shown, lambda row: family_name(row.operator)).values()
        shares = sorted(median(row.fraction_of_copy for row in rows) for rows in by_family)
        expected += [round(80 * min(share, 1.25), 2) for share in shares]
        expected += [round(100 * row.bytes_per_second / fastest, 2) for row in shown]
    assert widths == expected


def test_every_size_and_state_of_the_caches_has_its_figures(page: Page) -> None:
    """What is to be known of a measurement stands beside it and is explained."""
    rows = [text for _, text in page.all("tr")]
    for caches in Caches:
        for operator, data_type in dict.fromkeys((row.operator, row.data_type) for row in report_data.throughputs()):
            told = data_type
            for row in report_data.throughputs():
                if (row.operator, row.data_type, row.caches) == (operator, data_type, caches):
                    told += f"{row.bytes_per_second / 1e9:,.3g}{share_of_copy(row)}, "
                    told += brief_seconds(row.median_seconds)
            assert any(text.endswith(told) for text in rows), told
    assert {"Warm caches", "Cold caches"} <= {text for _, text in page.all("h3")}
    explained = {text for _, text in page.all("li")}
    for caveat in (Caveat.LAUNCH_BOUND, Caveat.CACHED):
        assert any(re.search(rf"% \([a-z, -]*{caveat}[a-z, -]*\)", text) for text in rows)
        assert f"{caveat}: {caveat.meaning}" in explained
    assert not any(text.startswith("disturbed") for text in explained)


def test_what_is_observed_and_what_is_not_claimed(page: Page) -> None:
    about = {"verdict": "observed", "rule": "TENSOR.output-overlap"}
    records = [r for r in report_data.some_faulty() if all(getattr(r, name) == about[name] for name in about)]
    asked = {record.operator for record in records}
    names = ", ".join(operator for operator in report_data.campaign().operators if operator in asked)
    answers = Counter(record.answered for record in records)
    told = f"TENSOR-1TENSOR.output-overlap{names}○{answers['accept']} accepted, {answers['reject']} rejectedat "
    assert any(text.startswith(told) for _, text in page.all("tr")), told
    assert "5 rules not enforced" in page.text()
    assert any(text == "TENSOR.total-size" for _, text in page.all("li"))


def test_coverage_shows_gaps_but_not_where_the_tables_allow_none() -> None:
    records = [plain(data_type="FLOAT32", rank=4, pattern="in-range", index_type="UINT32", layout="packed")]
    tile = msgspec.structs.replace(records[0], operator="TILE", index_type="", pattern="ramp")
    page = Page(rendered([*records, tile], operators=("GATHER", "TILE"), levels=("3_0",)))
    texts = [text for _, text in page.all("tr")]
    types, gather, tile_row = texts[
        (at := texts.index("OperatorFLOAT32FLOAT16UINT32UINT16UINT8INT32INT16INT8")) : at + 3
    ]
    assert (gather, tile_row) == ("GATHER10000000", "TILE10000000")  # one case each, and gaps
    assert "FLOAT64" not in types  # no table at 3_0 has it
    assert any(re.fullmatch("TILE·+", text) for text in texts)  # it has no indices
    (patterns,) = [at for at, text in enumerate(texts) if text == "Operatorin-rangeramp"]
    assert texts[patterns + 1 : patterns + 3] == ["GATHER1·", "TILE·1"]  # nor patterns of them


# The page's size.


def test_the_page_grows_with_the_cases_to_its_bound_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(report_data.faulty(4000))
    whole = rendered(records)
    assert "All 4,000 cases, whole." in Page(whole).text()
    assert len(whole.encode()) < MAX_PAGE
    bound = 700_000
    monkeypatch.setattr(html_module, "MAX_PAGE", bound)
    part = rendered(records)
    assert 0.75 * bound < len(part.encode()) <= bound
    differing = sum(record.verdict in ("fail", "crash", "timeout", "error") for record in records)
    assert f"Of the {differing:,} that differ, all are listed and all whole." in Page(part).text()


def test_without_cases_nothing_leads_to_them() -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    page = Page(report_html(CampaignReport([summary])))
    assert not [a["href"] for a, _ in page.all("a") if a["href"].startswith("#cases")]
    assert len(page.all("script")) == 1


def test_cells_and_counts_lead_to_their_cases(page: Page) -> None:
    links = {attributes["href"] for attributes, _ in page.all("a")}
    summary = report_data.summary_of(report_data.some_faulty())
    for cell in summary.matrix():
        address = f"#cases?operator={cell.operator}&level={cell.level}"
        if cell.counts.failed:  # to the smallest case at hand
            assert any(link.startswith(f"{address}&verdict=differs&case=") for link in links)
        else:
            assert not cell.counts or address in links
    group = max(summary.failures.values(), key=lambda group: len(group.levels))
    first = f"#cases?operator={group.operator}&rule={group.rule}&verdict=differs&case={group.smallest.case[:12]}"
    assert first in links
    assert {f"#operator?operator={operator}" for operator in summary.campaign.operators} <= links


# Reading it without a mouse or without eyes.


def test_landmarks_headings_and_names(any_page: Page) -> None:
    assert not [parents for tag, _, parents in any_page.elements if tag == "noscript" and "noscript" in parents]
    tags = Counter(tag for tag, _, _ in any_page.elements)
    assert (tags["main"], tags["h1"], tags["nav"]) == (1, 1, 1)
    assert any_page.all("html")[0][0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _, _ in any_page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes, _ in any_page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes, parents in any_page.elements:
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:].partition("?")[0] in ids
        if tag == "section":
            assert attributes["aria-labelledby"] in ids
        if attributes.get("role") == "group":
            assert attributes["aria-label"]
            assert attributes["tabindex"] == "0"
        if tag == "table" and "figure" not in parents:
            assert "div" in parents  # which scrolls, so that the page does not
        if tag == "th":
            assert attributes["scope"] in ("col", "row", "rowgroup")
        if "symbol" in attributes.get("class", "").split():
            assert attributes["aria-hidden"] == "true"


def test_every_class_of_a_cell_is_styled(any_page: Page) -> None:
    style = html_module._text("report.css")
    cells = [attributes for tag, attributes, _ in any_page.elements if tag in ("td", "th", "table")]
    used = {name for attributes in cells for name in attributes.get("class", "").split()}
    assert not [name for name in used if not re.search(rf"\.{name}\b", style)]


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast of two colours `#rrggbb`."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_has_contrast_in_light_and_dark() -> None:
    style = html_module._text("report.css")
    schemes = re.findall(r":root \{([^}]*--page[^}]*--ink[^}]*)\}", style)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", scheme))
        for name in ("good", "bad", "part", "open", "none"):
            assert contrast(colours[name], colours[f"{name}-wash"]) >= 4.5, name
        for name in ("ink", "soft", "link", "good", "bad", "part"):
            assert contrast(colours[name], colours["page"]) >= 4.5, name


def test_templates_are_compiled_anew_where_no_folder_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise RuntimeError("Cannot determine safe temp directory.")

    monkeypatch.setattr(templating, "FileSystemBytecodeCache", refused)
    assert templating.environment("dml_conformance.reports.page").bytecode_cache is None
