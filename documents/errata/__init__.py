"""The errata as a document for those who maintain the pages: what contradicts, where, by what evidence, and what to do.

What can be computed is computed when the document is made: contradictions by the checks of `spec check`, decisions by
the validator, outputs by the reference, and what the real library does from what is on record of it.
"""

from __future__ import annotations

from dml_conformance.documents.errata.document import ErrataDocument, ErratumEntry, Exhibit, errata_document
from dml_conformance.documents.errata.forms import INTRODUCTION, as_html, as_markdown

__all__ = ["INTRODUCTION", "ErrataDocument", "ErratumEntry", "Exhibit", "as_html", "as_markdown", "errata_document"]
