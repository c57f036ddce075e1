"""How far pages agree with the facts, as a page of Markdown: a table by operator, and sums above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dml_conformance.documents.check.agreement import PageAgreement, Share, Shares
from dml_conformance.spec.registry import operators

_INTRODUCTION = """# Pages and facts

How far the pages that were read agree with the facts in `spec/data/operators.json`. Made by

    dml-conformance spec check-page --format agreement -o docs/reference/pages.md --replace PAGE...

A cell says how many of how many agree: of the operator's fields those that the page has, and of these those that
have the header's type; whether the page names the level that introduced the operator; of the levels with a table of
their own those that the page has one for (older editions have fewer); of the tensors at these levels those that
have a row; and of these rows those with the same dimension counts and data types. Pages with the same numbers share
a line. Operators marked with * are in the [registry](operators.md) too, which says the same as the facts. What
differs, `spec check-page` names."""
_HEADERS = ("operator", "pages", *(name.replace("_", " ") for name in Shares._fields))


def agreement_page(found: Mapping[str, Sequence[PageAgreement]]) -> str:
    """The page, with a line for each operator that has facts, and several where its pages differ in numbers."""
    every = [agreement for of_operator in found.values() for agreement in of_operator]
    have = sum(map(bool, found.values()))
    summary = f"{have} of {len(found)} operators have a page; there are {len(every):,} pages."
    total = _line("all", "", _sum([agreement.shares for agreement in every])) if every else ""
    rows = [line for name, of_operator in found.items() for line in _lines(name, of_operator)]
    lines = [f"| {' | '.join(_HEADERS)} |", "| --- | --- |" + " ---: |" * len(Shares._fields), total, *rows]
    return f"{_INTRODUCTION}\n\n{summary}\n\n" + "".join(f"{line}\n" for line in lines if line)


def _lines(name: str, agreements: Sequence[PageAgreement]) -> Iterator[str]:
    """The lines of an operator, pages with the same numbers together."""
    shown = name + "*" * (name in operators())
    languages: dict[Shares, list[str]] = {}
    for agreement in agreements:
        languages.setdefault(agreement.shares, []).append(agreement.page.language or "?")
    for shares, of_pages in languages.items():
        yield _line(shown, ", ".join(of_pages), shares)
    if not agreements:
        yield f"| {shown} | none |" + " |" * len(Shares._fields)


def _line(name: str, pages: str, shares: Shares) -> str:
    return f"| {name} | {pages} | {' | '.join(map(str, shares))} |"


def _sum(every: Sequence[Shares]) -> Shares:
    columns = zip(*every, strict=True)
    return Shares(*(Share(sum(s.agreeing for s in column), sum(s.every for s in column)) for column in columns))
