"""What the checks of pages yield; what each says should hold, and in what words, stands in `checks.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from dml_conformance.documents.read.model import Page, Place
from dml_conformance.spec.errata import errata

T = TypeVar("T")
_LONGEST_FRAGMENT, _LONGEST_WORDING = 160, 600
_MOST_LISTED = 16


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"  # who follows the page gets something wrong
    WARNING = "warning"  # a reader is misled or must guess, but the rest of the page settles it
    NOTE = "note"  # worth knowing; nothing is wrong: an older edition, something that could not be compared


class PageFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fault or oddity of a page.

    Attributes:
        id: stable over editions and translations: `CHECK:OPERATOR:subject`, for example
            `example-values:TILE:1/OutputTensor` or `registry-data-types:GATHER:4_1/InputTensor`.
        severity: how much it matters.
        path: of the page's file.
        place: where the fragment stands.
        fragment: the quoted text.
        found: what the page says, in a few words.
        expected: what should stand there.
        why: where the expectation comes from.
        against: what the page was held against: `itself`, `registry` or `original`.
        erratum: id of the known erratum that it is; "" where none is.
    """

    id: str
    severity: Severity
    path: str
    place: Place
    fragment: str
    found: str
    expected: str
    why: str
    against: str
    erratum: str = ""

    @property
    def check(self) -> str:
        """The name of the check that found it."""
        return self.id.partition(":")[0]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A check, for findings, listings, SARIF rules and the documentation.

    Attributes:
        name: stable; the first part of its findings' ids.
        severity: of all its findings.
        statement: what should hold, in one sentence.
        why: where its expectations come from; "" where each finding says so itself.
        against: what the page is held against.
    """

    name: str
    severity: Severity
    statement: str
    why: str = ""
    against: str = "itself"


class _Entry(Check, frozen=True, forbid_unknown_fields=True):
    """A check as `checks.json` has it: with what it says of a fault, in braces what a remark tells."""

    found: str = "{found}"
    expected: str = "{expected}"
    because: str = ""


@cache
def _entries() -> dict[str, _Entry]:
    written = resources.files("dml_conformance.documents.check").joinpath("checks.json").read_bytes()
    return {entry.name: entry for entry in msgspec.json.decode(written, type=list[_Entry])}


@cache
def checks() -> dict[str, Check]:
    """All checks of pages, by name."""
    return {name: msgspec.convert(entry, Check, from_attributes=True) for name, entry in _entries().items()}


class Fragment(Protocol):
    """Something that stands on a page: a sentence, a cell, a value."""

    @property
    def place(self) -> Place: ...

    @property
    def text(self) -> str: ...


class Remark(NamedTuple):
    """What a check found at one place.

    Attributes:
        check: its name, by which `checks.json` has what should hold and what is said.
        subject: what it is about, the same on every translation and edition: `4_1/InputTensor`.
        at: what stands there, and where.
        told: what stands in the wording of the check in braces, by name.
    """

    check: str
    subject: str
    at: Fragment
    told: Mapping[str, object]


Remarks = Iterator[Remark]


def remark(check: str, subject: str, at: Fragment, **told: object) -> Remark:
    """What a check found at one place, in its wording."""
    return Remark(check, subject, at, told)


def findings(page: Page, remarks: Iterable[Remark]) -> Iterator[PageFinding]:
    """Findings made of what is remarked on a page; two of a check on one subject are told apart by `#2`."""
    seen: Counter[str] = Counter()
    for check_name, subject, at, told in remarks:
        check = _entries()[check_name]
        finding_id = f"{check_name}:{page.operator}:{subject}"
        seen[finding_id] += 1
        if seen[finding_id] > 1:
            finding_id = f"{finding_id}#{seen[finding_id]}"
        texts = (check.found, check.expected, check.because or check.why)
        found, expected, why = (shortened(text.format_map(told), _LONGEST_WORDING) for text in texts)
        yield PageFinding(
            id=finding_id,
            severity=check.severity,
            path=page.path,
            place=at.place,
            fragment=shortened(at.text),
            found=found,
            expected=expected,
            why=why,
            against=check.against,
            erratum=_explained_findings().get(finding_id, ""),
        )


@cache
def _explained_findings() -> dict[str, str]:
    """The erratum of every finding that one explains, both by id; no finding's severity depends on it."""
    return {finding: erratum.id for erratum in errata().values() for finding in erratum.page_checks}


def shortened(text: str, longest: int = _LONGEST_FRAGMENT) -> str:
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


def misplaced(check: str, due: Iterable[str], at: Mapping[str, Fragment], within: str = "") -> Remarks:
    """The first thing that stands where another is due; nothing where all that are there stand as they should.

    Args:
        due: names in the right order.
        at: where they stand, as far as they do.
        within: what the subject begins with.
    """
    in_order = [name for name in due if name in at]
    found = sorted(in_order, key=lambda name: at[name].place)
    for name, right in islice((pair for pair in zip(found, in_order, strict=True) if pair[0] != pair[1]), 1):
        yield remark(check, f"{within}{name}", at[name], name=name, due=right, order=", ".join(in_order))
