"""The part of what is tabular that CI takes: a text decides which, such as a commit's hash.

Each name is in it with a probability of one in twenty, so that after n texts it was left out with one of (19/20)^n.
`python tests/support/part.py TEXT` names that part of the operators, as options of `certify` and `spec audit`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from hashlib import sha256

SHARE = 20  # one in so many is taken


def part(names: Iterable[str], text: str, count: int | None = None) -> set[str]:
    """So many of the names, a twentieth if not told, and one at least: those of the smallest digests with the text."""
    ranked = sorted(names, key=lambda name: sha256(f"{text} {name}".encode()).digest())
    return set(ranked[: max(1, -(-len(ranked) // SHARE) if count is None else count)])


if __name__ == "__main__":
    from dml_conformance.spec.registry import operators

    chosen = part(operators(), sys.argv[1])
    print(*(f"--operator {name}" for name in operators() if name in chosen))
