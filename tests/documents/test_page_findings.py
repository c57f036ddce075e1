"""Findings that were read against their pages, and whether they are true.

`findings.tsv` has each with its repository (of MicrosoftDocs; `win32-pr` are translations), page, line, id, verdict
(true, false, unclear) and the reason. Two readers took them: a random 150 of all above note level on 176 English and
245 translated pages, and all English ones with a random 60 of the translations. The pages are not this project's to
ship: what lies beside the checkout is held against the list.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from places import SHARED

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import read_page

REPOSITORY = "windows-ai-docs"
PAGES = SHARED / "spec-pages" / REPOSITORY
LEAST_READ = 150
MOST_FALSE = 0.02
with Path(__file__).with_name("findings.tsv").open(encoding="utf-8", newline="") as file:
    READ = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_hardly_any_finding_is_false() -> None:
    verdicts = Counter(row["verdict"] for row in READ)
    assert verdicts.keys() <= {"true", "false", "unclear"}
    assert verdicts.total() >= LEAST_READ
    assert verdicts["false"] <= MOST_FALSE * verdicts.total()


@pytest.mark.skipif(not PAGES.is_dir(), reason="the published pages are not beside this checkout")
def test_pages_have_the_findings_that_were_read_and_no_other() -> None:
    report = check_pages([read_page(path) for path in sorted(PAGES.glob("*.md"))])
    found = {
        (Path(checked.path).name, str(finding.place.line), finding.id)
        for checked in report.pages
        for finding in checked.findings
        if finding.severity is not Severity.NOTE
    }
    assert found == {
        (row["page"], row["line"], row["finding"])
        for row in READ
        if row["repository"] == REPOSITORY and row["verdict"] != "false"
    }
