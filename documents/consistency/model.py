"""What the checks of the specification work on and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from dml_conformance.backends.reference import expected_output
from dml_conformance.documents.reference_run import Reference
from dml_conformance.spec.errata import Erratum, errata
from dml_conformance.spec.examples import Example, Illustration, Layout, examples, illustrations, layouts
from dml_conformance.spec.history import LevelHistory, history
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operators


class Contradiction(msgspec.Struct, frozen=True):
    """Something that a check finds.

    Attributes:
        id: `SUBJECT:what`; the subject is an operator, an example or a figure of a page.
        what: both sides of it, in a sentence.
    """

    id: str
    what: str


@dataclass(frozen=True)
class Standard:
    """All that is held against each other.

    Attributes:
        reference: computes an operator's output tensors, as `backends.reference.expected_output` does.
    """

    operators: Mapping[str, OperatorSpec]
    examples: Mapping[str, Example]
    illustrations: Mapping[str, Illustration]
    layouts: Mapping[str, Layout]
    history: LevelHistory
    errata: Mapping[str, Erratum]
    reference: Reference

    @classmethod
    def own(cls) -> Standard:
        """What this package states."""
        return cls(operators(), examples(), illustrations(), layouts(), history(), errata(), expected_output)

    @property
    def typed_examples(self) -> list[Example]:
        """The examples that the pages print with data types, so that they are whole descriptors."""
        return [example for example in self.examples.values() if example.minimum_level is not None]


# Ids of contradictions, and what they are.
Found = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class ConsistencyCheck:
    """One comparison.

    Attributes:
        name: stable.
        subjects: how many things of a standard it looks at, so that an empty check shows.
        find: yields what contradicts, with its id; the first sentence of its docstring is what should hold.
    """

    name: str
    subjects: Callable[[Standard], int]
    find: Callable[[Standard], Found]

    def outcome(self, standard: Standard) -> CheckOutcome:
        statement = (self.find.__doc__ or "").partition("\n")[0].removesuffix(".")
        lower = statement[:1].lower() + statement[1:]
        found = (Contradiction(*each) for each in self.find(standard))
        return CheckOutcome(self.name, lower, self.subjects(standard), tuple(found))


@dataclass(frozen=True)
class CheckOutcome:
    """What came of one check."""

    name: str
    statement: str
    subjects: int
    findings: tuple[Contradiction, ...]


@dataclass(frozen=True)
class Report:
    """What came of all checks, matched with the errata."""

    checks: tuple[CheckOutcome, ...]
    errata: Mapping[str, Erratum]

    @cached_property
    def findings(self) -> dict[str, Contradiction]:
        """Every contradiction by id, in the order of the checks."""
        return {finding.id: finding for check in self.checks for finding in check.findings}

    @cached_property
    def explained_by(self) -> dict[str, str]:
        """The erratum of each finding that one expects."""
        return {finding: erratum.id for erratum in self.errata.values() for finding in erratum.checks}

    @cached_property
    def new(self) -> tuple[Contradiction, ...]:
        """Contradictions that no erratum explains."""
        return tuple(finding for finding in self.findings.values() if finding.id not in self.explained_by)

    @cached_property
    def stale(self) -> tuple[tuple[str, str], ...]:
        """(finding, erratum) where an erratum expects a finding that does not appear."""
        return tuple(pair for pair in self.explained_by.items() if pair[0] not in self.findings)

    @property
    def ok(self) -> bool:
        """Whether every contradiction is known, and every known one is still there."""
        return not self.new and not self.stale

    def as_json(self) -> dict[str, Any]:
        """The report as `spec check --format json` prints it.

        Returns:
            `format` (1), `ok`, `checks` (name, statement, subjects, findings), `findings` (id, what, erratum or null),
            `errata` (all that is known of each; `checks` is empty where nothing mechanical can show it), and the ids
            of `new` findings and the `stale` ones with their errata.
        """
        return {
            "format": 1,
            "ok": self.ok,
            "checks": [
                {"name": c.name, "statement": c.statement, "subjects": c.subjects, "findings": len(c.findings)}
                for c in self.checks
            ],
            "findings": [
                {"id": f.id, "what": f.what, "erratum": self.explained_by.get(f.id)} for f in self.findings.values()
            ],
            "errata": [erratum.as_json() for erratum in self.errata.values()],
            "new": [finding.id for finding in self.new],
            "stale": [{"finding": finding, "erratum": erratum} for finding, erratum in self.stale],
        }
