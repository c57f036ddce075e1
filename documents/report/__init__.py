"""What was found on pages, told: as text, as JSON, and as SARIF for tools that show it in place."""

from __future__ import annotations

from dml_conformance.documents.report.collect import Collection, Failure, Skipped, collect
from dml_conformance.documents.report.model import CheckedPages
from dml_conformance.documents.report.sarif import sarif

__all__ = ["CheckedPages", "Collection", "Failure", "Skipped", "collect", "sarif"]
