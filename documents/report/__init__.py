"""What was found on pages, as text and as SARIF, and how far they agree with the facts."""

from dml_conformance.documents.report.agreement import agreement_page
from dml_conformance.documents.report.sarif import sarif
from dml_conformance.documents.report.text import count_line, finding_lines

__all__ = ["agreement_page", "count_line", "finding_lines", "sarif"]
