"""Activation functions that are others, take their coefficients wrongly, or lose more than they may on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from strength.mutants.base import (
    EXECUTED,
    Arrays,
    Bindings,
    OtherStep,
    WrongValues,
    computes,
    fault,
    memory_in_order,
    misreads,
    numbers,
    plants,
    wide,
    with_elements,
)

FAMILY = ("activation",)
EXPONENTIALS = ("CELU", "ELU", "PARAMETRIC_SOFTPLUS", "SCALED_ELU", "SIGMOID", "SOFTPLUS", "SWISH")
HARD = ("HARD_SIGMOID", "HARD_SWISH")
WITHOUT_EXPONENTIAL = ("LEAKY_RELU", "LINEAR", "RELU", "SHRINK", "SOFTSIGN", "TANH", "SCALED_TANH", "GELU", *HARD)
WITH_BETA = ("LINEAR", *HARD, "PARAMETRIC_SOFTPLUS", "SCALED_TANH")


def of_numbers(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Another function of floating-point numbers, in FLOAT64."""
    given = wide(desc, arrays)
    return function(x=given["input_tensor"], desc=desc, slopes=given.get("slope_tensor"))


def other(*names: str) -> OtherStep:
    return computes(of_numbers, families=FAMILY, names=names, kinds="f")


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def half(x: Any) -> Any:
    return np.asarray(x).astype(np.float16).astype(np.float64)


# --- other functions --------------------------------------------------------------------------------------------------


other("GELU").each(
    GeluByTanh=fault(
        lambda x: 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))),
        "Approximates the error function by a hyperbolic tangent.",
    ),
    GeluBySigmoid=fault(lambda x: x * sigmoid(1.702 * x), "Approximates the error function by a logistic function."),
)


@other("ELU", "SCALED_ELU")
def ExponentialNotShifted(x: Any, desc: Any) -> Any:
    """Takes exp(x) for exp(x) - 1."""
    scale = getattr(desc, "gamma", 1.0)
    return scale * np.where(x > 0, x, desc.alpha * np.exp(x))


@other("TANH")
def TanhClampedEarly(x: Any) -> Any:
    """Takes the hyperbolic tangent of what is above 3 for 1."""
    return np.where(np.abs(x) > 3.0, np.sign(x), np.tanh(x))


@other("TANH")
def TanhByAFraction(x: Any) -> Any:
    """Approximates the hyperbolic tangent by a quotient of polynomials, which reaches 1."""
    near = np.clip(x, -4.97, 4.97)
    square = near * near
    return (
        near
        * (135135 + square * (17325 + square * (378 + square)))
        / (135135 + square * (62370 + square * (3150 + 28 * square)))
    )


@other("TANH")
def TanhAsPrinted(x: Any) -> Any:
    """Computes the formula of the page in FLOAT32, which is a NaN where the exponential overflows."""
    found = np.exp(-2.0 * x).astype(np.float32)
    return (np.float32(1) - found) / (np.float32(1) + found)


other().each(
    SigmoidWithoutExponential=fault(
        lambda x: np.where(np.isinf(x), x > 0, 0.5 + 0.5 * x / (1.0 + np.abs(x))),
        "Approximates the logistic function by x / (1 + |x|).",
        names=("SIGMOID",),
    ),
    SigmoidByTanh=fault(
        lambda x: np.float32(0.5) + np.float32(0.5) * np.tanh(0.5 * x).astype(np.float32),
        "Computes it from a hyperbolic tangent in FLOAT32, of which nothing is left where that is near -1.",
        names=("SIGMOID",),
    ),
    SoftsignWithoutAbsoluteValue=fault(lambda x: x / (1.0 + x), names=("SOFTSIGN",)),
)


@other("SOFTPLUS", "PARAMETRIC_SOFTPLUS")
def SoftplusOverflows(x: Any, desc: Any) -> Any:
    """Computes exp(x) in FLOAT32 whatever x is."""
    steepness = getattr(desc, "steepness", None)
    inner, outer = (desc.beta, desc.alpha) if steepness is None else (steepness, 1.0 / steepness)
    return outer * np.log1p(np.exp(inner * x).astype(np.float32).astype(np.float64))


other().each(
    ReluClampedAtSix=fault(lambda x: np.clip(x, 0.0, 6.0), names=("RELU",)),
    ReluOfNanIsOne=fault(lambda x: np.where(np.isnan(x), 1.0, np.fmax(x, 0.0)), names=("RELU",)),
    NotClampedAbove=fault(lambda x, desc: _swished(x, np.fmax(desc.alpha * x + desc.beta, 0.0), desc), names=HARD),
    NotClampedBelow=fault(lambda x, desc: _swished(x, np.fmin(desc.alpha * x + desc.beta, 1.0), desc), names=HARD),
)


