"""Wrong backends that follow from the registry: for each rule of each operator one that forgets it, and more.

* `forgets`: accepts what this rule alone refuses.
* `overlooks`: accepts what this rule alone refuses in one of the tensors, as it does not look at that one.
* `loosens`: accepts what this rule alone refuses as long as it is a step from valid; an off-by-one.
* `over-applies`: refuses what is valid and a step from breaking this rule alone. Of all kinds of steps that it could
  be about it is the one by which it refuses least, and so is hardest to notice. Where each kind would have it refuse
  everything, it refuses what besides has the rarest of some plain traits.

Rules of execution decide nothing. What it means to forget one, or to overdo it, is one of the backends made by hand,
by the last part of the rule's id, which the operators share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from dml_conformance.backends.base import Answer, Backend
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, is_whole, slots
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import rules_of
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor import minimum_size_in_bytes
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders import LARGEST, builder
from dml_conformance.strategies.chooser import SeededChooser, every_variant
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.violations import breakable_rules, violate
from strength.mutants import MUTANTS
from strength.mutants.base import SharedReference, decided
from strength.steps import dangers, is_a_step_from_valid, steps, tensor_at_fault

KINDS = FORGETS, OVERLOOKS, LOOSENS, OVER_APPLIES = "forgets", "overlooks", "loosens", "over-applies"
SAMPLED = 120  # valid descriptors that are built to see what a step leads to


class Forgets(SharedReference):
    """Accepts what one rule alone refuses."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted or not self.forgets(desc, level):
            return answer
        return Answer(True)

    def forgets(self, desc: OperatorDesc, level: Level) -> bool:
        """Whether it overlooks that this is invalid."""
        decision = decided(desc, level)
        return decision.outcome is Outcome.REJECT and decision.rules == (self.rule,)


class Overlooks(Forgets):
    """Accepts what one rule alone refuses, where one certain tensor is at fault."""

    def __init__(self, rule: str, tensor: str) -> None:
        super().__init__(rule)
        self.tensor = tensor

    def forgets(self, desc: OperatorDesc, level: Level) -> bool:
        return super().forgets(desc, level) and tensor_at_fault(desc, decided(desc, level)) == self.tensor


class Loosens(Forgets):
    """Accepts what one rule alone refuses, where it is a step from valid."""

    def forgets(self, desc: OperatorDesc, level: Level) -> bool:
        return super().forgets(desc, level) and is_a_step_from_valid(desc, level)


class OverApplies(SharedReference):
    """Refuses what is valid and one certain step from breaking one rule alone, and has a certain trait."""

    def __init__(self, rule: str, step: str, trait: str) -> None:
        super().__init__()
        self.rule = rule
        self.step = step
        self.trait = trait

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted and decided(desc, level).outcome is Outcome.ACCEPT and self.refuses(desc, level):
            return Answer(False, f"{self.rule}, as it was understood")
        return answer

    def refuses(self, desc: OperatorDesc, level: Level) -> bool:
        """Whether it turns down this descriptor, which is valid."""
        danger = dangers(desc, level).get(self.rule)
        return (not self.trait or self.trait in traits(desc)) and danger is not None and self.step in danger.steps


def traits(desc: OperatorDesc) -> frozenset[str]:
    """What is out of the ordinary in the tensors of a valid descriptor."""
    found = set()
    for slot in slots(desc):
        tensor = slot.tensor
        least = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
        for trait, is_there in (
            ("has strides", tensor.strides is not None),
            ("has a stride of 0", tensor.strides is not None and 0 in tensor.strides),
            ("has surplus bytes", tensor.total_tensor_size_in_bytes > least),
            ("is aligned", tensor.guaranteed_base_offset_alignment > 0),
            ("is owned by DML", tensor.flags > 0),
            ("has one element", tensor.element_count == 1),
        ):
            if is_there:
                found.add(f"{slot.field.name} {trait}")
    return frozenset(found)


