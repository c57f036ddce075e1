"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like.

The second reference computes with mpmath in 200 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from family_cases import Run, example, executed

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.reference.floats import OUTWARD, OWN_ERROR
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Tolerance
from dml_conformance.spec.case import Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias, enumeration
from dml_conformance.spec.operators.element_wise_unary import SPECS
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import fill

pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")
HALVES_TO_EVEN, TOWARD_ZERO, TOWARD_INFINITY = (int(mode) for mode in enumeration("DML_ROUNDING_MODE"))
FLOAT32, FLOAT16 = np.float32, np.float16
INF, NAN = math.inf, math.nan
CONTEXT = mpmath.mp.clone()
CONTEXT.prec = 200
# Of numbers that the function is defined of; its ends, infinities and NaN are in the table below.
SLOW: dict[str, Callable[[Any], Any]] = {
    "ABS": abs,
    "ACOS": CONTEXT.acos,
    "ACOSH": CONTEXT.acosh,
    "ASIN": CONTEXT.asin,
    "ASINH": CONTEXT.asinh,
    "ATAN": CONTEXT.atan,
    "ATANH": CONTEXT.atanh,
    "CEIL": CONTEXT.ceil,
    "COS": CONTEXT.cos,
    "COSH": CONTEXT.cosh,
    "ERF": CONTEXT.erf,
    "EXP": CONTEXT.exp,
    "FLOOR": CONTEXT.floor,
    "LOG": CONTEXT.log,
    "NEGATE": lambda x: -x,
    "RECIP": lambda x: 1 / x,
    "ROUND": CONTEXT.nint,
    "SIGN": CONTEXT.sign,
    "SIN": CONTEXT.sin,
    "SINH": CONTEXT.sinh,
    "SQRT": CONTEXT.sqrt,
    "TAN": CONTEXT.tan,
    "TANH": CONTEXT.tanh,
}
TURNING = {"SIN": CONTEXT.cos, "COS": CONTEXT.sin}  # where these change their sign there is a -1 or a 1
ROUNDED = [
    spec.name.removeprefix("ELEMENT_WISE_") for spec in SPECS if f"{spec.name}.accuracy" in {r.id for r in spec.rules}
]
DEFINED: dict[str, Callable[[Any], Any]] = {
    "ACOS": lambda x: abs(x) <= 1,
    "ASIN": lambda x: abs(x) <= 1,
    "ATANH": lambda x: abs(x) < 1,
    "ACOSH": lambda x: x >= 1,
    "LOG": lambda x: x > 0,
    "SQRT": lambda x: x >= 0,
    "RECIP": lambda x: x != 0,
}
# Of -inf, -2, -1, -0, 0, 1, 2 and inf.
ENDS: dict[str, tuple[float, ...]] = {
    "ABS": (INF, 2, 1, 0, 0, 1, 2, INF),
    "ACOS": (NAN, NAN, math.pi, math.pi / 2, math.pi / 2, 0, NAN, NAN),
    "ACOSH": (NAN, NAN, NAN, NAN, NAN, 0, 1.3169578969248166, INF),
    "ASIN": (NAN, NAN, -math.pi / 2, 0, 0, math.pi / 2, NAN, NAN),
    "ASINH": (-INF, -1.4436354751788103, -0.881373587019543, 0, 0, 0.881373587019543, 1.4436354751788103, INF),
    "ATAN": (-math.pi / 2, -1.1071487177940904, -math.pi / 4, 0, 0, math.pi / 4, 1.1071487177940904, math.pi / 2),
    "ATANH": (NAN, NAN, -INF, 0, 0, INF, NAN, NAN),
    "CEIL": (-INF, -2, -1, 0, 0, 1, 2, INF),
    "COS": (NAN, -0.4161468365471424, 0.5403023058681398, 1, 1, 0.5403023058681398, -0.4161468365471424, NAN),
    "COSH": (INF, 3.7621956910836314, 1.5430806348152437, 1, 1, 1.5430806348152437, 3.7621956910836314, INF),
    "ERF": (-1, -0.9953222650189527, -0.8427007929497149, 0, 0, 0.8427007929497149, 0.9953222650189527, 1),
    "EXP": (0, 0.1353352832366127, 0.36787944117144233, 1, 1, math.e, 7.38905609893065, INF),
    "FLOOR": (-INF, -2, -1, 0, 0, 1, 2, INF),
    "LOG": (NAN, NAN, NAN, -INF, -INF, 0, 0.6931471805599453, INF),
    "NEGATE": (INF, 2, 1, 0, 0, -1, -2, -INF),
    "RECIP": (0, -0.5, -1, -INF, INF, 1, 0.5, 0),
    "ROUND": (-INF, -2, -1, 0, 0, 1, 2, INF),
    "SIGN": (-1, -1, -1, 0, 0, 1, 1, 1),
    "SIN": (NAN, -0.9092974268256817, -0.8414709848078965, 0, 0, 0.8414709848078965, 0.9092974268256817, NAN),
    "SINH": (-INF, -3.626860407847019, -1.1752011936438014, 0, 0, 1.1752011936438014, 3.626860407847019, INF),
    "SQRT": (NAN, NAN, NAN, -0.0, 0, 1, 1.4142135623730951, INF),
    "TAN": (NAN, 2.185039863261519, -1.5574077246549023, 0, 0, 1.5574077246549023, -2.185039863261519, NAN),
    "TANH": (-1, -0.9640275800758169, -0.7615941559557649, 0, 0, 0.7615941559557649, 0.9640275800758169, 1),
}


