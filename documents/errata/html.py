"""The errata document as one HTML page that loads nothing."""

from __future__ import annotations

from dml_conformance.documents.errata.model import ErrataDocument
from dml_conformance.documents.errata.words import exhibit_name, exhibit_sentences, page_name
from dml_conformance.reports.model.text import pretty_json
from dml_conformance.reports.page.html import render


def as_html(document: ErrataDocument) -> str:
    """The whole page."""
    return render(
        "errata.html.j2",
        document=document,
        exhibit_name=exhibit_name,
        exhibit_sentences=exhibit_sentences,
        page_name=page_name,
        pretty_json=pretty_json,
    )
