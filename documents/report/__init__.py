"""What was found on pages, as text and as SARIF."""

from dml_conformance.documents.report.sarif import sarif
from dml_conformance.documents.report.text import count_line, finding_lines

__all__ = ["count_line", "finding_lines", "sarif"]
