"""Cases for the benchmarks that take them as given."""

from __future__ import annotations

from spec.case import Case
from spec.levels import Level
from spec.registry import operators
from strategies.cases import any_case, applicable_rules
from strategies.chooser import SeededChooser

# Every operator at every level at which there is a case of it.
CELLS = tuple((name, level) for name in operators() for level in Level if applicable_rules(name, level))


def corpus(count: int) -> list[Case]:
    """The first `count` cases of a sweep that takes operators and levels in turn."""
    return [case(n) for n in range(count)]


def case(n: int) -> Case:
    """The n-th of them."""
    name, level = CELLS[n % len(CELLS)]
    origin = f"0/{name}/{level}/{n}"
    return any_case(SeededChooser(origin), name, level, origin)