@dataclass(frozen=True)
class Derived:
    """One backend to be made, at one level, or why there is none to be told from a right one.

    Attributes:
        kind: forgets, loosens or over-applies.
        rule: id of the rule.
        about: what exactly it does.
        make: makes the backend.
        decides_only: what it executes is the reference's.
        tensor: the one that it overlooks; "" where it is about all of them.
        left_out: why there is nothing to run, as it would be right, or the same as another; "" where it is wrong.
    """

    kind: str
    rule: str
    about: str = ""
    make: Callable[[], Backend] | None = None
    decides_only: bool = True
    tensor: str = ""
    left_out: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.rule}" + (f" in {self.tensor}" if self.tensor else "")


# What forgetting a rule of execution comes to, and overdoing it, if that can be; by the last part of the rule's id.
# Of several the first that can be planted in the operator.
OF_EXECUTION = {
    "accuracy": (("ResultsRoundedToBfloat16", "QuantizedOneMore"), ()),
    "values": (("WritesNothing",), ()),
    "negative-indices": (("NegativeIndexOutOfRange",), ("ZeroTakenForNegative",)),
    "out-of-range-indices": (
        ("OutOfRangeIndexReadsBehindTheInput", "OutOfRangeIndexNamesTheLast"),
        ("LastIndexClamped",),
    ),
    "strides": (("InputStridesIgnored",), ("RowsTakenForPadded",)),
    "in-place": (("ClearsTheOutputFirst",), ()),
    "binding": (("WrongInOneResource",), ()),
    "output-bounds": (("WritesPastTheEnd",), ("LastElementUnwritten",)),
    "inputs-unchanged": (("ScribblesOnItsInput",), ()),
}
# Rules of operators that are said of each tensor, as those of tensors are: an implementation may forget them in one.
OF_EACH_TENSOR = ("required-tensors", "data-types", "dimension-counts", "same-data-type", "same-dimension-count")
OPEN = "the pages leave open what breaking it means, so no answer is wrong"
NOT_ALONE = "at this level no descriptor breaks it and nothing else"
NO_FARTHER = "whatever breaks it alone is a step from valid, so this is to forget it"
NO_STEP = "no valid descriptor of this level is a step from breaking it alone"
OVERDONE_ELSEWHERE = "to refuse what is valid is to overdo another rule, and that is done to each"
NOTHING_TO_OVERDO = "it asks that everything be so, and more than everything there is not"


def derived(operator: str, level: Level) -> Iterator[Derived]:
    """The backends of every rule that concerns an operator and applies at a level."""
    exists = level >= operator_named(operator).introduced_in
    for rule in rules_of(operator):
        if not rule.applies_at(level) or not (exists or rule.id == f"{operator}.introduced-in"):
            continue
        yield from _of_descriptors(operator, level, rule) if rule.is_descriptor_rule else _of_execution(operator, rule)


def _of_execution(operator: str, rule: Rule) -> Iterator[Derived]:
    named = {mutant.__name__: mutant for mutant in MUTANTS}
    for kind, names in zip((FORGETS, OVER_APPLIES), OF_EXECUTION[rule.id.rpartition(".")[2]], strict=True):
        made = next((named[name] for name in names if operator in named[name].operators()), None)
        if made is None:
            yield Derived(kind, rule.id, left_out=NOTHING_TO_OVERDO)
        else:
            yield Derived(kind, rule.id, made.__name__, made, made.decides_only())