def _swished(x: Any, found: Any, desc: Any) -> Any:
    return found * x if desc.operator.endswith("SWISH") else found


# --- coefficients -----------------------------------------------------------------------------------------------------


plants("descriptor", WrongValues, families=FAMILY).each(
    AlphaIgnored=fault(
        lambda desc: replace(desc, alpha=1.0),
        names=("CELU", "ELU", "LINEAR", "PARAMETRIC_SOFTPLUS", "SCALED_ELU", "SCALED_TANH", "THRESHOLDED_RELU"),
    ),
    SlopeIsTheUsualOne=fault(lambda desc: replace(desc, alpha=0.01), names=("LEAKY_RELU",)),
    HardAlphaIsTheUsualOne=fault(lambda desc: replace(desc, alpha=0.2), names=("HARD_SIGMOID",)),
    HardSwishAlphaIsTheUsualOne=fault(lambda desc: replace(desc, alpha=1 / 6), names=("HARD_SWISH",)),
    BetaIgnored=fault(lambda desc: replace(desc, beta=0.0), names=("LINEAR", *HARD)),
    InnerCoefficientIgnored=fault(lambda desc: replace(desc, beta=1.0), names=("PARAMETRIC_SOFTPLUS", "SCALED_TANH")),
    GammaIgnored=fault(lambda desc: replace(desc, gamma=1.0), names=("SCALED_ELU",)),
    ShrinkBiasIgnored=fault(lambda desc: replace(desc, bias=0.0), names=("SHRINK",)),
    ThresholdIgnored=fault(lambda desc: replace(desc, threshold=0.5), names=("SHRINK",)),
    SteepnessIgnored=fault(lambda desc: replace(desc, steepness=1.0), names=("SOFTPLUS",)),
    SwishScaleIgnored=fault(lambda desc: replace(desc, sigmoid_input_scale=1.0), names=("SWISH",)),
)

other().each(
    CeluDoesNotDivideByAlpha=fault(
        lambda x, desc: np.fmax(x, 0.0) + np.fmin(desc.alpha * np.expm1(x), 0.0),
        "Leaves Alpha out of the exponential.",
        names=("CELU",),
    ),
    SoftplusNotDividedBySteepness=fault(lambda x, desc: np.logaddexp(desc.steepness * x, 0.0), names=("SOFTPLUS",)),
)


@other("SWISH")
def SwishScalesTheFactorToo(x: Any, desc: Any) -> Any:
    """Scales the factor before the logistic function as well."""
    scaled = desc.sigmoid_input_scale * x
    return scaled * sigmoid(scaled)


@other("SCALED_ELU")
def GammaAboveZeroAlone(x: Any, desc: Any) -> Any:
    return np.where(x > 0, desc.gamma * x, desc.alpha * np.expm1(x))


@other(*WITH_BETA)
def AlphaAndBetaSwapped(x: Any, desc: Any) -> Any:
    a, b = desc.beta, desc.alpha
    match desc.operator.removeprefix("ACTIVATION_"):
        case "LINEAR":
            return a * x + b
        case "PARAMETRIC_SOFTPLUS":
            return a * np.logaddexp(b * x, 0.0)
        case "SCALED_TANH":
            return a * np.tanh(b * x)
    return _swished(x, np.clip(a * x + b, 0.0, 1.0), desc)


other("LEAKY_RELU").each(
    SlopeAboveZero=fault(lambda x, desc: np.where(x >= 0, desc.alpha * x, x), "Has the slope on the other side of 0."),
    SlopeByMaximum=fault(
        lambda x, desc: np.fmax(x, desc.alpha * x),
        "Takes the larger of x and Alpha * x, which is another where Alpha is above 1 or below 0.",
    ),
)


# --- thresholds -------------------------------------------------------------------------------------------------------


other("THRESHOLDED_RELU").each(
    ThresholdItselfKept=lambda x, desc: np.where(x >= desc.alpha, x, 0.0),
    ThresholdSubtracted=lambda x, desc: np.where(x > desc.alpha, x - desc.alpha, 0.0),
    NanAboveTheThreshold=fault(
        lambda x, desc: np.where(x <= desc.alpha, 0.0, x), "Lets a NaN through, which is not below the threshold."
    ),
)


