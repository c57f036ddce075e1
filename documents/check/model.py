"""What the checks of pages yield."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from dml_conformance.documents.read.model import Place


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


class CheckStatement(msgspec.Struct, frozen=True):
    """A check by name and what should hold, for listings, SARIF rules and the documentation.

    Attributes:
        name: stable; the first part of its findings' ids.
        statement: what should hold, in one sentence.
        severity: of all its findings.
    """

    name: str
    statement: str
    severity: Severity


def statement_of(find: Callable[..., object]) -> str:
    """What should hold by a check: the first sentence of the docstring of the function that looks for what does not."""
    sentence = (find.__doc__ or "").partition("\n")[0].removesuffix(".")
    return sentence[:1].lower() + sentence[1:]
