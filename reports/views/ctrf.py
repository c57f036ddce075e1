"""CTRF, a JSON form of test results that CI dashboards read: the same tests as the JUnit file, one a line.

A test stands for the cases of one operator, level and rule. Its status is `failed` where a case failed, crashed
or timed out, `other` where the harness itself was at fault, `skipped` where nothing was judged, else `passed`; what the
suite itself calls it is in `rawStatus`, and the counts are in `extra`. Durations are the backend's, in milliseconds.

Source of the form: the schema of CTRF 1.0.0, https://ctrf.io.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import msgspec

from dml_conformance.backends.foreign_text import one_line, printable
from dml_conformance.reports.model.records import Campaign, Verdict
from dml_conformance.reports.model.summary import Summary, Test
from dml_conformance.reports.views.junit import NO_RULE, record_text

SPEC_VERSION = "1.0.0"
PROGRAM = "dml-conformance"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://ctrf.io#dml-conformance")
_encode = msgspec.json.Encoder().encode


def ctrf_json(summary: Summary) -> bytes:
    """The whole document, UTF-8. The same stream gives the same bytes."""
    campaign = summary.campaign
    tests = [
        _test(operator, level, rule, test)
        for (operator, level), found in summary.reported_tests().items()
        for rule, test in found.items()
    ]
    counts = {status: sum(test["status"] == status for test in tests) for status in ("passed", "failed", "skipped")}
    start = _milliseconds(campaign.started)
    stop = _milliseconds(summary.ending.finished if summary.ending is not None else "") or start
    results = {
        "tool": {"name": PROGRAM, "version": campaign.suite_version},
        "summary": {
            "tests": len(tests),
            **counts,
            "pending": 0,
            "other": len(tests) - sum(counts.values()),
            "suites": len({tuple(test["suite"]) for test in tests}),
            "start": start,
            "stop": stop,
            "duration": max(stop - start, 0),
            "extra": {
                "outcome": str(summary.conformance),
                "headline": summary.headline(),
                "cases": {str(verdict): summary.counts[verdict] for verdict in Verdict if summary.counts[verdict]},
            },
        },
        "tests": [],
        "environment": _environment(campaign),
    }
    document = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": str(uuid.uuid5(_NAMESPACE, summary.digests.content)),
        "timestamp": campaign.started if summary.ending is None else summary.ending.finished or campaign.started,
        "generatedBy": PROGRAM,
        "results": results,
    }
    # A test a line, so that two documents can be compared line by line.
    head, tail = _encode(_printable(document)).split(b'"tests":[]', 1)
    lines = b",\n".join(_encode(_printable(test)) for test in tests)
    return head + b'"tests":[\n' + lines + b"\n]" + tail + b"\n"


def _printable(value: Any) -> Any:
    """The value with what no screen should get written out in every text."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(name): _printable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def _test(operator: str, level: str, rule: str, test: Test) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{operator} {level} {rule or NO_RULE}",
        "status": test.status,
        "rawStatus": str(test.decisive),
        "duration": round(1000 * test.seconds),
        "suite": [operator, level],
        "type": "conformance",
        "extra": {"cases": {str(verdict): test.counts[verdict] for verdict in Verdict if test.counts[verdict]}},
    }
    if test.samples and test.status in ("failed", "other"):
        found["message"] = one_line(f"{test.samples[0].verdict}: {test.samples[0].reason}", 500)
        found["trace"] = "\n".join(record_text(record) for record in test.samples)
    elif test.status == "skipped":
        found["message"] = "nothing was judged"
    return found


def _environment(campaign: Campaign) -> dict[str, Any]:
    return {
        "appName": campaign.backend["name"],
        "testEnvironment": campaign.backend["device"],
        "osPlatform": campaign.environment.get("system", ""),
        "extra": {
            "seed": str(campaign.seed),  # as text: it may have 64 bits, of which many readers keep 53
            "budget": campaign.budget,
            "spec": str(campaign.spec),
            "accuracy": campaign.accuracy,
            "levels": list(campaign.levels),
            "operators": list(campaign.operators),
            "versions": campaign.backend.get("versions", {}),
            "environment": campaign.environment,
        },
    }


def _milliseconds(moment: str) -> int:
    """Since 1970; 0 where it is unknown."""
    try:
        return round(1000 * datetime.fromisoformat(moment).timestamp())
    except ValueError:
        return 0
