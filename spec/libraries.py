"""The builds of DirectML that were asked about what the pages say and what they leave open."""

from __future__ import annotations

from functools import cache

import msgspec

from dml_conformance.spec.sources import read_data


class LibraryBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One build of the library.

    Attributes:
        level: label of the feature level that it speaks, and by whose rules it decides.
        release: the release of DirectML that brought this level; the file itself names none.
        distribution: where the build comes from, with its version.
    """

    level: str
    release: str
    distribution: str

    def __str__(self) -> str:
        return f"{self.release} ({self.level})"


@cache
def libraries() -> dict[str, LibraryBuild]:
    """All of them by the label of their level, the oldest first."""
    return {library.level: library for library in read_data("libraries", list[LibraryBuild])}
