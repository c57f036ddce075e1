"""Which known erratum of the pages a finding is.

An erratum lists the findings that it explains, by id (`page_checks`). A finding's severity does not depend on it: a
fault of a page is one whether it is known or not.
"""

from __future__ import annotations

from functools import cache

from dml_conformance.spec.errata import errata


@cache
def explained_findings() -> dict[str, str]:
    """The erratum of every finding that one explains, both by id."""
    return {finding: erratum.id for erratum in errata().values() for finding in erratum.page_checks}


def erratum_of(finding_id: str) -> str:
    """The id of the erratum that explains a finding; "" where none does."""
    return explained_findings().get(finding_id, "")
