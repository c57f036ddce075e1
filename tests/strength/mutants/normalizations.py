"""Norms along an axis, powers of the squares around elements, and scales with a bias for each channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import as_numbers
from strength.mutants.base import Arrays, Mutant, WrongValues, plants
from strength.mutants.sums import in_float16, rounded


def wide(arrays: Arrays, key: str, desc: Any) -> Any:
    """An input in FLOAT64."""
    return as_numbers(arrays[key], desc.input_tensor.data_type).astype(np.float64)


# --- norms ------------------------------------------------------------------------------------------------------------


class OtherNorm(WrongValues, abstract=True):
    """Divides by another norm, in FLOAT64 and rounded once."""

    families = ("lp_normalization",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        x = wide(arrays, "input_tensor", desc)
        with np.errstate(all="ignore"):
            norm = self.norm(x, self.axis(desc.axis), self.order(desc.p))
            return {"output_tensor": rounded(self.divided(x, norm, desc.epsilon), desc)}

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


def norms(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherNorm)


@norms("axis")
def NormAlongTheAxisBefore(axis: int) -> int:
    return max(axis - 1, 0)


@norms("axis")
def NormAlongTheLastAxis(axis: int) -> int:
    return -1


@norms("order")
def OrderAlwaysTwo(p: int) -> int:
    return 2


@norms("order")
def OrderAlwaysOne(p: int) -> int:
    return 1


@norms("norm")
def NormWithoutRoot(x: Any, axis: int, p: int) -> Any:
    return norm(x, axis, p) ** p


@norms("norm")
def NormOfTheMean(x: Any, axis: int, p: int) -> Any:
    """Takes means in place of sums."""
    return norm(x, axis, p) / x.shape[axis] ** (1 / p)


@norms("norm")
def NormOfSignedElements(x: Any, axis: int, p: int) -> Any:
    """Adds up elements and not their magnitudes."""
    return x.sum(axis, keepdims=True) if p == 1 else norm(x, axis, p)


@norms("norm")
def NormOfTheLargest(x: Any, axis: int, p: int) -> Any:
    return np.abs(x).max(axis, keepdims=True)


@norms("norm")
def LastOfTheNormDropped(x: Any, axis: int, p: int) -> Any:
    length = x.shape[axis]
    return norm(x.take(range(max(length - 1, 1)), axis), axis, p)


@norms("norm")
def NormInFloat16(x: Any, axis: int, p: int) -> Any:
    """Adds up in FLOAT16, one term after another."""
    total = np.expand_dims(in_float16(np.abs(x) ** p, axis), axis)
    return total if p == 1 else np.sqrt(total)


@norms("divided")
def MultipliedByTheNorm(x: Any, norm: Any, epsilon: float) -> Any:
    return x * (norm + epsilon)


@norms("divided")
def EpsilonSubtracted(x: Any, norm: Any, epsilon: float) -> Any:
    return x / (norm - epsilon)


# --- local responses --------------------------------------------------------------------------------------------------


class OtherResponse(WrongValues, abstract=True):
    """Normalizes by other regions or powers, in FLOAT64 and rounded once; its gradient is that of the same steps."""

    families = ("local_response",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        x = wide(arrays, "input_tensor", desc)
        with np.errstate(all="ignore"):
            around = self.around(desc.local_size)
            factor = desc.alpha / self.divisor(desc.local_size)
            base = self.biased(desc.bias, factor * self.summed(x * x, self.axes(desc.cross_channel), *around))
            if "input_gradient_tensor" not in arrays:
                return {"output_tensor": rounded(self.divided(x, base, desc.beta), desc)}
            g = wide(arrays, "input_gradient_tensor", desc)
            terms = self.terms(g, x, base, desc.beta)
            total = self.summed(terms, self.axes(desc.cross_channel), *self.seeing(*around))
            found = g * base**-desc.beta - self.slope(factor, desc.beta) * x * total
            return {"output_gradient_tensor": rounded(found, desc)}

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


def responses(step: str, *has: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    """With the attributes that it shows in."""
    return plants(step, OtherResponse, **({"has": has} if has else {}))


@responses("axes")
def ChannelsAlways(is_cross: bool) -> tuple[int, ...]:
    return (1,)


@responses("axes")
def ChannelsNever(is_cross: bool) -> tuple[int, ...]:
    return (2, 3)


@responses("axes")
def ChannelsRowsAndColumns(is_cross: bool) -> tuple[int, ...]:
    """Sums over the image too where it sums across channels."""
    return (1, 2, 3) if is_cross else (2, 3)


@responses("around")
def LargerPartBefore(local_size: int) -> tuple[int, int]:
    """Has one channel more before an element than behind it where LocalSize is even."""
    return local_size // 2, (local_size - 1) // 2


@responses("around")
def OneElementMore(local_size: int) -> tuple[int, int]:
    """Has an even region one element too long, as if it were odd."""
    return local_size // 2, local_size // 2


@responses("around")
def RegionFromTheElementOn(local_size: int) -> tuple[int, int]:
    return 0, local_size - 1


@responses("around")
def RegionAlwaysOfThree(local_size: int) -> tuple[int, int]:
    return 1, 1


@responses("divisor")
def AlphaNotDivided(local_size: int) -> float:
    return 1.0


@responses("divisor")
def AlphaDividedByTheSquare(local_size: int) -> float:
    return float(local_size) ** 2


@responses("summed")
def AveragesOfWhatIsThere(terms: Any, axes: tuple[int, ...], before: int, behind: int) -> Any:
    """Divides by the elements of a region that are inside the tensor, as an average without padding does."""
    counts = summed(np.ones_like(terms), axes, before, behind)
    return summed(terms, axes, before, behind) / counts * (before + behind + 1) ** len(axes)


@responses("biased")
def ChannelBiasIgnored(bias: float, total: Any) -> Any:
    return 1.0 + total


@responses("divided", "output_tensor")
def ExponentOfAHalf(x: Any, base: Any, beta: float) -> Any:
    """Takes the root whatever Beta is."""
    return x / np.sqrt(base)


@responses("divided", "output_tensor")
def MultipliedByThePower(x: Any, base: Any, beta: float) -> Any:
    return x * base**beta


@responses("seeing", "output_gradient_tensor")
def RegionsNotTurned(before: int, behind: int) -> tuple[int, int]:
    """Adds up over the region of an element and not over those that it is in, which differ where these are even."""
    return before, behind


@responses("terms", "output_gradient_tensor")
def PowerOfTheBaseKept(g: Any, x: Any, base: Any, beta: float) -> Any:
    return g * x * base**-beta


@responses("terms", "output_gradient_tensor")
def GradientOfEachAlone(g: Any, x: Any, base: Any, beta: float) -> Any:
    """Forgets the incoming gradient of other elements."""
    return x * base ** -(beta + 1)


@responses("slope", "output_gradient_tensor")
def FactorOfTwoForgotten(factor: float, beta: float) -> float:
    return factor * beta


@responses("slope", "output_gradient_tensor")
def SquaresTakenForConstant(factor: float, beta: float) -> float:
    return 0.0


# --- scales with a bias for each channel ------------------------------------------------------------------------------


class OtherScale(WrongValues, abstract=True):
    """Scales an image otherwise, in FLOAT64 and rounded once."""

    families = ("value_scale",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        x, bias = wide(arrays, "input_tensor", desc), np.array(desc.bias)
        with np.errstate(all="ignore"):
            return {"output_tensor": rounded(self.scaled(x, desc.scale, bias), desc)}

    def scaled(self, x: Any, scale: float, bias: Any) -> Any:
        raise NotImplementedError


def scales(function: Callable[..., Any]) -> type[Mutant]:
    return plants("scaled", OtherScale)(function)


def by_channel(bias: Any) -> Any:
    return bias[:, None, None]


@scales
def FirstBiasForAll(x: Any, scale: float, bias: Any) -> Any:
    return x * scale + bias[0]


@scales
def BiasesInReverse(x: Any, scale: float, bias: Any) -> Any:
    """Takes the channels of an image of blue, green and red in the other order."""
    return x * scale + by_channel(bias[::-1])


@scales
def BiasesAlongRows(x: Any, scale: float, bias: Any) -> Any:
    """As if channels were last in memory."""
    return x * scale + np.resize(bias, x.shape)


@scales
def BiasesAlongTheBatch(x: Any, scale: float, bias: Any) -> Any:
    return x * scale + np.resize(bias, len(x))[:, None, None, None]


@scales
def ChannelBiasScaledToo(x: Any, scale: float, bias: Any) -> Any:
    return (x + by_channel(bias)) * scale


@scales
def ScaleLeftOut(x: Any, scale: float, bias: Any) -> Any:
    return x + by_channel(bias)


@scales
def RegionBiasLeftOut(x: Any, scale: float, bias: Any) -> Any:
    return x * scale


@scales
def BiasTakenAway(x: Any, scale: float, bias: Any) -> Any:
    return x * scale - by_channel(bias)


@scales
def ScaleTakenForDivisor(x: Any, scale: float, bias: Any) -> Any:
    return x / scale + by_channel(bias)


@scales
def ScaledAsBytes(x: Any, scale: float, bias: Any) -> Any:
    """Holds results between 0 and 255."""
    return np.clip(x * scale + by_channel(bias), 0.0, 255.0)


@scales
def LastChannelOfTheFirstBias(x: Any, scale: float, bias: Any) -> Any:
    """Counts channels from 0 to one fewer than there are."""
    return x * scale + by_channel(np.append(bias[:-1], bias[0]))
