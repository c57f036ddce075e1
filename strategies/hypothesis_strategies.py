"""The public Hypothesis strategies: the builders, driven by Hypothesis, so that failures shrink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.cases import any_case, applicable_rules, make_case
from dml_conformance.strategies.chooser import Chooser, HypothesisChooser, Impossible
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.violations import breakable_rules, violate

Draw = Callable[[st.SearchStrategy[Any]], Any]


def descriptors(operator: str, level: Level | str) -> st.SearchStrategy[OperatorDesc]:
    """Valid descriptors of an operator at a level; the specification accepts every one.

    Args:
        operator: `GATHER` or `DML_OPERATOR_GATHER`.
        level: a Level, or its label `3_0`.

    Raises:
        KeyError: no such operator.
        ValueError: no such level, or the operator does not exist there yet.
    """
    spec, level = operator_named(operator), _level(level)
    if level < spec.introduced_in:
        raise ValueError(f"{spec.name} exists from level {spec.introduced_in} on, not at {level}")
    return _driven(lambda chooser: builder(spec.name).build(Context.at(chooser, spec, level)))


def invalid_descriptors(operator: str, level: Level | str, rule: str | None = None) -> st.SearchStrategy[OperatorDesc]:
    """Descriptors that break exactly one rule: `rule`, or any that can be broken at the level.

    A rule with an erratum makes descriptors whose fate the pages leave open (UNSPECIFIED).

    Raises:
        KeyError: no such operator.
        ValueError: no such level, or the rule cannot be broken alone there.
    """
    spec, level = operator_named(operator), _level(level)
    breakable = breakable_rules(spec.name, level)
    if rule is not None and rule not in breakable:
        raise ValueError(f"no descriptor of {spec.name} breaks {rule} alone at level {level}")
    rules = breakable if rule is None else (rule,)
    return _driven(lambda chooser: violate(chooser, spec.name, level, chooser.choice(rules)))


def cases(operator: str, level: Level | str, rule: str | None = None) -> st.SearchStrategy[Case]:
    """Whole cases about one rule, or about any: descriptor, data and what the specification expects.

    Raises:
        KeyError: no such operator.
        ValueError: no such level, or no case is about the rule there.
    """
    spec, level = operator_named(operator), _level(level)
    if rule is None:
        return _driven(lambda chooser: any_case(chooser, spec.name, level))
    if rule not in applicable_rules(spec.name, level):
        raise ValueError(f"no case of {spec.name} is about {rule} at level {level}")
    return _driven(lambda chooser: make_case(chooser, spec.name, level, rule))


def _level(level: Level | str) -> Level:
    return level if isinstance(level, Level) else Level.parse(level)


@st.composite
def _driven(draw: Draw, make: Callable[[Chooser], Any]) -> Any:
    try:
        return make(HypothesisChooser(draw))
    except Impossible:
        reject()
