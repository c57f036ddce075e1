"""Where the pages are silent, wrong, or contradict themselves, each with an id and what this project makes of it."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from spec.sources import Source


class Resolution(StrEnum):
    """What the specification in this project does about an erratum."""

    CORRECTED = "corrected"  # the pages' own evidence settles it; the rules follow the correction
    UNSPECIFIED = "unspecified"  # a descriptor or value that depends on it is not judged
    EDITORIAL = "editorial"  # wording or labels; no descriptor's fate depends on it


class Erratum(msgspec.Struct, frozen=True):
    """One known fault of the pages.

    Attributes:
        id: stable; `GATHER-1`, or `TENSOR-1` for what concerns every operator.
        operators: names of the operators concerned; empty = all.
        kind: range, formula, example, label, prose, missing, table, level.
        finding: what the page says and why that cannot stand.
        resolution: what this project does about it.
        reason: why that resolution.
        page: the page's name.
        examples: worked examples that show it.
        checks: findings of `spec check` that this erratum explains.
    """

    id: str
    operators: tuple[str, ...]
    kind: str
    finding: str
    resolution: Resolution
    reason: str
    page: str
    examples: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    @property
    def source(self) -> Source:
        return Source(self.page)


@cache
def errata() -> dict[str, Erratum]:
    """All errata by id, in the order of the data file."""
    text = resources.files("spec").joinpath("data/errata.json").read_bytes()
    return {erratum.id: erratum for erratum in msgspec.json.decode(text, type=list[Erratum])}
