"""Poolings that take something else of what windows see, and gradients that go elsewhere."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.backends.reference.operators._windows import counted, gathered, windows_seen
from strength.mutants.base import Arrays, Mutant, WrongValues, plants, right
from strength.mutants.sums import as_tf32, in_float16


def bits(values: Any, tensor: Any) -> Any:
    """The bits of numbers in the type of a tensor, of its sizes."""
    kind = NUMBERS[tensor.data_type]
    with np.errstate(all="ignore"):
        found = np.ascontiguousarray(np.asarray(values).astype(kind)).view(UNSIGNED[kind.itemsize])
    return found.reshape(tensor.sizes)


def rows_of(numbers: Any, desc: Any, pooled: tuple[int, ...], padding: Any) -> Any:
    """What windows see, a row for each; `padding` stands for what is not there."""
    _, places = windows_seen(desc, numbers.shape, pooled)
    inside = gathered(np.ones(numbers.shape, np.int8), places).reshape(*pooled, -1)
    return np.where(inside == 1, gathered(numbers, places).reshape(*pooled, -1), padding)


# --- the greatest, and its place --------------------------------------------------------------------------------------


class OtherElement(WrongValues, abstract=True):
    """Takes another element of each window than the greatest; what there is of places is right."""

    families = ("pooling",)
    has = ("input_tensor", "output_tensor")
    lacks = ("p",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
        with np.errstate(all="ignore"):
            return {"output_tensor": bits(self.taken(desc, numbers), desc.output_tensor)}

    def taken(self, desc: Any, numbers: Any) -> Any:
        raise NotImplementedError


def elements(function: Any) -> type[Mutant]:
    return plants("taken", OtherElement)(function)


def _least(numbers: Any) -> Any:
    return -np.inf if numbers.dtype.kind == "f" else np.iinfo(numbers.dtype).min


@elements
def PaddingTakenForZeros(desc: Any, numbers: Any) -> Any:
    """Has zeros in the padding, which are greater than what is negative."""
    return rows_of(numbers, desc, desc.output_tensor.sizes, numbers.dtype.type(0)).max(-1)


@elements
def LastOfTheWindowLeftOut(desc: Any, numbers: Any) -> Any:
    rows = rows_of(numbers, desc, desc.output_tensor.sizes, numbers.dtype.type(_least(numbers)))
    return rows[..., : max(rows.shape[-1] - 1, 1)].max(-1)


@elements
def LeastTaken(desc: Any, numbers: Any) -> Any:
    most = np.inf if numbers.dtype.kind == "f" else np.iinfo(numbers.dtype).max
    return rows_of(numbers, desc, desc.output_tensor.sizes, numbers.dtype.type(most)).min(-1)


@elements
def LargestMagnitudeTaken(desc: Any, numbers: Any) -> Any:
    """Takes the element that is farthest from 0."""
    rows = rows_of(numbers, desc, desc.output_tensor.sizes, numbers.dtype.type(0))
    place = np.abs(rows.astype(np.float64)).argmax(-1)[..., None]
    return np.take_along_axis(rows, place, -1)[..., 0]


@elements
def GreatestByWayOfFloat16(desc: Any, numbers: Any) -> Any:
    rows = rows_of(numbers, desc, desc.output_tensor.sizes, numbers.dtype.type(_least(numbers)))
    found = rows.max(-1)
    return np.where(np.isfinite(found.astype(np.float16)), found.astype(np.float16).astype(found.dtype), found)


@elements
def ComparedWithoutASign(desc: Any, numbers: Any) -> Any:
    """Compares the bits of elements as unsigned integers, by which negative ones are the greatest."""
    least = numbers.dtype.type(0)
    rows = rows_of(numbers, desc, desc.output_tensor.sizes, least)
    place = rows.view(UNSIGNED[numbers.itemsize]).argmax(-1)[..., None]
    return np.take_along_axis(rows, place, -1)[..., 0]


class OtherPlace(WrongValues, abstract=True):
    """Counts the places of elements otherwise."""

    families = ("pooling",)
    has = ("output_indices_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.output_indices_tensor is None:
            return {}
        kind = NUMBERS[desc.output_indices_tensor.data_type]
        places = right(desc, arrays)["output_indices_tensor"].view(kind).astype(np.int64)
        numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
        return {"output_indices_tensor": bits(self.counted(desc, numbers, places), desc.output_indices_tensor)}

    def counted(self, desc: Any, numbers: Any, places: Any) -> Any:
        """From the right places, in the input as one row, what stands in their place."""
        raise NotImplementedError


def places(function: Any) -> type[Mutant]:
    return plants("counted", OtherPlace)(function)


@places
def PlaceInItsPlane(desc: Any, numbers: Any, places: Any) -> Any:
    """Counts from 0 in each channel."""
    return places % prod(numbers.shape[2:])


@places
def PlaceInItsBatch(desc: Any, numbers: Any, places: Any) -> Any:
    return places % prod(numbers.shape[1:])


@places
def PlaceInItsRow(desc: Any, numbers: Any, places: Any) -> Any:
    return places % numbers.shape[-1]


@places
def PlaceColumnByColumn(desc: Any, numbers: Any, places: Any) -> Any:
    """Counts down columns first, as ONNX's storage_order 1 has it."""
    rows, columns = numbers.shape[-2:]
    plane, rest = np.divmod(places, rows * columns)
    row, column = np.divmod(rest, columns)
    return plane * rows * columns + column * rows + row


