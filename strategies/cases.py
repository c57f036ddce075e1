"""Whole cases: a descriptor, its data, and the rule that the case is about.

A case about a descriptor rule breaks it (and is never executed); one about acceptance is valid, and decided on alone; a
case about an execution rule is valid, is executed, and brings what the rule needs: negative indices, strided tensors,
indices out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import cycle, islice

from msgspec.structs import replace

from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    Field,
    OperatorDesc,
    OperatorSpec,
    inputs,
    slots,
    with_tensors,
)
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import rule as rule_named
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies import values
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import Chooser, SeededChooser
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import layout_kind, tensor
from dml_conformance.strategies.violations import breakable_rules, violate

# Index tensors of at most this many elements get explicit values, drawn one by one, so that they shrink.
SHRINKABLE_INDICES = 3


@dataclass(frozen=True)
class Focus:
    """What a case about an execution rule has to bring.

    Attributes:
        index_patterns: patterns for the index tensor; empty = any that is in range.
        signed: index types must be signed.
        layout: see `Context.layout`.
        in_place: an output is bound to the memory of an input.
    """

    index_patterns: tuple[str, ...] = ()
    signed: bool = False
    layout: str = "any"
    in_place: bool = False

    def narrow(self, ctx: Context) -> Context:
        """The context restricted to what the focus needs; raises Impossible where the level has no such thing."""
        if self.signed:
            ctx = ctx.of_types(INDICES, (t for t in ctx.index_types if t.is_signed_integer))
        return ctx.but(layout=self.layout)


_NO_FOCUS = Focus()
# Of rules that are kept. By the last part of the rule's id, so that every operator with such a rule is covered.
_FOCUS = {
    "acceptance": Focus(),
    "values": Focus(),
    "accuracy": Focus(),
    "negative-indices": Focus((values.NEGATIVE, values.MIXED), signed=True),
    "out-of-range-indices": Focus((values.OUT_OF_RANGE,)),
    "strides": Focus(layout="strided"),
    "output-bounds": Focus(),
    "inputs-unchanged": Focus(),
    "binding": Focus(),
    "in-place": Focus(in_place=True),
}


@cache
def execution_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of the execution rules that apply to an operator at a level."""
    spec = operator_named(operator)
    if level < spec.introduced_in:
        return ()
    return tuple(rule.id for rule in (*spec.execution_rules, *spec.common_execution_rules) if rule.applies_at(level))


@cache
def applicable_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of all rules that a case can be about: those that can be broken alone, then those that are kept.

    They are that of acceptance and those of execution, from the level on that the operator exists at.
    """
    executed = execution_rules(operator, level)
    return breakable_rules(operator, level) + ((ACCEPTANCE, *executed) if executed else ())


def make_case(chooser: Chooser, operator: str, level: Level, rule: str, origin: str = "") -> Case:
    """A case about one rule.

    What to expect of one that is built follows from how it is made: it keeps every rule. Of one that is broken the
    validator was asked.

    Raises:
        Impossible: there is none at this level.
        KeyError: the operator has no such rule.
    """
    if rule == ACCEPTANCE and rule in applicable_rules(operator, level):
        return Case(_built(chooser, operator, level, rule)[1], level, None, rule, Outcome.ACCEPT, (), origin)
    if rule in execution_rules(operator, level):
        return _kept(chooser, operator, level, rule, origin)
    return _broken(chooser, operator, level, rule, origin)


def _kept(chooser: Chooser, operator: str, level: Level, rule: str, origin: str) -> Case:
    focus, desc = _built(chooser, operator, level, rule)
    desc, data = _with_data(chooser, desc, focus)
    return Case(desc, level, data, rule, Outcome.ACCEPT, (), origin)


def _with_data(
    chooser: Chooser, desc: OperatorDesc, focus: Focus, overwritten: str = ""
) -> tuple[OperatorDesc, dict[str, Recipe]]:
    """The descriptor and its data, with what the focus asks of both; in place of the input that is named, or of any."""
    data = recipes(chooser, desc, focus)
    if not focus.in_place:
        return desc, data
    may_overwrite = spec_of(desc).may_overwrite
    pairs = [(slot, values.output_in_place(desc, slot.key)) for slot in inputs(desc) if may_overwrite(slot.field)]
    alike = [(slot, output) for slot, output in pairs if slot.tensor.sizes == output.tensor.sizes]
    slot, output = chooser.choice([pair for pair in alike if overwritten in ("", pair[0].key)])
    is_as_wide = slot.tensor.data_type.size == output.tensor.data_type.size
    tensor = replace(output.tensor, data_type=slot.tensor.data_type) if is_as_wide else output.tensor
    return with_tensors(desc, {slot.key: tensor}), {**data, slot.key: replace(data[slot.key], in_place=True)}


def _built(chooser: Chooser, operator: str, level: Level, rule: str) -> tuple[Focus, OperatorDesc]:
    focus, context = _narrowed(operator, level, rule)
    return focus, builder(operator).build(context.driven_by(chooser))


def _broken(chooser: Chooser, operator: str, level: Level, rule: str, origin: str) -> Case:
    desc = violate(chooser, operator, level, rule)
    return Case(desc, level, None, rule, _outcome_of_breaking(rule), (rule,), origin)


@cache
def _outcome_of_breaking(rule: str) -> Outcome:
    return Outcome.REJECT if rule_named(rule).erratum is None else Outcome.UNSPECIFIED


@cache
def _narrowed(operator: str, level: Level, rule: str) -> tuple[Focus, Context]:
    """The focus of a rule that is kept, and what it leaves to choose from; decisions have to come from elsewhere."""
    focus = _FOCUS[rule.rpartition(".")[2]]
    return focus, focus.narrow(Context.at(SeededChooser(""), operator_named(operator), level))


def recipes(chooser: Chooser, desc: OperatorDesc, focus: Focus | None = None) -> dict[str, Recipe]:
    """Data for a valid descriptor: any pattern for what is moved, in-range indices unless the focus says otherwise."""
    spec = spec_of(desc)
    indices = spec.index.indices if spec.index else ""
    data = {}
    for slot in inputs(desc):
        if slot.key == indices:
            data[indices] = _index_recipe(chooser, spec, desc, focus or _NO_FOCUS)
        else:
            data[slot.key] = Recipe(chooser.choice(patterns(spec, slot.field)), chooser.code(256))
    return data


def patterns(spec: OperatorSpec, field: Field) -> tuple[str, ...]:
    """The patterns that an input's values are made by."""
    return values.DOMAINS[spec.domains.get(field.name, "bits")]


