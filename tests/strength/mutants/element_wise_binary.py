"""Arithmetic on two numbers that is done wrongly, in too few bits, or by the rules of another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import as_numbers
from strength.mutants.base import Arrays, WrongDecision, WrongValues, plants, right

SUMS = ("ADD", "SUBTRACT", "MULTIPLY", "DIFFERENCE_SQUARE")
DIVISIONS = ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR")
EXTREMES = ("MAX", "MIN")
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) * (a - b),
    "DIVIDE": lambda a, b: a / b,
    "MODULUS_TRUNCATE": np.fmod,
    "MODULUS_FLOOR": np.mod,
    "MAX": np.fmax,
    "MIN": np.fmin,
    "MEAN": lambda a, b: (a + b) / 2,
    "ATAN_YX": np.arctan2,
}


class Computed(WrongValues, abstract=True):
    """A bug of some operators on two numbers: finds other numbers in the place of the right ones.

    Attributes:
        names: of the operators, without what all begin with.
        kinds: of numbers that it happens with: f floats, i and u integers.
    """

    names: ClassVar[tuple[str, ...]]
    kinds: ClassVar[str] = "fiu"
    families = ("element_wise_binary",)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name.removeprefix("ELEMENT_WISE_") in cls.names)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.a_tensor.data_type
        a, b = (as_numbers(arrays[key], data_type) for key in ("a_tensor", "b_tensor"))
        kept = as_numbers(right(desc, arrays)["output_tensor"], data_type)
        if a.dtype.kind not in self.kinds:
            return {}
        with np.errstate(all="ignore"):
            numbers = np.asarray(self.instead(desc.operator.removeprefix("ELEMENT_WISE_"), a, b, kept))
            return {"output_tensor": np.ascontiguousarray(numbers.astype(a.dtype)).view(f"u{a.itemsize}")}

    def instead(self, name: str, a: Any, b: Any, kept: Any) -> Any:
        """Of an operator, its operands and its right results: what it finds."""
        raise NotImplementedError


# --- floats -----------------------------------------------------------------------------------------------------------


@plants("instead", Computed, names=("SUBTRACT", "ATAN_YX", *DIVISIONS), kinds="f")
def OperandsInTheOtherOrder(name: str, a: Any, b: Any, kept: Any) -> Any:
    return FORMULAS[name](b, a)


@plants("instead", Computed, names=(*SUMS, *DIVISIONS, "MEAN"), kinds="f")
def Float32ThroughFloat16(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Computes in FLOAT16, of FLOAT32 numbers too."""
    return FORMULAS[name](a.astype(np.float16), b.astype(np.float16))


