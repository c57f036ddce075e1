"""Holds pages of the specification against themselves, the registry and their originals, and lays them side by side."""

from dml_conformance.documents.check.model import statements
from dml_conformance.documents.check.report import CheckedPages, PageFindings, check_pages

__all__ = ["CheckedPages", "PageFindings", "check_pages", "statements"]
