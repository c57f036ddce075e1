"""What a check of one page is, and what it yields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Protocol, TypeVar

from dml_conformance.documents.check.model import CheckStatement, PageFinding, Severity, statement_of
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import Page, Place
from dml_conformance.spec.errata import errata

T = TypeVar("T")
ITSELF, REGISTRY = "itself", "registry"
LONGEST_FRAGMENT = 160
_LONGEST_WORDING = 600
_MOST_LISTED = 16


class Fragment(Protocol):
    """Something that stands on a page: a sentence, a cell, a value."""

    @property
    def place(self) -> Place: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Remark:
    """What a check found at one place; the check's name, severity and operator are added to it.

    Attributes:
        subject: what it is about, the same on every translation and edition: `4_1/InputTensor`.
        at: what stands there, and where.
        found: what the page says, in a few words.
        expected: what should stand there.
        why: where the expectation comes from; "" for what the check has for all of its remarks.
    """

    subject: str
    at: Fragment
    found: str
    expected: str
    why: str = ""


Find = Callable[[PageSubject], Iterator[Remark]]


@dataclass(frozen=True)
class PageCheck:
    """One check of a page.

    Attributes:
        described: its name, what should hold, and how serious all its findings are.
        find: yields what does not hold.
        why: where the expectation of its remarks comes from, unless they say so themselves.
        against: what the page is held against.
        needs_registry: whether it can be made only of an operator that the registry knows.
    """

    described: CheckStatement
    find: Find
    why: str
    against: str
    needs_registry: bool

    def findings(self, subject: PageSubject) -> Iterator[PageFinding]:
        """What it finds on a page, in the check's own order."""
        if self.needs_registry and subject.spec is None:
            return
        remarks = ((self.described, remark) for remark in self.find(subject))
        yield from findings(subject.page, remarks, self.against, why=self.why, longest=_LONGEST_WORDING)


class CheckList(list[PageCheck]):
    """The checks of a module, in its order.

    Args:
        against: what they hold the page against.
        needs_registry: whether they can be made only of operators that the registry knows.
        why: where their expectations come from, unless a check or remark says so itself.
    """

    def __init__(self, against: str = ITSELF, *, needs_registry: bool = False, why: str = "") -> None:
        super().__init__()
        self._against, self._needs_registry, self._why = against, needs_registry, why

    def add(
        self, name: str, severity: Severity, why: str = "", *, needs_registry: bool | None = None
    ) -> Callable[[Find], Find]:
        """Makes a check of a function; the first sentence of its docstring is what should hold.

        Args:
            name: stable; the first part of its findings' ids.
            severity: of all its findings.
            why: where the expectation of its remarks comes from, unless they say so themselves.
            needs_registry: None = as for the others of the list.
        """

        def add(find: Find) -> Find:
            described = CheckStatement(name, statement_of(find), severity)
            needs = self._needs_registry if needs_registry is None else needs_registry
            self.append(PageCheck(described, find, why or self._why, self._against, needs))
            return find

        return add


def findings(
    page: Page,
    remarks: Iterable[tuple[CheckStatement, Remark]],
    against: str,
    *,
    why: str = "",
    longest: int = LONGEST_FRAGMENT,
) -> Iterator[PageFinding]:
    """Findings made of what checks remark on a page; two of a check on one subject are told apart by `#2`.

    Args:
        against: what the page was held against.
        why: where an expectation comes from where the remark does not say it.
        longest: characters of what is found and expected.
    """
    seen: Counter[str] = Counter()
    for check, remark in remarks:
        finding_id = f"{check.name}:{page.operator}:{remark.subject}"
        seen[finding_id] += 1
        if seen[finding_id] > 1:
            finding_id = f"{finding_id}#{seen[finding_id]}"
        yield PageFinding(
            id=finding_id,
            severity=check.severity,
            path=page.path,
            place=remark.at.place,
            fragment=shortened(remark.at.text),
            found=shortened(remark.found, longest),
            expected=shortened(remark.expected, longest),
            why=shortened(remark.why or why, _LONGEST_WORDING),
            against=against,
            erratum=_explained_findings().get(finding_id, ""),
        )


@cache
def _explained_findings() -> dict[str, str]:
    """The erratum of every finding that one explains, both by id; no finding's severity depends on it."""
    return {finding: erratum.id for erratum in errata().values() for finding in erratum.page_checks}


def shortened(text: str, longest: int = LONGEST_FRAGMENT) -> str:
    """A text in one line, cut where it is too long to quote."""
    line = " ".join(text[: 8 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Names with commas between them; the first ones where they are very many."""
    first = list(islice(names, _MOST_LISTED + 1))
    return ", ".join([*first[:_MOST_LISTED], "…"] if len(first) > _MOST_LISTED else first)


def repeated(items: Iterable[T], name: Callable[[T], str]) -> Iterator[T]:
    """The items whose name an item before them has."""
    seen: set[str] = set()
    for item in items:
        if name(item) in seen:
            yield item
        seen.add(name(item))


def misplaced(due: Sequence[T], place: Callable[[T], Place]) -> Iterator[tuple[T, T]]:
    """The first thing that stands where another is due, with that other; nothing where all stand as they should."""
    pairs = zip(sorted(due, key=place), due, strict=True)
    return islice((pair for pair in pairs if pair[0] != pair[1]), 1)
