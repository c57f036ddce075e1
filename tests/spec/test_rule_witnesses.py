"""Every rule has its witnesses: a descriptor that keeps it and, at each level where that is possible, one that breaks
it and nothing else. The registry is walked, so a rule that is added without its case is noticed here.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest

from dml_conformance.conformance.audit.changes import mutated
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, LOWEST, Level
from dml_conformance.spec.operator import Misfit, inputs, outputs, slots, with_tensors
from dml_conformance.spec.registry import operators, rules, rules_of
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.cases import applicable_rules, execution_rules, make_case
from dml_conformance.strategies.chooser import SeededChooser, every_variant
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.violations import breakable_rules, violate, violations

CELLS = [
    (operator, level) for operator, spec in operators().items() for level in {LOWEST: 0, **dict.fromkeys(spec.epochs)}
]

# Why a rule that applies at a level can have no descriptor there that breaks it and nothing else.
NOT_ALONE = {
    "same-dimension-count": "all tensors must have the only dimension count of the table",
    "same-data-type": "the table has one data type",
    "output-rank": "at one dimension nothing is cropped",
    "scale-data-type": "the table has one data type",
    "total-size-rounding": "elements of 4 bytes leave nothing to round",
}


def existing(operator: str) -> list[Level]:
    return [level for level in Level if level >= operators()[operator].introduced_in]


@pytest.mark.parametrize("operator", operators())
def test_every_descriptor_rule_is_broken_somewhere(operator: str) -> None:
    broken = {rule for level in Level for rule in breakable_rules(operator, level)}
    kept = {rule.id for rule in rules_of(operator) if rule.kind == "descriptor"} - broken
    assert kept <= ({"TENSOR.total-size-rounding"} if _has_wide_types_only(operator) else set())


def _has_wide_types_only(operator: str) -> bool:
    types = Context.at(SeededChooser(0), operators()[operator], HIGHEST).types
    return all(data_type.size >= 4 for of_group in types.values() for data_type in of_group)


@pytest.mark.parametrize("operator", operators())
def test_every_descriptor_rule_has_a_way_to_break_it(operator: str) -> None:
    """One for each rule of the operator and its tensors, and none for a rule that does not exist."""
    assert set(violations(operator)) == {rule.id for rule in rules_of(operator) if rule.kind == "descriptor"}


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_what_can_be_broken_is_what_applies(operator: str, level: Level) -> None:
    """Below its introduction an operator can only be missing; from there on every rule that applies can be broken."""
    breakable = set(breakable_rules(operator, level))
    if level < operators()[operator].introduced_in:
        assert breakable == {f"{operator}.introduced-in"}
        return
    applying = {rule.id for rule in rules_of(operator) if rule.kind == "descriptor" and rule.applies_at(level)}
    assert breakable <= applying
    assert {rule.rpartition(".")[2] for rule in applying - breakable} <= set(NOT_ALONE)


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_a_violation_breaks_exactly_its_rule(operator: str, level: Level) -> None:
    """In all its variants and with other choices; an erratum leaves the descriptor's fate open instead."""
    for rule in breakable_rules(operator, level):
        expected = Outcome.REJECT if rules()[rule].erratum is None else Outcome.UNSPECIFIED
        variants = list(every_variant(rule, lambda chooser, rule=rule: violate(chooser, operator, level, rule)))
        for seed in range(12):
            with suppress(Impossible):  # the rule cannot be broken alone in every descriptor
                variants.append(violate(SeededChooser(seed), operator, level, rule))
        assert variants
        for desc in variants:
            decision = decide(desc, level)
            assert (decision.outcome, decision.rules) == (expected, (rule,)), desc