def _of_descriptors(operator: str, level: Level, rule: Rule) -> Iterator[Derived]:
    why_none = OVERDONE_ELSEWHERE if rule.check is None else OPEN if rule.erratum is not None else ""
    if why_none:
        yield from (Derived(kind, rule.id, left_out=why_none) for kind in (FORGETS, LOOSENS, OVER_APPLIES))
        return
    if rule.id not in breakable_rules(operator, level):
        yield from (Derived(kind, rule.id, left_out=NOT_ALONE) for kind in (FORGETS, LOOSENS))
    else:
        yield Derived(FORGETS, rule.id, "accepts what it alone refuses", partial(Forgets, rule.id))
        near = {is_a_step_from_valid(desc, level) for desc in _violations(operator, level, rule.id)}
        if near == {True, False}:
            about = "accepts what it alone refuses, a step from valid"
            yield Derived(LOOSENS, rule.id, about, partial(Loosens, rule.id))
        else:
            yield Derived(LOOSENS, rule.id, left_out=NO_FARTHER if True in near else NO_STEP)
    for tensor in overlooked(operator, level, rule.id):
        about = f"accepts what it alone refuses in {tensor}"
        yield Derived(OVERLOOKS, rule.id, about, partial(Overlooks, rule.id, tensor), tensor=tensor)
    found = overdone(operator, level, rule.id)
    if found is None:
        yield Derived(OVER_APPLIES, rule.id, left_out=NO_STEP)
    else:
        step, trait = found
        about = f"refuses what {step} would break" + (f", where {trait}" if trait else "")
        yield Derived(OVER_APPLIES, rule.id, about, partial(OverApplies, rule.id, step, trait))


@cache
def _violations(operator: str, level: Level, rule: str) -> tuple[OperatorDesc, ...]:
    """A descriptor for each way to break a rule alone."""
    return tuple(every_variant(f"strength/{rule}", lambda chooser: violate(chooser, operator, level, rule)))


@cache
def witnesses(operator: str, level: Level) -> tuple[OperatorDesc, ...]:
    """Valid descriptors: built ones, those at the ends of ranges, and the valid neighbours of every violation."""
    spec = operator_named(operator)
    if level < spec.introduced_in:
        return ()

    def context(seed: str) -> Context:
        return Context.at(SeededChooser(f"strength/{operator}/{level}/{seed}"), spec, level)

    made = builder(operator)
    found: dict[Any, None] = {made.build(context(str(n))): None for n in range(SAMPLED)}
    found |= dict.fromkeys(made.edges(context("edges")))
    with suppress(Impossible):
        found |= dict.fromkeys(made.huge(context("huge"), LARGEST))
    for rule in breakable_rules(operator, level):
        for desc in _violations(operator, level, rule):
            if is_whole(desc):
                for step in steps(desc, level):
                    if step.level == level and decide(step.desc, level).outcome is Outcome.ACCEPT:
                        found[step.desc] = None
    return tuple(found)


@cache
def _refused(operator: str, level: Level) -> dict[str, Counter[tuple[str, str]]]:
    """For each rule, how many of the witnesses each step, alone and with each trait, has it refuse; "" for no trait."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for desc in witnesses(operator, level):
        special = ("", *sorted(traits(desc)))
        for rule, danger in dangers(desc, level).items():
            counts.setdefault(rule, Counter()).update((step, trait) for step in danger.steps for trait in special)
    return counts


def overlooked(operator: str, level: Level, rule: str) -> list[str]:
    """The tensors that alone can break a rule of each, where there are several: to overlook the only one is to forget
    it."""
    subject, _, name = rule.partition(".")
    if subject != "TENSOR" and name not in OF_EACH_TENSOR:
        return []
    every = (dangers(desc, level).get(rule) for desc in witnesses(operator, level))
    found = sorted({tensor for danger in every if danger is not None for tensor in danger.tensors})
    return found if len(found) > 1 else []


def overdone(operator: str, level: Level, rule: str) -> tuple[str, str] | None:
    """The step and the trait by which a rule is overdone least noticeably; None where no step breaks it alone."""
    counts = _refused(operator, level).get(rule)
    if not counts:
        return None
    every = len(witnesses(operator, level))
    plain = {step: count for (step, trait), count in counts.items() if not trait}
    some = {step: count for step, count in plain.items() if count < every}
    if some:
        return min(some, key=lambda step: (some[step], step)), ""
    step = min(plain)
    rare = {trait: count for (of, trait), count in counts.items() if of == step and trait}
    return step, min(rare, key=lambda trait: (rare[trait], trait), default="")
