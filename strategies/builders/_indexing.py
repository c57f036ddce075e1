"""What the builders of operators that work along an axis share."""

from __future__ import annotations

from collections.abc import Sequence

from dml_conformance.strategies.context import Impossible


def last_wide(sizes: Sequence[int]) -> int:
    """The last dimension of more than one element; raises Impossible where there is none."""
    found = [d for d, size in enumerate(sizes) if size > 1]
    if not found:
        raise Impossible
    return found[-1]