@places
def PlaceFromOne(desc: Any, numbers: Any, places: Any) -> Any:
    return places + 1


@places
def LastOfEqualOnes(desc: Any, numbers: Any, places: Any) -> Any:
    """Names the last of equal elements."""
    pooled = desc.output_tensor.sizes
    flat = np.arange(numbers.size, dtype=np.int64).reshape(numbers.shape)
    rows, at = rows_of(numbers.astype(np.float64), desc, pooled, np.nan), rows_of(flat, desc, pooled, -1)
    most = numbers.reshape(-1)[places].astype(np.float64)[..., None]
    return np.where(rows == most, at, -1).max(-1)


# --- norms ------------------------------------------------------------------------------------------------------------


class OtherNorm(WrongValues, abstract=True):
    """Computes something else of the magnitudes that a window sees, in FLOAT64 and rounded once."""

    families = ("pooling",)
    has = ("p",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = np.abs(as_numbers(arrays["input_tensor"], desc.input_tensor.data_type).astype(np.float64))
        sizes = desc.output_tensor.sizes
        _, seen = windows_seen(desc, numbers.shape, sizes)
        with np.errstate(all="ignore"):
            rows = rows_of(numbers, desc, sizes, 0.0)
            return {
                "output_tensor": bits(self.norm(rows, desc.p, counted(seen, numbers.shape[2:])), desc.output_tensor)
            }

    def norm(self, rows: Any, p: int, count: Any) -> Any:
        """Of rows of magnitudes, so many of which are not in the padding."""
        raise NotImplementedError


def norms(function: Any) -> type[Mutant]:
    return plants("norm", OtherNorm)(function)


@norms
def AlwaysEuclidean(rows: Any, p: int, count: Any) -> Any:
    return np.sqrt((rows**2).sum(-1))


@norms
def AlwaysSumOfMagnitudes(rows: Any, p: int, count: Any) -> Any:
    return rows.sum(-1)


@norms
def RootIsMissing(rows: Any, p: int, count: Any) -> Any:
    return (rows**p).sum(-1)


@norms
def MeanOfPowers(rows: Any, p: int, count: Any) -> Any:
    """Divides the sum of powers by their number."""
    return ((rows**p).sum(-1) / np.maximum(count, 1)) ** (1 / p)


@norms
def LastPowerDropped(rows: Any, p: int, count: Any) -> Any:
    return (rows[..., :-1] ** p).sum(-1) ** (1 / p)


@norms
def FirstPowerTwice(rows: Any, p: int, count: Any) -> Any:
    return ((rows**p).sum(-1) + rows[..., 0] ** p) ** (1 / p)


@norms
def PowersInTf32(rows: Any, p: int, count: Any) -> Any:
    return as_tf32(as_tf32(rows) ** p).sum(-1) ** (1 / p)


@norms
def SumOfPowersInFloat16(rows: Any, p: int, count: Any) -> Any:
    return in_float16(rows**p, -1) ** (1 / p)


# --- quantized --------------------------------------------------------------------------------------------------------


class OtherQuantizedMean(WrongValues, abstract=True):
    """Computes something else of the integers that a window sees, in FLOAT64.

    A mutant takes the place of one of the steps.
    """

    families = ("average_pooling",)
    has = ("input_scale_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        source = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type).astype(np.float64)
        by_name = {
            key: as_numbers(arrays[key], getattr(desc, key).data_type)
            .astype(np.float64)
            .reshape(1, -1, *(1,) * (source.ndim - 2))
            for key in arrays
            if key != "input_tensor"
        }
        zero, added = (by_name.get(f"{of}_zero_point_tensor", 0.0) for of in ("input", "output"))
        scale, by = by_name["input_scale_tensor"], by_name["output_scale_tensor"]
        sizes, (_, seen) = desc.output_tensor.sizes, windows_seen(desc, source.shape, desc.output_tensor.sizes)
        rows = self.seen_rows(desc, source, zero)
        count = np.array(rows.shape[-1]) if desc.include_padding else np.maximum(counted(seen, source.shape[2:]), 1)
        with np.errstate(all="ignore"):
            quotient = self.quotient(rows, count, scale, by)
            whole = np.nan_to_num(self.rounded(quotient), nan=0.0, posinf=1e6, neginf=-1e6)
            return {
                "output_tensor": bits(self.stored(whole + self.offset(added), desc).reshape(sizes), desc.output_tensor)
            }

    def seen_rows(self, desc: Any, source: Any, zero: Any) -> Any:
        """What windows see, a row for each."""
        return rows_of(source - zero, desc, desc.output_tensor.sizes, 0.0)

    def quotient(self, rows: Any, count: Any, scale: Any, by: Any) -> Any:
        return rows.sum(-1) / count * scale / by

    def rounded(self, quotient: Any) -> Any:
        return np.rint(quotient)

    def offset(self, zero_point: Any) -> Any:
        return zero_point

    def stored(self, whole: Any, desc: Any) -> Any:
        """As far as the type reaches."""
        return np.clip(whole, *desc.output_tensor.data_type.limits)


def quantizes(step: str) -> Any:
    return plants(step, OtherQuantizedMean)


@quantizes("seen_rows")
def PaddingOfTheInteger0(desc: Any, source: Any, zero: Any) -> Any:
    """Has the integer 0 in the padding, not the one that stands for 0."""
    return rows_of(source, desc, desc.output_tensor.sizes, 0.0) - np.expand_dims(np.asarray(zero), -1)


@quantizes("seen_rows")
def InputZeroPointIgnored(desc: Any, source: Any, zero: Any) -> Any:
    return rows_of(source, desc, desc.output_tensor.sizes, 0.0)


@quantizes("offset")
def OutputZeroPointIgnored(zero_point: Any) -> Any:
    return 0.0


@quantizes("offset")
def OutputZeroPointSubtracted(zero_point: Any) -> Any:
    return -zero_point


@quantizes("quotient")
def ScaleOfTheFirstChannel(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    return rows.sum(-1) / count * scale[:, :1] / by


@quantizes("quotient")
def OutputScaleOfTheFirstChannel(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    return rows.sum(-1) / count * scale / by[:, :1]


@quantizes("quotient")
def ScalesTheOtherWayRound(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    return rows.sum(-1) / count / scale * by


@quantizes("quotient")
def MeanRoundedBeforeItIsScaled(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    return np.rint(rows.sum(-1) / count) * scale / by


@quantizes("quotient")
def LastIntegerDropped(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    return rows[..., :-1].sum(-1) / count * scale / by


@quantizes("quotient")
def SumKeptIn8Bits(rows: Any, count: Any, scale: Any, by: Any) -> Any:
    """Lets sums of integers wrap around."""
    return rows.sum(-1).astype(np.int64).astype(np.int8) / count * scale / by


@quantizes("rounded")
def CutToAWholeNumber(quotient: Any) -> Any:
    return np.trunc(quotient)


@quantizes("rounded")
def RoundedDown(quotient: Any) -> Any:
    return np.floor(quotient)


@quantizes("stored")
def WrapsAround(whole: Any, desc: Any) -> Any:
    """Keeps the low bits of what the type does not reach."""
    return whole.astype(np.int64).astype(NUMBERS[desc.output_tensor.data_type])


# --- gradients --------------------------------------------------------------------------------------------------------


class OtherGradient(WrongValues, abstract=True):
    """Gives elements other parts of the gradients of windows; computed in FLOAT64 and rounded once."""

    has = ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        of = desc.input_gradient_tensor.data_type
        gradients = as_numbers(arrays["input_gradient_tensor"], of).astype(np.float64)
        sizes, given = desc.output_gradient_tensor.sizes, gradients.shape
        flat = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
        at = rows_of(flat, desc, given, -1)
        with np.errstate(all="ignore"):
            shares = np.broadcast_to(self.shares(desc, arrays, gradients, at), at.shape)
            inside = at >= 0
            return {
                "output_gradient_tensor": bits(
                    self.added(at[inside], shares[inside], sizes), desc.output_gradient_tensor
                )
            }

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        """For each window and element of it, what its place gets; `at` has the places, -1 in the padding."""
        raise NotImplementedError

    def added(self, at: Any, shares: Any, sizes: tuple[int, ...]) -> Any:
        found = np.zeros(prod(sizes))
        np.add.at(found, at, shares)
        return found.reshape(sizes)


class OtherMeansGradient(OtherGradient, abstract=True):
    families = ("average_pooling",)

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        count = at.shape[-1] if desc.include_padding else np.maximum((at >= 0).sum(-1), 1)
        return np.broadcast_to((gradients / count)[..., None], at.shape)


@plants("shares", OtherMeansGradient)
def GradientNotDivided(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    return gradients[..., None]


@plants("shares", OtherMeansGradient)
def GradientDividedByAll(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    """Counts the padding whatever IncludePadding says."""
    return gradients[..., None] / at.shape[-1]


@plants("shares", OtherMeansGradient)
def GradientDividedByWhatIsThere(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    """Counts the padding never."""
    return gradients[..., None] / np.maximum((at >= 0).sum(-1, keepdims=True), 1)


@plants("shares", OtherMeansGradient)
def GradientOfTheFirstElementAlone(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    """Gives all of a gradient to the first element of its window."""
    return np.where(np.arange(at.shape[-1]) == 0, gradients[..., None], 0.0)


@plants("added", OtherMeansGradient)
def LastGradientStays(at: Any, shares: Any, sizes: tuple[int, ...]) -> Any:
    """Writes the parts of gradients over each other, and does not add them up."""
    found = np.zeros(prod(sizes))
    found[at] = shares
    return found.reshape(sizes)


@plants("added", OtherMeansGradient)
def GradientsAddedInFloat16(at: Any, shares: Any, sizes: tuple[int, ...]) -> Any:
    found = np.zeros(prod(sizes), np.float16)
    np.add.at(found, at, shares.astype(np.float16))
    return found.reshape(sizes)


class OtherGreatestGradient(OtherGradient, abstract=True):
    families = ("pooling",)

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        most = equals(desc, arrays, gradients, np.fmax)
        return np.where(most & is_first(most), gradients[..., None], 0.0)


def equals(desc: Any, arrays: Arrays, gradients: Any, extreme: Any) -> Any:
    """Which elements of each window are its greatest or least."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type).astype(np.float64)
    rows = rows_of(numbers, desc, gradients.shape, np.nan)
    return rows == extreme.reduce(rows, -1, keepdims=True)


def is_first(most: Any) -> Any:
    return np.arange(most.shape[-1]) == most.argmax(-1)[..., None]


@plants("shares", OtherGreatestGradient)
def EveryGreatestGetsTheGradient(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    """Gives a gradient to all elements that are as great."""
    return np.where(equals(desc, arrays, gradients, np.fmax), gradients[..., None], 0.0)


@plants("shares", OtherGreatestGradient)
def GradientSharedByEqualOnes(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    most = equals(desc, arrays, gradients, np.fmax)
    return np.where(most, gradients[..., None] / np.maximum(most.sum(-1, keepdims=True), 1), 0.0)


@plants("shares", OtherGreatestGradient)
def LastGreatestGetsTheGradient(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    most = equals(desc, arrays, gradients, np.fmax)
    last = at.shape[-1] - 1 - most[..., ::-1].argmax(-1)[..., None]
    return np.where(most & (np.arange(at.shape[-1]) == last), gradients[..., None], 0.0)


@plants("shares", OtherGreatestGradient)
def LeastGetsTheGradient(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    least = equals(desc, arrays, gradients, np.fmin)
    return np.where(least & is_first(least), gradients[..., None], 0.0)


@plants("shares", OtherGreatestGradient)
def GradientOverTheWindow(desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
    """Spreads a gradient over its window, as that of the other pooling."""
    return gradients[..., None] / at.shape[-1]


@plants("added", OtherGreatestGradient)
def LastWindowsGradientStays(at: Any, shares: Any, sizes: tuple[int, ...]) -> Any:
    """Writes the gradients of windows with one greatest element over each other."""
    found, given = np.zeros(prod(sizes)), shares != 0
    found[at[given]] = shares[given]
    return found.reshape(sizes)


@plants("added", OtherGreatestGradient)
def GradientsOfTheGreatestInFloat16(at: Any, shares: Any, sizes: tuple[int, ...]) -> Any:
    found = np.zeros(prod(sizes), np.float16)
    np.add.at(found, at, shares.astype(np.float16))
    return found.reshape(sizes)
