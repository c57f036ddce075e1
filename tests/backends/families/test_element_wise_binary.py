"""ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values

from dml_conformance.backends.reference.floats import spacing
from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import desc_from_json, desc_to_json
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators._fused import FUSIBLE
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

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
                unit = float(spacing(np, np.array(value), data_type))
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


@pytest.mark.parametrize("name", ["MAX", "MIN"])
def test_a_signaling_nan_is_dropped_wherever_it_stands(name: str) -> None:
    a, b = np.full(13, 0x7D00, np.uint16).view(np.float16), np.full(13, 3.0, np.float16)
    run = given(name, a, b)
    assert is_right(run.expected["output_tensor"], b.view(np.uint16), run.desc.output_tensor.data_type).all()


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_remainders_have_the_sign_of_one_operand(kind: Any) -> None:
    for a, b, truncated, floored in ((5, 3, 2, 2), (-5, 3, -2, 1), (5, -3, 2, -1), (-5, -3, -2, -2)):
        assert holds("MODULUS_TRUNCATE", kind, a, b, truncated, -truncated) == [True, False]
        assert holds("MODULUS_FLOOR", kind, a, b, floored, -floored) == [True, False]
    assert holds("MODULUS_FLOOR", kind, 6, 3, 0, 3, -1, 4) == [True, True, False, False]  # the quotient may be below 2
    assert holds("MODULUS_TRUNCATE", kind, 5, INF, 5, NAN, 0) == [True, True, False]
    assert holds("MODULUS_TRUNCATE", kind, 5, 0, NAN, 5) == [True, False]


def test_a_quotient_of_float16_numbers_may_be_one_of_float32() -> None:
    least = 2.0**-24  # the reciprocal of the divisor is beyond FLOAT16, and the quotient a little above a whole number
    a, b = -9781248 * least, 173 * least
    assert holds("MODULUS_FLOOR", np.float16, a, b, a % b, -least, -b, -200 * b) == [True, True, True, False]


def test_the_quotient_of_a_remainder_may_be_a_unit_off() -> None:
    a, b = 60989252.0, 12.895892143249512  # the quotient is 4,729,355.001, and its unit a half
    for name in ("MODULUS_TRUNCATE", "MODULUS_FLOOR"):
        assert holds(name, np.float32, a, b, a % b, a % b - b, -12.0, -20.0) == [True, True, True, False]
    a, b = -1.69955336e38, 1.69955346e38  # a quotient next to 1, of a divisor whose reciprocal is subnormal
    assert holds("MODULUS_TRUNCATE", np.float32, a, b, a, 2.0**103, 2.0**104, 1.6e38) == [True, True, True, False]


def test_the_quotient_of_a_remainder_is_not_two_units_off() -> None:
    for a, b in ((6.984375, -6.99609375), (-0.001, 0.00100613)):  # three units below 1
        assert holds("MODULUS_TRUNCATE", np.float16, a, b, a, a + b) == [True, False]


def test_the_remainder_of_a_subnormal_one_may_be_0() -> None:
    a, b = 1.3804425011922e-38, -1.3804418182414994e-38
    assert holds("MODULUS_FLOOR", np.float32, a, b, a + 2 * b, 0.0, 1.2e-38) == [True, True, False]
    assert holds("MODULUS_FLOOR", np.float32, 1.5e-38, -2.2e-38, -0.7e-38, 1.5e-38) == [True, False]


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


def test_angles_where_numbers_are_taken_for_0() -> None:
    for y, results in ((-1e-39, (-math.pi, math.pi)), (1e-39, (math.pi, -math.pi))):
        assert holds("ATAN_YX", np.float32, y, -1, *results) == [True, True]
        assert holds("ATAN_YX", np.float32, y, 1, 0, math.pi) == [True, False]
    assert holds("ATAN_YX", np.float16, -6e-8, -1, -math.pi, math.pi) == [True, False]
    assert holds("ATAN_YX", np.float32, -2e-38, -1, -math.pi, math.pi) == [True, False]
    half = math.pi / 2  # the reciprocal of Y is subnormal
    exact = math.atan2(1.5e38, 5e36)
    assert holds("ATAN_YX", np.float32, 1.5e38, 5e36, exact, half, half + 0.01, exact - 0.01) == [
        True,
        True,
        False,
        False,
    ]
    assert holds("ATAN_YX", np.float32, 1.5e37, 5e35, exact, half) == [True, False]


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


# --- ADD1 -------------------------------------------------------------------------------------------------------------

# Of one number; attributes in the order of the structure.
ACTIVATIONS: dict[str, tuple[tuple[float, ...], Callable[[float], float]]] = {
    "CELU": ((0.5,), lambda x: max(0.0, x) + min(0.0, 0.5 * math.expm1(x / 0.5))),
    "ELU": ((1.5,), lambda x: x if x >= 0 else 1.5 * math.expm1(x)),
    "HARD_SIGMOID": ((0.25, 0.5), lambda x: max(0.0, min(0.25 * x + 0.5, 1.0))),
    "IDENTITY": ((), lambda x: x),
    "LEAKY_RELU": ((0.125,), lambda x: x if x >= 0 else 0.125 * x),
    "LINEAR": ((-3.0, 0.5), lambda x: -3.0 * x + 0.5),
    "PARAMETRIC_SOFTPLUS": ((3.0, 0.5), lambda x: 3.0 * math.log1p(math.exp(0.5 * x))),
    "RELU": ((), lambda x: max(0.0, x)),
    "SCALED_ELU": ((1.5, 2.0), lambda x: 2.0 * x if x > 0 else 3.0 * math.expm1(x)),
    "SCALED_TANH": ((2.0, 0.5), lambda x: 2.0 * math.tanh(0.5 * x)),
    "SHRINK": ((0.5, 1.5), lambda x: x - 0.5 if x > 1.5 else x + 0.5 if x < -1.5 else 0.0),
    "SIGMOID": ((), lambda x: 1.0 / (1.0 + math.exp(-x))),
    "SOFTPLUS": ((2.0,), lambda x: math.log1p(math.exp(2.0 * x)) / 2.0),
    "SOFTSIGN": ((), lambda x: x / (1.0 + abs(x))),
    "TANH": ((), math.tanh),
    "THRESHOLDED_RELU": ((1.0,), lambda x: x if x > 1.0 else 0.0),
}
TORCH = TorchBackend("cpu")


def activation(name: str, *attributes: float, **tensors: Any) -> Any:
    described = operators()[name if name.startswith("ELEMENT") else f"ACTIVATION_{name}"].desc
    fields = [field.attribute for field in described.fields]
    given_last = zip(fields[len(fields) - len(attributes) :], attributes, strict=True)
    return described(**{**dict.fromkeys(fields), **dict(given_last), **tensors})


@pytest.mark.parametrize("fused", [None, ("RELU",), ("ELU", 0.5), ("SHRINK", 0.5, 1.0)])
def test_elements_that_share_memory_have_the_results_of_those_that_do_not(fused: Any) -> None:
    """They are computed once for each place."""
    a, b = np.linspace(-3, 2, 6, dtype=np.float32), np.linspace(1, -4, 6, dtype=np.float32)
    found = []
    for strides, repeats in (((0, 1), 1), (None, 4)):
        source, target = TensorDesc.of(DataType.FLOAT32, (4, 6), strides), TensorDesc.of(DataType.FLOAT32, (4, 6))
        desc = operators()["ELEMENT_WISE_ADD1"].desc(source, source, target, fused and activation(*fused))
        run = with_values(desc, HIGHEST, a_tensor=np.tile(a, repeats), b_tensor=np.tile(b, repeats))
        found.append(run.expected["output_tensor"])
    once, each = found
    assert (once.values == each.values).all()
    assert once.within is not None
    assert each.within is not None
    assert (once.within.low == each.within.low).all()
    assert (once.within.high == each.within.high).all()


def fused(name: str, *attributes: float, a: Any, b: Any, kind: Any = np.float32) -> Run:
    run = given("ADD", np.array(a, kind), np.array(b, kind))
    chosen = activation(name, *attributes)
    desc = operators()["ELEMENT_WISE_ADD1"].desc(*(run.desc.a_tensor,) * 3, chosen)
    return with_values(desc, HIGHEST, a_tensor=np.array(a, kind), b_tensor=np.array(b, kind))


def allows(run: Run, *results: float) -> list[bool]:
    """Which results of its one element are right."""
    data_type = run.desc.output_tensor.data_type
    kind = np.dtype(data_type.name.lower())
    found = [np.array([result], kind).view(f"u{kind.itemsize}") for result in results]
    return [bool(is_right(run.expected["output_tensor"], result, data_type).all()) for result in found]


def test_every_activation_that_can_be_fused_is_here() -> None:
    assert {f"ACTIVATION_{name}" for name in ACTIVATIONS} == FUSIBLE


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("name", ACTIVATIONS, ids=str.lower)
def test_an_activation_is_of_the_sum(name: str, kind: Any) -> None:
    attributes, function = ACTIVATIONS[name]
    terms = (-2.75, -1.5, -0.25, 0.0, 0.125, 1.25, 3.5)
    a, b = np.repeat(terms, len(terms)), np.tile(terms, len(terms))
    run = fused(name, *attributes, a=a, b=b, kind=kind)
    exact = [function(x + y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    found = numbers(run.expected["output_tensor"].values, run.desc.output_tensor.data_type)
    assert np.allclose(found.astype(np.float64), exact, rtol=2e-6 if kind is np.float32 else 2e-3, atol=1e-6)
    assert_conforms(TORCH, run)
    for x, y in ((0.75, 1.5), (-2.5, 0.75), (2.5, -3.75)):
        one = fused(name, *attributes, a=[x], b=[y], kind=kind)
        right = function(x + y)
        assert allows(one, right, right * 1.02 + 0.01, NAN) == [True, False, False]


def test_edges_of_sums_that_are_activated() -> None:
    half = np.float16
    for kind in (np.float32, half):
        assert allows(fused("TANH", a=[INF], b=[-INF], kind=kind), NAN, 0) == [True, False]
        assert allows(fused("RELU", a=[NAN], b=[1], kind=kind), NAN, 0, 1) == [True, True, False]
        assert allows(fused("THRESHOLDED_RELU", 0.5, a=[NAN], b=[1], kind=kind), 0, NAN) == [True, False]
        assert allows(fused("IDENTITY", a=[1], b=[2], kind=kind), 3, 0) == [True, False]
        assert allows(fused("RELU", a=[-1], b=[-2], kind=kind), 0, -3) == [True, False]
    # The sum is infinite in FLOAT16, or is not where more bits are computed.
    beyond: Any = {"a": [60000], "b": [60000], "kind": half}
    assert allows(fused("LINEAR", 0.25, 0.0, **beyond), 30000, INF, NAN) == [True, True, False]
    assert allows(fused("LINEAR", 0.0, 1.0, **beyond), 1, NAN) == [True, True]
    assert allows(fused("SIGMOID", **beyond), 1, NAN) == [True, False]
    assert allows(fused("SOFTSIGN", **beyond), 1, NAN) == [True, True]
    # 2049 is not a FLOAT16 number: 2048 and 2050 are next to it.
    near: Any = {"a": [2048], "b": [1], "kind": half}
    assert allows(fused("LINEAR", 1.0, -2048.0, **near), 0, 1, 2, 32, -32) == [True, True, True, False, False]
    # Nothing says what an activation makes of coefficients that are not finite.
    assert all(allows(fused("ELU", INF, a=[-1], b=[0]), 0, 1, NAN))
    # A subnormal sum of normal numbers may be flushed.
    least = 2.0**-126
    assert allows(fused("LINEAR", 2.0**24, 0.0, a=[1.5 * least], b=[-least]), 2.0**-103, 0, 1) == [True, True, False]


@pytest.mark.parametrize(
    ("level", "chosen", "rule"),
    [
        ("6_4", None, ""),
        ("2_0", activation("RELU"), ""),
        ("2_0", activation("SHRINK", 0.0, 0.5), ""),
        ("2_1", activation("CELU", 1.0), "fused-activation"),
        ("3_0", activation("CELU", 1.0), ""),
        ("6_4", activation("GELU"), "fused-activation"),
        ("6_4", activation("SWISH", 1.0), "fused-activation"),
        ("6_4", activation("HARD_SWISH", 1.0, 1.0), "fused-activation"),
        ("6_4", activation("PARAMETERIZED_RELU"), "fused-activation"),
        ("6_4", activation("SOFTMAX"), "fused-activation"),
        ("6_4", activation("ELEMENT_WISE_IDENTITY"), "fused-activation"),
        ("6_4", activation("RELU", input_tensor=TensorDesc.of(DataType.FLOAT32, (1,))), "fused-activation"),
        ("6_4", activation("RELU", output_tensor=TensorDesc.of(DataType.FLOAT32, (1,))), "fused-activation"),
        ("6_3", activation("SOFTPLUS", 0.5), "fused-steepness"),
        ("6_3", activation("SOFTPLUS", NAN), "fused-steepness"),
        ("6_3", activation("SOFTPLUS", 1.0), ""),
        ("6_4", activation("SOFTPLUS", 0.5), ""),
    ],
)
def test_what_can_be_fused(level: str, chosen: Any, rule: str) -> None:
    tensor = TensorDesc.of(DataType.FLOAT16, (1, 2, 3, 4))
    desc = operators()["ELEMENT_WISE_ADD1"].desc(tensor, tensor, tensor, chosen)
    at = Level.parse(level)
    assert decide(desc, at).rules == ((f"ELEMENT_WISE_ADD1.{rule}",) if rule else ())
    assert TORCH.validate(desc, at).accepted is not bool(rule)
    assert desc_to_json(desc_from_json(desc_to_json(desc))) == desc_to_json(desc)
