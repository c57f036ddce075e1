"""Holds pages of the specification against themselves, the registry, their originals and each other."""

from conformance.page_check.between import DifferentOperators
from conformance.page_check.report import PageFindings, PageReport, check_pages, statements

__all__ = ["DifferentOperators", "PageFindings", "PageReport", "check_pages", "statements"]
