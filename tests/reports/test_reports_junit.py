"""JUnit XML: the shape that servers read, counts that add up, and text that is still XML whatever a backend says."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree as ET

import pytest
import report_data
from report_data import plain

from dml_conformance.reports.model.records import Record, Verdict
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import SAMPLES_PER_TEST, Summary
from dml_conformance.reports.views.junit import NO_RULE, junit_xml

# The form of the Jenkins xUnit plugin's JUnit schema: the children of each element, in order where it is a sequence,
# and its attributes (required, optional).
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase"],
    "properties": ["property"],
    "property": [],
    "testcase": ["skipped", "error", "failure", "system-out"],
    "skipped": [],
    "error": [],
    "failure": [],
    "system-out": [],
}
ATTRIBUTES = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, set()),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, {"package"}),
    "properties": (set(), set()),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname", "time"}, set()),
    "skipped": (set(), {"message"}),
    "error": (set(), {"message", "type"}),
    "failure": (set(), {"message", "type"}),
    "system-out": (set(), set()),
}


def xml_of(records: tuple[Record, ...] | list[Record], **changes: object) -> ET.Element:
    summary = report_data.summary_of(records, **changes)
    return ET.fromstring(junit_xml(summary))


def single(*records: Record, **changes: object) -> ET.Element:
    """The one test that the records make."""
    root = xml_of(list(records), operators=("GATHER",), levels=("3_0",), **changes)
    (case,) = root.findall("testsuite/testcase")
    return case


@pytest.fixture(scope="module")
def root() -> ET.Element:
    return xml_of(report_data.some_faulty())


def test_the_shape_is_the_one_that_servers_read(root: ET.Element) -> None:
    for element in root.iter():
        order = [CHILDREN[element.tag].index(child.tag) for child in element]
        assert order == sorted(order), element.tag
        required, optional = ATTRIBUTES[element.tag]
        assert required <= set(element.keys()) <= required | optional, element.tag
    for case in root.iter("testcase"):
        assert sum(case.find(tag) is not None for tag in ("skipped", "error", "failure")) <= 1


def test_sums_add_up(root: ET.Element) -> None:
    for suite in root.findall("testsuite"):
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(attribute, "")) == len(suite.findall(f"testcase/{tag}"))
        assert float(suite.get("time", "")) == pytest.approx(sum(float(case.get("time", "")) for case in cases))
    for attribute in ("tests", "failures", "errors", "time"):
        total = sum(float(suite.get(attribute, "")) for suite in root.findall("testsuite"))
        assert float(root.get(attribute, "")) == pytest.approx(total)


def test_a_suite_for_each_cell_and_a_test_for_each_rule(root: ET.Element) -> None:
    suites = {suite.get("name"): suite for suite in root.findall("testsuite")}
    campaign = report_data.campaign()
    assert list(suites) == [f"{operator} at {level}" for operator in campaign.operators for level in campaign.levels]
    records = [r for r in report_data.some_faulty() if (r.operator, r.level) == ("GATHER", "4_1")]
    found = {case.get("name"): case.findtext("system-out") for case in suites["GATHER at 4_1"].findall("testcase")}
    counted = Counter(record.rule for record in records)
    assert len(counted) < len({(record.rule, record.phase) for record in records})
    assert set(found) == set(counted)
    for name, text in found.items():
        assert sum(int(word) for word in text.replace(",", "").split() if word.isdigit()) == counted[str(name)]


def test_properties_name_backend_and_seed(root: ET.Element) -> None:
    for suite in root.findall("testsuite"):
        properties = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
        assert properties["backend"] == report_data.BACKEND
        assert properties["seed"] == str(report_data.campaign().seed)
        assert properties["device"] == "NVIDIA H100 80GB HBM3"


def test_a_failure_shows_its_first_cases_how_to_run_them_and_how_many_more() -> None:
    differences = next(r.differences for r in report_data.some_faulty() if r.differences)
    records = [
        plain(
            Verdict.FAIL,
            case=f"{i:064x}",
            reason=f"reason {i}",
            reproduce=f"run case {i}",
            differences=differences[:1],
            difference_count=7,
        )
        for i in range(SAMPLES_PER_TEST + 1003)
    ]
    failure = single(plain(), *records).find("failure")
    text = str(failure.text)
    for i in range(SAMPLES_PER_TEST):
        assert f"reproduce: run case {i}\n" in text
    assert f"run case {SAMPLES_PER_TEST}" not in text
    assert "1,003 more" in text
    assert differences[0].expected_bits in text
    assert differences[0].actual in text
    assert failure.get("type") == "fail"
    assert failure.get("message").startswith("output[3,0,1]: expected 72 0x")
    assert failure.get("message").endswith("; reason 0 (1 pass, 1,005 fail)")


V = Verdict


@pytest.mark.parametrize(
    ("verdicts", "tag", "attributes"),
    [
        ((V.PASS, V.ERROR, V.FAIL), "failure", {"type": "fail", "message": "of fail (1 pass, 1 fail, 1 error)"}),
        ((V.ERROR, V.CRASH), "failure", {"type": "crash", "message": "of crash (1 crash, 1 error)"}),
        ((V.TIMEOUT,), "failure", {"type": "timeout", "message": "of timeout (1 timeout)"}),
        ((V.PASS, V.ERROR), "error", {"type": "error", "message": "of error (1 pass, 1 error)"}),
        ((V.NOT_SUPPORTED,), "skipped", {"message": "nothing judged: 1 not-supported"}),
        ((V.OBSERVED,), "skipped", {"message": "nothing judged: 1 observed"}),
        ((V.WAIVED,), "skipped", {"message": "nothing judged: 1 waived"}),
        ((V.WAIVED, V.PASS), "", {}),
    ],
)
def test_what_a_test_comes_to(verdicts: tuple[Verdict, ...], tag: str, attributes: dict[str, str]) -> None:
    """A failing test tells of what speaks against the backend alone, not of the harness's own faults."""
    case = single(*(plain(verdict, reason=f"of {verdict}", rule="") for verdict in verdicts))
    assert case.get("name") == NO_RULE
    found = [child for child in case if child.tag != "system-out"]
    assert [(child.tag, dict(child.attrib)) for child in found] == ([(tag, attributes)] if tag else [])
    if tag == "failure":
        assert f"of {verdicts[-1]}" in str(found[0].text)
        assert "of error" not in str(found[0].text)


def test_control_characters_and_markup_are_shown_and_not_obeyed() -> None:
    nasty = "\x00\x1b[31m]]>&<b>\"'\x7f\x85\ud800\uffff\u202e \t\n end"
    record = plain(Verdict.FAIL, rule="GATHER.values", reason=nasty, reproduce=nasty)
    backend = report_data.backend(device=nasty, name=nasty)
    summary = Summary()
    campaign = {"operators": ("GATHER",), "levels": ("3_0",), "backend": backend}
    report_data.feed(FanOut(summary), [record], **campaign)
    root = ET.fromstring(junit_xml(summary))
    text = "".join(root.itertext()) + "".join(value for element in root.iter() for value in element.attrib.values())
    assert "\\x00\\x1b[31m]]>&<b>" in text
    assert "\\ud800" in text
    assert not set("\x00\x1b\x7f\x85\ud800\uffff\u202e") & set(text)
