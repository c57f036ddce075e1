"""Functions of one or two numbers beside exact arithmetic: activations, sums and quotients, casts, quantization."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import (
    LEAST_NORMAL,
    Element,
    Run,
    count_around,
    described_tensor,
    example,
    kind_of,
    nearest,
    small_runs,
    unit,
)

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import ALL, DataType

FLOATS = (np.float32, np.float16)


def is_usual(x: float) -> bool:
    """A finite number of a moderate size, or 0."""
    return x == 0 or 1e-30 < abs(x) <= 1e4


# --- activations ------------------------------------------------------------------------------------------------------


def logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def exponential(x: float) -> float:
    """exp(x) - 1"""
    return math.expm1(x) if x < 700 else math.inf


def clamp(x: float) -> float:
    return min(max(x, 0.0), 1.0)


# From a number that is no NaN and a descriptor.
ACTIVATIONS: dict[str, Callable[[float, Any], float]] = {
    "CELU": lambda x, d: max(0.0, x) + min(0.0, d.alpha * exponential(x / d.alpha)),
    "ELU": lambda x, d: x if x >= 0 else d.alpha * exponential(x),
    "GELU": lambda x, d: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "HARD_SIGMOID": lambda x, d: clamp(d.alpha * x + d.beta),
    "HARD_SWISH": lambda x, d: x * clamp(d.alpha * x + d.beta),
    "IDENTITY": lambda x, d: x,
    "LEAKY_RELU": lambda x, d: x if x >= 0 else d.alpha * x,
    "LINEAR": lambda x, d: d.alpha * x + d.beta,
    "PARAMETRIC_SOFTPLUS": lambda x, d: d.alpha * softplus(d.beta * x),
    "RELU": lambda x, d: max(0.0, x),
    "SCALED_ELU": lambda x, d: d.gamma * (x if x > 0 else d.alpha * exponential(x)),
    "SCALED_TANH": lambda x, d: d.alpha * math.tanh(d.beta * x),
    "SHRINK": lambda x, d: x - d.bias if x > d.threshold else x + d.bias if x < -d.threshold else 0.0,
    "SIGMOID": lambda x, d: logistic(x),
    "SOFTPLUS": lambda x, d: softplus(d.steepness * x) / d.steepness,
    "SOFTSIGN": lambda x, d: x / (1 + abs(x)),
    "SWISH": lambda x, d: x * logistic(d.sigmoid_input_scale * x),
    "TANH": lambda x, d: math.tanh(x),
    "THRESHOLDED_RELU": lambda x, d: x if x > d.alpha else 0.0,
}


def activation(run: Run) -> Iterator[Element]:
    """Of what is read, or of a sum whose activation is fused; the interval is a few thousandths of what goes in."""
    data_type = run.desc.output_tensor.data_type
    if not data_type.is_float or run.expected["output_tensor"].free is not None:
        return
    chosen = getattr(run.desc, "fused_activation", run.desc)
    function = ACTIVATIONS[chosen.operator.removeprefix("ACTIVATION_")] if chosen else lambda x, _: x
    coefficients = [getattr(chosen, field.attribute) for field in getattr(chosen, "fields", ()) if not field.is_tensor]
    scale, info = max([1.0, *map(abs, coefficients)]), np.finfo(kind_of(data_type))
    part = math.inf if chosen is not run.desc and data_type is DataType.FLOAT16 else 1e-2  # a sum may overflow
    for c in slow.walk(run.desc.output_tensor.sizes):
        x = sum(float(array[c]) for array in run.arrays.values())
        if not is_usual(x) or not all(is_usual(array[c]) for array in run.arrays.values()):
            continue
        y = function(x, chosen)
        if abs(y) <= 6e4:
            size = max(1.0, *(abs(float(array[c])) for array in run.arrays.values()))
            slack = float(info.eps) * abs(y) + float(info.tiny)
            yield "output_tensor", c, y, slack, part * (scale * size**2 + abs(y))


def softmax(run: Run) -> Iterator[Element]:
    """Of rows of numbers, or of such and minus infinity."""
    desc, (x,) = run.desc, run.arrays.values()
    data_type, is_log = desc.output_tensor.data_type, "LOG" in desc.operator
    if run.expected["output_tensor"].free is not None:
        return
    for c in list(slow.walk(x.shape))[:40]:
        axes = getattr(desc, "axes", (x.ndim - 1,))
        box = tuple(slice(None) if d in axes else slice(c[d], c[d] + 1) for d in range(x.ndim))
        row = [float(at) for at in x[box].flat]
        largest = max(row)
        if not all(-math.inf <= at < math.inf for at in row) or largest == -math.inf:
            continue
        total = math.fsum(math.exp(at - largest) for at in row)
        away = float(x[c]) - largest
        y = away - math.log(total) if is_log else math.exp(away) / total
        if abs(y) < 6e4:
            info, is_cut = np.finfo(kind_of(data_type)), is_log and data_type is DataType.FLOAT16
            slack = float(info.eps) * abs(y) + float(info.tiny)
            yield "output_tensor", c, y, slack, 5e-3 * abs(y) + (4e-3 if is_cut else 1e-5)


def gradient(run: Run) -> Iterator[Element]:
    """Of the rectifier, and of what is held between limits that the type has."""
    desc, (x, given) = run.desc, run.arrays.values()
    data_type = desc.input_tensor.data_type
    limits = (desc.min, desc.max) if hasattr(desc, "min") else (0, math.inf)
    if "CLIP" in desc.operator:
        least, most = data_type.limits or (-math.inf, math.inf)
        if not all(least <= limit <= most and abs(limit) < 2**14 for limit in limits):
            return
        if any(float(x.dtype.type(limit)) != limit for limit in limits):
            return
    for c in slow.walk(x.shape):
        number, passed = x[c].item(), given[c].item()
        is_told = all(at == 0 or LEAST_NORMAL.get(data_type, 0) <= abs(at) < math.inf for at in (number, passed))
        if is_told and abs(number) < 2**24:
            yield "output_gradient_tensor", c, passed if limits[0] < number < limits[1] else 0, 0.0, 0.0


# --- of two numbers ---------------------------------------------------------------------------------------------------

# Of fractions; None where there is no result.
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
    "DIVIDE": lambda a, b: a / b if b else None,
    "MODULUS_TRUNCATE": lambda a, b: a - b * math.trunc(a / b) if b else None,
    "MODULUS_FLOOR": lambda a, b: a - b * math.floor(a / b) if b else None,
    "MAX": max,
    "MIN": min,
    "MEAN": lambda a, b: (a + b) / 2,
}
WRAPPING = ("ADD", "SUBTRACT", "MULTIPLY", "DIFFERENCE_SQUARE")


def two_numbers(run: Run) -> Iterator[Element]:
    """Of integers a quotient is cut, and what their type does not have comes round, or is open."""
    name, data_type = run.desc.operator.removeprefix("ELEMENT_WISE_"), run.desc.a_tensor.data_type
    a, b = run.arrays.values()
    for c in slow.walk(a.shape):
        x, y = a[c].item(), b[c].item()
        if data_type.is_float and not all(at == 0 or 1e-3 < abs(at) < 200 for at in (x, y)):
            continue
        exact = EXACT[name](Fraction(x), Fraction(y))
        if exact is None:
            continue
        if data_type.is_float:
            width = math.inf if name.startswith("MODULUS") else 8 * (unit(exact, data_type) + 2.0**-24)
            yield "output_tensor", c, exact, 2 * unit(exact, data_type), width
        elif name != "MEAN":
            least, most = data_type.limits or (0, 0)
            whole = math.trunc(exact)
            if name in WRAPPING:
                whole = (whole - least) % 2**data_type.bits + least
            if least <= whole <= most:
                yield "output_tensor", c, whole, 0, 0


# --- quantized numbers ------------------------------------------------------------------------------------------------


def quantize(run: Run) -> Iterator[Element]:
    """By scales that are powers of two, where each formula has one result; each element has those of its block."""
    desc, (x, *blocks) = run.desc, run.arrays.values()
    data_type = desc.output_tensor.data_type
    for c in slow.walk(x.shape):
        place = tuple(at // Fraction(n, count) for at, n, count in zip(c, x.shape, blocks[0].shape, strict=True))
        number, scale, *zeros = (array[at].item() for array, at in ((x, c), *((block, place) for block in blocks)))
        zero = zeros[0] if zeros else 0
        if not math.isfinite(scale) or abs(math.frexp(scale)[0]) != 0.5 or not 2.0**-13 <= abs(scale) < 2.0**13:
            continue
        if data_type.is_float:
            difference = number - zero
            if abs(difference) < 2**11 and (difference >= 0 or desc.input_tensor.data_type is not DataType.UINT32):
                exact = kind_of(data_type).type(difference * scale)
                yield "output_tensor", c, exact, 0.0, 0.0 if math.isfinite(exact) else math.inf
        elif math.isfinite(number) and (number == 0 or abs(number) >= LEAST_NORMAL[DataType.FLOAT32]):
            least, most = data_type.limits or (0, 0)
            yield "output_tensor", c, min(max(round(Fraction(number) / Fraction(scale)) + zero, least), most), 0, 0


def add_quantized(run: Run) -> Iterator[Element]:
    a, b = run.arrays["a_tensor"], run.arrays["b_tensor"]
    scales = [run.arrays[f"{of}_scale_tensor"].item() for of in ("a", "b", "output")]
    if not all(math.isfinite(scale) and 2.0**-12 < abs(scale) < 2.0**12 for scale in scales):
        return
    zeros = [int(run.arrays.get(f"{of}_zero_point_tensor", np.zeros(1)).item()) for of in ("a", "b", "output")]
    of_a, of_b, by = map(Fraction, scales)
    for c in slow.walk(a.shape):
        x, y = (int(a[c]) - zeros[0]) * of_a / by, (int(b[c]) - zeros[1]) * of_b / by
        yield "output_tensor", c, *nearest(x + y, abs(x) + abs(y), zeros[2], run.desc.output_tensor.data_type)


SLOW: dict[str, Callable[[Run], Iterator[Element]]] = {
    **{f"ACTIVATION_{name}": activation for name in ACTIVATIONS if name != "IDENTITY"},
    "ELEMENT_WISE_ADD1": activation,
    **{f"ACTIVATION_{name}": softmax for name in ("SOFTMAX", "LOG_SOFTMAX", "SOFTMAX1", "LOG_SOFTMAX1")},
    **dict.fromkeys(("ACTIVATION_RELU_GRAD", "ELEMENT_WISE_CLIP_GRAD", "ELEMENT_WISE_CLIP_GRAD1"), gradient),
    **{f"ELEMENT_WISE_{name}": two_numbers for name in EXACT},
    **dict.fromkeys(("QUANTIZE", "DEQUANTIZE"), quantize),
    **{f"ELEMENT_WISE_{name}_LINEAR": quantize for name in ("QUANTIZE", "DEQUANTIZE")},
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": add_quantized,
}


@pytest.mark.few(len(SLOW))
@pytest.mark.parametrize("name", SLOW)
def test_what_is_expected_lies_around_exact_results(name: str) -> None:
    assert sum(count_around(run, SLOW[name](run)) for run in small_runs(name, 60)) > 100


# --- casts ------------------------------------------------------------------------------------------------------------

# Of a floating-point type: exponent of the unit of the least numbers, digits, and its greatest exponent.
FORMATS = {DataType.FLOAT16: (-24, 11, 15), DataType.FLOAT32: (-149, 24, 127), DataType.FLOAT64: (-1074, 53, 1023)}


def neighbours(number: Fraction, data_type: DataType) -> tuple[Any, Any]:
    """The greatest number of a type that is not above another, and the least one that is not below it."""
    if data_type not in FORMATS:
        return math.floor(number), math.ceil(number)
    least, digits, most = FORMATS[data_type]
    largest = Fraction((2**digits - 1) * 2 ** (most - digits + 1))
    if abs(number) > largest:
        return (largest, math.inf) if number > 0 else (-math.inf, -largest)
    exponent = least
    while abs(number) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    step = Fraction(2) ** exponent
    return math.floor(number / step) * step, math.ceil(number / step) * step


def is_subnormal(number: Any, data_type: DataType) -> bool:
    if data_type not in FORMATS or number in (0, math.inf, -math.inf):
        return False
    least, digits, _ = FORMATS[data_type]
    return bool(abs(number) < Fraction(2) ** (least + digits - 1))


def check_cast(run: Run) -> int:
    """Of finite numbers both neighbours are right, and 0 beside a subnormal one; returns how many are not open."""
    (x,), target = run.arrays.values(), run.desc.output_tensor.data_type
    source = run.desc.input_tensor.data_type
    low, high, is_nan = run.ends()
    count = 0
    for c in slow.walk(x.shape):
        number, right = x[c].item(), {math.inf}
        if not math.isfinite(number):
            if target not in FORMATS:
                assert is_nan[c]
            elif not math.isnan(number):
                assert low[c] == high[c] == number
            else:
                assert is_nan[c]
                assert low[c] > high[c]
            continue
        right = set(neighbours(Fraction(number), target))
        limits = target.limits
        assert is_nan[c] == (limits is not None and not limits[0] <= min(right) <= max(right) <= limits[1])
        if is_nan[c]:
            continue
        is_tiny = is_subnormal(Fraction(number), source) or any(is_subnormal(each, target) for each in right)
        if is_tiny:
            right.add(0)
        own = float if target in FORMATS else int
        assert (low[c], high[c]) == (own(min(right)), own(max(right))), (number, source, target)
        count += 1
    return count


def test_casts_are_to_the_neighbours_of_a_type() -> None:
    assert sum(check_cast(run) for run in small_runs("CAST", 120)) > 1000


@pytest.mark.few(len(ALL))
@pytest.mark.parametrize("target", sorted(ALL), ids=lambda data_type: data_type.name)
def test_casts_at_the_ends_of_types(target: DataType) -> None:
    for source in ALL:
        if source.limits is not None:
            low, high = source.limits
            ends = [low, low + 1, 0, 1, high - 1, high, *(high // 2**n for n in (1, 7, 8, 9, 10, 30, 40))]
        else:
            ends = [0.0, 0.5, 1.5, 127.5, 128.0, 255.5, 2049.0, 65504.0, 65519.0, 65520.0, 16777217.0, 1e300]
            ends += [2.0**n for n in (-149, -126, -25, -24, -15, -14, 31, 32, 63, 64)]
            ends += [2.0**63 - 1024, math.inf, math.nan]
            ends += [-number for number in ends]
        with np.errstate(over="ignore"):
            array = np.array(ends, NUMBERS[source])
        check_cast(example("CAST", input=array, output=described_tensor(array.shape, NUMBERS[target])))


# --- dynamic quantization ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("of", FLOATS)
def test_dynamic_quantization_is_the_formula_in_fractions(kind: Any, of: Any) -> None:
    random = np.random.default_rng(5)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for size in (0.01, 1.0, 30.0):
        x = (random.standard_normal((3, 40)) * size).astype(of)
        exact = [Fraction(float(n)) for n in x.flat]
        scale = (max(exact) - min(exact)) / 255
        zero = least - min(exact) / scale
        run = example("DYNAMIC_QUANTIZE_LINEAR", input=x, output=described_tensor(x.shape, kind),
                      output_scale=(1, 1), output_zero_point=described_tensor((1, 1), kind))  # fmt: skip
        for whole in (math.floor(zero), math.ceil(zero)):
            results = np.array([min(max(round(n / scale) + whole, least), most) for n in exact]).reshape(x.shape)
            wrong = np.where(results > 0, results - 3, results + 3)
            for key, right, other in (
                ("output_tensor", results, wrong),
                ("output_scale_tensor", float(scale), float(scale) * (1 + 2.0**-20)),
                ("output_zero_point_tensor", whole, whole - 3 if whole > least + 3 else whole + 3),
            ):
                assert run.holds(right, key).all()
                assert not run.holds(other, key).all()