def run_of(name: str, x: Any, **members: Any) -> Run:
    """The operator on these numbers."""
    if name == "ROUND":
        members = {"rounding_mode": HALVES_TO_EVEN, **members}
    return example(f"ELEMENT_WISE_{name}", input=x, **members)


def within(name: str, x: Any, tolerance: Tolerance = DIRECTML) -> Any:
    run = run_of(name, x)
    return expected_output(run.desc, run.bindings, tolerance)["output_tensor"].within


def holds(name: str, x: Any, results: Any, tolerance: Tolerance = DIRECTML, **members: Any) -> Any:
    """Which of these results are right."""
    return run_of(name, x, **members).holds(results, tolerance=tolerance)


def arguments(name: str, kind: Any, count: int) -> Any:
    """Numbers of any size that the function is defined of, and many beside those where it turns or ends."""
    random = np.random.default_rng([*name.encode(), np.dtype(kind).itemsize])
    width = 8 * np.dtype(kind).itemsize
    exponents, signs = random.uniform(-30, 30, count), random.choice((-1, 1), count)
    drawn = [
        random.integers(0, 2**width, count).astype(f"u{width // 8}").view(kind),
        (signs * 2.0**exponents).astype(kind),
        random.uniform(-12, 12, count).astype(kind),
        random.uniform(-1, 1, count).astype(kind),
        np.array([k * math.pi / 2 for k in range(-20, 21)], kind),
        np.array([s * (1 + d) for s in (-1, 1) for d in (2**-3, 2**-9, 2**-23, -(2**-9), -(2**-23))], kind),
    ]
    every = np.concatenate(drawn)
    every = every[np.isfinite(every)]
    defined = DEFINED.get(name)
    return every if defined is None else every[defined(every)]


# --- what is computed -------------------------------------------------------------------------------------------------


def test_every_operator_of_the_family_is_here() -> None:
    names = {spec.name for spec in SPECS}
    assert {f"ELEMENT_WISE_{name}" for name in SLOW} == {f"ELEMENT_WISE_{name}" for name in ENDS} == names
    assert len(ROUNDED) == 17


@pytest.mark.parametrize("kind", [FLOAT32, FLOAT16])
@pytest.mark.parametrize("name", SLOW)
def test_exact_values_are_those_of_200_bits(name: str, kind: Any) -> None:
    """But for the few units of FLOAT64 that are counted in."""
    x = arguments(name, kind, 60)
    assert len(x) > 50
    for argument, exact in zip(x.tolist(), within(name, x).exact.tolist(), strict=True):
        slow = SLOW[name](CONTEXT.mpf(argument))
        if abs(slow) >= 2.0**1000 or 0 < abs(slow) < 2.0**-1000:  # FLOAT64 has no such number; the type has none either
            assert exact in (0.0, INF, -INF) or abs(slow - exact) < 2.0**-900 * max(1, abs(slow) ** 2), argument
        else:
            assert abs(slow - CONTEXT.mpf(exact)) <= OWN_ERROR * abs(slow), argument