def shrunk(x: Any, desc: Any, by: float, is_above: Any = np.greater) -> Any:
    return np.where(is_above(x, desc.threshold), x - by, np.where(is_above(-x, desc.threshold), x + by, 0.0))


other("SHRINK").each(
    ShrinkKeepsTheThreshold=fault(
        lambda x, desc: shrunk(x, desc, desc.bias, np.greater_equal),
        "Takes what is equal to the threshold for above it.",
    ),
    ShrinkByTheThreshold=fault(
        lambda x, desc: shrunk(x, desc, desc.threshold), "Subtracts the threshold in place of the bias."
    ),
    ShrinkAwayFromZero=fault(
        lambda x, desc: shrunk(x, desc, -desc.bias), "Adds the bias where it is to be subtracted."
    ),
    ShrinkOnOneSide=fault(
        lambda x, desc: np.where(x > desc.threshold, x - desc.bias, 0.0),
        "Makes 0 of all that is not above the threshold.",
    ),
)


# --- slopes -----------------------------------------------------------------------------------------------------------


other("PARAMETERIZED_RELU").each(
    SlopesAboveZero=fault(lambda x, slopes: np.where(x >= 0, slopes * x, x), "Has the slopes on the other side of 0."),
    TheFirstSlopeForAll=lambda x, slopes: np.where(x >= 0, x, slopes.reshape(-1)[0] * x),
)


@plants("computed", families=FAMILY, has=("slope_tensor",), rules=EXECUTED)
def SlopesTakenForPacked(desc: Any, inputs: Bindings) -> Any:
    """Reads the slopes without their strides."""
    return with_elements(desc, inputs, "slope_tensor", memory_in_order(desc.slope_tensor, inputs["slope_tensor"]))


# --- what is lost on the way ------------------------------------------------------------------------------------------


@other(*EXPONENTIALS)
def ActivationExponentialInFloat16(x: Any, desc: Any) -> Any:
    """Rounds the exponential to FLOAT16."""
    name = desc.operator.removeprefix("ACTIVATION_")
    if name == "CELU":
        return np.fmax(x, 0.0) + np.fmin(desc.alpha * (half(np.exp(x / desc.alpha)) - 1.0), 0.0)
    if name in ("ELU", "SCALED_ELU"):
        return getattr(desc, "gamma", 1.0) * np.where(x > 0, x, desc.alpha * (half(np.exp(x)) - 1.0))
    if name == "SOFTPLUS":
        return np.log1p(half(np.exp(desc.steepness * x))) / desc.steepness
    if name == "PARAMETRIC_SOFTPLUS":
        return desc.alpha * np.log1p(half(np.exp(desc.beta * x)))
    factor = x if name == "SWISH" else 1.0
    return factor / (1.0 + half(np.exp(-getattr(desc, "sigmoid_input_scale", 1.0) * x)))


@misreads(families=FAMILY, names=WITHOUT_EXPONENTIAL, kinds="f")
def ArgumentInFloat16(desc: Any, arrays: Arrays) -> Any:
    """Reads FLOAT32 as FLOAT16 has it."""
    x = numbers(desc, arrays)["input_tensor"]
    return {"input_tensor": x.astype(np.float16).astype(x.dtype).view(arrays["input_tensor"].dtype)}


# --- integers, which came with 5_1 ------------------------------------------------------------------------------------


def of_integers(function: Any, desc: Any, arrays: Arrays) -> Any:
    given = numbers(desc, arrays)
    return function(x=given["input_tensor"], slopes=given.get("slope_tensor", 0), desc=desc)


@computes(of_integers, families=FAMILY, names=("RELU", "PARAMETERIZED_RELU"), kinds=("i", "u"), since="5_1")
def ActivationThroughFloat32(x: Any, slopes: Any) -> Any:
    """Computes in FLOAT32, which does not have all integers."""
    short, info = x.astype(np.float32), np.iinfo(x.dtype)
    found = np.where(x >= 0, short, np.asarray(slopes).astype(np.float32) * short).astype(np.float64)
    return np.clip(found, info.min, info.max).astype(np.int64)


computes(of_integers, families=FAMILY, kinds=("i", "u"), since="5_1").each(
    IntegersTakenForUnsigned=fault(
        lambda x: x, "Takes integers for unsigned ones, none of which is below 0.", names=("RELU", "PARAMETERIZED_RELU")
    ),
    ActivationOfUnsignedTakenForSigned=fault(
        lambda x, desc: shrunk(x.view(f"i{x.itemsize}").astype(np.float64), desc, desc.bias).astype(np.int64),
        "Takes unsigned integers for signed ones.",
        names=("SHRINK",),
    ),
)
