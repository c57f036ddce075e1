"""The errata document as one HTML page that loads nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dml_conformance.documents.errata.model import Departure, ErrataDocument, ErratumEntry, Exhibit
from dml_conformance.documents.errata.words import exhibit_name, exhibit_sentences
from dml_conformance.reports.html import render
from dml_conformance.reports.text import pretty_json


@dataclass(frozen=True)
class _Shown:
    """An exhibit ready to be shown; `descriptor` is "" for one that stands on the page."""

    name: str
    sentences: str
    descriptor: str

    @classmethod
    def of(cls, exhibit: Exhibit) -> _Shown:
        descriptor = "" if "/" in exhibit.id else pretty_json(exhibit.descriptor)
        return cls(exhibit_name(exhibit), " ".join(exhibit_sentences(exhibit)), descriptor)


@dataclass(frozen=True)
class _Page:
    name: str
    address: str
    entries: list[tuple[ErratumEntry, list[_Shown]]]


def as_html(document: ErrataDocument) -> str:
    """The whole page."""
    pages = [
        _Page(
            page, entries[0].address, [(entry, [_Shown.of(exhibit) for exhibit in entry.exhibits]) for entry in entries]
        )
        for page, entries in document.by_page.items()
    ]
    departures: list[tuple[Departure, _Shown]] = [
        (departure, _Shown.of(departure.exhibit)) for departure in document.divergences
    ]
    return render("errata.html.j2", document=document, pages=pages, departures=departures)
