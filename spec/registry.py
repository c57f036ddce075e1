"""All operators and all rules. Everything that lists operators asks here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

from dml_conformance.spec import operators as operator_modules
from dml_conformance.spec.errors import closest
from dml_conformance.spec.operator import SPEC_OF_NAME, OperatorSpec, spec_of
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor_rules import DESCRIPTOR_RULES, EXECUTION_RULES, TENSOR_RULES

__all__ = [
    "families",
    "of_families",
    "operator",
    "operators",
    "rule",
    "rules",
    "rules_of",
    "spec_of",
    "why_unknown",
]


@cache
def operators() -> dict[str, OperatorSpec]:
    """All operators of DirectML.h by name (`GATHER`), in the order of DML_OPERATOR_TYPE."""
    found = [spec for _, spec in _stated()]
    return {spec.name: spec for spec in sorted(found, key=lambda spec: spec.type_value)}


def _stated() -> Iterator[tuple[str, OperatorSpec]]:
    """What the modules state, with their names."""
    for module in pkgutil.iter_modules(operator_modules.__path__):
        if not module.name.startswith("_"):
            for spec in importlib.import_module(f"dml_conformance.spec.operators.{module.name}").SPECS:
                yield module.name, spec


def of_families(name: str) -> dict[str, Any]:
    """What the modules of the families export under a name, `DIVERGENCES` say, all together; not all of them do."""
    found: dict[str, Any] = {}
    for module in dict.fromkeys(module for module, _ in _stated()):
        found |= getattr(importlib.import_module(f"dml_conformance.spec.operators.{module}"), name, {})
    return found


@cache
def families() -> dict[str, str]:
    """The family of each operator: the name of its module here and in every other room."""
    return {spec.name: module for module, spec in _stated()}


def operator(name: str) -> OperatorSpec:
    """The operator `GATHER` or `DML_OPERATOR_GATHER`.

    Raises:
        KeyError: DirectML has no such operator.
    """
    short = name.removeprefix("DML_OPERATOR_")
    if short in operators():
        return operators()[short]
    raise KeyError(why_unknown(name))


def why_unknown(name: str) -> str:
    """What is told of an operator that DirectML has not, with the one that may be meant."""
    close = closest(name.removeprefix("DML_OPERATOR_"), operators())
    listed = "`dml-conformance operators` lists those of DirectML.h"
    return f"unknown operator {name!r}; {f'did you mean {close}?' if close else listed}"


@cache
def rules() -> dict[str, Rule]:
    """Every rule of the specification by id: TENSOR, DESCRIPTOR, EXECUTION, then operator by operator."""
    every = [*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES]
    for spec in operators().values():
        every.extend(spec.rules)
    by_id = {rule.id: rule for rule in every}
    assert len(by_id) == len(every), "two rules have the same id"
    return by_id


@cache
def rule(rule_id: str) -> Rule:
    """The rule with this id; those of other operators are not made for it.

    Raises:
        KeyError: no such rule.
    """
    spec = operators().get(rule_id.partition(".")[0])
    stated = spec.rules if spec else (*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES)
    return {each.id: each for each in stated}[rule_id]


def rules_of(name: str) -> tuple[Rule, ...]:
    """The rules that concern one operator: those of all operators too."""
    spec = operators()[name]
    return (*TENSOR_RULES, *DESCRIPTOR_RULES, *spec.common_execution_rules, *spec.rules)


SPEC_OF_NAME.update(operators())
