"""What the errata document holds."""

from __future__ import annotations

from typing import Any

import msgspec

from dml_conformance.documents.consistency import Contradiction
from dml_conformance.spec.divergences import Divergence
from dml_conformance.spec.errata import Erratum
from dml_conformance.spec.validator import Outcome

FORMAT = 1


class LibraryRecord(msgspec.Struct, frozen=True):
    """What the real library does, by what is on record.

    Attributes:
        answer: `accept`, `reject`, or `crash` where its process dies.
        libraries: the builds that were seen to do it, by release and feature level.
        record: id of the divergence, or of the rule that was observed.
    """

    answer: str
    libraries: tuple[str, ...]
    record: str


class Exhibit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A descriptor that shows an erratum, and what comes of it.

    Attributes:
        id: of the page's example, of the observation or divergence that it belongs to, or "" where it was made for this
            erratum.
        level: label of the feature level that it is held against; "" where no types are printed to decide on.
        descriptor: as it stands on the page, in DirectML's names; tensors without DataType where none is printed.
        decision: the specification's on the descriptor as it stands; None where no types are printed.
        broken: what it breaks or leaves open, with the rule's id.
        corrections: fields that the errata change, by path.
        corrected_decision: on the descriptor with the corrections; None where there are none.
        inputs: the elements of the input tensors, row-major and nested.
        computed: the elements of the outputs that the reference computes from them, with the corrections; null for one
            that the specification leaves open. Empty where nothing is executed.
        computed_sizes: the output's sizes that follow from the inputs, where no types are printed to execute with.
        as_printed: whether what is computed is what the page prints; None where it prints nothing.
        library: what is on record of the real library.
    """

    id: str
    level: str
    descriptor: dict[str, Any]
    decision: Outcome | None
    broken: tuple[str, ...] = ()
    corrections: dict[str, Any] = {}
    corrected_decision: Outcome | None = None
    inputs: dict[str, Any] = {}
    computed: dict[str, Any] = {}
    computed_sizes: tuple[int, ...] = ()
    as_printed: bool | None = None
    library: tuple[LibraryRecord, ...] = ()


class LibraryBehaviour(msgspec.Struct, frozen=True):
    """What the library was observed to do where the pages leave a question open.

    Attributes:
        rule: the rule that asks the question.
        libraries: the builds, by release and feature level.
        finding: what they do.
    """

    rule: str
    libraries: tuple[str, ...]
    finding: str


class ErratumEntry(Erratum, frozen=True, kw_only=True, omit_defaults=True):
    """An erratum with its evidence.

    Attributes:
        address: where its page is published.
        left_open: rules that leave a descriptor undecided because of it.
        settled_by: rules that follow the correction.
        contradictions: what the checks of `spec check` find.
        exhibits: descriptors that show it.
        observed: what the real library does with what is left open.
        divergences: ids of those of the library that bear on it.
    """

    address: str
    left_open: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    observed: tuple[LibraryBehaviour, ...] = ()
    divergences: tuple[str, ...] = ()


class Departure(Divergence, frozen=True, kw_only=True):
    """A divergence, where the library does otherwise than its pages say, with its evidence.

    Attributes:
        addresses: of the pages that the rules rest on.
        exhibit: the smallest descriptor that shows it.
    """

    addresses: tuple[str, ...]
    exhibit: Exhibit


class ErrataDocument(msgspec.Struct, frozen=True):
    """All of it.

    Attributes:
        format: 1; raised when something in it changes meaning.
        errata: by the page's name, which is that of the operator; contradictions before what a page is silent on.
        divergences: what the library does otherwise than its pages say, as far as the errata concern it.
    """

    format: int
    errata: tuple[ErratumEntry, ...]
    divergences: tuple[Departure, ...]

    @property
    def by_page(self) -> dict[str, list[ErratumEntry]]:
        """The errata of each page, in the order of the document."""
        pages: dict[str, list[ErratumEntry]] = {}
        for entry in self.errata:
            pages.setdefault(entry.page, []).append(entry)
        return pages
