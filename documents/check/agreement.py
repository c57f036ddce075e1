"""How far pages agree with the facts of their operators, in numbers; operators of the registry are among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dml_conformance.documents.check.fact_checks import known_rows, other_counts, other_types
from dml_conformance.documents.check.subject import PageSubject, same_type
from dml_conformance.documents.read.model import Page
from dml_conformance.spec.operator_facts import OperatorFacts, operator_facts


class Share(NamedTuple):
    """How many of how many agree."""

    agreeing: int
    every: int

    @classmethod
    def of(cls, agrees: Iterable[bool]) -> Share:
        """What counts, counted."""
        answers = tuple(agrees)
        return cls(sum(answers), len(answers))

    def __str__(self) -> str:
        return f"{self.agreeing}/{self.every}"


class Shares(NamedTuple):
    """What of a page agrees with the facts.

    Attributes:
        fields: of the facts, those that the page has.
        types: of these, those that have the header's type on the page.
        introduction: whether the page names the level.
        levels: of the facts' tables, those for whose level the page has one.
        rows: of the facts' tensors at these levels, those that have a row.
        dimension_counts, data_types: of these rows, those that say the same, or nothing where nothing is known.
    """

    fields: Share
    types: Share
    introduction: Share
    levels: Share
    rows: Share
    dimension_counts: Share
    data_types: Share


class PageAgreement(NamedTuple):
    """One page, and what of it agrees."""

    page: Page
    shares: Shares


def agreements(pages: Sequence[Page]) -> dict[str, list[PageAgreement]]:
    """The pages of each operator that there are facts of; in the order of DML_OPERATOR_TYPE, pages in their own."""
    return {
        name: [PageAgreement(page, _shares(PageSubject.of(page), facts)) for page in pages if page.operator == name]
        for name, facts in operator_facts().items()
    }


def _shares(subject: PageSubject, facts: OperatorFacts) -> Shares:
    types = {declaration.name: declaration.type for declaration in subject.declared}
    named = types.keys() | {member.name.english for member in subject.page.members}
    rows = list(known_rows(subject, facts.support_tables))
    stated = [(row, known) for _, row, known in rows if row is not None]
    has = {table.level for table in subject.tables}
    return Shares(
        fields=Share.of(field.name in named for field in facts.fields),
        types=Share.of(same_type(types.get(f.name, ""), f.type) for f in facts.fields if f.name in named),
        introduction=Share.of([subject.introduced_in is not None and subject.introduced_in[0] == facts.introduced_in]),
        levels=Share.of(level in has for level in {table.level for table in facts.support_tables}),
        rows=Share.of(row is not None for _, row, _ in rows),
        dimension_counts=Share.of(
            bool(row.dimension_counts) == bool(known.dimension_counts) and not other_counts(row, known)
            for row, known in stated
        ),
        data_types=Share.of(
            bool(row.data_types) == bool(known.data_types) and not other_types(row, known) for row, known in stated
        ),
    )
