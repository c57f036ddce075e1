"""All operators and all rules. Everything that lists operators asks here.

Every operator of DirectML.h is here with its facts. Those that a module in `spec/operators/` states can be judged.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

from dml_conformance.spec import operators as operator_modules
from dml_conformance.spec.operator import SPEC_OF_NAME, OperatorDesc, OperatorSpec, desc_spec, operator_spec
from dml_conformance.spec.operator_facts import operator_facts
from dml_conformance.spec.rules import NOT_STATED, Rule
from dml_conformance.spec.tensor_rules import DESCRIPTOR_RULES, EXECUTION_RULES, TENSOR_RULES

__all__ = [
    "desc_spec",
    "every_operator",
    "families",
    "of_families",
    "operator",
    "operator_spec",
    "operators",
    "rule",
    "rules",
    "rules_of",
    "spec_of",
]


@cache
def operators() -> dict[str, OperatorSpec]:
    """The operators that can be judged by name (`GATHER`), in the order of DML_OPERATOR_TYPE."""
    found = [spec for _, spec in _stated()]
    return {spec.name: spec for spec in sorted(found, key=lambda spec: spec.type_value)}


@cache
def every_operator() -> dict[str, OperatorSpec]:
    """All operators of DirectML.h, in the order of DML_OPERATOR_TYPE; of most only the facts are known."""
    return {name: operators().get(name) or operator_spec(name) for name in operator_facts()}


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
    """The family of each operator that can be judged: the name of its module here and in every other room."""
    return {spec.name: module for module, spec in _stated()}


def operator(name: str) -> OperatorSpec:
    """The operator `GATHER` or `DML_OPERATOR_GATHER`, which can be judged.

    Raises:
        KeyError: DirectML has no such operator, or no rules of its own are stated for it yet.
    """
    short = name.removeprefix("DML_OPERATOR_")
    if short in operators():
        return operators()[short]
    listed = "`dml-conformance operators` says which are judged"
    if short in every_operator():
        raise KeyError(f"operator {short} is not judged yet, only its facts are known; {listed}")
    close = difflib.get_close_matches(short, operators(), n=1)
    raise KeyError(f"unknown operator {name!r}; {f'did you mean {close[0]}?' if close else listed}")


def spec_of(desc: OperatorDesc) -> OperatorSpec:
    """The operator of a descriptor, whatever is known of it."""
    return every_operator()[desc.operator]


@cache
def rules() -> dict[str, Rule]:
    """Every rule of the specification by id: TENSOR, DESCRIPTOR, EXECUTION, then operator by operator."""
    every = [*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES]
    for spec in operators().values():
        every.extend(spec.rules)
    by_id = {rule.id: rule for rule in every}
    assert len(by_id) == len(every), "two rules have the same id"
    return by_id


def rule(rule_id: str) -> Rule:
    """The rule with this id, be it of an operator that can be judged or not.

    Raises:
        KeyError: no such rule.
    """
    if rule_id in rules():
        return rules()[rule_id]
    if rule_id == NOT_STATED.id:
        return NOT_STATED
    name = rule_id.partition(".")[0]
    stated = every_operator()[name].rules if name in every_operator() else ()
    return {rule.id: rule for rule in stated}[rule_id]


def rules_of(name: str) -> tuple[Rule, ...]:
    """The rules that concern one operator: those of all operators too."""
    spec = every_operator()[name]
    return (*TENSOR_RULES, *DESCRIPTOR_RULES, *spec.common_execution_rules, *spec.rules)


SPEC_OF_NAME.update(every_operator())
