"""Whether what a package says about its results follows from them: every file that is made of them is made again."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

from dml_conformance.conformance.packages.profiles import ClaimsProfile, profile_of
from dml_conformance.conformance.packages.statements import CaseDigests, statement_of
from dml_conformance.conformance.packages.verify.files import read_document
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.conformance.packages.waivers import Waivers, illegal
from dml_conformance.conformance.workers.environment import ZLIB, environment
from dml_conformance.reports.model.records import Campaign
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.output.folder import CERTIFICATE, JUNIT, REPORT
from dml_conformance.reports.package import CASES, STATEMENT, WAIVERS
from dml_conformance.reports.package.archive import Snapshot
from dml_conformance.reports.package.forms import CaseList, PackageDocument, Statement, WaiverList

DOCUMENTS, WAIVED = "documents", "waivers"


def read_package_waivers(snapshot: Snapshot, campaign: Campaign, today: date, findings: Findings) -> Waivers:
    """The waivers of a package; those that are not legal are found wrong and do not hold.

    They must not have expired when the campaign began, by its own account, nor today.
    """
    document = read_document(snapshot, WAIVERS, WaiverList, WAIVED, findings)
    if document is None:
        return Waivers()
    day = max(today, datetime.fromisoformat(campaign.started).date())
    legal, places = [], []
    for n, waiver in enumerate(document.waivers, 1):
        problem = illegal(waiver, day)
        if problem is None:
            legal.append(waiver)
            places.append(f"waiver {n}")
        else:
            findings.add(WAIVED, WAIVERS, ": ".join(filter(None, (f"waiver {n}", problem[0]))), problem[1])
    return Waivers(legal, places)


def check_waivers(waivers: Waivers, waived: int, findings: Findings) -> None:
    """Whether each of them was of use; after all records were looked at."""
    for place in waivers.unused():
        findings.add(WAIVED, WAIVERS, place, "covers no failure of this package")
    findings.end(WAIVED, f"{len(waivers.waivers)} legal, {waived:,} cases waived")


def check_documents(
    snapshot: Snapshot, again: Path, summary: Summary, digests: CaseDigests, findings: Findings
) -> None:
    """Whether statement, list of cases, certificate, JUnit file and page are those that the records make.

    Args:
        snapshot: of the package.
        again: folder of the reports that were made again.
        summary: of the records.
        digests: of their cases.
        findings: takes what is wrong.
    """
    statement = read_document(snapshot, STATEMENT, Statement, DOCUMENTS, findings)
    if statement is not None:
        wanted = statement_of(summary, ClaimsProfile(statement.profile), statement.stated)
        _compare(STATEMENT, wanted, statement, findings)
        _check_profile(statement, findings)
    cases = read_document(snapshot, CASES, CaseList, DOCUMENTS, findings)
    if cases is not None:
        _compare(CASES, digests.case_list(summary.campaign), cases, findings)
    compared = "statement, cases, certificate, JUnit file and report"
    for name in (CERTIFICATE, JUNIT, REPORT):
        if name not in snapshot.files or (snapshot.folder / name).read_bytes() == (again / name).read_bytes():
            continue
        there = summary.campaign.environment.get(ZLIB)
        if name == REPORT and there != environment()[ZLIB]:
            # The page is compressed in parts, by zlib; another version of it does so otherwise.
            compared = f"statement, cases, certificate and JUnit file; {REPORT} was not compared (zlib {there!a})"
        else:
            findings.add(DOCUMENTS, name, "", _first_difference(snapshot.folder / name, again / name))
    findings.end(DOCUMENTS, f"follow from the records: {compared}")


def _compare(name: str, wanted: PackageDocument, found: PackageDocument, findings: Findings) -> None:
    for field in wanted.__struct_fields__:
        if getattr(wanted, field) != getattr(found, field):
            problem = expected(getattr(wanted, field), getattr(found, field))
            findings.add(DOCUMENTS, name, field, f"does not follow from the records: {problem}")


def _check_profile(statement: Statement, findings: Findings) -> None:
    """Whether what the backend was held to is what the profile says."""
    wanted = profile_of(statement.claims.categories, statement.claims.executes) or "none"
    if statement.profile != wanted:
        findings.add(DOCUMENTS, STATEMENT, "profile", f"what was claimed makes {expected(wanted, statement.profile)}")


def _first_difference(found: Path, wanted: Path) -> str:
    """Where a file begins to differ from the one that the records make."""
    lines = zip(wanted.read_bytes().split(b"\n"), found.read_bytes().split(b"\n"), strict=False)
    for n, (one, other) in enumerate(lines, 1):
        if one != other:
            at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            start = max(at - 20, 0)
            shown = [part[start : start + 80].decode("utf-8", "replace") for part in (one, other)]
            return f"does not follow from the records: line {n}: {expected(*shown)}"
    return "does not follow from the records: its end differs"
