"""Findings on pages as text, a line for each as compilers print them, and as SARIF for tools for code review.

Source of that form: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard. Section numbers
below are those of the standard.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.documents.check import CheckedPages
from dml_conformance.documents.check.model import Check, PageFinding, Severity, checks
from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.model.text import count_of
from dml_conformance.spec.errata import errata

_LONGEST = 400
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "dmlConformanceFinding/v1"
Json = dict[str, Any]


def finding_lines(finding: PageFinding) -> Iterator[str]:
    """Where, how serious, and what; then what should hold, quotation, reason, erratum with its proposal, and id."""
    where = f"{finding.path}:{finding.place.line}:{finding.place.column}"
    yield f"{where}: {finding.severity}: {one_line(f'{finding.found}; expected {finding.expected}', _LONGEST)}"
    details = {
        "rule": checks()[finding.check].statement,
        "quoted": finding.fragment if finding.fragment != finding.found else "",
        "why": finding.why,
        "erratum": f"{finding.erratum} (known): {errata()[finding.erratum].proposal}" if finding.erratum else "",
        "finding": finding.id,
    }
    for name, text in details.items():
        if text:
            yield f"    {name:<7}  {one_line(text, _LONGEST)}"


def count_line(checked: CheckedPages) -> str:
    """`2 errors (1 known), 1 warning, 0 notes`."""
    return ", ".join(
        count_of(checked.counts[severity], severity)
        + (f" ({checked.known[severity]} known)" if checked.known[severity] else "")
        for severity in Severity
    )


def sarif(checked: CheckedPages, root: Path | None = None) -> Json:
    """A log of one run.

    Args:
        checked: what came of it. Where known errata do not count, they are marked as suppressed.
        root: the folder that addresses are relative to; None = the working folder. Files outside of it have absolute
            addresses.

    Returns:
        What to write as JSON.
    """
    root = Path.cwd() if root is None else root
    rules = {check.name: i for i, check in enumerate(checked.checks)}
    told = [(failure.path, failure.problem, "error") for failure in checked.failures]
    told += [(passed.path, passed.reason, "note") for passed in checked.skipped]
    notifications = []
    for path, text, level in told:
        location = {"physicalLocation": {"artifactLocation": _location(path, root)}}
        notifications.append({"level": level, "message": {"text": text}, "locations": [location]})
    driver = {"name": "dml-conformance", "semanticVersion": suite_version(), "rules": list(map(_rule, checked.checks))}
    files = ((page.digest, _location(page.path, root)) for page in checked.pages)
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not checked.failures, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",  # 3.14.17
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder that the command ran in."}}},
        "artifacts": [{"location": location, "hashes": {"sha-256": digest}} for digest, location in files],
        "results": [_result(each, rules[each.check], root, checked.ignore_known) for each in checked.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(check: Check) -> Json:
    statement = f"{check.statement[:1].upper()}{check.statement[1:]}."
    return {
        "id": check.name,
        "shortDescription": {"text": statement},
        "help": {"text": statement},
        "defaultConfiguration": {"level": str(check.severity)},
    }


def _result(finding: PageFinding, rule: int, root: Path, ignore_known: bool) -> Json:
    known = f" Known erratum: {finding.erratum}." if finding.erratum else ""
    region = {"startLine": finding.place.line, "startColumn": finding.place.column}
    result: Json = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": str(finding.severity),
        "message": {"text": f"Found: {finding.found}. Expected: {finding.expected}. Why: {finding.why}.{known}"},
        "locations": [{"physicalLocation": {"artifactLocation": _location(finding.path, root), "region": region}}],
        "partialFingerprints": {FINGERPRINT: f"{_location(finding.path, root)['uri']}:{finding.id}"},
        "properties": {
            "finding": finding.id,
            **{name: getattr(finding, name) for name in ("fragment", "found", "expected", "why", "against")},
        },
    }
    if finding.erratum:
        erratum = errata()[finding.erratum]
        result["properties"] |= {"erratum": erratum.id, "proposal": erratum.proposal, "address": erratum.source.url}
        if ignore_known:
            reason = f"Known erratum {erratum.id} ({erratum.resolution}): {erratum.finding}"
            result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]  # 3.35
    return result


def _location(path: str, root: Path) -> Mapping[str, str]:
    """Relative to the root where the file is below it, else absolute; percent-encoded."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link is shown under its own name
    if absolute.is_relative_to(root):
        return {"uri": quote(os.fsencode(absolute.relative_to(root).as_posix())), "uriBaseId": ROOT}
    return {"uri": absolute.as_uri()}
