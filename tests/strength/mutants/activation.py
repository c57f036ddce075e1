"""Activation functions that are others, take their coefficients wrongly, or lose more than they may on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, as_numbers
from dml_conformance.spec.operator import with_tensors
from strength.mutants.base import EXECUTED, Arrays, Bindings, Mutant, WrongValues, bound, memory_in_order, plants, right
from strength.mutants.base import compute as rightly_computed

EXPONENTIALS = (
    "CELU",
    "ELU",
    "PARAMETRIC_SOFTPLUS",
    "SCALED_ELU",
    "SIGMOID",
    "SOFTPLUS",
    "SWISH",
)


class Named(WrongValues, abstract=True):
    """A bug of some activation functions.

    Attributes:
        names: of the operators, without what all begin with.
    """

    names: ClassVar[tuple[str, ...]]
    families = ("activation",)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name.removeprefix("ACTIVATION_") in cls.names)


class OtherFunction(Named, abstract=True):
    """Computes another function of floating-point numbers, in FLOAT64 and rounded once."""

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        if not data_type.is_float:
            return right(desc, arrays)
        with np.errstate(all="ignore"):
            numbers = {key: as_numbers(array, data_type).astype(np.float64) for key, array in arrays.items()}
            values = np.asarray(self.of(numbers["input_tensor"], desc, numbers))
            return {"output_tensor": values.astype(NUMBERS[data_type]).view(arrays["input_tensor"].dtype)}

    def of(self, x: Any, desc: Any, numbers: Any) -> Any:
        raise NotImplementedError


def other(*names: str, **traits: Any) -> Callable[[Callable[..., Any]], type[Mutant]]:
    """Plant a function of a number and the descriptor."""

    def planted(function: Callable[..., Any]) -> type[Mutant]:
        def of(x: Any, desc: Any, numbers: Any) -> Any:
            return function(x, desc)

        of.__name__, of.__doc__, of.__module__ = function.__name__, function.__doc__, function.__module__
        return plants("of", OtherFunction, names=names, **traits)(of)

    return planted


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def half(x: Any) -> Any:
    return np.asarray(x).astype(np.float16).astype(np.float64)


# --- other functions --------------------------------------------------------------------------------------------------


@other("GELU")
def GeluByTanh(x: Any, desc: Any) -> Any:
    """Approximates the error function by a hyperbolic tangent."""
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


@other("GELU")
def GeluBySigmoid(x: Any, desc: Any) -> Any:
    """Approximates the error function by a logistic function."""
    return x * sigmoid(1.702 * x)


@other("ELU", "SCALED_ELU")
def ExponentialNotShifted(x: Any, desc: Any) -> Any:
    """Takes exp(x) for exp(x) - 1."""
    scale = getattr(desc, "gamma", 1.0)
    return scale * np.where(x > 0, x, desc.alpha * np.exp(x))


@other("TANH")
def TanhClampedEarly(x: Any, desc: Any) -> Any:
    """Takes the hyperbolic tangent of what is above 3 for 1."""
    return np.where(np.abs(x) > 3.0, np.sign(x), np.tanh(x))


@other("TANH")
def TanhByAFraction(x: Any, desc: Any) -> Any:
    """Approximates the hyperbolic tangent by a quotient of polynomials, which reaches 1."""
    near = np.clip(x, -4.97, 4.97)
    square = near * near
    return (
        near
        * (135135 + square * (17325 + square * (378 + square)))
        / (135135 + square * (62370 + square * (3150 + 28 * square)))
    )


@other("TANH")
def TanhAsPrinted(x: Any, desc: Any) -> Any:
    """Computes the formula of the page in FLOAT32, which is a NaN where the exponential overflows."""
    found = np.exp(-2.0 * x).astype(np.float32)
    return (np.float32(1) - found) / (np.float32(1) + found)


@other("SIGMOID")
def SigmoidWithoutExponential(x: Any, desc: Any) -> Any:
    """Approximates the logistic function by x / (1 + |x|)."""
    return np.where(np.isinf(x), x > 0, 0.5 + 0.5 * x / (1.0 + np.abs(x)))


@other("SIGMOID")
def SigmoidByTanh(x: Any, desc: Any) -> Any:
    """Computes it from a hyperbolic tangent in FLOAT32, of which nothing is left where that is near -1."""
    return np.float32(0.5) + np.float32(0.5) * np.tanh(0.5 * x).astype(np.float32)


@other("SOFTSIGN")
def SoftsignWithoutAbsoluteValue(x: Any, desc: Any) -> Any:
    return x / (1.0 + x)


@other("SOFTPLUS", "PARAMETRIC_SOFTPLUS")
def SoftplusOverflows(x: Any, desc: Any) -> Any:
    """Computes exp(x) in FLOAT32 whatever x is."""
    steepness = getattr(desc, "steepness", None)
    inner, outer = (desc.beta, desc.alpha) if steepness is None else (steepness, 1.0 / steepness)
    return outer * np.log1p(np.exp(inner * x).astype(np.float32).astype(np.float64))


@other("RELU")
def ReluClampedAtSix(x: Any, desc: Any) -> Any:
    return np.clip(x, 0.0, 6.0)


@other("RELU")
def ReluOfNanIsOne(x: Any, desc: Any) -> Any:
    return np.where(np.isnan(x), 1.0, np.fmax(x, 0.0))


@other("HARD_SIGMOID", "HARD_SWISH")
def NotClampedAbove(x: Any, desc: Any) -> Any:
    return _swished(x, np.fmax(desc.alpha * x + desc.beta, 0.0), desc)


@other("HARD_SIGMOID", "HARD_SWISH")
def NotClampedBelow(x: Any, desc: Any) -> Any:
    return _swished(x, np.fmin(desc.alpha * x + desc.beta, 1.0), desc)


def _swished(x: Any, found: Any, desc: Any) -> Any:
    return found * x if desc.operator.endswith("SWISH") else found


# --- coefficients -----------------------------------------------------------------------------------------------------


class CoefficientIgnored(Named, abstract=True):
    """Takes an attribute for its usual value."""

    attribute: ClassVar[str]
    usual: ClassVar[float] = 1.0

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(replace(desc, **{self.attribute: self.usual}), arrays)


class AlphaIgnored(CoefficientIgnored):
    names = ("CELU", "ELU", "LINEAR", "PARAMETRIC_SOFTPLUS", "SCALED_ELU", "SCALED_TANH", "THRESHOLDED_RELU")
    attribute = "alpha"


class SlopeIsTheUsualOne(CoefficientIgnored):
    names, attribute, usual = ("LEAKY_RELU",), "alpha", 0.01


class HardAlphaIsTheUsualOne(CoefficientIgnored):
    names, attribute, usual = ("HARD_SIGMOID",), "alpha", 0.2


class HardSwishAlphaIsTheUsualOne(CoefficientIgnored):
    names, attribute, usual = ("HARD_SWISH",), "alpha", 1 / 6


class BetaIgnored(CoefficientIgnored):
    names, attribute, usual = ("LINEAR", "HARD_SIGMOID", "HARD_SWISH"), "beta", 0.0


class InnerCoefficientIgnored(CoefficientIgnored):
    names, attribute = ("PARAMETRIC_SOFTPLUS", "SCALED_TANH"), "beta"


class GammaIgnored(CoefficientIgnored):
    names, attribute = ("SCALED_ELU",), "gamma"


class ShrinkBiasIgnored(CoefficientIgnored):
    names, attribute, usual = ("SHRINK",), "bias", 0.0


class ThresholdIgnored(CoefficientIgnored):
    names, attribute, usual = ("SHRINK",), "threshold", 0.5


class SteepnessIgnored(CoefficientIgnored):
    names, attribute = ("SOFTPLUS",), "steepness"


class SwishScaleIgnored(CoefficientIgnored):
    names, attribute = ("SWISH",), "sigmoid_input_scale"


@other("CELU")
def CeluDoesNotDivideByAlpha(x: Any, desc: Any) -> Any:
    """Leaves Alpha out of the exponential."""
    return np.fmax(x, 0.0) + np.fmin(desc.alpha * np.expm1(x), 0.0)


@other("SOFTPLUS")
def SoftplusNotDividedBySteepness(x: Any, desc: Any) -> Any:
    return np.logaddexp(desc.steepness * x, 0.0)


@other("SWISH")
def SwishScalesTheFactorToo(x: Any, desc: Any) -> Any:
    """Scales the factor before the logistic function as well."""
    scaled = desc.sigmoid_input_scale * x
    return scaled * sigmoid(scaled)


@other("SCALED_ELU")
def GammaAboveZeroAlone(x: Any, desc: Any) -> Any:
    return np.where(x > 0, desc.gamma * x, desc.alpha * np.expm1(x))


@other("LINEAR", "HARD_SIGMOID", "HARD_SWISH", "PARAMETRIC_SOFTPLUS", "SCALED_TANH")
def AlphaAndBetaSwapped(x: Any, desc: Any) -> Any:
    a, b = desc.beta, desc.alpha
    functions: dict[str, Callable[[], Any]] = {
        "LINEAR": lambda: a * x + b,
        "HARD_SIGMOID": lambda: np.clip(a * x + b, 0.0, 1.0),
        "HARD_SWISH": lambda: x * np.clip(a * x + b, 0.0, 1.0),
        "PARAMETRIC_SOFTPLUS": lambda: a * np.logaddexp(b * x, 0.0),
        "SCALED_TANH": lambda: a * np.tanh(b * x),
    }
    return functions[desc.operator.removeprefix("ACTIVATION_")]()


@other("LEAKY_RELU")
def SlopeAboveZero(x: Any, desc: Any) -> Any:
    """Has the slope on the other side of 0."""
    return np.where(x >= 0, desc.alpha * x, x)


@other("LEAKY_RELU")
def SlopeByMaximum(x: Any, desc: Any) -> Any:
    """Takes the larger of x and Alpha * x, which is another where Alpha is above 1 or below 0."""
    return np.fmax(x, desc.alpha * x)


# --- thresholds -------------------------------------------------------------------------------------------------------


@other("THRESHOLDED_RELU")
def ThresholdItselfKept(x: Any, desc: Any) -> Any:
    return np.where(x >= desc.alpha, x, 0.0)


@other("THRESHOLDED_RELU")
def ThresholdSubtracted(x: Any, desc: Any) -> Any:
    return np.where(x > desc.alpha, x - desc.alpha, 0.0)


@other("THRESHOLDED_RELU")
def NanAboveTheThreshold(x: Any, desc: Any) -> Any:
    """Lets a NaN through, which is not below the threshold."""
    return np.where(x <= desc.alpha, 0.0, x)


def _shrunk(x: Any, desc: Any, above: Any, below: Any) -> Any:
    return np.where(above, x - desc.bias, np.where(below, x + desc.bias, 0.0))


@other("SHRINK")
def ShrinkKeepsTheThreshold(x: Any, desc: Any) -> Any:
    """Takes what is equal to the threshold for above it."""
    return _shrunk(x, desc, x >= desc.threshold, x <= -desc.threshold)


@other("SHRINK")
def ShrinkByTheThreshold(x: Any, desc: Any) -> Any:
    """Subtracts the threshold in place of the bias."""
    return np.where(x > desc.threshold, x - desc.threshold, np.where(x < -desc.threshold, x + desc.threshold, 0.0))


@other("SHRINK")
def ShrinkAwayFromZero(x: Any, desc: Any) -> Any:
    """Adds the bias where it is to be subtracted."""
    return np.where(x > desc.threshold, x + desc.bias, np.where(x < -desc.threshold, x - desc.bias, 0.0))


@other("SHRINK")
def ShrinkOnOneSide(x: Any, desc: Any) -> Any:
    """Makes 0 of all that is not above the threshold."""
    return np.where(x > desc.threshold, x - desc.bias, 0.0)


# --- slopes -----------------------------------------------------------------------------------------------------------


@plants("of", OtherFunction, names=("PARAMETERIZED_RELU",))
def SlopesAboveZero(x: Any, desc: Any, numbers: Any) -> Any:
    """Has the slopes on the other side of 0."""
    return np.where(x >= 0, numbers["slope_tensor"] * x, x)


@plants("of", OtherFunction, names=("PARAMETERIZED_RELU",))
def TheFirstSlopeForAll(x: Any, desc: Any, numbers: Any) -> Any:
    return np.where(x >= 0, x, numbers["slope_tensor"].reshape(-1)[0] * x)


class SlopesTakenForPacked(Mutant):
    """Reads the slopes without their strides."""

    has, rules, families = ("slope_tensor",), EXECUTED, ("activation",)

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        tensor, binding = desc.slope_tensor, inputs["slope_tensor"]
        packed, memory = bound(tensor.data_type, memory_in_order(tensor, binding))
        return rightly_computed(with_tensors(desc, {"slope_tensor": packed}), {**inputs, "slope_tensor": memory})


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


@other(
    "GELU", "HARD_SIGMOID", "HARD_SWISH", "LEAKY_RELU", "LINEAR", "RELU", "SCALED_TANH", "SHRINK", "SOFTSIGN", "TANH"
)
def ArgumentInFloat16(x: Any, desc: Any) -> Any:
    """Reads FLOAT32 as FLOAT16 has it."""
    rounded, bits = x.astype(np.float16).astype(NUMBERS[desc.input_tensor.data_type]), desc.input_tensor.data_type.size
    found = right(desc, {"input_tensor": rounded.view(f"u{bits}")})["output_tensor"]
    return as_numbers(found, desc.output_tensor.data_type)


# --- integers ---------------------------------------------------------------------------------------------------------


class OtherIntegers(Named, abstract=True):
    """A bug of integers, which came with 5_1."""

    since = "5_1"

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.input_tensor.data_type.is_float:
            return right(desc, arrays)
        return self.of_integers(desc, arrays)

    def of_integers(self, desc: Any, arrays: Arrays) -> Arrays:
        raise NotImplementedError


@plants("of_integers", OtherIntegers, names=("RELU", "PARAMETERIZED_RELU"))
def ActivationThroughFloat32(desc: Any, arrays: Arrays) -> Arrays:
    """Computes in FLOAT32, which does not have all integers."""
    numbers = {key: as_numbers(array, desc.input_tensor.data_type).astype(np.float32) for key, array in arrays.items()}
    x = numbers["input_tensor"]
    found = np.where(x >= 0, x, numbers.get("slope_tensor", np.float32(0)) * x).astype(np.float64)
    info = np.iinfo(NUMBERS[desc.input_tensor.data_type])
    values = np.clip(found, info.min, info.max).astype(np.int64)
    return {"output_tensor": values.astype(arrays["input_tensor"].dtype)}


@plants("of_integers", OtherIntegers, names=("RELU", "PARAMETERIZED_RELU"))
def IntegersTakenForUnsigned(desc: Any, arrays: Arrays) -> Arrays:
    """Takes integers for unsigned ones, none of which is below 0."""
    return {"output_tensor": arrays["input_tensor"]}


@plants("of_integers", OtherIntegers, names=("SHRINK",))
def ActivationOfUnsignedTakenForSigned(desc: Any, arrays: Arrays) -> Arrays:
    """Takes unsigned integers for signed ones."""
    source = arrays["input_tensor"]
    x = source.view(f"i{source.itemsize}").astype(np.float64)
    found = np.where(x > desc.threshold, x - desc.bias, np.where(x < -desc.threshold, x + desc.bias, 0.0))
    return {"output_tensor": found.astype(np.int64).astype(source.dtype)}
