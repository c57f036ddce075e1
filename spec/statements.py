"""What is said of operators in words: the statements of their rules, what they compute, where the pages have it.

The data file has them by the operators' names, several of which may share what they have in common. Checks are code, in
`spec/operators/`; a rule that a module declares takes its words from here by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import DATA_CONVERSION_RULES, FLOATING_POINT_RULES, Source, read_data

# Fields of `spec.operator.OperatorSpec` that are among the statements.
OF_OPERATORS = ("summary", "pseudocode", "groups", "ranks", "domains", "overwrites", "primitives", "in_own_type")


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one rule; "" and () leave those of its declaration.

    Attributes:
        statement: what the rule says.
        section: of the operator's page that has it; None for that of the declaration, of values the description.
        page: that has it, where it is not the operator's.
        remedy: what would mend a descriptor that breaks it.
        since: label of the level that it starts at.
        erratum: that leaves open what breaking it means; a number is one of the operator's own.
        settles: errata that it corrects, likewise.
        also: what it rests on besides: page and section, or a section of the operator's page.
    """

    statement: str = ""
    section: str | None = None
    page: str = ""
    remedy: str = ""
    since: str = ""
    erratum: int | str = ""
    settles: tuple[int | str, ...] = ()
    also: tuple[str | tuple[str, str], ...] = ()

    def words(self, operator: str, page: str) -> dict[str, Any]:
        """What it says of a rule, as `Rule` takes it; `page` is the operator's."""
        said: dict[str, Any] = {
            "statement": self.statement,
            "remedy": self.remedy,
            "erratum": self.erratum and _erratum(operator, self.erratum),
            "settles": tuple(_erratum(operator, of) for of in self.settles),
            "also": tuple(Source(page, of) if isinstance(of, str) else Source(*of) for of in self.also),
            "since": self.since and Level.parse(self.since),
        }
        if self.section is not None:
            said["source"] = Source(self.page or page, self.section)
        return {name: value for name, value in said.items() if value}


class Statements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of one operator; `spec.operator.OperatorSpec` has the meaning of all but the rules.

    Attributes:
        page: the operator's, where it is not the one that is named after its structure.
        rules: the words of those that are about descriptors, by name.
        execution: the rules on values, by name, in their order.
    """

    summary: str = ""
    pseudocode: str = ""
    page: str = ""
    groups: Mapping[str, str] = msgspec.field(default_factory=dict)
    ranks: Mapping[str, str] = msgspec.field(default_factory=dict)
    domains: Mapping[str, str] = msgspec.field(default_factory=dict)
    overwrites: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()
    in_own_type: bool = False
    rules: Mapping[str, Statement] = msgspec.field(default_factory=dict)
    execution: Mapping[str, Statement] = msgspec.field(default_factory=dict)

    def stated(self) -> dict[str, Any]:
        """Those that are fields of `OperatorSpec`, as far as they are said."""
        return {name: value for name in OF_OPERATORS if (value := getattr(self, name))}

    def execution_rules(self, operator: str, page: str) -> tuple[Rule, ...]:
        """The rules on values, those on accuracy excepted."""
        described = Source(page, "Description")
        return tuple(
            Rule(f"{operator}.{name}", Category.EXECUTION, **{"source": described, **said.words(operator, page)})
            for name, said in self.execution.items()
        )


def _erratum(operator: str, of: int | str) -> str:
    return f"{operator}-{of}" if isinstance(of, int) else of


@cache
def all_statements() -> dict[str, Statements]:
    """What is said, by the operators' names; read at the first call."""
    found: dict[str, dict[str, Any]] = {}
    for names, said in read_data("statements", dict[str, dict[str, Any]]).items():
        for name in names.split():
            found[name] = _merged(found.get(name, {}), said)
    return {name: msgspec.convert(said, Statements) for name, said in found.items()}


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both, of objects by the same name what both have."""
    return one | {
        name: _merged(one[name], said) if name in one and isinstance(said, dict) else said
        for name, said in other.items()
    }


def statements(operator: str) -> Statements:
    """What is said of an operator; nothing of one that the data does not name."""
    return all_statements().get(operator, Statements())


def _bound(primitive: str, types: tuple[DataType, ...]) -> str:
    """The bound of a primitive in each type, or in all."""
    stated = {of.name: PRIMITIVES[primitive].stated[of].formula for of in types}
    if len(set(stated.values())) == 1:
        return stated[types[0].name]
    return ", ".join(f"{name} {formula}" for name, formula in stated.items())


def accuracy_rule(operator: str, page: str, primitives: tuple[str, ...], in_own_type: bool) -> Rule:
    """The rule that says how far from the exact value results may be that are made of these primitives.

    Args:
        operator: its name.
        page: its page.
        primitives: names of them.
        in_own_type: whether what they are computed in may be FLOAT16, if that is the tensors' type.
    """
    types = (DataType.FLOAT32, DataType.FLOAT16) if in_own_type else (DataType.FLOAT32,)
    parts = "; ".join(f"{PRIMITIVES[each].formula}: {_bound(each, types)}" for each in primitives)
    grounds = " and ".join(
        dict.fromkeys(str(PRIMITIVES[each].stated[of].ground) for each in primitives for of in types)
    )
    computed = "" if in_own_type else ", in FLOAT32 whatever the type of the tensors, and rounded or cut to that"
    return Rule(
        f"{operator}.accuracy",
        Category.EXECUTION,
        "a result is one that the formula gives where every operation of it is no farther from the exact value than "
        f"this, where two are named the wider one{computed}: {parts}; it rests on {grounds}. Beyond FLOAT16 its "
        "largest number is right, as infinity is",
        Source(page, "Description"),
        settles=("ACCURACY-1",),
        also=(Source(FLOATING_POINT_RULES), Source(DATA_CONVERSION_RULES, "Floating Point Conversion")),
    )
