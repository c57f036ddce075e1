"""JUnit XML, for the servers that read it: a suite for each operator and level, a test for each rule.

Not one test a case: a server that shows a hundred thousand of them shows nothing. What a test stands for is counted
in its `system-out`, and a failing one holds its first failures with the lines that reproduce them.

The form is the one that Jenkins' and the usual other readers take: `testsuites`, `testsuite` with `properties`,
`testcase` with at most one of `failure`, `error` and `skipped`.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.records import Campaign, Record, Verdict
from dml_conformance.reports.model.summary import Summary, Test
from dml_conformance.reports.model.text import counts_text, difference_text, in_lines

NO_RULE = "no-rule"  # stands for the cases that are about no rule in particular
SHOWN_DIFFERENCES = 4


def junit_xml(summary: Summary) -> bytes:
    """The whole document, UTF-8."""
    campaign, outcome = summary.campaign, str(summary.conformance)
    root = ET.Element("testsuites", name="dml-conformance")
    for (operator, level), tests in summary.reported_tests().items():
        suite = ET.SubElement(root, "testsuite", name=one_line(f"{operator} at {level}"), package=one_line(operator))
        suite.set("timestamp", one_line(campaign.started).removesuffix("Z"))  # the form knows no time zone
        suite.append(_properties(campaign, outcome))
        for rule, test in tests.items():
            _add_test(suite, operator, level, rule, test)
        _add_totals(suite, suite.findall("testcase"))
    _add_totals(root, root.findall("testsuite/testcase"))
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _properties(campaign: Campaign, outcome: str) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in (
        ("backend", campaign.backend["name"]),
        ("device", campaign.backend["device"]),
        ("seed", str(campaign.seed)),
        ("budget", campaign.budget),
        ("spec", campaign.spec),
        ("accuracy", campaign.accuracy),
        ("suite-version", campaign.suite_version),
        ("outcome", outcome),
    ):
        ET.SubElement(properties, "property", name=name, value=one_line(value))
    return properties


def _add_test(suite: ET.Element, operator: str, level: str, rule: str, test: Test) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        name=one_line(rule or NO_RULE),
        classname=one_line(f"{operator}.{level}"),
        time=f"{test.seconds:.6f}",
    )
    counts = counts_text(test.counts)
    failed = test.counts.failed
    if failed:
        found = [record for record in test.samples if record.verdict is not Verdict.ERROR]
        _add_problem(case, "failure", found, failed, counts)
    elif test.counts[Verdict.ERROR]:
        _add_problem(case, "error", test.samples, test.counts[Verdict.ERROR], counts)
    elif not test.counts[Verdict.PASS]:
        ET.SubElement(case, "skipped", message=f"nothing judged: {counts}")
    ET.SubElement(case, "system-out").text = f"cases: {counts}\n"


def _add_problem(case: ET.Element, tag: str, samples: list[Record], count: int, counts: str) -> None:
    first = f": {one_line(samples[0].reason, 200)}" if samples else ""
    kinds = " and ".join(dict.fromkeys(str(record.verdict) for record in samples)) or tag
    problem = ET.SubElement(case, tag, type=kinds, message=f"{counts}{first}")
    parts = [record_text(record) for record in samples]
    if count > len(samples):
        parts.append(f"{count - len(samples):,} more; all of them are in results.sqlite\n")
    problem.text = "\n".join(parts)


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
    lines.append(f"reproduce: {record.reproduce}")
    return in_lines(lines) + "\n"


def _add_totals(element: ET.Element, cases: list[ET.Element]) -> None:
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        if element.tag == "testsuite" or tag != "skipped":  # `testsuites` has no sum of the skipped
            element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.6f}")
