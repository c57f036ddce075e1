"""Norms along an axis, powers of the squares around elements, and scales with a bias for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from strength.mutants.base import Arrays, WrongValues, computes, fault, plants, wide
from strength.mutants.sums import in_float16

# --- norms ------------------------------------------------------------------------------------------------------------


class OtherNorm(WrongValues, abstract=True):
    """Divides by another norm, in FLOAT64 and rounded once."""

    families = ("lp_normalization",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x = wide(desc, arrays)["input_tensor"]
        norm = self.norm(x, self.axis(desc.axis), self.order(desc.p))
        return self.divided(x, norm, desc.epsilon)

    def axis(self, axis: int) -> int:
        return axis

    def order(self, p: int) -> int:
        return p

    def norm(self, x: Any, axis: int, p: int) -> Any:
        """The right one here."""
        return norm(x, axis, p)

    def divided(self, x: Any, norm: Any, epsilon: float) -> Any:
        return x / (norm + epsilon)


def norm(x: Any, axis: int, p: int) -> Any:
    return np.abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))


def _norm_in_float16(x: Any, axis: int, p: int) -> Any:
    total = np.expand_dims(in_float16(np.abs(x) ** p, axis), axis)
    return total if p == 1 else np.sqrt(total)


plants("axis", OtherNorm).each(
    NormAlongTheAxisBefore=lambda axis: max(axis - 1, 0),
    NormAlongTheLastAxis=lambda: -1,
)

plants("order", OtherNorm).each(
    OrderAlwaysTwo=lambda: 2,
    OrderAlwaysOne=lambda: 1,
)

plants("norm", OtherNorm).each(
    NormWithoutRoot=lambda x, axis, p: norm(x, axis, p) ** p,
    NormOfTheMean=fault(
        lambda x, axis, p: norm(x, axis, p) / x.shape[axis] ** (1 / p), "Takes means in place of sums."
    ),
    NormOfSignedElements=fault(
        lambda x, axis, p: x.sum(axis, keepdims=True) if p == 1 else norm(x, axis, p),
        "Adds up elements and not their magnitudes.",
    ),
    NormOfTheLargest=lambda x, axis: np.abs(x).max(axis, keepdims=True),
    LastOfTheNormDropped=lambda x, axis, p: norm(x.take(range(max(x.shape[axis] - 1, 1)), axis), axis, p),
    NormInFloat16=fault(_norm_in_float16, "Adds up in FLOAT16, one term after another."),
)

plants("divided", OtherNorm).each(
    MultipliedByTheNorm=lambda x, norm, epsilon: x * (norm + epsilon),
    EpsilonSubtracted=lambda x, norm, epsilon: x / (norm - epsilon),
)


# --- local responses --------------------------------------------------------------------------------------------------


class OtherResponse(WrongValues, abstract=True):
    """Normalizes by other regions or powers, in FLOAT64 and rounded once; its gradient is that of the same steps."""

    families = ("local_response",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x = wide(desc, arrays)["input_tensor"]
        around = self.around(desc.local_size)
        factor = desc.alpha / self.divisor(desc.local_size)
        base = self.biased(desc.bias, factor * self.summed(x * x, self.axes(desc.cross_channel), *around))
        if "input_gradient_tensor" not in arrays:
            return self.divided(x, base, desc.beta)
        g = wide(desc, arrays)["input_gradient_tensor"]
        terms = self.terms(g, x, base, desc.beta)
        total = self.summed(terms, self.axes(desc.cross_channel), *self.seeing(*around))
        found = g * base**-desc.beta - self.slope(factor, desc.beta) * x * total
        return {"output_gradient_tensor": found}

    def axes(self, is_cross: bool) -> tuple[int, ...]:
        return (1,) if is_cross else (2, 3)

    def around(self, local_size: int) -> tuple[int, int]:
        """How many elements before and behind one are in its region."""
        return (local_size - 1) // 2, local_size // 2

    def seeing(self, before: int, behind: int) -> tuple[int, int]:
        """The same of the elements in whose regions it is."""
        return behind, before

    def divisor(self, local_size: int) -> float:
        return local_size

    def summed(self, terms: Any, axes: tuple[int, ...], before: int, behind: int) -> Any:
        return summed(terms, axes, before, behind)

    def biased(self, bias: float, total: Any) -> Any:
        return bias + total

    def divided(self, x: Any, base: Any, beta: float) -> Any:
        return x * base**-beta

    def terms(self, g: Any, x: Any, base: Any, beta: float) -> Any:
        return g * x * base ** -(beta + 1)

    def slope(self, factor: float, beta: float) -> float:
        return 2 * factor * beta


def summed(terms: Any, axes: tuple[int, ...], before: int, behind: int) -> Any:
    """The sums of the terms around each."""
    for axis in axes:
        length = terms.shape[axis]
        places = np.arange(length)
        parts = [
            terms.take(np.arange(max(n - before, 0), min(n + behind, length - 1) + 1), axis).sum(axis) for n in places
        ]
        terms = np.stack(parts, axis)
    return terms


plants("axes", OtherResponse).each(
    ChannelsAlways=lambda: (1,),
    ChannelsNever=lambda: (2, 3),
    ChannelsRowsAndColumns=fault(
        lambda is_cross: (1, 2, 3) if is_cross else (2, 3), "Sums over the image too where it sums across channels."
    ),
)

plants("around", OtherResponse).each(
    LargerPartBefore=fault(
        lambda local_size: (local_size // 2, (local_size - 1) // 2),
        "Has one channel more before an element than behind it where LocalSize is even.",
    ),
    OneElementMore=fault(
        lambda local_size: (local_size // 2, local_size // 2),
        "Has an even region one element too long, as if it were odd.",
    ),
    RegionFromTheElementOn=lambda local_size: (0, local_size - 1),
    RegionAlwaysOfThree=lambda: (1, 1),
)

plants("divisor", OtherResponse).each(
    AlphaNotDivided=lambda: 1.0,
    AlphaDividedByTheSquare=lambda local_size: float(local_size) ** 2,
)


@plants("summed", OtherResponse)
def AveragesOfWhatIsThere(terms: Any, axes: tuple[int, ...], before: int, behind: int) -> Any:
    """Divides by the elements of a region that are inside the tensor, as an average without padding does."""
    counts = summed(np.ones_like(terms), axes, before, behind)
    return summed(terms, axes, before, behind) / counts * (before + behind + 1) ** len(axes)


@plants("biased", OtherResponse)
def ChannelBiasIgnored(total: Any) -> Any:
    return 1.0 + total


plants("divided", OtherResponse, has=("output_tensor",)).each(
    ExponentOfAHalf=fault(lambda x, base: x / np.sqrt(base), "Takes the root whatever Beta is."),
    MultipliedByThePower=lambda x, base, beta: x * base**beta,
)


@plants("seeing", OtherResponse, has=("output_gradient_tensor",))
def RegionsNotTurned(before: int, behind: int) -> tuple[int, int]:
    """Adds up over the region of an element and not over those that it is in, which differ where these are even."""
    return before, behind


plants("terms", OtherResponse, has=("output_gradient_tensor",)).each(
    PowerOfTheBaseKept=lambda g, x, base, beta: g * x * base**-beta,
    GradientOfEachAlone=fault(
        lambda x, base, beta: x * base ** -(beta + 1), "Forgets the incoming gradient of other elements."
    ),
)

plants("slope", OtherResponse, has=("output_gradient_tensor",)).each(
    FactorOfTwoForgotten=lambda factor, beta: factor * beta,
    SquaresTakenForConstant=lambda: 0.0,
)


# --- scales with a bias for each channel ------------------------------------------------------------------------------


def other_scale(scaled: Any, desc: Any, arrays: Arrays) -> Any:
    """Scales an image otherwise, in FLOAT64 and rounded once."""
    x, bias = wide(desc, arrays)["input_tensor"], np.array(desc.bias)
    return scaled(x=x, scale=desc.scale, bias=bias)


def by_channel(bias: Any) -> Any:
    return bias[:, None, None]


computes(other_scale, families=("value_scale",)).each(
    FirstBiasForAll=lambda x, scale, bias: x * scale + bias[0],
    BiasesInReverse=fault(
        lambda x, scale, bias: x * scale + by_channel(bias[::-1]),
        "Takes the channels of an image of blue, green and red in the other order.",
    ),
    BiasesAlongRows=fault(
        lambda x, scale, bias: x * scale + np.resize(bias, x.shape), "As if channels were last in memory."
    ),
    BiasesAlongTheBatch=lambda x, scale, bias: x * scale + np.resize(bias, len(x))[:, None, None, None],
    ChannelBiasScaledToo=lambda x, scale, bias: (x + by_channel(bias)) * scale,
    ScaleLeftOut=lambda x, bias: x + by_channel(bias),
    RegionBiasLeftOut=lambda x, scale: x * scale,
    BiasTakenAway=lambda x, scale, bias: x * scale - by_channel(bias),
    ScaleTakenForDivisor=lambda x, scale, bias: x / scale + by_channel(bias),
    ScaledAsBytes=fault(
        lambda x, scale, bias: np.clip(x * scale + by_channel(bias), 0.0, 255.0), "Holds results between 0 and 255."
    ),
    LastChannelOfTheFirstBias=fault(
        lambda x, scale, bias: x * scale + by_channel(np.append(bias[:-1], bias[0])),
        "Counts channels from 0 to one fewer than there are.",
    ),
)
