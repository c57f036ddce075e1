"""The report for people: one HTML page that holds all it needs and asks no network for anything.

What it says is made from sums and a few samples, and needs no script. Below that are the cases themselves, as many as
fit in MAX_PAGE bytes, compressed; the page's script lists and shows them.

All text is escaped by the template engine and rid of control characters on the way, or put in place by the script as
text; links lead to https addresses only; the page's own policy (Content-Security-Policy) forbids it to load anything
or to run any script but its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup, escape

from dml_conformance.backends.foreign_text import one_line, printable
from dml_conformance.backends.processes.losses import MOST_FORGIVEN
from dml_conformance.reports.model.errors import WITHOUT_ULP
from dml_conformance.reports.model.inputs import input_lines
from dml_conformance.reports.model.records import Caveat, Record, Verdict
from dml_conformance.reports.model.summary import CellVerdict, Summary, Test
from dml_conformance.reports.model.templating import environment
from dml_conformance.reports.model.text import (
    BETWEEN_EPOCHS,
    binary_size,
    brief_seconds,
    pretty_json,
    rate,
)
from dml_conformance.reports.page.accuracy import accuracy_results
from dml_conformance.reports.page.cases import all_of, embed
from dml_conformance.reports.page.coverage import by_subject, facets
from dml_conformance.reports.page.drawing import PANEL
from dml_conformance.reports.page.plots import measurement_text, speed_tables
from dml_conformance.reports.page.report import CampaignReport

MAX_GROUPS = 30  # groups of failures of one kind that are shown
MAX_ROWS = 120  # rows of one table that are shown
FIRST_GROUPS, FIRST_ROWS = 3, 20  # of these, what is not folded
MAX_PAGE = 2_950_000  # bytes
MAX_TOLD = 1000  # bytes of the sentences about what was left out
# Scripts of every page, and of those that have cases, in the order in which they are put together.
STATIC_SCRIPTS = ("copy", "fold", "map", "sort", "print")
CASE_SCRIPTS = (
    *STATIC_SCRIPTS,
    *("elements", "data", "json", "state", "list", "tensors", "case", "operator", "search", "explorer", "start"),
)
MAX_REASON, BRIEF_REASON = 400, 120  # characters

VERDICT_MEANINGS = {
    Verdict.PASS: "as the specification says",
    Verdict.FAIL: "wrong decision, wrong value, or memory touched that is not the output’s",
    Verdict.CRASH: "the backend raised an exception, or its process died",
    Verdict.TIMEOUT: "no answer in time",
    Verdict.OBSERVED: "left open by the specification; recorded, not judged",
    Verdict.NOT_SUPPORTED: "not claimed by the backend",
    Verdict.WAIVED: "a known difference that a waiver names",
    Verdict.ERROR: "a fault of the harness",
}


def report_html(report: CampaignReport) -> str:
    """The whole page, with as many of the report's cases as MAX_PAGE has room for."""
    cells = [cell for _, rows in report.matrix for _, row in rows for cell in row if cell is not None]
    values: dict[str, Any] = {
        "report": report,
        "levels_seen": Counter(cell.verdict for cell in cells),
        "hollow": any(cell.is_hollow for cell in cells),
        "cell_verdicts": list(CellVerdict),
        "verdict_of": CellVerdict,
        "between_epochs": BETWEEN_EPOCHS,
        "verdicts": list(Verdict),
        "verdict_meanings": VERDICT_MEANINGS,
        "none_of_it": Test(),
        "most_forgiven": MOST_FORGIVEN,
        "speeds": [(label, speed_tables(summary.throughputs)) for label, summary in report.campaigns],
        "networks": [(label, summary.networks()) for label, summary in report.campaigns],
        "accuracy": accuracy_results(report.campaigns),
        "caveats": [c for c in Caveat if any(c in row.caveats for s in report.summaries for row in s.throughputs)],
        "coverages": [(label, _coverage(summary)) for label, summary in report.campaigns],
    }
    if not report.cases:
        return render("report.html.j2", carried=None, **values)
    # Once without the cases, to know how much room the rest leaves; what is told of them is no longer than this.
    carried = {"carried": all_of(report.summaries), "cases_rows": "", "cases_whole": ""}
    bare = render("report.html.j2", CASE_SCRIPTS, **carried, **values)
    room = MAX_PAGE - len(bare.encode()) - MAX_TOLD
    embedded = embed(
        report.cases,
        report.summaries,
        room,
        report.change_of_case(),
        report.smallest_cases,
        report.of_operators(),
    )
    return render(
        "report.html.j2",
        CASE_SCRIPTS,
        carried=embedded.carried,
        cases_rows=Markup(f"{embedded.rows}\n{embedded.flags}"),  # noqa: S704 - base64
        cases_whole=Markup("\n".join(embedded.blocks)),  # noqa: S704
        **values,
    )


def _coverage(summary: Summary) -> Mapping[str, Any]:
    rules = summary.rule_results()
    return {
        "rules": rules,
        "by_subject": by_subject(rules),
        "ways": Counter(rule.ways for rule in rules),
        "facets": facets(summary),
    }


def render(template: str, scripts: Iterable[str] = STATIC_SCRIPTS, **values: Any) -> str:
    """A page from one of this package's templates, which gets these values, its style and its scripts in one."""
    modules = "".join(_text(f"script/{name}.js") for name in scripts)
    script = f'"use strict";\n{{\n{modules}}}\n'  # within a block, so that no name of theirs is global
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            max_groups=MAX_GROUPS,
            max_rows=MAX_ROWS,
            first_groups=FIRST_GROUPS,
            first_rows=FIRST_ROWS,
            without_ulp=WITHOUT_ULP,
            plot=PANEL,
            style=Markup(_text("report.css")),  # noqa: S704 - this package's own files
            script=Markup(script),  # noqa: S704
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


@cache
def _text(name: str) -> str:
    return resources.files("dml_conformance.reports.page").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    found = environment(
        "dml_conformance.reports.page",
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # no control characters
    )
    found.filters.update(
        inputs=lambda record: input_lines(record.case_json, record.differences[0].coordinates),
        case=_case,
        size=binary_size,
        gigabytes=lambda rate, digits=4: f"{rate / 1e9:,.{digits}g}",
        brief_time=brief_seconds,
        measurement=measurement_text,
        place="{:.1f}".format,
        rate=rate,
        sentence=lambda text: f"{text[:1].upper()}{text[1:]}.",
        breakable=lambda name: escape(printable(name)).replace("_", Markup("_<wbr>")),
        https=lambda address: address if address.startswith("https://") else "",
        short=lambda text: one_line(text, MAX_REASON),
        brief=lambda text: one_line(text, BRIEF_REASON),
        to_cases=lambda traits: "#cases?" + urlencode({name: value for name, value in traits.items() if value}),
        to_operator=lambda name: "#operator?" + urlencode({"operator": name}),
    )
    return found


def _case(record: Record) -> str:
    """What is executed, without the labels: the level stands in the caption."""
    return pretty_json(
        {name: record.case_json[name] for name in ("type", "desc", "data") if record.case_json.get(name)}
    )