@plants("instead", Computed, names=tuple(set(FORMULAS) - {"ATAN_YX", "DIFFERENCE_SQUARE"}), kinds="f")
def SubnormalFloat16OperandsFlushed(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Takes subnormal FLOAT16 numbers for 0, which they are not."""
    flushed = [np.where(np.abs(x) < 2.0**-14, x * 0, x) if x.itemsize == 2 else x for x in (a, b)]
    return FORMULAS[name](*flushed)


@plants("instead", Computed, names=(*SUMS, *DIVISIONS, "MEAN", "ATAN_YX"), kinds="f")
def NanComputedAsZero(name: str, a: Any, b: Any, kept: Any) -> Any:
    return FORMULAS[name](*(np.where(np.isnan(x), x.dtype.type(0), x) for x in (a, b)))


@plants("instead", Computed, names=(*SUMS, "DIVIDE", "MEAN"), kinds="f")
def ClampedToTheLargestNumber(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Has no infinity."""
    return np.where(np.isnan(kept), kept, np.clip(kept, np.finfo(kept.dtype).min, np.finfo(kept.dtype).max))


@plants("instead", Computed, names=("DIVIDE",), kinds="f")
def QuotientByReciprocalOf12Bits(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Multiplies with what a fast instruction estimates."""
    reciprocal = 1 / b.astype(np.float32)
    return np.where(np.isfinite(kept), a * (reciprocal.view(np.uint32) & np.uint32(0xFFFF_F000)).view(np.float32), kept)


@plants("instead", Computed, names=("DIVIDE",), kinds="f")
def DividesByAFloorAboveZero(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Adds a small number to the divisor, so that nothing is infinite."""
    return a / (b + b.dtype.type(1e-3))


@plants("instead", Computed, names=EXTREMES, kinds="f")
def NanComparedAsZero(name: str, a: Any, b: Any, kept: Any) -> Any:
    return FORMULAS[name](*(np.where(np.isnan(x), x.dtype.type(0), x) for x in (a, b)))


@plants("instead", Computed, names=EXTREMES, kinds="f")
def NanIsInfinity(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Starts from an infinity, which two NaN leave as it is."""
    return np.where(np.isnan(a) & np.isnan(b), np.inf if name == "MIN" else -np.inf, kept)


@plants("instead", Computed, names=("MODULUS_TRUNCATE",))
def FlooredForTruncated(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.where(b == 0, kept, np.mod(a, np.where(b == 0, b.dtype.type(1), b)))


@plants("instead", Computed, names=("MODULUS_FLOOR",))
def TruncatedForFloored(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.where(b == 0, kept, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


@plants("instead", Computed, names=("MODULUS_TRUNCATE", "MODULUS_FLOOR"))
def RemainderNeverNegative(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Has Euclid's remainder."""
    return np.where(kept < 0, kept + np.abs(b), kept)


@plants("instead", Computed, names=("MODULUS_TRUNCATE", "MODULUS_FLOOR"), kinds="f")
def QuotientRoundedToNearest(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Takes away the nearest multiple."""
    return a - b * np.rint(a / b)


@plants("instead", Computed, names=("MODULUS_TRUNCATE", "MODULUS_FLOOR"), kinds="f")
def FractionForRemainder(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Gives the fraction of the quotient, not multiplied by the divisor."""
    return kept / b


@plants("instead", Computed, names=("MEAN",), kinds="f")
def HalvedOnce(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Halves the second number alone."""
    return a + b / 2


@plants("instead", Computed, names=("MEAN",), kinds="f")
def GeometricMean(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.sqrt(np.abs(a)) * np.sqrt(np.abs(b))


@plants("instead", Computed, names=("ATAN_YX",), kinds="f")
def ArctangentOfTheQuotient(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Has two quadrants."""
    return np.arctan(a / b)


@plants("instead", Computed, names=("ATAN_YX",), kinds="f")
def AnglesFromZeroToTwoPi(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.where(kept < 0, kept + 2 * np.pi, kept)


@plants("instead", Computed, names=("ATAN_YX",), kinds="f")
def AnglesOfPointsInDegrees(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.degrees(kept)


@plants("instead", Computed, names=("DIFFERENCE_SQUARE",))
def SquaresBeforeItSubtracts(name: str, a: Any, b: Any, kept: Any) -> Any:
    return a * a - b * b


@plants("instead", Computed, names=("DIFFERENCE_SQUARE",))
def DifferenceNotSquared(name: str, a: Any, b: Any, kept: Any) -> Any:
    return a - b


# --- fused activations ------------------------------------------------------------------------------------------------


class Fused(WrongValues, abstract=True):
    """A bug of an activation that is fused."""

    has = ("fused_activation",)
    families = ("element_wise_binary",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(desc, arrays) if desc.fused_activation is None else self.activated(desc, arrays)

    def activated(self, desc: Any, arrays: Arrays) -> Arrays:
        """What comes out where there is an activation."""
        raise NotImplementedError


@plants("activated", Fused)
def ActivationIgnored(desc: Any, arrays: Arrays) -> Arrays:
    return right(replace(desc, fused_activation=None), arrays)


@plants("activated", Fused)
def ActivationBeforeTheSum(desc: Any, arrays: Arrays) -> Arrays:
    """Computes the activation of ATensor, and adds BTensor to that."""
    zeros = {**arrays, "b_tensor": np.zeros_like(arrays["b_tensor"])}
    activated = right(desc, zeros)["output_tensor"]
    return right(replace(desc, fused_activation=None), {**arrays, "a_tensor": activated})


@plants("activated", Fused)
def ActivationTwice(desc: Any, arrays: Arrays) -> Arrays:
    once = right(desc, arrays)["output_tensor"]
    return right(desc, {"a_tensor": once, "b_tensor": np.zeros_like(once)})


@plants("activated", Fused)
def AttributesOfTheActivationIgnored(desc: Any, arrays: Arrays) -> Arrays:
    """Has 1 in the place of each."""
    activation = desc.fused_activation
    ones = {field.attribute: 1.0 for field in activation.fields if not field.is_tensor}
    return right(replace(desc, fused_activation=replace(activation, **ones)), arrays)


@plants("seen", WrongDecision, has=Fused.has, families=Fused.families, rules=("fused-activation",))
def TensorsOfTheActivationIgnored(desc: Any) -> Any:
    """Fuses an activation that has tensors."""
    activation = desc.fused_activation
    if activation is None:
        return desc
    nulls = {field.attribute: None for field in activation.fields if field.is_tensor}
    return replace(desc, fused_activation=replace(activation, **nulls))


@plants("seen", WrongDecision, has=Fused.has, families=Fused.families, rules=("fused-activation",))
def ActivationNotLookedAt(desc: Any) -> Any:
    """Fuses every operator."""
    return replace(desc, fused_activation=None)


# --- integers ---------------------------------------------------------------------------------------------------------


def limits(numbers: Any) -> tuple[int, int]:
    info = np.iinfo(numbers.dtype)
    return int(info.min), int(info.max)


@plants("instead", Computed, names=SUMS, kinds="iu", since="3_1")
def IntegersSaturate(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Stops at the ends of the type."""
    exact = FORMULAS[name](a.astype(object), b.astype(object))
    least, most = limits(a)
    return np.array([min(max(n, least), most) for n in exact.flat], a.dtype).reshape(a.shape)


@plants("instead", Computed, names=SUMS, kinds="iu", since="3_1")
def OperandsThroughFloat32(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Computes in FLOAT32, which does not have all integers; small ones are right."""
    exact = FORMULAS[name](a.astype(np.float64), b.astype(np.float64))
    rounded = exact.astype(np.float32).astype(np.float64)
    fits = (np.abs(rounded) < 2.0**62) & (rounded >= limits(a)[0]) & (rounded <= limits(a)[1])
    return np.where(fits & (rounded != exact), np.where(fits, rounded, 0).astype(np.int64).astype(a.dtype), kept)


@plants("instead", Computed, names=("ADD", "SUBTRACT", "MULTIPLY"), kinds="iu", since="4_1")
def LowHalvesOnly(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Computes in 32 bits, of numbers of 64 too."""
    return kept.astype(f"{kept.dtype.kind}4") if kept.itemsize == 8 else kept


@plants("instead", Computed, names=("DIVIDE",), kinds="i", since="2_1")
def QuotientsRoundedDown(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.where(b == 0, kept, a // np.where(b == 0, b.dtype.type(1), b))


@plants("instead", Computed, names=("DIVIDE",), kinds="iu", since="2_1")
def QuotientsRoundedToNearest(name: str, a: Any, b: Any, kept: Any) -> Any:
    is_open = (b == 0) | (kept == limits(a)[0])
    return np.where(is_open, kept, np.rint(a.astype(np.float64) / np.where(is_open, 1, b).astype(np.float64)))


@plants("instead", Computed, names=(*DIVISIONS, *EXTREMES), kinds="u", since="2_1")
def UnsignedComputedAsSigned(name: str, a: Any, b: Any, kept: Any) -> Any:
    a, b = (x.view(f"i{x.itemsize}") for x in (a, b))
    if name in EXTREMES:
        return FORMULAS[name](a, b).view(kept.dtype)
    divisor = np.where((b == 0) | (b == -1), b.dtype.type(1), b)
    rest = np.fmod(a, divisor)
    return np.where(b == 0, kept, ((a - rest) // divisor if name == "DIVIDE" else rest).view(kept.dtype))


@plants("instead", Computed, names=EXTREMES, kinds="i", since="2_1")
def SignedComparedAsUnsigned(name: str, a: Any, b: Any, kept: Any) -> Any:
    return FORMULAS[name](*(x.view(f"u{x.itemsize}") for x in (a, b))).view(kept.dtype)


@plants("instead", Computed, names=EXTREMES, kinds="iu", since="2_1")
def ExtremesThroughFloat32(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Compares in FLOAT32, and gives the first of those that are equal there."""
    is_first = a.astype(np.float32) >= b.astype(np.float32)
    return np.where(is_first if name == "MAX" else a.astype(np.float32) <= b.astype(np.float32), a, b)


@plants("instead", Computed, names=EXTREMES)
def GreaterForLesser(name: str, a: Any, b: Any, kept: Any) -> Any:
    return np.fmin(a, b) if name == "MAX" else np.fmax(a, b)


@plants("instead", Computed, names=EXTREMES)
def ExtremeOfMagnitudes(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Looks at the numbers without their signs, and at the lowest bit of unsigned ones last."""
    if a.dtype.kind == "u":
        return np.where(a >> 1 == b >> 1, a, kept)
    return np.where(np.abs(a) > np.abs(b), a, b) if name == "MAX" else np.where(np.abs(a) < np.abs(b), a, b)


@plants("instead", Computed, names=("MEAN",), kinds="iu", since="2_1")
def MeansRoundedUp(name: str, a: Any, b: Any, kept: Any) -> Any:
    total = a.astype(np.int64) + b.astype(np.int64)
    return np.where(total > 0, (total + 1) // 2, kept)


@plants("instead", Computed, names=("MEAN",), kinds="iu", since="2_1")
def HalvedBeforeTheyAreAdded(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Loses both fractions of a half."""
    return a // 2 + b // 2