@pytest.mark.parametrize("kind", [FLOAT32, FLOAT16])
@pytest.mark.parametrize("name", ENDS)
def test_ends_zeros_and_infinities(name: str, kind: Any) -> None:
    x = np.array([-INF, -2, -1, -0.0, 0, 1, 2, INF], kind)
    assert holds(name, x, ENDS[name]).all()
    exact = np.array(ENDS[name]).astype(kind)
    wrong = np.where(np.isnan(exact), 1, np.where(np.isinf(exact), np.finfo(kind).max, NAN))
    opposite = np.where(exact == 0, 0.125, -exact)
    assert not holds(name, x, wrong).any()
    assert not holds(name, x, opposite)[~np.isnan(exact)].any()


@pytest.mark.parametrize("name", SLOW)
def test_a_nan_gives_a_nan_of_any_bits_but_of_its_sign_0(name: str) -> None:
    x = np.array([0x7E00, 0x7C01, 0xFFFF], np.uint16).view(FLOAT16)
    assert holds(name, x, np.array([NAN, -NAN, NAN])).all() != (name == "SIGN")
    assert holds(name, x, np.zeros(3)).all() == (name == "SIGN")


# --- how near ---------------------------------------------------------------------------------------------------------


def slow_limits(name: str, argument: float, bound: Any, kind: Any) -> tuple[Any, Any]:
    """The least and the greatest value that a bound allows, in 200 bits."""
    x = CONTEXT.mpf(argument)
    away = CONTEXT.mpf(bound.argument) * abs(x) + CONTEXT.mpf(bound.shift)
    found = [SLOW[name](x + sign * away) for sign in (-1, 0, 1)]
    if name in TURNING and TURNING[name](x - away) * TURNING[name](x + away) < 0:
        found.append(CONTEXT.sign(found[1]))
    # Units are those of the exact result, as `Bound` has them, also where moved arguments are beyond a power of two.
    ulp, absolute = CONTEXT.mpf(bound.ulp) * unit_of(float(found[1]), kind), CONTEXT.mpf(bound.absolute)
    allowed = ulp + absolute if bound.is_sum else max(ulp, absolute)
    return min(found) - allowed, max(found) + allowed


def unit_of(number: float, kind: Any) -> float:
    """The distance of the numbers between two powers of two."""
    info = np.finfo(kind)
    return 2.0 ** (max(math.frexp(number)[1] - 1, info.minexp) - info.nmant)


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
@pytest.mark.parametrize("kind", [FLOAT32, FLOAT16])
@pytest.mark.parametrize("name", ROUNDED)
def test_intervals_end_where_the_bound_does(name: str, kind: Any, tolerance: Tolerance) -> None:
    """The last number inside is right, the next one is not; the nearest one always is."""
    spec = operators()[f"ELEMENT_WISE_{name}"]
    (primitive,) = spec.primitives
    bound = PRIMITIVES[primitive].bound(tolerance, DataType[np.dtype(kind).name.upper()])
    x = arguments(name, kind, 12)
    x = x[(np.abs(x) >= np.finfo(kind).tiny) & (np.abs(x) <= min(bound.reach, 1e5))]
    low, high, nan = run_of(name, x).ends(tolerance=tolerance)
    assert not nan.any()
    seen = 0
    for argument, least, most in zip(x.tolist(), low, high, strict=True):
        exact = SLOW[name](CONTEXT.mpf(argument))
        nearest = float(kind(float(exact))) if abs(exact) < np.finfo(kind).max else None
        if nearest is None or abs(exact) < 8 * np.finfo(kind).tiny or abs(exact) > np.finfo(kind).max / 4:
            continue
        assert least <= nearest <= most, argument
        if name == "TAN" and math.isinf(least):  # a pole is as near as the argument's bound
            away = bound.argument * abs(argument) + bound.shift
            assert SLOW[name](argument - away) > 0 > SLOW[name](argument + away), argument
            assert math.isinf(most), argument
            continue
        below, above = slow_limits(name, argument, bound, kind)
        slack = 2 * OWN_ERROR * max(abs(below), abs(above)) + 2 * (OUTWARD - 1) * (above - below)
        assert below - slack <= least or least == nearest, argument
        assert most <= above + slack or most == nearest, argument
        if least > np.finfo(kind).tiny or most < -np.finfo(kind).tiny:  # else zero is in it, as what is flushed
            assert float(np.nextafter(kind(least), kind(-INF))) <= below + slack, argument
            assert float(np.nextafter(kind(most), kind(INF))) >= above - slack, argument
            seen += 1
    assert seen > 5


