"""Arithmetic on two numbers that is done wrongly, in too few bits, or by the rules of another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from strength.mutants.base import Arrays, OtherStep, WrongDecision, WrongValues, computes, fault, numbers, plants, right

FAMILY = ("element_wise_binary",)
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


def of_two(instead: Any, desc: Any, arrays: Arrays) -> Any:
    """Finds other numbers in the place of the right ones."""
    given, name = numbers(desc, arrays), desc.operator.removeprefix("ELEMENT_WISE_")
    a, b = given["a_tensor"], given["b_tensor"]
    kept = right(desc, arrays)["output_tensor"].view(a.dtype)
    return instead(name=name, formula=FORMULAS[name], a=a, b=b, kept=kept)


def computed(*names: str, **traits: Any) -> OtherStep:
    return computes(of_two, families=FAMILY, names=names, **traits)


# --- floats -----------------------------------------------------------------------------------------------------------


def without_nan(x: Any) -> Any:
    return np.where(np.isnan(x), x.dtype.type(0), x)


def flushed(x: Any) -> Any:
    return np.where(np.abs(x) < 2.0**-14, x * 0, x) if x.itemsize == 2 else x


def in_range(x: Any) -> Any:
    return np.clip(x, np.finfo(x.dtype).min, np.finfo(x.dtype).max)


computed(kinds="f").each(
    OperandsInTheOtherOrder=fault(lambda formula, a, b: formula(b, a), names=("SUBTRACT", "ATAN_YX", *DIVISIONS)),
    Float32ThroughFloat16=fault(
        lambda formula, a, b: formula(a.astype(np.float16), b.astype(np.float16)),
        "Computes in FLOAT16, of FLOAT32 numbers too.",
        names=(*SUMS, *DIVISIONS, "MEAN"),
    ),
    SubnormalFloat16OperandsFlushed=fault(
        lambda formula, a, b: formula(flushed(a), flushed(b)),
        "Takes subnormal FLOAT16 numbers for 0, which they are not.",
        names=tuple(set(FORMULAS) - {"ATAN_YX", "DIFFERENCE_SQUARE"}),
    ),
    NanComputedAsZero=fault(
        lambda formula, a, b: formula(without_nan(a), without_nan(b)), names=(*SUMS, *DIVISIONS, "MEAN", "ATAN_YX")
    ),
    ClampedToTheLargestNumber=fault(
        lambda kept: np.where(np.isnan(kept), kept, in_range(kept)), "Has no infinity.", names=(*SUMS, "DIVIDE", "MEAN")
    ),
)


@computed("DIVIDE", kinds="f")
def QuotientByReciprocalOf12Bits(a: Any, b: Any, kept: Any) -> Any:
    """Multiplies with what a fast instruction estimates."""
    reciprocal = 1 / b.astype(np.float32)
    return np.where(np.isfinite(kept), a * (reciprocal.view(np.uint32) & np.uint32(0xFFFF_F000)).view(np.float32), kept)


computed(kinds="f").each(
    DividesByAFloorAboveZero=fault(
        lambda a, b: a / (b + b.dtype.type(1e-3)),
        "Adds a small number to the divisor, so that nothing is infinite.",
        names=("DIVIDE",),
    ),
    NanComparedAsZero=fault(lambda formula, a, b: formula(without_nan(a), without_nan(b)), names=EXTREMES),
    NanIsInfinity=fault(
        lambda name, a, b, kept: np.where(np.isnan(a) & np.isnan(b), np.inf if name == "MIN" else -np.inf, kept),
        "Starts from an infinity, which two NaN leave as it is.",
        names=EXTREMES,
    ),
)


def divisor(b: Any) -> Any:
    """What is divided by, and 1 in the place of 0."""
    return np.where(b == 0, b.dtype.type(1), b)


computed("MODULUS_TRUNCATE", "MODULUS_FLOOR").each(
    FlooredForTruncated=fault(
        lambda a, b, kept: np.where(b == 0, kept, np.mod(a, divisor(b))), names=("MODULUS_TRUNCATE",)
    ),
    TruncatedForFloored=fault(
        lambda a, b, kept: np.where(b == 0, kept, np.fmod(a, divisor(b))), names=("MODULUS_FLOOR",)
    ),
    RemainderNeverNegative=fault(lambda b, kept: np.where(kept < 0, kept + np.abs(b), kept), "Has Euclid's remainder."),
    QuotientRoundedToNearest=fault(lambda a, b: a - b * np.rint(a / b), "Takes away the nearest multiple.", kinds="f"),
    FractionForRemainder=fault(
        lambda b, kept: kept / b, "Gives the fraction of the quotient, not multiplied by the divisor.", kinds="f"
    ),
)

computed("MEAN", kinds="f").each(
    HalvedOnce=fault(lambda a, b: a + b / 2, "Halves the second number alone."),
    GeometricMean=lambda a, b: np.sqrt(np.abs(a)) * np.sqrt(np.abs(b)),
)

computed("ATAN_YX", kinds="f").each(
    ArctangentOfTheQuotient=fault(lambda a, b: np.arctan(a / b), "Has two quadrants."),
    AnglesFromZeroToTwoPi=lambda kept: np.where(kept < 0, kept + 2 * np.pi, kept),
    AnglesOfPointsInDegrees=lambda kept: np.degrees(kept),
)

computed("DIFFERENCE_SQUARE").each(
    SquaresBeforeItSubtracts=lambda a, b: a * a - b * b,
    DifferenceNotSquared=lambda a, b: a - b,
)


# --- fused activations ------------------------------------------------------------------------------------------------


FUSED = {"families": FAMILY, "has": ("fused_activation",)}


@plants("descriptor", WrongValues, **FUSED)
def ActivationIgnored(desc: Any) -> Any:
    return replace(desc, fused_activation=None)


@computes(**FUSED)
def ActivationBeforeTheSum(desc: Any, arrays: Arrays) -> Any:
    """Computes the activation of ATensor, and adds BTensor to that."""
    if desc.fused_activation is None:
        return {}
    zeros = {**arrays, "b_tensor": np.zeros_like(arrays["b_tensor"])}
    activated = right(desc, zeros)["output_tensor"]
    return right(replace(desc, fused_activation=None), {**arrays, "a_tensor": activated})


@computes(**FUSED)
def ActivationTwice(desc: Any, arrays: Arrays) -> Any:
    if desc.fused_activation is None:
        return {}
    once = right(desc, arrays)["output_tensor"]
    return right(desc, {"a_tensor": once, "b_tensor": np.zeros_like(once)})


@plants("descriptor", WrongValues, **FUSED)
def AttributesOfTheActivationIgnored(desc: Any) -> Any:
    """Has 1 in the place of each."""
    activation = desc.fused_activation
    if activation is None:
        return desc
    ones = {field.attribute: 1.0 for field in activation.fields if not field.is_tensor}
    return replace(desc, fused_activation=replace(activation, **ones))


@plants("seen", WrongDecision, **FUSED, rules=("fused-activation",))
def TensorsOfTheActivationIgnored(desc: Any) -> Any:
    """Fuses an activation that has tensors."""
    activation = desc.fused_activation
    if activation is None:
        return desc
    nulls = {field.attribute: None for field in activation.fields if field.is_tensor}
    return replace(desc, fused_activation=replace(activation, **nulls))


@plants("seen", WrongDecision, **FUSED, rules=("fused-activation",))
def ActivationNotLookedAt(desc: Any) -> Any:
    """Fuses every operator."""
    return replace(desc, fused_activation=None)


# --- integers ---------------------------------------------------------------------------------------------------------


def limits(numbers: Any) -> tuple[int, int]:
    info = np.iinfo(numbers.dtype)
    return int(info.min), int(info.max)


@computed(*SUMS, kinds=("i", "u"), since="3_1")
def IntegersSaturate(formula: Any, a: Any, b: Any) -> Any:
    """Stops at the ends of the type."""
    exact = formula(a.astype(object), b.astype(object))
    least, most = limits(a)
    return np.array([min(max(n, least), most) for n in exact.flat], a.dtype)


@computed(*SUMS, kinds=("i", "u"), since="3_1")
def OperandsThroughFloat32(formula: Any, a: Any, b: Any, kept: Any) -> Any:
    """Computes in FLOAT32, which does not have all integers; small ones are right."""
    exact = formula(a.astype(np.float64), b.astype(np.float64))
    rounded = exact.astype(np.float32).astype(np.float64)
    fits = (np.abs(rounded) < 2.0**62) & (rounded >= limits(a)[0]) & (rounded <= limits(a)[1])
    return np.where(fits & (rounded != exact), np.where(fits, rounded, 0).astype(np.int64).astype(a.dtype), kept)


computed().each(
    LowHalvesOnly=fault(
        lambda kept: kept.astype(f"{kept.dtype.kind}4"),
        "Computes in 32 bits, of numbers of 64 too.",
        names=("ADD", "SUBTRACT", "MULTIPLY"),
        kinds=("i8", "u8"),
        since="4_1",
    ),
    QuotientsRoundedDown=fault(
        lambda a, b, kept: np.where(b == 0, kept, a // divisor(b)), names=("DIVIDE",), kinds="i", since="2_1"
    ),
)


@computed("DIVIDE", kinds=("i", "u"), since="2_1")
def QuotientsRoundedToNearest(a: Any, b: Any, kept: Any) -> Any:
    is_open = (b == 0) | (kept == limits(a)[0])
    return np.where(is_open, kept, np.rint(a.astype(np.float64) / np.where(is_open, 1, b).astype(np.float64)))


@computed(*DIVISIONS, *EXTREMES, kinds="u", since="2_1")
def UnsignedComputedAsSigned(name: str, formula: Any, a: Any, b: Any, kept: Any) -> Any:
    a, b = (x.view(f"i{x.itemsize}") for x in (a, b))
    if name in EXTREMES:
        return formula(a, b)
    by = np.where((b == 0) | (b == -1), b.dtype.type(1), b)
    rest = np.fmod(a, by)
    return np.where(b == 0, kept, ((a - rest) // by if name == "DIVIDE" else rest).view(kept.dtype))


computed(*EXTREMES).each(
    SignedComparedAsUnsigned=fault(
        lambda formula, a, b: formula(*(x.view(f"u{x.itemsize}") for x in (a, b))), kinds="i", since="2_1"
    ),
    ExtremesThroughFloat32=fault(
        lambda name, a, b: np.where((np.greater_equal if name == "MAX" else np.less_equal)(single(a), single(b)), a, b),
        "Compares in FLOAT32, and gives the first of those that are equal there.",
        kinds=("i", "u"),
        since="2_1",
    ),
    GreaterForLesser=lambda name, a, b: np.fmin(a, b) if name == "MAX" else np.fmax(a, b),
)


def single(x: Any) -> Any:
    return x.astype(np.float32)


@computed(*EXTREMES)
def ExtremeOfMagnitudes(name: str, a: Any, b: Any, kept: Any) -> Any:
    """Looks at the numbers without their signs, and at the lowest bit of unsigned ones last."""
    if a.dtype.kind == "u":
        return np.where(a >> 1 == b >> 1, a, kept)
    return np.where(np.abs(a) > np.abs(b), a, b) if name == "MAX" else np.where(np.abs(a) < np.abs(b), a, b)


@computed("MEAN", kinds=("i", "u"), since="2_1")
def MeansRoundedUp(a: Any, b: Any, kept: Any) -> Any:
    total = a.astype(np.int64) + b.astype(np.int64)
    return np.where(total > 0, (total + 1) // 2, kept)


@computed("MEAN", kinds=("i", "u"), since="2_1")
def HalvedBeforeTheyAreAdded(a: Any, b: Any) -> Any:
    """Loses both fractions of a half."""
    return a // 2 + b // 2
