"""Holds pages of the specification against themselves, the registry, their originals and each other."""

from dml_conformance.documents.check.between import DifferentOperators
from dml_conformance.documents.check.report import CheckedPages, PageFindings, check_pages, statements

__all__ = ["CheckedPages", "DifferentOperators", "PageFindings", "check_pages", "statements"]
