"""Operators for tests, with what the five first ones have not: no inputs, several outputs, arrays of tensors, missing
ones, intervals and elements that are free."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dml_conformance.backends.reference import operators as families_of_reference
from dml_conformance.backends.reference.operators import as_bits, as_numbers
from dml_conformance.spec import descriptor, registry
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import inputs
from dml_conformance.spec.expectation import Expectation, Within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import SPEC_OF_NAME, operator_spec
from dml_conformance.spec.operator_facts import FieldFacts, OperatorFacts, Role, TableFacts, TableSource, operator_facts
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

TENSOR = "const DML_TENSOR_DESC *"
LEVEL = Level.L6_0
FLOATS = ("1-8", "FLOATS")
FIELDS = {
    "RAMPS": (FieldFacts("UpTensor", Role.OUTPUT, TENSOR), FieldFacts("DownTensor", Role.OUTPUT, TENSOR, True)),
    "HALVES": (
        FieldFacts("InputCount", Role.ATTRIBUTE, "UINT"),
        FieldFacts("InputTensors", Role.INPUTS, TENSOR),
        FieldFacts("BiasTensor", Role.INPUT, TENSOR, True),
        FieldFacts("OutputCount", Role.ATTRIBUTE, "UINT"),
        FieldFacts("OutputTensors", Role.OUTPUTS, TENSOR),
    ),
}
PAIR = TensorDesc.of(DataType.FLOAT32, (2,))
FOUR = TensorDesc.of(DataType.FLOAT32, (4,))


def ramps(desc: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """UpTensor is 0, 1, 2, ...; of DownTensor the first element is -1 and the others are free."""
    found: dict[str, Any] = {"up_tensor": np.arange(desc.up_tensor.element_count, dtype="<f4")}
    if desc.down_tensor is not None:
        down = -np.arange(1, 1 + desc.down_tensor.element_count, dtype="<f4")
        free = np.arange(down.size) > 0
        found["down_tensor"] = Expectation(as_bits(down, desc.down_tensor), free=free)
    return found


def halves(desc: Any, arrays: Mapping[str, Any]) -> dict[str, Expectation]:
    """Each output is half of its input and the bias; of its first element only ten steps up are known."""
    found = {}
    for n, tensor in enumerate(desc.output_tensors):
        number = as_numbers(arrays[f"input_tensors[{n}]"], tensor.data_type) / np.float32(2)
        if desc.bias_tensor is not None:
            number = number + as_numbers(arrays["bias_tensor"], tensor.data_type)
        values = as_bits(number, tensor)
        within = Within(values, values + np.uint32(10), None, np.arange(number.size) == 0)
        found[f"output_tensors[{n}]"] = Expectation(values, within=within)
    return found


def ramps_case(*, down: TensorDesc | None = FOUR) -> Case:
    return Case.of(descriptor.descriptor_classes()["RAMPS"](PAIR, down), LEVEL, {}, rule="RAMPS.values")


def halves_case(*, bias: bool = True, count: int = 2) -> Case:
    desc = descriptor.descriptor_classes()["HALVES"]((FOUR,) * count, FOUR if bias else None, (FOUR,) * count)
    data = {slot.key: Recipe("ramp", 3 + seed) for seed, slot in enumerate(inputs(desc))}
    return Case.of(desc, LEVEL, data, rule="HALVES.values")


@pytest.fixture
def sample_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has RAMPS and HALVES in every registry for a test."""
    shapes = {
        "RAMPS": lambda desc: {s.key: s.tensor.sizes for s in descriptor.outputs(desc)},
        "HALVES": lambda desc: {s.key: desc.input_tensors[0].sizes for s in descriptor.outputs(desc)},
    }
    for n, (name, fields) in enumerate(FIELDS.items()):
        rows = {field.name: FLOATS for field in fields if field.role is not Role.ATTRIBUTE}
        facts = OperatorFacts(
            f"DML_{name}_OPERATOR_DESC", 0x7FFFFF00 + n, "1_0", TableSource.INFERRED, fields, (TableFacts("1_0", rows),)
        )
        monkeypatch.setitem(operator_facts(), name, facts)
        monkeypatch.setitem(descriptor.descriptor_classes(), name, descriptor._class(name, facts))
        values = Rule(f"{name}.values", Category.EXECUTION, "as the test says", Source("directml-operators"))
        spec = operator_spec(name, shape=shapes[name], execution_rules=(values,))
        for specs in (registry.operators(), SPEC_OF_NAME):
            monkeypatch.setitem(specs, name, spec)
        for rule in spec.rules:
            monkeypatch.setitem(registry.rules(), rule.id, rule)
    family = ModuleType("samples")
    family.OPERATORS = {"RAMPS": ramps, "HALVES": halves}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, f"{families_of_reference.__name__}.{family.__name__}", family)
    for name in FIELDS:
        monkeypatch.setitem(registry.families(), name, family.__name__)
