"""ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values

from dml_conformance.backends.reference.arithmetic import spacing
from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

INF, NAN = math.inf, math.nan
# Of numbers without limits; the quotient of integers is cut, and None is left open.
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
    "DIVIDE": lambda a, b: Fraction(a) / Fraction(b) if b else None,
    "MODULUS_TRUNCATE": lambda a, b: a - b * math.trunc(Fraction(a) / Fraction(b)) if b else None,
    "MODULUS_FLOOR": lambda a, b: a - b * math.floor(Fraction(a) / Fraction(b)) if b else None,
    "MAX": max,
    "MIN": min,
    "MEAN": lambda a, b: Fraction(a + b) / 2,
}
WRAPPING = ("ADD", "SUBTRACT", "MULTIPLY", "DIFFERENCE_SQUARE")


def given(name: str, a: Any, b: Any) -> Run:
    tensor = TensorDesc.of(DataType[a.dtype.name.upper()], a.shape)
    desc = operators()[f"ELEMENT_WISE_{name}"].desc(tensor, tensor, tensor)
    return with_values(desc, HIGHEST, a_tensor=a, b_tensor=b)


def holds(name: str, kind: Any, a: float, b: float, *results: float) -> list[bool]:
    """Which results of one pair are right."""
    run = given(name, np.array([a], kind), np.array([b], kind))
    found = [np.array([result], kind).view(f"u{np.dtype(kind).itemsize}") for result in results]
    data_type = run.desc.output_tensor.data_type
    return [bool(is_right(run.expected["output_tensor"], result, data_type).all()) for result in found]


@pytest.mark.parametrize("name", EXACT, ids=str.lower)
def test_agrees_with_exact_arithmetic(name: str) -> None:
    seen = 0
    for run in small_runs(f"ELEMENT_WISE_{name}", 60):
        data_type = run.desc.a_tensor.data_type
        expected = run.expected["output_tensor"]
        a, b = (numbers(_elements(run, key), data_type).reshape(-1) for key in ("a_tensor", "b_tensor"))
        found = numbers(expected.values, data_type).reshape(-1)
        free = np.zeros(found.shape, bool) if expected.free is None else expected.free.reshape(-1)
        for x, y, value, is_free in zip(a.tolist(), b.tolist(), found.tolist(), free.tolist(), strict=True):
            if data_type.is_float and not (math.isfinite(x) and math.isfinite(y) and math.isfinite(value)):
                continue
            exact = EXACT[name](*(Fraction(n) if data_type.is_float else n for n in (x, y)))
            if exact is None:
                assert is_free or math.isnan(value), run.desc
                continue
            seen += 1
            if data_type.is_float:
                unit = float(spacing(np.float64(value), data_type))
                steps = 2 + 2 * (name == "DIFFERENCE_SQUARE")
                assert abs(Fraction(value) - exact) <= Fraction(abs(unit)) * steps, (run.desc, x, y)
            elif not is_free:
                whole = math.trunc(exact)
                assert (whole - value) % (2**data_type.bits if name in WRAPPING else 2**70) == 0, (run.desc, x, y)
    assert seen > 300


def _elements(run: Run, key: str) -> Any:
    return bits(run.bindings[key], getattr(run.desc, key))


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_edges_of_floats(kind: Any) -> None:
    assert holds("ADD", kind, INF, -INF, NAN, INF, 0) == [True, False, False]
    assert holds("ADD", kind, 1, 2, 3, 3.01, NAN) == [True, False, False]
    assert holds("MULTIPLY", kind, INF, 0, NAN, 0) == [True, False]
    assert holds("DIVIDE", kind, 1, 0, INF, -INF, NAN) == [True, False, False]
    assert holds("DIVIDE", kind, -1, 0, -INF, INF) == [True, False]
    assert holds("DIVIDE", kind, 0, 0, NAN, 0) == [True, False]
    assert holds("DIVIDE", kind, 1, 3, 1 / 3, 0.3343, 0.332) == [True, False, False]
    assert holds("MAX", kind, NAN, -5, -5, NAN, 0) == [True, True, False]
    assert holds("MIN", kind, 5, NAN, 5, NAN, 0) == [True, True, False]
    assert holds("MAX", kind, NAN, NAN, NAN, 0, -INF) == [True, False, False]
    assert holds("MAX", kind, 0, -0.0, 0, -0.0, 1) == [True, True, False]
    assert holds("DIFFERENCE_SQUARE", kind, 1, 3, 4, -4, -8) == [True, False, False]
    assert holds("MEAN", kind, INF, -INF, NAN, 0) == [True, False]
    largest = float(np.finfo(kind).max)
    assert holds("MEAN", kind, largest, largest, largest, INF, -INF, 0) == [True, True, False, False]
    assert holds("MEAN", kind, largest / 4, largest / 4, largest / 4, INF) == [True, False]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_remainders_have_the_sign_of_one_operand(kind: Any) -> None:
    for a, b, truncated, floored in ((5, 3, 2, 2), (-5, 3, -2, 1), (5, -3, 2, -1), (-5, -3, -2, -2)):
        assert holds("MODULUS_TRUNCATE", kind, a, b, truncated, -truncated) == [True, False]
        assert holds("MODULUS_FLOOR", kind, a, b, floored, -floored) == [True, False]
    assert holds("MODULUS_FLOOR", kind, 6, 3, 0, 3, -1, 4) == [True, True, False, False]  # the quotient may be below 2
    assert holds("MODULUS_TRUNCATE", kind, 5, INF, 5, NAN, 0) == [True, True, False]
    assert holds("MODULUS_TRUNCATE", kind, 5, 0, NAN, 5) == [True, False]


def test_quotients_may_be_products_with_a_reciprocal() -> None:
    huge = 2.0**126 * 1.5  # its reciprocal is subnormal
    assert holds("DIVIDE", np.float32, 2.0**100, huge, 2.0**100 / huge, 0, 2.0**-25, INF) == [True, True, False, False]
    least = 2.0**-24  # its reciprocal is beyond FLOAT16
    assert holds("DIVIDE", np.float16, least, least, 1, INF, 0.5, -INF) == [True, True, False, False]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_angles(kind: Any) -> None:
    for y, x, angle in (
        (1, 1, 0.25),
        (1, -1, 0.75),
        (-1, -1, -0.75),
        (-1, 1, -0.25),
        (0, -1, 1),
        (1, 0, 0.5),
        (0, 1, 0),
    ):
        assert holds("ATAN_YX", kind, y, x, angle * math.pi, angle * math.pi + 0.01, NAN) == [True, False, False]
    assert all(holds("ATAN_YX", kind, 0, 0, 0, math.pi, NAN, INF))
    assert holds("ATAN_YX", kind, NAN, 1, NAN, 0.7854) == [True, False]


def test_integers() -> None:
    assert holds("ADD", np.int32, 2**31 - 1, 1, -(2**31), 2**31 - 1) == [True, False]
    assert holds("MULTIPLY", np.uint64, 2**40 + 1, 2**40 + 1, 2**41 + 1, 1) == [True, False]
    assert holds("DIVIDE", np.int32, -7, 2, -3, -4) == [True, False]
    assert holds("MEAN", np.int32, -7, 2, -2, -3, -1, -4) == [True, True, False, False]
    assert holds("MEAN", np.uint32, 3, 4, 3, 4) == [True, False]
    assert all(holds("MEAN", np.int32, 2**31 - 1, 1, 2**30, -(2**30), 7))
    assert all(holds("MODULUS_FLOOR", np.int8, 5, 0, 0, 5, -1))
    assert holds("MAX", np.uint8, 200, 100, 200, 100) == [True, False]
    for name in ("DIVIDE", "MODULUS_FLOOR", "MODULUS_TRUNCATE"):
        ends = np.array([0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64)
        assert_conforms(TorchBackend("cpu"), given(name, np.repeat(ends, 8), np.tile(ends, 8)))
