"""Whole cases: a descriptor, its data, and the rule that the case is about.

A case about a descriptor rule breaks it (and is never executed); a case about an execution rule is valid, is executed,
and brings what the rule needs: negative indices, strided tensors, indices out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from spec.case import Case, Recipe
from spec.levels import Level
from spec.operator import OperatorDesc, OperatorSpec
from spec.registry import operator as operator_named
from spec.registry import spec_of
from spec.tensor import TensorDesc
from spec.tensor_rules import EXECUTION_RULES
from strategies import values
from strategies.builders import builder
from strategies.chooser import Chooser
from strategies.context import Context, Impossible
from strategies.tensors import layout_kind
from strategies.violations import breakable_rules, violate

# Index tensors of at most this many elements get explicit values, drawn one by one, so that they shrink.
SHRINKABLE_INDICES = 3


@dataclass(frozen=True)
class Focus:
    """What a case about an execution rule has to bring.

    Attributes:
        index_patterns: patterns for the index tensor; empty = any that is in range.
        signed: index types must be signed.
        layout: see `Context.layout`.
    """

    index_patterns: tuple[str, ...] = ()
    signed: bool = False
    layout: str = "any"

    def narrow(self, ctx: Context) -> Context:
        """The context restricted to what the focus needs; raises Impossible where the level has no such thing."""
        if self.signed:
            ctx = ctx.but(index_types=tuple(t for t in ctx.index_types if t.is_signed_integer))
        return ctx.but(layout=self.layout)


# By the last part of the rule's id, so that every operator with such a rule is covered.
_FOCUS = {
    "values": Focus(),
    "negative-indices": Focus((values.NEGATIVE, values.MIXED), signed=True),
    "out-of-range-indices": Focus((values.OUT_OF_RANGE,)),
    "strides": Focus(layout="strided"),
    "output-bounds": Focus(),
    "inputs-unchanged": Focus(),
}


@cache
def execution_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of the execution rules that apply to an operator at a level."""
    spec = operator_named(operator)
    if level < spec.introduced_in:
        return ()
    return tuple(rule.id for rule in (*spec.execution_rules, *EXECUTION_RULES) if rule.applies_at(level))


@cache
def applicable_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of all rules that a case can be about: those that can be broken alone, then those of execution."""
    return breakable_rules(operator, level) + execution_rules(operator, level)


def make_case(chooser: Chooser, operator: str, level: Level, rule: str, origin: str = "") -> Case:
    """A case about one rule.

    Raises:
        Impossible: there is none at this level.
        KeyError: the operator has no such rule.
    """
    if rule not in execution_rules(operator, level):
        return Case.of(violate(chooser, operator, level, rule), level, rule=rule, origin=origin)
    focus = _FOCUS[rule.rpartition(".")[2]]
    spec = operator_named(operator)
    desc = builder(operator).build(focus.narrow(Context.at(chooser, spec, level)))
    return Case.of(desc, level, recipes(chooser, desc, focus), rule=rule, origin=origin)


def recipes(chooser: Chooser, desc: OperatorDesc, focus: Focus | None = None) -> dict[str, Recipe]:
    """Data for a valid descriptor: any pattern for what is moved, in-range indices unless the focus says otherwise."""
    spec = spec_of(desc)
    indices = spec.index.indices if spec.index else ""
    return {
        field.attribute: _index_recipe(chooser, spec, desc, focus or Focus())
        if field.attribute == indices
        else Recipe(chooser.choice(values.DATA_PATTERNS), chooser.integer(0, 255))
        for field in spec.input_fields
    }


def _index_recipe(chooser: Chooser, spec: OperatorSpec, desc: OperatorDesc, focus: Focus) -> Recipe:
    assert spec.index is not None
    tensor: TensorDesc = getattr(desc, spec.index.indices)
    signed = tensor.data_type.is_signed_integer
    patterns = focus.index_patterns or (values.SIGNED_INDEX_PATTERNS if signed else values.UNSIGNED_INDEX_PATTERNS)
    pattern = chooser.choice(patterns)
    own_memory = layout_kind(tensor) not in ("broadcast", "overlapping")
    if pattern != values.OUT_OF_RANGE and own_memory and tensor.element_count <= SHRINKABLE_INDICES:
        limits = spec.index.limits(desc)
        return Recipe(values.EXPLICIT, values=_explicit(chooser, pattern, tensor.element_count, limits))
    return Recipe(pattern, chooser.integer(0, 2**16))


def _explicit(chooser: Chooser, pattern: str, count: int, limits: Sequence[int]) -> tuple[int, ...]:
    """In-range indices drawn one by one, of the sign that the pattern asks for."""

    def one(limit: int) -> int:
        if pattern == values.NEGATIVE:
            return -1 - chooser.integer(0, limit - 1)
        if pattern == values.MIXED:
            return chooser.integer(-limit, limit - 1)
        return chooser.integer(0, limit - 1)

    return tuple(one(limits[i % len(limits)]) for i in range(count))


def any_case(chooser: Chooser, operator: str, level: Level, origin: str = "") -> Case:
    """A case about any rule; half of them valid and executed."""
    broken, executed = breakable_rules(operator, level), execution_rules(operator, level)
    rules = executed if executed and (not broken or chooser.integer(0, 1) == 0) else broken
    if not rules:
        raise Impossible
    return make_case(chooser, operator, level, chooser.choice(rules), origin)
