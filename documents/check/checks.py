"""What a check of one page is, and what it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dml_conformance.documents.check.errata_links import erratum_of
from dml_conformance.documents.check.model import CheckStatement, PageFinding, Severity
from dml_conformance.documents.check.subject import Subject
from dml_conformance.documents.read.model import Place

ITSELF, REGISTRY = "itself", "registry"
LONGEST_FRAGMENT = 160
_LONGEST_WORDING = 600
_MOST_LISTED = 16


@dataclass(frozen=True)
class Remark:
    """What a check found at one place; the check's name, severity and operator are added to it.

    Attributes:
        subject: what it is about, the same on every translation and edition: `4_1/InputTensor`.
        place: where the fragment stands.
        fragment: the quoted text.
        found: what the page says, in a few words.
        expected: what should stand there.
        why: where the expectation comes from.
    """

    subject: str
    place: Place
    fragment: str
    found: str
    expected: str
    why: str


@dataclass(frozen=True)
class PageCheck:
    """One check of a page.

    Attributes:
        name: stable; the first part of its findings' ids.
        statement: what should hold, in one sentence.
        severity: of all its findings.
        find: yields what does not hold.
        against: what the page is held against.
        needs_registry: whether it can be made only of an operator that the registry knows.
    """

    name: str
    statement: str
    severity: Severity
    find: Callable[[Subject], Iterator[Remark]]
    against: str = ITSELF
    needs_registry: bool = False

    @property
    def described(self) -> CheckStatement:
        return CheckStatement(self.name, self.statement, self.severity)

    def findings(self, subject: Subject) -> Iterator[PageFinding]:
        """What it finds on a page, in the check's own order; two remarks on one subject are told apart by `#2`."""
        if self.needs_registry and subject.spec is None:
            return
        seen: dict[str, int] = {}
        for remark in self.find(subject):
            count = seen[remark.subject] = seen.get(remark.subject, 0) + 1
            ordinal = f"#{count}" if count > 1 else ""
            finding_id = f"{self.name}:{subject.page.operator}:{remark.subject}{ordinal}"
            yield PageFinding(
                id=finding_id,
                severity=self.severity,
                path=subject.page.path,
                place=remark.place,
                fragment=shortened(remark.fragment),
                found=shortened(remark.found, _LONGEST_WORDING),
                expected=shortened(remark.expected, _LONGEST_WORDING),
                why=shortened(remark.why, _LONGEST_WORDING),
                against=self.against,
                erratum=erratum_of(finding_id),
            )


def shortened(text: str, longest: int = LONGEST_FRAGMENT) -> str:
    """A text in one line, cut where it is too long to quote."""
    line = " ".join(text[: 8 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Names with commas between them; the first ones where they are very many."""
    first = list(islice(names, _MOST_LISTED + 1))
    return ", ".join([*first[:_MOST_LISTED], "…"] if len(first) > _MOST_LISTED else first)
