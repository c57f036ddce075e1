"""What a rule is: one checkable statement of the specification, with an id that is the same everywhere.

The id stands in the rule, in the builder that breaks it, in the verdict, in the report and in the docs, so a
search for it finds everything. Three kinds exist: *descriptor* rules have a check that the validator runs; the rule of
*acceptance* says what a descriptor that keeps them all comes to; *execution* rules say what happens to memory and
values. The judge in `conformance/` holds a backend to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from dml_conformance.spec.levels import LOWEST, Level
from dml_conformance.spec.sources import Source


class Category(StrEnum):
    """What a rule is about. A backend says which categories it enforces."""

    LEVEL_SUPPORT = "level-support"  # what exists at a feature level: operators, data types, dimension counts
    TENSOR_DESC = "tensor-desc"  # a tensor description on its own
    MEMORY_LAYOUT = "memory-layout"  # strides, total size, alignment
    AGREEMENT = "agreement"  # what must be equal between an operator's tensors
    ATTRIBUTES = "attributes"  # ranges of the operator's attributes
    SHAPE = "shape"  # sizes that follow from other sizes
    ACCEPTANCE = "acceptance"  # what keeps all of these; claimed with any of them
    EXECUTION = "execution"  # values computed and memory touched


DESCRIPTOR_CATEGORIES = frozenset(Category) - {Category.EXECUTION}

# What a backend breaks that refuses a valid descriptor: no telling which of the other rules it has taken too far.
ACCEPTANCE = "DESCRIPTOR.acceptance"
# What a backend breaks that declines what its own claims cover.
CLAIMS = "DESCRIPTOR.claims"


class Breach(NamedTuple):
    """One place where a rule is broken: the field's path below the rule's subject, and what was found there."""

    where: str
    found: str


# A tensor rule's check takes (tensor, is_output, level); an operator rule's check takes (descriptor, level).
Check = Callable[..., "Breach | list[Breach] | None"]


@dataclass(frozen=True)
class Rule:
    """One statement of the specification.

    Attributes:
        id: `SUBJECT.name`; SUBJECT is an operator, TENSOR, DESCRIPTOR or EXECUTION.
        statement: what the rule says, in our own words.
        remedy: what would mend a descriptor that breaks it.
        since: the level it starts at.
        until: the level it no longer applies at, if any.
        check: None for a rule of acceptance or execution; else returns None where the rule holds, or the breaches.
        needs: ids of rules without which this one has no meaning; it is skipped where one of them is broken.
        erratum: set where the pages leave open what breaking it means: the decision is then UNSPECIFIED.
        settles: errata that this rule's wording corrects.
        also: pages that it rests on besides.
        constraint: the `spec.constraints.Constraint` that made it; None where it is of no known kind.
    """

    id: str
    category: Category
    statement: str
    source: Source
    remedy: str = ""
    since: Level = LOWEST
    until: Level | None = None
    check: Check | None = None
    needs: frozenset[str] = frozenset()
    erratum: str | None = None
    settles: tuple[str, ...] = ()
    also: tuple[Source, ...] = ()
    constraint: Any = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every page that it rests on, the one that states it first."""
        return (self.source, *self.also)

    @property
    def is_descriptor_rule(self) -> bool:
        """Whether it is about decisions on descriptors."""
        return self.category is not Category.EXECUTION

    @property
    def kind(self) -> str:
        """What can break it: `descriptor`, or what a backend does: `acceptance` or `execution`."""
        is_broken_by_descriptors = self.is_descriptor_rule and self.category is not Category.ACCEPTANCE
        return "descriptor" if is_broken_by_descriptors else str(self.category)

    def applies_at(self, level: Level) -> bool:
        return self.since <= level and (self.until is None or level < self.until)


class Violation(NamedTuple):
    """A broken rule in one descriptor, told to a person."""

    rule: Rule
    where: str
    found: str

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.id,
            "category": str(self.rule.category),
            "where": self.where,
            "found": self.found,
            "says": self.rule.statement,
            "remedy": self.rule.remedy,
            "erratum": self.rule.erratum,
            "source": self.rule.source.url,
        }
