"""Where the pages are silent, wrong, or contradict themselves, each with an id and what this project makes of it."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.sources import Source, read_data


class Resolution(StrEnum):
    """What the specification in this project does about an erratum."""

    CORRECTED = "corrected"  # the pages' own evidence settles it; the rules follow the correction
    UNSPECIFIED = "unspecified"  # a descriptor or value that depends on it is not judged
    EDITORIAL = "editorial"  # wording or labels; no descriptor's fate depends on it


class Concern(StrEnum):
    """What an erratum would leave unclear if nothing were done about it."""

    DESCRIPTORS = "descriptors"  # whether a descriptor is valid
    EXECUTION = "execution"  # what executing one does
    TEXT = "text"  # only what the page says


class Erratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known fault of the pages.

    Attributes:
        id: stable; `GATHER-1`, `TENSOR-1` for what concerns every tensor, `LEVEL-1` for what concerns the levels,
            `ACCURACY-1` for what concerns all arithmetic.
        operators: names of the operators concerned; empty = all.
        concerns: what it would leave unclear.
        kind: range, formula, example, label, prose, missing, table, level, type.
        page: the page's name.
        place: where on the page it stands, or where what is missing belongs.
        finding: what the page says and why that cannot stand.
        resolution: what this project does about it.
        reason: why that resolution.
        proposal: what the page could say instead.
        cases: small cases that show it where the worked examples do not, in the form that `spec.case.Case` reads.
        examples: worked examples that show it.
        checks: findings of `spec check` that this erratum explains; empty where nothing mechanical can show it.
        page_checks: findings of `spec check-page` that it explains, by id.
        see: addresses of discussions elsewhere.
    """

    id: str
    operators: tuple[str, ...]
    concerns: Concern
    kind: str
    page: str
    place: str
    finding: str
    resolution: Resolution
    reason: str
    proposal: str
    cases: tuple[dict[str, Any], ...] = ()
    examples: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    page_checks: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def source(self) -> Source:
        return Source(self.page)

    def as_json(self) -> dict[str, Any]:
        """All attributes, and the page's address as `source`."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return {**fields, "source": self.source.url}


@cache
def errata() -> dict[str, Erratum]:
    """All errata by id, in the order of the data file."""
    every = read_data("errata", list[Erratum])
    by_id = {erratum.id: erratum for erratum in every}
    assert len(by_id) == len(every), "two errata have the same id"
    return by_id