def test_beyond_its_reach_a_sine_is_between_minus_1_and_1() -> None:
    x = np.array([9_999, 10_001], FLOAT32)
    low, high, _ = run_of("SIN", x).ends()
    assert high[0] - low[0] < 0.01
    assert (low[1], high[1]) == (-1, 1)
    _, precise, _ = run_of("SIN", x).ends(tolerance=PRECISE)
    assert precise[1] - math.sin(10_001) < 1e-6
    assert not holds("TAN", x[1:], [NAN]).any()


def test_sums_of_exponentials_overflow_where_what_they_are_made_of_does() -> None:
    x = np.array([88.0, 89.0, 89.5], FLOAT32)
    for name, tolerance in ((name, tolerance) for name in ("SINH", "COSH") for tolerance in (DIRECTML, PRECISE)):
        assert holds(name, x, [INF] * 3, tolerance).tolist() == [False, True, True]
        assert holds(name, x, [SLOW[name](n) for n in (88, 89, 89)], tolerance).tolist() == [True, True, False]
    assert holds("EXP", x, [INF] * 3).tolist() == [False, True, True]


# --- subnormal numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argument", "kept", "flushed"),
    [
        ("ABS", -1e-40, 1e-40, 0.0),
        ("NEGATE", 1e-40, -1e-40, 0.0),
        ("SIGN", -1e-40, -1.0, 0.0),
        ("CEIL", 1e-40, 1.0, 0.0),
        ("FLOOR", -1e-40, -1.0, 0.0),
        ("RECIP", -1e-40, -INF, -INF),
        ("RECIP", 2e38, 5e-39, 0.0),
        ("RECIP", 2.0**-127, 2.0**127, INF),
        ("LOG", 1e-40, -92.10340371976183, -INF),
        ("SQRT", 2.0**-130, 2.0**-65, 0.0),
        ("SIN", 1e-40, 1e-40, 0.0),
        ("EXP", -100.0, 3.720075976020836e-44, 0.0),
    ],
)
def test_of_float32_they_may_be_flushed(name: str, argument: float, kept: float, flushed: float) -> None:
    x = np.array([argument], FLOAT32)
    for tolerance in (DIRECTML, PRECISE):
        assert holds(name, x, [kept], tolerance).all()
        is_same = kept == flushed or name == "SIN"  # which has an absolute error
        assert holds(name, x, [flushed], tolerance).all() == (is_same or tolerance is DIRECTML) or name == "SIN"
    assert not holds("SIGN", x, [2.0]).any()


def test_of_float16_they_are_kept() -> None:
    x = np.array([6e-8, -6e-5], FLOAT16)
    for name in ("ABS", "NEGATE", "SIGN", "TAN", "SQRT", "ATAN"):
        assert not holds(name, x, [0, 0])[1]
    assert holds("SIGN", x, [1, -1]).all()
    assert not holds("SIGN", x, [0, 0]).any()


