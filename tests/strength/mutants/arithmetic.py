"""Results of arithmetic that are not near enough, or of other numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.enclosure import Evaluation
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import NUMBERS, as_bits
from dml_conformance.backends.reference.operators import compute_of
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.field_kinds import ScaleBias, enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators, rules
from strength.mutants.base import Arrays, WrongValues, computes, fault, main_output, numbers, plants, right

HALVES_TO_EVEN, TOWARD_ZERO, TOWARD_INFINITY = enumeration("DML_ROUNDING_MODE")
FAMILY = ("element_wise_unary",)
# Functions that are about as small as what they are of, where that is small.
ODD = ("ABS", "ATAN", "ATANH", "ASINH", "ERF", "NEGATE", "SIN", "SINH", "TAN", "TANH")
WHOLE = ("CEIL", "FLOOR", "ROUND")
HAVE_INFINITIES = ("ABS", "ACOSH", "ASINH", "ATANH", "COSH", "EXP", "LOG", "NEGATE", "RECIP", "SINH", "SQRT", *WHOLE)


class OtherNumbers(WrongValues, abstract=True):
    """Computes floating-point results otherwise."""

    families = FAMILY

    def found(self, desc: Any, arrays: Arrays) -> Any:
        output = main_output(desc)
        found = compute_of(desc.operator)(desc, arrays)[output.key]
        return self.computed(desc, found, output.tensor.data_type) if callable(found) else {}

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        """The results, which are then rounded to the type."""
        if isinstance(found, Formula):
            exact = exactly(found, *map(self.taken, found.arguments))
        elif isinstance(evaluated := found(DIRECTML), Expectation):
            if not data_type.is_float:
                return evaluated.values
            exact = evaluated.values.view(NUMBERS[data_type])
        else:
            exact = evaluated.value
        return self.result(exact.astype(NUMBERS[data_type]))

    def taken(self, numbers: Any) -> Any:
        """What it takes for an argument, before ScaleBias."""
        return numbers

    def result(self, numbers: Any) -> Any:
        """What it makes of the results."""
        return numbers


class OtherFunction(OtherNumbers, abstract=True):
    """Computes another function of one number."""

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        return self.function(scaled(desc, found.arguments[0]).astype(NUMBERS[data_type]))

    def function(self, x: Any) -> Any:
        """Of numbers of the type; what is computed in FLOAT64 is rounded to it."""
        raise NotImplementedError


def exactly(formula: Formula, *arguments: Any) -> Any:
    """What a formula gives of numbers where nothing is rounded."""
    unrounded = Evaluation(DIRECTML, None)
    return formula.function(*(unrounded.of(np.asarray(float64(numbers))) for numbers in arguments)).value


def scaled(desc: Any, numbers: Any) -> Any:
    """Numbers after ScaleBias, if there is one."""
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None:
        return float64(numbers)
    return float64(numbers) * float(np.float32(scale_bias.scale)) + float(np.float32(scale_bias.bias))


def unscaled(desc: Any, found: Formula) -> Any:
    """The function that is taken of numbers after ScaleBias."""
    bare = replace(desc, scale_bias=None)
    (formula,) = compute_of(desc.operator)(
        bare, {"input_tensor": as_bits(found.arguments[0], desc.input_tensor)}
    ).values()
    return lambda numbers: exactly(formula, numbers)


def through_float16(x: Any) -> Any:
    return x.astype(np.float16)


def float64(x: Any) -> Any:
    return x.astype(np.float64)


# --- any operator ---------------------------------------------------------------------------------------------


def flushed(numbers: Any) -> Any:
    return np.where(_is_subnormal(numbers), 0, numbers) if numbers.itemsize == 2 else numbers


def _is_subnormal(numbers: Any) -> Any:
    return np.abs(numbers) < np.finfo(numbers.dtype).tiny


plants("taken", OtherNumbers).each(
    Float16ArgumentsFlushed=fault(
        flushed,
        "Takes subnormal FLOAT16 numbers for zeros.",
        names=(*ODD, "CEIL", "FLOOR", "LOG", "RECIP", "SIGN", "SQRT"),
    ),
)

plants("result", OtherNumbers).each(
    Float16ResultsFlushed=fault(flushed, "Writes zeros for subnormal FLOAT16 numbers.", names=(*ODD, "EXP", "RECIP")),
    NanBecomesZero=fault(lambda numbers: np.where(np.isnan(numbers), 0, numbers), but=("SIGN",)),
    InfinityBecomesTheLargestNumber=fault(
        lambda numbers: np.clip(numbers, np.finfo(numbers.dtype).min, np.finfo(numbers.dtype).max),
        names=HAVE_INFINITIES,
    ),
)


@plants("result", OtherNumbers)
def SecondHalfNotComputed(numbers: Any) -> Any:
    """Computes the first half of the elements, and leaves zeros behind them."""
    kept = numbers.reshape(-1).copy()
    kept[(kept.size + 1) // 2 :] = 0
    return kept


class ResultsAreNotNear(OtherNumbers, abstract=True):
    """Gives up digits, of any operator whose results are rounded at all: each has bounds of its own.

    Where these are narrow, what is so far away is a wrong value.
    """

    families, rules = (), ("accuracy", "values")

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in operators() if f"{name}.accuracy" in rules() and not _rounds_to_integers(name))


def _rounds_to_integers(operator: str) -> bool:
    """Whether its main output has integers alone, of which the two below change none."""
    spec = operators()[operator]
    table = spec.table_at(HIGHEST)
    assert table is not None
    return not any(data_type.is_float for data_type in table[spec.output_fields[0].name].data_types)


@plants("result", ResultsAreNotNear)
def ResultsRoundedToBfloat16(numbers: Any) -> Any:
    wide = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (wide + 0x7FFF + (wide >> 16 & 1) & 0xFFFF_0000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(numbers), rounded, numbers)


@plants("result", ResultsAreNotNear)
def Float32TruncatedToFloat16(numbers: Any) -> Any:
    """Keeps the digits of FLOAT32 results that FLOAT16 has."""
    return (numbers.view("u4") & ~np.uint32(0x1FFF)).view("f4") if numbers.itemsize == 4 else numbers


class IntegersAreNotNear(WrongValues, abstract=True):
    """Errs in integers that stand for numbers, whose rounding has bounds."""

    rules = ("accuracy", "values")

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in operators() if f"{name}.accuracy" in rules() and _rounds_to_integers(name))


@plants("found", IntegersAreNotNear)
def QuantizedOneMore(desc: Any, arrays: Arrays) -> Any:
    return right(desc, arrays)[main_output(desc).key] + 1


# --- ScaleBias ------------------------------------------------------------------------------------------------


def other_scale_bias(scale: Any, desc: Any) -> Any:
    """Makes something else of ScaleBias."""
    if desc.scale_bias is None:
        return desc
    return replace(desc, scale_bias=ScaleBias(*scale(scale=desc.scale_bias.scale, bias=desc.scale_bias.bias)))


plants("descriptor", WrongValues, other_scale_bias, families=FAMILY, has=("scale_bias",), kinds="f").each(
    ScaleIgnored=lambda bias: (1.0, bias),
    BiasIgnored=lambda scale: (scale, 0.0),
    BiasScaledToo=fault(lambda scale, bias: (scale, scale * bias), "Adds before it multiplies."),
)


@plants("computed", OtherNumbers, has=("scale_bias",))
def ScaleBiasAfterwards(desc: Any, found: Any) -> Any:
    """Scales results, not arguments."""
    return scaled(desc, unscaled(desc, found)(found.arguments[0]))


# --- functions that are not near enough, of other arguments, and others ---------------------------------------


@plants("function", OtherFunction, names=("RECIP",))
def ReciprocalOf12Bits(x: Any) -> Any:
    """Gives the estimate of an instruction."""
    mantissa, exponent = np.frexp(1 / float64(x))
    return np.where(np.isfinite(mantissa), np.ldexp(np.rint(mantissa * 2**12) / 2**12, exponent), 1 / x)


@plants("function", OtherFunction, names=("SQRT",))
def RootByOneStep(x: Any) -> Any:
    """Takes the logarithm's half for an estimate, and one step of Newton's method from there."""
    estimate = (0x5F3759DF - (x.astype(np.float32).view(np.int32) >> 1)).view(np.float32).astype(np.float64)
    root = float64(x) * estimate * (1.5 - 0.5 * float64(x) * estimate * estimate)
    return np.where((x > 0) & np.isfinite(x) & ~_is_subnormal(x), root, np.sqrt(x))


@plants("function", OtherFunction, names=("ATANH",))
def AtanhInFloat16(x: Any) -> Any:
    """Takes the logarithm of a quotient in FLOAT16, which is 1 near zero."""
    half = through_float16(x)
    return np.log((1 + half) / (1 - half)) / 2


@plants("function", OtherFunction, names=("ERF",))
def ErfByFiveTerms(x: Any) -> Any:
    """Takes the first terms of the series, and 1 where that is more."""
    z = float64(x)
    terms = [(-1) ** n * z ** (2 * n + 1) / (math.factorial(n) * (2 * n + 1)) for n in range(5)]
    return np.where(np.abs(z) < 1.5, np.clip(2 / math.sqrt(math.pi) * sum(terms), -1, 1), np.sign(z))


@plants("function", OtherFunction, names=("SIN",))
def SineWithoutRange(x: Any) -> Any:
    """Takes the first terms of the series, wherever the argument is."""
    z = np.clip(float64(x), -1e4, 1e4)
    series = sum((-1) ** n * z ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(9))
    return np.where(np.isinf(x), np.nan, series)


@plants("function", OtherFunction, names=("ATAN",))
def AtanOfSmallArguments(x: Any) -> Any:
    """Takes the first terms of a series that holds up to 1, and its end beyond it."""
    z = float64(x)
    series = sum((-1) ** n * z ** (2 * n + 1) / (2 * n + 1) for n in range(12))
    return np.where(np.isnan(z), np.nan, np.where(np.abs(z) < 1, series, np.copysign(math.pi / 2, z)))


plants("function", OtherFunction).each(
    ExponentialInFloat16=fault(lambda x: np.exp(through_float16(x)), names=("EXP",)),
    PowerOfTwo=fault(lambda x: np.exp2(float64(x)), names=("EXP",)),
    TanhClampedAtFour=fault(lambda x: np.tanh(np.clip(float64(x), -4, 4)), names=("TANH",)),
    SinhInFloat16=fault(
        lambda x: (np.exp(through_float16(x)) - np.exp(-through_float16(x))) / 2,
        "Subtracts exponentials of FLOAT16, which are the same near zero.",
        names=("SINH",),
    ),
    CoshInFloat16=fault(lambda x: (np.exp(through_float16(x)) + np.exp(-through_float16(x))) / 2, names=("COSH",)),
    CosineByAnInexactShift=fault(lambda x: np.sin(float64(x) + 1.57), "Takes the sine of x + 1.57.", names=("COS",)),
    TangentOfClampedArguments=fault(lambda x: np.tan(np.clip(float64(x), -1.57, 1.57)), names=("TAN",)),
    LogarithmOfMagnitudes=fault(lambda x: np.log(np.abs(float64(x))), names=("LOG",)),
    LogarithmToBaseTwo=fault(lambda x: np.log2(float64(x)), names=("LOG",)),
    LogarithmOfZeroIsNan=fault(lambda x: np.where(x == 0, np.nan, np.log(float64(x))), names=("LOG",)),
    RootOfMagnitudes=fault(lambda x: np.sqrt(np.abs(float64(x))), names=("SQRT",)),
    ReciprocalOfZeroIsZero=fault(lambda x: np.where(x == 0, 0, 1 / float64(x)), names=("RECIP",)),
    InfinityWithoutSign=fault(
        lambda x: np.where(x == 0, np.inf, 1 / float64(x)), "Divides by -0 as by 0.", names=("RECIP",)
    ),
    AsinhOfMagnitudes=fault(
        lambda x: np.arcsinh(np.abs(float64(x))),
        "Takes the logarithm of |x| + sqrt(x^2 + 1) without the sign.",
        names=("ASINH",),
    ),
    AsinhByItsFormula=fault(
        lambda x: np.log(x + np.sqrt(x * x + 1)),
        "Takes the logarithm of x + sqrt(x^2 + 1) in the type itself, where a large negative x leaves 0.",
        names=("ASINH",),
    ),
    FloorTowardZero=fault(lambda x: np.trunc(x), names=("FLOOR",)),
    NearestWholeNumber=fault(lambda x: np.rint(x), names=("FLOOR", "CEIL")),
    CeilingIsTheFloorPlusOne=fault(lambda x: np.floor(x + 1), names=("CEIL",)),
    WholeNumbersOf32Bits=fault(
        lambda x: np.clip(np.rint(float64(x)), -(2**31), 2**31 - 1),
        "Converts to INT32 and back, after it was rounded to some whole number.",
        names=WHOLE,
    ),
    SignOfZeroIsOne=fault(lambda x: np.copysign(np.ones_like(x), x), "Looks at the bit of the sign.", names=("SIGN",)),
    SignOfNanIsOne=fault(
        lambda x: np.where(x == 0, 0, np.where(x < 0, -1, 1)),
        "Takes what is not less than 0, and not 0, for greater.",
        names=("SIGN",),
    ),
    SignsKept=fault(lambda x: x, names=("NEGATE", "ABS")),
    NegatedByOneLess=fault(
        lambda x: -np.nextafter(x, x.dtype.type(0)), "Subtracts the neighbour toward zero.", names=("NEGATE",)
    ),
)


class OtherInverse(OtherFunction, abstract=True):
    """Computes another inverse than that of the operator."""

    names = ("ACOS", "ASIN")

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        return self.inverse(unscaled(desc, found), scaled(desc, found.arguments[0]))

    def inverse(self, function: Any, x: Any) -> Any:
        raise NotImplementedError


plants("inverse", OtherInverse).each(
    AnglesInDegrees=lambda function, x: np.degrees(function(x)),
    ArcsineAndArccosineSwapped=lambda function, x: math.pi / 2 - function(x),
)


@plants("inverse", OtherInverse, names=("ACOS", "ASIN", "ATANH", "ACOSH"))
def ArgumentsBroughtIntoTheDomain(function: Any, x: Any) -> Any:
    """Clamps what the function is not defined of."""
    is_of_large_ones = np.isnan(function(np.zeros(1))).all()
    return function(np.maximum(x, 1) if is_of_large_ones else np.clip(x, -1, 1))


def otherwise_rounded(rounded: Any, desc: Any, arrays: Arrays) -> Any:
    """Rounds otherwise than RoundingMode says; None stands for the right numbers."""
    found = rounded(x=numbers(desc, arrays)["input_tensor"], mode=desc.rounding_mode)
    return {} if found is None else found


computes(otherwise_rounded, families=FAMILY, names=("ROUND",)).each(
    HalvesRoundedUp=lambda x, mode: np.floor(float64(x) + 0.5) if mode == HALVES_TO_EVEN else None,
    HalvesRoundedAwayFromZero=lambda x, mode: (
        np.copysign(np.floor(np.abs(float64(x)) + 0.5), x) if mode == HALVES_TO_EVEN else None
    ),
    RoundingModeIgnored=lambda x: np.rint(x),
    AlwaysTruncated=lambda x: np.trunc(x),
    TowardInfinityByItsName=fault(
        lambda x, mode: np.ceil(x) if mode == TOWARD_INFINITY else None, "Rounds up where the mode is TOWARD_INFINITY."
    ),
    HalfAddedInTheType=fault(
        lambda x, mode: np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x) if mode == TOWARD_INFINITY else None,
        "Adds a half in the type of the numbers, where the largest number below a half becomes 1.",
    ),
)


# --- integers -------------------------------------------------------------------------------------------------


def of_integers(integers: Any, desc: Any, arrays: Arrays) -> Any:
    """Computes otherwise with integers."""
    function = {"ABS": np.abs, "NEGATE": np.negative, "SIGN": np.sign}[desc.operator.rpartition("_")[2]]
    return integers(x=numbers(desc, arrays)["input_tensor"], function=function)


def _through_float32(x: Any, function: Any) -> Any:
    wide, info = float64(function(x).astype(np.float32)), np.iinfo(x.dtype)
    return np.where(wide > info.max, info.max, np.minimum(wide, 2.0**62).astype(np.int64))


computes(of_integers, families=FAMILY, names=("ABS", "NEGATE"), kinds=("i", "u"), since="2_1").each(
    IntegersThroughFloat32=_through_float32,
    IntegersCutTo32Bits=fault(lambda x, function: function(x.astype(np.int32) if x.itemsize == 8 else x), since="4_1"),
    IntegersInverted=fault(
        lambda x, function: np.where(function(x) == x, x, ~x),
        "Inverts the bits of a number to change its sign, and adds no 1.",
    ),
)

computes(of_integers, families=FAMILY, names=("SIGN",), kinds=("i", "u"), since="2_1").each(
    SignsOfUnsignedNumbers=fault(
        lambda x: np.sign(x.view(f"i{x.itemsize}")).view(x.dtype),
        "Gives -1 for an unsigned number whose top bit is set.",
    ),
    SignsOfIntegersAreTruths=fault(lambda x: x != 0, "Gives 1 for every number but 0."),
)