@pytest.mark.parametrize("operator", operators())
def test_every_execution_rule_has_cases(operator: str) -> None:
    """From the level that it starts at: valid, with data, and about that rule."""
    for rule in rules_of(operator):
        levels = [level for level in existing(operator) if rule.applies_at(level) and rule.kind == "execution"]
        assert levels or rule.kind != "execution"
        for level in levels:
            case = make_case(SeededChooser(0), operator, level, rule.id)
            assert case.outcome is Outcome.ACCEPT
            assert case.data is not None
            assert set(case.data) == {slot.key for slot in inputs(case.desc)}
            assert case.rule == rule.id


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_a_case_of_an_execution_rule_brings_what_the_rule_is_about(operator: str, level: Level) -> None:
    for rule in execution_rules(operator, level):
        for seed in range(12):
            case = make_case(SeededChooser(seed), operator, level, rule)
            _brings(rule.rpartition(".")[2], case)


def _brings(rule: str, case: Case) -> None:
    if rule == "strides":
        assert all(slot.tensor.strides is not None for slot in slots(case.desc))
    if rule in ("negative-indices", "out-of-range-indices"):
        indices = operators()[case.operator].index.indices
        recipe = case.data[indices]
        if rule == "out-of-range-indices":
            assert recipe.pattern == "out-of-range"
        else:
            assert recipe.pattern in ("negative", "mixed-sign", "explicit")
            assert getattr(case.desc, indices).data_type.is_signed_integer


def test_applicable_rules_are_those_that_can_be_broken_then_those_that_are_kept() -> None:
    for operator, level in CELLS:
        kept = (ACCEPTANCE,) if level in existing(operator) else ()
        kept += execution_rules(operator, level)
        assert applicable_rules(operator, level) == breakable_rules(operator, level) + kept
        assert len(set(applicable_rules(operator, level))) == len(applicable_rules(operator, level))


def test_what_cannot_be_broken_is_impossible() -> None:
    with pytest.raises(Impossible):
        violate(SeededChooser(0), "GATHER_ND1", Level.L2_1, "TENSOR.flags")
    with pytest.raises(Impossible):
        violate(SeededChooser(0), "GATHER_ND1", HIGHEST, "GATHER_ND1.introduced-in")
    with pytest.raises(KeyError):
        violate(SeededChooser(0), "GATHER", HIGHEST, "GATHER.values")


@pytest.mark.parametrize("operator", operators())
def test_shapes_follow_or_misfit_whatever_a_descriptor_holds(operator: str) -> None:
    """Sizes of 0, no dimensions at all, attributes out of range, tensors that are null: nothing raises."""
    spec, missing = operators()[operator], 0
    for seed in range(300):
        chooser = SeededChooser(f"{operator}/{seed}")
        desc = mutated(chooser, builder(operator).build(Context.at(chooser, spec, HIGHEST)))
        for _ in range(seed % 4):
            if left := list(slots(desc)):
                slot = chooser.choice(left)
                sizes = chooser.choice(((), (0,), (1,) * 9, (0, *slot.tensor.sizes[1:]), slot.tensor.sizes[:-1]))
                tensor = msgspec.structs.replace(slot.tensor, sizes=sizes, strides=None)
                desc = with_tensors(desc, {slot.key: chooser.choice((tensor, tensor, None))})
            shapes = spec.shapes(desc)
            missing += isinstance(shapes, Misfit)
            decide(desc, HIGHEST)
            assert isinstance(shapes, Misfit) or set(shapes) >= {slot.key for slot in outputs(desc)}
    assert missing or operator.startswith("FILL_VALUE")  # which has any sizes


def test_what_breaks_no_rule_is_no_violation() -> None:
    """An output of another type is a fault of TILE, and what CAST is for; outputs of any sizes are filled."""
    for level in (Level.L6_2, HIGHEST):
        assert "TILE.same-data-type" in breakable_rules("TILE", level)
        assert "CAST.same-data-type" not in violations("CAST")
        assert not {"DIAGONAL_MATRIX.output-sizes", "FILL_VALUE_CONSTANT.output-sizes"} & set(rules())
