"""ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY", "ELEMENT_WISE_IF")


def copies(name: str, count: int = 150) -> Iterator[Run]:
    """Cases in which nothing is scaled."""
    return (run for run in small_runs(name, count) if getattr(run.desc, "scale_bias", None) is None)


def slow_elements(run: Run) -> list[bytes]:
    """Each element of the input, or of the one that the condition chooses."""
    sizes = run.desc.output_tensor.sizes
    if run.desc.operator != "ELEMENT_WISE_IF":
        return [run.memory("input_tensor").element(c) for c in slow.walk(sizes)]
    condition, a, b = (run.memory(key) for key in ("condition_tensor", "a_tensor", "b_tensor"))
    return [(a if condition.element(c) != b"\0" else b).element(c) for c in slow.walk(sizes)]


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    for run in copies(name):
        expected = run.expected["output_tensor"]
        assert expected.open is None
        assert [int.from_bytes(e, "little") for e in slow_elements(run)] == expected.values.reshape(-1).tolist()
        assert (run.parts("output_tensor").values == expected.values).all()


def test_a_negated_condition_chooses_from_the_other_tensor() -> None:
    random = np.random.default_rng(3)
    condition = random.integers(0, 3, 60, np.uint8)
    a, b = random.integers(0, 2**32, (2, 60), np.uint32)
    truth, data = TensorDesc.of(DataType.UINT8, (3, 20)), TensorDesc.of(DataType.FLOAT32, (3, 20))
    desc = operators()["ELEMENT_WISE_IF"].desc(truth, data, data, data)
    chosen = with_values(desc, HIGHEST, condition_tensor=condition, a_tensor=a, b_tensor=b)
    negated = with_values(desc, HIGHEST, condition_tensor=condition == 0, a_tensor=b, b_tensor=a)
    assert set(condition) == {0, 1, 2}
    assert (chosen.expected["output_tensor"].values == negated.expected["output_tensor"].values).all()


def test_copying_twice_is_copying_once() -> None:
    """Through any layout in between."""
    for run in copies("ELEMENT_WISE_IDENTITY", 40):
        values = run.expected["output_tensor"].values
        packed = TensorDesc.of(run.desc.output_tensor.data_type, values.shape)
        desc: Any = with_tensors(run.desc, {"input_tensor": packed})
        assert (with_values(desc, run.case.level, input_tensor=values).expected["output_tensor"].values == values).all()


def test_what_is_scaled_is_rounded_twice_at_most() -> None:
    """Product and sum, or both at once: 3 * 0.1 + 1 in FLOAT32, and two units in the last place more or less."""
    tensor = TensorDesc.of(DataType.FLOAT32, (2,))
    desc = operators()["ELEMENT_WISE_IDENTITY"].desc(tensor, tensor, ScaleBias(0.1, 1.0))
    run = with_values(desc, HIGHEST, input_tensor=np.array([3, 4], np.float32))
    once = (np.array([3, 4]) * float(np.float32(0.1)) + 1).astype(np.float32)
    expected = run.expected["output_tensor"]
    assert expected.within is not None
    assert (np.abs(expected.within.low.view(np.float32) - once) <= 2 * np.spacing(once)).all()
    assert (np.abs(expected.within.high.view(np.float32) - once) <= 2 * np.spacing(once)).all()
    assert_conforms(TorchBackend("cpu"), run)