# --- ScaleBias --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FLOAT32, FLOAT16])
@pytest.mark.parametrize("name", [name for name in SLOW if name not in ("NEGATE", "ROUND", "SIGN")])
def test_scale_bias_may_be_rounded_in_steps_or_at_once(name: str, kind: Any) -> None:
    x = arguments(name, kind, 100)
    x = x[np.abs(x) < 100]
    seen = 0
    for scale, bias in ((3.0, -1.25), (-0.75, 0.5), (0.1, 0.3)):
        scale_bias = ScaleBias(scale, bias)
        in_steps = x * kind(scale) + kind(bias)
        at_once = (x.astype(float) * float(np.float32(scale)) + float(np.float32(bias))).astype(kind)
        for scaled in (in_steps, at_once):
            plain = run_of(name, scaled).expected["output_tensor"].values.view(kind)
            assert holds(name, x, plain, scale_bias=scale_bias).all()
        afterwards = run_of(name, x).expected["output_tensor"].values.view(kind) * kind(scale) + kind(bias)
        seen += int((~holds(name, x, afterwards, scale_bias=scale_bias)).sum())
    assert seen > 20


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
@pytest.mark.parametrize(
    ("name", "members", "steps"),
    [
        ("ACTIVATION_LINEAR", {"alpha": 0.7, "beta": 0.3}, lambda x: FLOAT32(0.7) * x + FLOAT32(0.3)),
        ("ELEMENT_WISE_IDENTITY", {"scale_bias": ScaleBias(0.7, 0.3)}, lambda x: FLOAT32(0.7) * x + FLOAT32(0.3)),
        (
            "ACTIVATION_HARD_SIGMOID",
            {"alpha": 0.7, "beta": 0.3},
            lambda x: (FLOAT32(0.7) * x + FLOAT32(0.3)).clip(0, 1),
        ),
        (
            "ACTIVATION_HARD_SWISH",
            {"alpha": 0.7, "beta": 0.3},
            lambda x: x * (FLOAT32(0.7) * x + FLOAT32(0.3)).clip(0, 1),
        ),
        ("ACTIVATION_LEAKY_RELU", {"alpha": 0.7}, lambda x: np.where(x >= 0, x, FLOAT32(0.7) * x)),
        ("ACTIVATION_SHRINK", {"bias": 0.7, "threshold": 0.0}, lambda x: x - np.sign(x) * FLOAT32(0.7)),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_results_of_float16_may_be_those_of_float32_rounded_once_more(
    name: str, members: dict[str, Any], steps: Callable[[Any], Any], tolerance: Tolerance
) -> None:
    """What FLOAT32 has of a step may lie between two numbers where the exact value does not: PyTorch computes so."""
    every = np.arange(2**16, dtype=np.uint16).view(FLOAT16)
    x = every[np.abs(every) < 2**12]
    run = example(name, FLOAT16, input=x, **members)
    rounded = steps(x.astype(FLOAT32)).astype(FLOAT16)
    is_right = run.holds(rounded, tolerance=tolerance)
    assert is_right.all(), (x[~is_right][:5], rounded[~is_right][:5])
    far = rounded + FLOAT16(4) * np.abs(np.spacing(rounded))
    assert not run.holds(far, tolerance=tolerance)[np.abs(x) > 1].any()


# --- those that compute in full precision -----------------------------------------------------------------------------


def float32_arguments() -> Any:
    """65,536 numbers, one with each upper half."""
    return fill(TensorDesc.of(DataType.FLOAT32, (2**16,)), Recipe("all-values", 1)).view("<f4")


@pytest.mark.parametrize("name", SLOW)
def test_torch_keeps_the_precise_bounds(name: str) -> None:
    """Of all FLOAT16 numbers and of as many FLOAT32 ones; FLOAT32 results that are rounded to BFLOAT16 do not."""
    for x in (np.arange(2**16, dtype=np.uint16).view(FLOAT16), float32_arguments()):
        found = executed(TorchBackend("cpu"), run_of(name, x))["output_tensor"].view(x.dtype)
        is_right = holds(name, x, found, PRECISE)
        assert is_right.all(), x[~is_right][:5]
    if name in ROUNDED:
        rounded = torch.from_numpy(found.copy()).bfloat16().float().numpy()
        assert (~holds(name, x, rounded, PRECISE)).mean() > 0.05
