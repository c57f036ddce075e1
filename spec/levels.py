"""DirectML feature levels, `1_0` to `6_4`, as an ordered enumeration.

Source: DML_FEATURE_LEVEL in DirectML.h and the feature level history page. Every level is a
strict superset of the lower ones.
"""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """A feature level; the value is that of `DML_FEATURE_LEVEL`, so levels compare as numbers."""

    L1_0 = 0x1000
    L2_0 = 0x2000
    L2_1 = 0x2100
    L3_0 = 0x3000
    L3_1 = 0x3100
    L4_0 = 0x4000
    L4_1 = 0x4100
    L5_0 = 0x5000
    L5_1 = 0x5100
    L5_2 = 0x5200
    L6_0 = 0x6000
    L6_1 = 0x6100
    L6_2 = 0x6200
    L6_3 = 0x6300
    L6_4 = 0x6400

    @property
    def label(self) -> str:
        """The short form used everywhere: `3_0`."""
        return self.name[1:]

    def __str__(self) -> str:
        return self.label

    @classmethod
    def parse(cls, text: str) -> Level:
        """Read `3_0`, `3.0` or `DML_FEATURE_LEVEL_3_0`.

        Raises:
            ValueError: no such level; the message lists the ones that exist.
        """
        label = text.strip().removeprefix("DML_FEATURE_LEVEL_").replace(".", "_")
        level = cls.__members__.get(f"L{label}")
        if level is None:
            known = ", ".join(member.label for member in cls)
            raise ValueError(f"there is no feature level {text!r}; expected one of {known}")
        return level


LOWEST = min(Level)
HIGHEST = max(Level)
