"""Making cases: the seeded chooser as sweeps use it, Hypothesis with the same builders, and Hypothesis' own floor.

All at the highest level, which allows most: every dimension count, data type and index type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from racing import Goal, Peer, Race, Work
from sizes import Sizes

from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies import cases
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.cases import make_case, numbered_case
from dml_conformance.strategies.chooser import Impossible, SeededChooser
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.violations import breakable_rules, violate

GOAL = Goal(50_000)

_OPERATORS = tuple(operators())
_LEVEL = HIGHEST.label

Made = TypeVar("Made")


def bench_seeded_cases(race: Race, sizes: Sizes) -> None:
    """Cases about any rule, as a sweep makes them, beside what Hypothesis draws from the same builders."""
    race(
        "cases",
        Work("seeded, any case", seeded(sizes.cases, any_seeded)),
        GOAL,
        Peer(Work("Hypothesis, any case", drawn(sizes.examples, [cases(name, HIGHEST) for name in operators()])), 50),
    )


def bench_seeded_descriptors(race: Race, sizes: Sizes) -> None:
    """The descriptor alone, valid and invalid in turn, beside the case: recipes for the data, and the decision."""
    rules = broken_rules()

    def descriptor(n: int) -> object:
        if n % 2:
            name, rule = rules[n // 2 % len(rules)]
            return first_possible(f"0/{name}/{n}", lambda chooser: violate(chooser, name, HIGHEST, rule))
        name = _OPERATORS[n // 2 % len(_OPERATORS)]
        return builder(name).build(Context.at(SeededChooser(f"0/{name}/{n}"), operators()[name], HIGHEST))

    race(
        "descriptors",
        Work("seeded, descriptor alone", seeded(sizes.cases, descriptor)),
        GOAL,
        Peer(Work("seeded, any case", seeded(sizes.cases, any_seeded))),
    )


def bench_seeded_valid_cases(race: Race, sizes: Sizes) -> None:
    assert valid_seeded(0).outcome is Outcome.ACCEPT
    race("cases", Work("seeded, valid", seeded(sizes.cases, valid_seeded)), GOAL)


def bench_seeded_invalid_cases(race: Race, sizes: Sizes) -> None:
    rules = broken_rules()

    def invalid_seeded(n: int) -> Case:
        name, rule = rules[n % len(rules)]
        return first_possible(f"0/{name}/{n}", lambda chooser: make_case(chooser, name, HIGHEST, rule))

    assert all(invalid_seeded(n).outcome is not Outcome.ACCEPT for n in range(len(rules)))
    race("cases", Work("seeded, invalid", seeded(sizes.cases, invalid_seeded)), GOAL)


def bench_hypothesis(race: Race, sizes: Sizes) -> None:
    """What Hypothesis needs for a case, and for the least that it can draw."""
    per_operator = [cases(name, HIGHEST) for name in operators()]
    race(
        "examples",
        Work("Hypothesis, any case", drawn(sizes.examples, per_operator)),
        Peer(Work("Hypothesis, one integer", drawn(sizes.examples, [st.integers()] * len(per_operator))), 0.5),
    )


def first_possible(origin: str, made: Callable[[SeededChooser], Made]) -> Made:
    """What is made with the first seed of an origin whose descriptor can break the rule alone."""
    for attempt in count():
        with suppress(Impossible):
            return made(SeededChooser(f"{origin}/{attempt}"))
    raise AssertionError("counts without an end")


def broken_rules() -> list[tuple[str, str]]:
    """Operators, and the rules that a descriptor of each can break alone."""
    return [(name, rule) for name in operators() for rule in breakable_rules(name, HIGHEST)]


def any_seeded(n: int) -> Case:
    name = _OPERATORS[n % len(_OPERATORS)]
    return numbered_case(0, name, HIGHEST, n)


def valid_seeded(n: int) -> Case:
    name = _OPERATORS[n % len(_OPERATORS)]
    origin = f"0/{name}/{_LEVEL}/{n}"
    return make_case(SeededChooser(origin), name, HIGHEST, f"{name}.values", origin)


def seeded(count: int, make: Callable[[int], object]) -> Callable[[], int]:
    """The first `count` of what `make` makes; the n-th comes from a chooser of its own, as in a sweep."""

    def run() -> int:
        for n in range(count):
            make(n)
        return count

    return run


def drawn(examples: int, strategies: Sequence[st.SearchStrategy[Any]]) -> Callable[[], int]:
    """So many examples of each strategy; the same ones in every round."""

    def run() -> int:
        taken = 0
        for strategy in strategies:

            @seed(0)
            @settings(
                max_examples=examples,
                phases=[Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(strategy)
            def take(_: Any) -> None:
                nonlocal taken
                taken += 1

            take()
        return taken

    return run
