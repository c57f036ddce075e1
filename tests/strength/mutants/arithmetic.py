"""Results of arithmetic that are not near enough, or of other numbers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.enclosure import Evaluation
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import NUMBERS, as_bits, as_numbers
from dml_conformance.backends.reference.operators import compute_of
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.field_kinds import ScaleBias, enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators, rules
from strength.mutants.base import Arrays, WrongValues, main_output, plants, right

HALVES_TO_EVEN, TOWARD_ZERO, TOWARD_INFINITY = enumeration("DML_ROUNDING_MODE")
# Functions that are about as small as what they are of, where that is small.
ODD = ("ABS", "ATAN", "ATANH", "ASINH", "ERF", "NEGATE", "SIN", "SINH", "TAN", "TANH")
WHOLE = ("CEIL", "FLOOR", "ROUND")
HAVE_INFINITIES = ("ABS", "ACOSH", "ASINH", "ATANH", "COSH", "EXP", "LOG", "NEGATE", "RECIP", "SINH", "SQRT", *WHOLE)


class OtherNumbers(WrongValues, abstract=True):
    """Computes floating-point results otherwise.

    Attributes:
        names: of the operators, without what all begin with; empty = all of the families.
        but: of those that are left out.
    """

    families = ("element_wise_unary",)
    names: ClassVar[tuple[str, ...]] = ()
    but: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        every = ((name, name.removeprefix("ELEMENT_WISE_")) for name in super().operators())
        return tuple(name for name, short in every if short not in cls.but and (short in cls.names or not cls.names))

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        every, output = compute_of(desc.operator)(desc, arrays), main_output(desc)
        found, data_type = every[output.key], output.tensor.data_type
        if not callable(found):
            return {}
        with np.errstate(all="ignore"):
            computed = np.asarray(self.computed(desc, found, data_type)).astype(NUMBERS[data_type])
        return {output.key: as_bits(computed, output.tensor)}

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        """The results, which are then rounded to the type."""
        if isinstance(found, Formula):
            exact = exactly(found, *(self.taken(argument, data_type) for argument in found.arguments))
        elif isinstance(evaluated := found(DIRECTML), Expectation):  # integers
            return as_numbers(evaluated.values, data_type)
        else:
            exact = evaluated.value
        return self.result(exact.astype(NUMBERS[data_type]), data_type)

    def taken(self, numbers: Any, data_type: DataType) -> Any:
        """What it takes for an argument, before ScaleBias."""
        return numbers

    def result(self, numbers: Any, data_type: DataType) -> Any:
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


def _is_subnormal(numbers: Any) -> Any:
    return np.abs(numbers) < np.finfo(numbers.dtype).tiny


@plants("taken", OtherNumbers, names=(*ODD, "CEIL", "FLOOR", "LOG", "RECIP", "SIGN", "SQRT"))
def Float16ArgumentsFlushed(numbers: Any, data_type: DataType) -> Any:
    """Takes subnormal FLOAT16 numbers for zeros."""
    return np.where(_is_subnormal(numbers), 0, numbers) if data_type is DataType.FLOAT16 else numbers


@plants("result", OtherNumbers, names=(*ODD, "EXP", "RECIP"))
def Float16ResultsFlushed(numbers: Any, data_type: DataType) -> Any:
    """Writes zeros for subnormal FLOAT16 numbers."""
    return np.where(_is_subnormal(numbers), 0, numbers) if data_type is DataType.FLOAT16 else numbers


@plants("result", OtherNumbers, but=("SIGN",))
def NanBecomesZero(numbers: Any, data_type: DataType) -> Any:
    return np.where(np.isnan(numbers), 0, numbers)


@plants("result", OtherNumbers, names=HAVE_INFINITIES)
def InfinityBecomesTheLargestNumber(numbers: Any, data_type: DataType) -> Any:
    return np.clip(numbers, np.finfo(numbers.dtype).min, np.finfo(numbers.dtype).max)


@plants("result", OtherNumbers)
def SecondHalfNotComputed(numbers: Any, data_type: DataType) -> Any:
    """Computes the first half of the elements, and leaves zeros behind them."""
    kept = numbers.reshape(-1).copy()
    kept[(kept.size + 1) // 2 :] = 0
    return kept.reshape(numbers.shape)


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
def ResultsRoundedToBfloat16(numbers: Any, data_type: DataType) -> Any:
    wide = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (wide + 0x7FFF + (wide >> 16 & 1) & 0xFFFF_0000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(numbers), rounded, numbers)


@plants("result", ResultsAreNotNear)
def Float32TruncatedToFloat16(numbers: Any, data_type: DataType) -> Any:
    """Keeps the digits of FLOAT32 results that FLOAT16 has."""
    bits = numbers.view(f"u{numbers.itemsize}")
    return (bits & ~np.uint32(0x1FFF)).view(np.float32) if data_type is DataType.FLOAT32 else numbers


class IntegersAreNotNear(WrongValues, abstract=True):
    """Errs in integers that stand for numbers, whose rounding has bounds."""

    rules = ("accuracy", "values")

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in operators() if f"{name}.accuracy" in rules() and _rounds_to_integers(name))


@plants("found", IntegersAreNotNear)
def QuantizedOneMore(desc: Any, arrays: Arrays) -> Arrays:
    output = main_output(desc)
    return {output.key: right(desc, arrays)[output.key] + 1}


# --- ScaleBias ------------------------------------------------------------------------------------------------


class OtherScaleBias(OtherNumbers, abstract=True):
    """Makes something else of ScaleBias."""

    has = ("scale_bias",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.scale_bias is None or not desc.output_tensor.data_type.is_float:
            return {}
        return right(replace(desc, scale_bias=self.scale(desc.scale_bias)), arrays)

    def scale(self, scale_bias: ScaleBias) -> ScaleBias:
        raise NotImplementedError


@plants("scale", OtherScaleBias)
def ScaleIgnored(scale_bias: ScaleBias) -> ScaleBias:
    return ScaleBias(1.0, scale_bias.bias)


@plants("scale", OtherScaleBias)
def BiasIgnored(scale_bias: ScaleBias) -> ScaleBias:
    return ScaleBias(scale_bias.scale, 0.0)


@plants("scale", OtherScaleBias)
def BiasScaledToo(scale_bias: ScaleBias) -> ScaleBias:
    """Adds before it multiplies."""
    return ScaleBias(scale_bias.scale, scale_bias.scale * scale_bias.bias)


class ScaleBiasAfterwards(OtherNumbers):
    """Scales results, not arguments."""

    has = ("scale_bias",)

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        return scaled(desc, unscaled(desc, found)(found.arguments[0]))


# --- functions that are not near enough -----------------------------------------------------------------------


@plants("function", OtherFunction, names=("EXP",))
def ExponentialInFloat16(x: Any) -> Any:
    return np.exp(through_float16(x))


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


@plants("function", OtherFunction, names=("TANH",))
def TanhClampedAtFour(x: Any) -> Any:
    return np.tanh(np.clip(float64(x), -4, 4))


@plants("function", OtherFunction, names=("SINH",))
def SinhInFloat16(x: Any) -> Any:
    """Subtracts exponentials of FLOAT16, which are the same near zero."""
    return (np.exp(through_float16(x)) - np.exp(-through_float16(x))) / 2


@plants("function", OtherFunction, names=("COSH",))
def CoshInFloat16(x: Any) -> Any:
    return (np.exp(through_float16(x)) + np.exp(-through_float16(x))) / 2


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


@plants("function", OtherFunction, names=("COS",))
def CosineByAnInexactShift(x: Any) -> Any:
    """Takes the sine of x + 1.57."""
    return np.sin(float64(x) + 1.57)


@plants("function", OtherFunction, names=("TAN",))
def TangentOfClampedArguments(x: Any) -> Any:
    return np.tan(np.clip(float64(x), -1.57, 1.57))


@plants("function", OtherFunction, names=("ATAN",))
def AtanOfSmallArguments(x: Any) -> Any:
    """Takes the first terms of a series that holds up to 1, and its end beyond it."""
    z = float64(x)
    series = sum((-1) ** n * z ** (2 * n + 1) / (2 * n + 1) for n in range(12))
    return np.where(np.isnan(z), np.nan, np.where(np.abs(z) < 1, series, np.copysign(math.pi / 2, z)))


# --- functions of other arguments, and others -----------------------------------------------------------------


@plants("function", OtherFunction, names=("LOG",))
def LogarithmOfMagnitudes(x: Any) -> Any:
    return np.log(np.abs(float64(x)))


@plants("function", OtherFunction, names=("LOG",))
def LogarithmToBaseTwo(x: Any) -> Any:
    return np.log2(float64(x))


@plants("function", OtherFunction, names=("LOG",))
def LogarithmOfZeroIsNan(x: Any) -> Any:
    return np.where(x == 0, np.nan, np.log(float64(x)))


@plants("function", OtherFunction, names=("EXP",))
def PowerOfTwo(x: Any) -> Any:
    return np.exp2(float64(x))


@plants("function", OtherFunction, names=("SQRT",))
def RootOfMagnitudes(x: Any) -> Any:
    return np.sqrt(np.abs(float64(x)))


@plants("function", OtherFunction, names=("RECIP",))
def ReciprocalOfZeroIsZero(x: Any) -> Any:
    return np.where(x == 0, 0, 1 / float64(x))


@plants("function", OtherFunction, names=("RECIP",))
def InfinityWithoutSign(x: Any) -> Any:
    """Divides by -0 as by 0."""
    return np.where(x == 0, np.inf, 1 / float64(x))


class OtherInverse(OtherFunction, abstract=True):
    """Computes another inverse than that of the operator."""

    names = ("ACOS", "ASIN")

    def computed(self, desc: Any, found: Any, data_type: DataType) -> Any:
        return self.inverse(unscaled(desc, found), scaled(desc, found.arguments[0]))

    def inverse(self, function: Any, x: Any) -> Any:
        raise NotImplementedError


@plants("inverse", OtherInverse)
def AnglesInDegrees(function: Any, x: Any) -> Any:
    return np.degrees(function(x))


@plants("inverse", OtherInverse)
def ArcsineAndArccosineSwapped(function: Any, x: Any) -> Any:
    return math.pi / 2 - function(x)


@plants("inverse", OtherInverse, names=("ACOS", "ASIN", "ATANH", "ACOSH"))
def ArgumentsBroughtIntoTheDomain(function: Any, x: Any) -> Any:
    """Clamps what the function is not defined of."""
    is_of_large_ones = np.isnan(function(np.zeros(1))).all()
    return function(np.maximum(x, 1) if is_of_large_ones else np.clip(x, -1, 1))


@plants("function", OtherFunction, names=("ASINH",))
def AsinhOfMagnitudes(x: Any) -> Any:
    """Takes the logarithm of |x| + sqrt(x^2 + 1) without the sign."""
    return np.arcsinh(np.abs(float64(x)))


@plants("function", OtherFunction, names=("ASINH",))
def AsinhByItsFormula(x: Any) -> Any:
    """Takes the logarithm of x + sqrt(x^2 + 1) in the type itself, where a large negative x leaves 0."""
    return np.log(x + np.sqrt(x * x + 1))


# --- whole numbers --------------------------------------------------------------------------------------------


@plants("function", OtherFunction, names=("FLOOR",))
def FloorTowardZero(x: Any) -> Any:
    return np.trunc(x)


@plants("function", OtherFunction, names=("FLOOR", "CEIL"))
def NearestWholeNumber(x: Any) -> Any:
    return np.rint(x)


@plants("function", OtherFunction, names=("CEIL",))
def CeilingIsTheFloorPlusOne(x: Any) -> Any:
    return np.floor(x + 1)


@plants("function", OtherFunction, names=WHOLE)
def WholeNumbersOf32Bits(x: Any) -> Any:
    """Converts to INT32 and back, after it was rounded to some whole number."""
    return np.clip(np.rint(float64(x)), -(2**31), 2**31 - 1)


class OtherRounding(OtherNumbers, abstract=True):
    """Rounds otherwise than RoundingMode says."""

    names = ("ROUND",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
        with np.errstate(all="ignore"):
            rounded = self.rounded(numbers, desc.rounding_mode)
        if rounded is None:
            return {}
        return {"output_tensor": as_bits(rounded.astype(numbers.dtype), desc.output_tensor)}

    def rounded(self, numbers: Any, mode: int) -> Any:
        """The whole numbers; None for the right ones."""
        raise NotImplementedError


@plants("rounded", OtherRounding)
def HalvesRoundedUp(numbers: Any, mode: int) -> Any:
    return np.floor(float64(numbers) + 0.5) if mode == HALVES_TO_EVEN else None


@plants("rounded", OtherRounding)
def HalvesRoundedAwayFromZero(numbers: Any, mode: int) -> Any:
    rounded = np.copysign(np.floor(np.abs(float64(numbers)) + 0.5), numbers)
    return rounded if mode == HALVES_TO_EVEN else None


@plants("rounded", OtherRounding)
def RoundingModeIgnored(numbers: Any, mode: int) -> Any:
    return np.rint(numbers)


@plants("rounded", OtherRounding)
def AlwaysTruncated(numbers: Any, mode: int) -> Any:
    return np.trunc(numbers)


@plants("rounded", OtherRounding)
def TowardInfinityByItsName(numbers: Any, mode: int) -> Any:
    """Rounds up where the mode is TOWARD_INFINITY."""
    return np.ceil(numbers) if mode == TOWARD_INFINITY else None


@plants("rounded", OtherRounding)
def HalfAddedInTheType(numbers: Any, mode: int) -> Any:
    """Adds a half in the type of the numbers, where the largest number below a half becomes 1."""
    half = numbers.dtype.type(0.5)
    return np.copysign(np.floor(np.abs(numbers) + half), numbers) if mode == TOWARD_INFINITY else None


# --- signs ----------------------------------------------------------------------------------------------------


@plants("function", OtherFunction, names=("SIGN",))
def SignOfZeroIsOne(x: Any) -> Any:
    """Looks at the bit of the sign."""
    return np.copysign(np.ones_like(x), x)


@plants("function", OtherFunction, names=("SIGN",))
def SignOfNanIsOne(x: Any) -> Any:
    """Takes what is not less than 0, and not 0, for greater."""
    return np.where(x == 0, 0, np.where(x < 0, -1, 1))


@plants("function", OtherFunction, names=("NEGATE", "ABS"))
def SignsKept(x: Any) -> Any:
    return x


@plants("function", OtherFunction, names=("NEGATE",))
def NegatedByOneLess(x: Any) -> Any:
    """Subtracts the neighbour toward zero."""
    return -np.nextafter(x, x.dtype.type(0))


class OtherIntegers(OtherNumbers, abstract=True):
    """Computes otherwise with integers."""

    names, since = ("ABS", "NEGATE", "SIGN"), "2_1"

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = main_output(desc).tensor.data_type
        if data_type.is_float:
            return {}
        wrong = self.integers(desc, as_numbers(arrays["input_tensor"], data_type))
        return {"output_tensor": as_bits(np.asarray(wrong).astype(NUMBERS[data_type]), desc.output_tensor)}

    def integers(self, desc: Any, numbers: Any) -> Any:
        raise NotImplementedError


def _computed(desc: Any, numbers: Any) -> Any:
    function = {"ABS": np.abs, "NEGATE": np.negative, "SIGN": np.sign}[desc.operator.rpartition("_")[2]]
    return function(numbers)


@plants("integers", OtherIntegers, names=("ABS", "NEGATE"))
def IntegersThroughFloat32(desc: Any, numbers: Any) -> Any:
    wide = float64(_computed(desc, numbers).astype(np.float32))
    info = np.iinfo(numbers.dtype)
    return np.where(wide > info.max, info.max, np.minimum(wide, 2.0**62).astype(np.int64))


@plants("integers", OtherIntegers, names=("ABS", "NEGATE"), since="4_1")
def IntegersCutTo32Bits(desc: Any, numbers: Any) -> Any:
    return _computed(desc, numbers.astype(np.int32) if numbers.itemsize == 8 else numbers)


@plants("integers", OtherIntegers, names=("ABS", "NEGATE"))
def IntegersInverted(desc: Any, numbers: Any) -> Any:
    """Inverts the bits of a number to change its sign, and adds no 1."""
    return np.where(_computed(desc, numbers) == numbers, numbers, ~numbers)


@plants("integers", OtherIntegers, names=("SIGN",))
def SignsOfUnsignedNumbers(desc: Any, numbers: Any) -> Any:
    """Gives -1 for an unsigned number whose top bit is set."""
    return np.sign(numbers.view(f"i{numbers.itemsize}")).view(numbers.dtype)


@plants("integers", OtherIntegers, names=("SIGN",))
def SignsOfIntegersAreTruths(desc: Any, numbers: Any) -> Any:
    """Gives 1 for every number but 0."""
    return numbers != 0
