"""All operators and all rules, found by walking `spec/operators/`. Everything that lists operators asks here."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dml_conformance.spec import operators as operator_modules
from dml_conformance.spec.operator import SPEC_OF_DESC, OperatorDesc, OperatorSpec, desc_spec
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor_rules import DESCRIPTOR_RULES, EXECUTION_RULES, TENSOR_RULES

__all__ = ["desc_spec", "operator", "operators", "rule", "rules", "rules_of", "spec_of"]


@cache
def operators() -> dict[str, OperatorSpec]:
    """The operators by name (`GATHER`), in the order of DML_OPERATOR_TYPE."""
    found: list[OperatorSpec] = []
    for module in pkgutil.iter_modules(operator_modules.__path__):
        if not module.name.startswith("_"):
            found.append(importlib.import_module(f"dml_conformance.spec.operators.{module.name}").SPEC)
    found.sort(key=lambda operator: operator.type_value)
    return {operator.name: operator for operator in found}


def operator(name: str) -> OperatorSpec:
    """The operator `GATHER` or `DML_OPERATOR_GATHER`.

    Raises:
        KeyError: no such operator here; the message lists those that are.
    """
    short = name.removeprefix("DML_OPERATOR_")
    if short not in operators():
        raise KeyError(f"unknown operator {name!r}; known here: {', '.join(operators())}")
    return operators()[short]


def spec_of(desc: OperatorDesc) -> OperatorSpec:
    """The operator of a descriptor."""
    return operators()[desc.operator]


@cache
def rules() -> dict[str, Rule]:
    """Every rule of the specification by id: TENSOR, DESCRIPTOR, EXECUTION, then operator by operator."""
    every = [*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES]
    for operator_spec in operators().values():
        every.extend(operator_spec.rules)
    by_id = {rule.id: rule for rule in every}
    assert len(by_id) == len(every), "two rules have the same id"
    return by_id


def rule(rule_id: str) -> Rule:
    """The rule with this id.

    Raises:
        KeyError: no such rule.
    """
    return rules()[rule_id]


def rules_of(name: str) -> tuple[Rule, ...]:
    """The rules that concern one operator: those of all operators too."""
    return (*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES, *operator(name).rules)


for _spec in operators().values():
    SPEC_OF_DESC[_spec.desc] = _spec
