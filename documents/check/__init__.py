"""Holds pages of the specification against themselves, the registry and their originals, and lays them side by side.

A check is an entry of `checks.json`, which says what should hold and in what words a fault is told, and the remarks of
that name which the walk over its part of the page yields: `field_remarks`, `table_remarks`, and so on.
"""

from dml_conformance.documents.check.model import checks
from dml_conformance.documents.check.report import CheckedPages, PageFindings, check_pages

__all__ = ["CheckedPages", "PageFindings", "check_pages", "checks"]
