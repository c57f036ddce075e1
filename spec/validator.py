"""The decision of the specification on a descriptor: ACCEPT, REJECT with every broken rule, or UNSPECIFIED.

What the pages leave open stays open, unless the caller reads what was observed of the library as part of it.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import msgspec

from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import Observation, observations
from dml_conformance.spec.operator import OperatorDesc, slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import Breach, Check, Rule, Violation
from dml_conformance.spec.tensor_rules import TENSOR_RULES, is_sound


class Outcome(StrEnum):
    """What the specification says of a descriptor."""

    ACCEPT = "ACCEPT"
    REJECT = "REJECT"
    UNSPECIFIED = "UNSPECIFIED"


class Reading(StrEnum):
    """What counts as the specification."""

    DOCUMENTED = "documented"  # what the pages say; where they are silent or contradict themselves, nothing
    OBSERVED = "observed"  # and there, as far as it is understood, what the library was seen to do


class Decision(msgspec.Struct, frozen=True):
    """An outcome and what it rests on.

    Attributes:
        outcome: ACCEPT, REJECT or UNSPECIFIED.
        violations: for REJECT the broken rules; for UNSPECIFIED, and for an ACCEPT that rests on observations, those
            that the pages leave open.
        observations: what was observed that settles it; empty where the pages do, or nothing.
    """

    outcome: Outcome
    violations: tuple[Violation, ...] = ()
    observations: tuple[Observation, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules broken or left open, each once, in order."""
        return tuple(dict.fromkeys(violation.rule.id for violation in self.violations))

    @property
    def errata(self) -> tuple[str, ...]:
        """Ids of the errata by which the pages leave the descriptor's fate open."""
        return tuple(dict.fromkeys(v.rule.erratum for v in self.violations if v.rule.erratum is not None))


ACCEPTED = Decision(Outcome.ACCEPT)

_BoundRule = tuple[Rule, Check, frozenset[str]]


class _Plan(NamedTuple):
    """The rules that apply to one operator at one level, ready to run."""

    tensor_rules: tuple[_BoundRule, ...]
    operator_rules: tuple[_BoundRule, ...]


def _bind(rules: tuple[Rule, ...], level: Level) -> tuple[_BoundRule, ...]:
    return tuple((rule, rule.check, rule.needs) for rule in rules if rule.check is not None and rule.applies_at(level))


@cache
def _plan(operator: str, level: Level) -> _Plan:
    spec = operators()[operator]
    introduced = spec.introduced_in <= level
    return _Plan(
        _bind(TENSOR_RULES, level) if introduced else (),
        _bind(spec.own_descriptor_rules, level),
    )


def decide(desc: OperatorDesc, level: Level, reading: Reading = Reading.DOCUMENTED) -> Decision:
    """Hold a descriptor against every rule of its operator at a level.

    A rule whose preconditions are broken is skipped, so that each violation named is a fault of its own. Below the
    level that introduced the operator only that is reported: there is no table to compare with.

    Args:
        desc: the descriptor; tensors may be None where the caller has none.
        level: the feature level asked for.
        reading: whether observations settle what the pages leave open. They change no other decision.

    Returns:
        The decision. A rejection outweighs an open question: UNSPECIFIED means that nothing else is wrong.
    """
    plan = _plan(desc.operator, level)
    violations: list[Violation] = []
    unmet: set[str] = set()  # rules broken or skipped, on any tensor
    for slot in slots(desc):
        tensor, is_output = slot.tensor, slot.field.is_output
        if is_sound(tensor, is_output, level):
            continue
        unmet_here: set[str] = set()
        for rule, check, needs in plan.tensor_rules:
            if unmet_here and not needs.isdisjoint(unmet_here):
                unmet_here.add(rule.id)
                continue
            breach = check(tensor, is_output, level)
            if breach:
                unmet_here.add(rule.id)
                _tell(violations, rule, breach, slot.name + ".")
        if unmet_here:
            unmet |= unmet_here
    for rule, check, needs in plan.operator_rules:
        if unmet and not needs.isdisjoint(unmet):
            unmet.add(rule.id)
            continue
        breach = check(desc, level)
        if breach:
            unmet.add(rule.id)
            _tell(violations, rule, breach, "")
    if not violations:
        return ACCEPTED
    broken = tuple(violation for violation in violations if violation.rule.erratum is None)
    if broken:
        return Decision(Outcome.REJECT, broken)
    decision = Decision(Outcome.UNSPECIFIED, tuple(violations))
    return decision if reading is Reading.DOCUMENTED else _observed(desc, decision)


def _observed(desc: OperatorDesc, undecided: Decision) -> Decision:
    """One observed refusal is enough to reject; to accept, every open rule must have been seen to be no obstacle."""
    known = observations()
    found = [(known[rule_id], known[rule_id].accepts(desc)) for rule_id in undecided.rules if rule_id in known]
    refusing = tuple(observation for observation, accepts in found if accepts is False)
    if refusing:
        refused = {observation.rule for observation in refusing}
        broken = tuple(violation for violation in undecided.violations if violation.rule.id in refused)
        return Decision(Outcome.REJECT, broken, refusing)
    if len(found) == len(undecided.rules) and all(accepts for _, accepts in found):
        return Decision(Outcome.ACCEPT, undecided.violations, tuple(observation for observation, _ in found))
    return undecided


def _tell(violations: list[Violation], rule: Rule, breach: Any, prefix: str) -> None:
    for where, found in [breach] if isinstance(breach, Breach) else breach:
        violations.append(Violation(rule, prefix + where, found))
