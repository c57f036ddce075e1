"""Findings on pages as text: a line for each as compilers print them, and what it rests on below it."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.documents.check import CheckedPages
from dml_conformance.documents.check.model import PageFinding, Severity, checks
from dml_conformance.reports.model.text import count_of
from dml_conformance.spec.errata import errata

_LONGEST = 400


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
