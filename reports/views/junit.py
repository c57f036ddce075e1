"""JUnit XML, for the servers that read it: a suite for each operator and level, a test for each rule.

Not one test a case: a server that shows a hundred thousand of them shows nothing. What a test stands for is counted
in its `system-out`, and a failing one holds its first failures with the lines that reproduce them.

The form is the one that Jenkins' and the usual other readers take: `testsuites`, `testsuite` with `properties`,
`testcase` with at most one of `failure`, `error` and `skipped`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from xml.sax.saxutils import escape

from jinja2 import Template

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.inputs import input_lines
from dml_conformance.reports.model.records import Record
from dml_conformance.reports.model.summary import Summary, Test
from dml_conformance.reports.model.templating import environment
from dml_conformance.reports.model.text import brief_text, counts_text, difference_text, in_lines

NO_RULE = "no-rule"  # stands for the cases that are about no rule in particular
SHOWN_DIFFERENCES = 4


def junit_xml(summary: Summary) -> bytes:
    """The whole document, UTF-8."""
    campaign, suites = summary.campaign, summary.reported_tests()
    properties = (
        ("backend", campaign.backend["name"]),
        ("device", campaign.backend["device"]),
        ("seed", str(campaign.seed)),
        ("budget", campaign.budget),
        ("spec", campaign.spec),
        ("accuracy", campaign.accuracy),
        ("suite-version", campaign.suite_version),
        ("outcome", str(summary.conformance)),
    )
    text = _template().render(
        suites=suites,
        tests=[test for of_suite in suites.values() for test in of_suite.values()],
        properties=properties,
        started=one_line(campaign.started).removesuffix("Z"),  # the form knows no time zone
        no_rule=NO_RULE,
    )
    return text.encode()


@cache
def _template() -> Template:
    found = environment("dml_conformance.reports.views")
    found.filters.update(
        attribute=lambda text: escape(one_line(text), {'"': "&quot;"}),
        brief=brief_text,
        counts=counts_text,
        record=record_text,
        text=escape,
        total_time=_total_time,
    )
    return found.get_template("junit.xml.j2")


def _total_time(tests: Iterable[Test]) -> str:
    """Of what stands beside each test."""
    return f"{sum(round(test.seconds, 6) for test in tests):.6f}"


def record_text(record: Record) -> str:
    """What came of a case, in lines."""
    lines = [
        f"{record.verdict}: {record.reason}",
        f"the specification says {record.expected}, the backend {record.answered or 'was not asked'}",
        f"case {record.case}",
    ]
    lines += map(difference_text, record.differences[:SHOWN_DIFFERENCES])
    if record.difference_count > SHOWN_DIFFERENCES:
        lines.append(f"{record.difference_count:,} elements differ")
    lines += input_lines(record.case_json, record.first_place)
    lines.append(f"reproduce: {record.reproduce}")
    return in_lines(lines) + "\n"