def _index_recipe(chooser: Chooser, spec: OperatorSpec, desc: OperatorDesc, focus: Focus) -> Recipe:
    assert spec.index is not None
    tensor: TensorDesc = getattr(desc, spec.index.indices)
    pattern = chooser.choice(focus.index_patterns or _INDEX_PATTERNS[tensor.data_type])
    is_drawn = pattern != values.OUT_OF_RANGE and spec.index.has_duplicates and _has_own_memory(tensor)
    if is_drawn and tensor.element_count <= SHRINKABLE_INDICES:
        limits = spec.index.limits(desc)
        return Recipe(values.EXPLICIT, values=_explicit(chooser, pattern, tensor.element_count, limits))
    return Recipe(pattern, chooser.code(2**16))


# Patterns of in-range indices for a type.
_INDEX_PATTERNS = {
    data_type: values.SIGNED_INDEX_PATTERNS if data_type.is_signed_integer else values.UNSIGNED_INDEX_PATTERNS
    for data_type in DataType
}


def _has_own_memory(tensor: TensorDesc) -> bool:
    """Whether every element of the tensor is one of its own."""
    return tensor.strides is None or layout_kind(tensor) not in ("broadcast", "overlapping")


def _explicit(chooser: Chooser, pattern: str, count: int, limits: Sequence[int]) -> tuple[int, ...]:
    """In-range indices drawn one by one, of the sign that the pattern asks for."""
    indices = []
    for limit in islice(cycle(limits), count):
        if pattern == values.NEGATIVE:
            indices.append(-1 - chooser.integer(0, limit - 1))
        else:
            indices.append(chooser.integer(-limit if pattern == values.MIXED else 0, limit - 1))
    return tuple(indices)


def any_case(chooser: Chooser, operator: str, level: Level, origin: str = "") -> Case:
    """A case about any rule; half of them valid and executed.

    Raises:
        Impossible: there are none at this level.
    """
    broken, executed = breakable_rules(operator, level), execution_rules(operator, level)
    if executed and (not broken or chooser.integer(0, 1) == 0):
        return _kept(chooser, operator, level, chooser.choice(executed), origin)
    for _ in range(_TRIED if broken else 0):
        with suppress(Impossible):  # a rule cannot be broken alone in every descriptor
            return _broken(chooser, operator, level, chooser.choice(broken), origin)
    raise Impossible


_TRIED = 20  # rules to break, before there counts as none


_LABELS = {level: level.label for level in Level}


# Of eight cases that follow each other, those after the one at `_LEADER` have its sizes, types and attributes if it is
# executed: the first two of them its whole descriptor, the last one other layouts.
_TURN, _LEADER, _RELAID = 8, 4, 7


def numbered_case(seed: int, operator: str, level: Level, number: int) -> Case:
    """Case `number` of the sweep of an operator at a level under a seed, made without those before it.

    Random access: the case depends on the four arguments alone, so a sweep can be cut into shards, resumed, or asked
    for one case, and every machine and Python version makes the same. Its `origin` names the four:
    `seed/operator/level/number`.

    Some are neighbours of the same shape with other data, for who executes equal ones together.

    Raises:
        KeyError: no such operator.
    """
    place = number % _TURN
    if place < _LEADER:
        return _own_case(seed, operator, level, number)
    leader = _leading_case(seed, operator, level, number - place + _LEADER)
    if place == _LEADER:
        return leader
    if leader.data is None:
        return _own_case(seed, operator, level, number)
    origin = f"{seed}/{operator}/{_LABELS[level]}/{number}"
    chooser = SeededChooser(origin)
    focus, context = _narrowed(operator, level, leader.rule)
    desc = _laid_out_anew(context.driven_by(chooser), leader.desc) if place == _RELAID else leader.desc
    overwritten = next((key for key, recipe in leader.data.items() if recipe.in_place), "")
    desc, data = _with_data(chooser, desc, focus, overwritten)
    return Case(desc, level, data, leader.rule, leader.outcome, leader.broken, origin)


def _own_case(seed: int, operator: str, level: Level, number: int) -> Case:
    origin = f"{seed}/{operator}/{_LABELS[level]}/{number}"
    return any_case(SeededChooser(origin), operator, level, origin)


# Operators at all levels take turns in a corpus; one that leads is asked for again before as many others have.
_leading_case = lru_cache(maxsize=512)(_own_case)


def _laid_out_anew(ctx: Context, desc: OperatorDesc) -> OperatorDesc:
    """The descriptor with other strides, bytes, alignments and flags of its tensors."""
    return with_tensors(
        desc,
        {
            slot.key: tensor(ctx, slot.tensor.data_type, slot.tensor.sizes, output=slot.field.is_output)
            for slot in slots(desc)
        },
    )
