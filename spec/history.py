"""What the header and the level history say about the operators, beside the operators' own pages.

The pages' tables are what the specification follows (`spec.operators`); this is the second and third witness that
`spec check` holds them against.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache

import msgspec

from dml_conformance.spec.levels import Level
from dml_conformance.spec.sources import read_data


class Aspect(StrEnum):
    """What a level changed about an operator."""

    DATA_TYPES = "data-types"
    DIMENSION_COUNTS = "dimension-counts"
    SHAPES = "shapes"
    TENSORS = "tensors"  # which of them have to be there


class OperatorIntroduction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an operator came, by two witnesses other than its page.

    Attributes:
        header: label of the DML_TARGET_VERSION gate around its enumerator; the lowest level where it has none.
        history: label of the level under which the history lists it as added; None where it is not listed, as for
            what was there from the start.
    """

    header: str
    history: str | None


class LevelChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the history: a level changed something about these operators; none named = about operators at large.

    Attributes:
        level: label of the level.
        aspect: what changed.
        operators: names of the operators.
    """

    level: str
    aspect: Aspect
    operators: tuple[str, ...]

    @property
    def at(self) -> Level:
        return Level.parse(self.level)


class LevelHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the header and the history say about the operators here."""

    introductions: dict[str, OperatorIntroduction]
    changes: tuple[LevelChange, ...]


@cache
def history() -> LevelHistory:
    """The data file, read once."""
    return read_data("history", LevelHistory)
