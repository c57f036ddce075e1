"""Poolings that take something else of what windows see, and gradients that go elsewhere."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.backends.reference.operators._windows import counted, gathered, windows_seen
from strength.mutants.base import Arrays, WrongValues, computes, fault, numbers, plants, right, wide
from strength.mutants.sums import as_tf32, in_float16

FAMILY, OF_MEANS = ("pooling",), ("average_pooling",)


def rows_of(x: Any, desc: Any, pooled: tuple[int, ...], padding: Any) -> Any:
    """What windows see, a row for each; `padding` stands for what is not there."""
    _, places = windows_seen(desc, x.shape, pooled)
    inside = gathered(np.ones(x.shape, np.int8), places).reshape(*pooled, -1)
    return np.where(inside == 1, gathered(x, places).reshape(*pooled, -1), padding)


# --- the greatest, and its place --------------------------------------------------------------------------------------


def other_element(taken: Any, desc: Any, arrays: Arrays) -> Any:
    """Takes another element of each window than the greatest; what there is of places is right."""
    x = numbers(desc, arrays)["input_tensor"]
    least, most = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    every = (rows_of(x, desc, desc.output_tensor.sizes, x.dtype.type(padding)) for padding in (least, 0, most))
    return taken(**dict(zip(("rows", "rows_with_0", "rows_with_most"), every, strict=True)))


def _greatest_by(keys: Any, rows: Any) -> Any:
    return np.take_along_axis(rows, keys.argmax(-1)[..., None], -1)[..., 0]


def _by_way_of_float16(rows: Any) -> Any:
    found = rows.max(-1)
    return np.where(np.isfinite(found.astype(np.float16)), found.astype(np.float16).astype(found.dtype), found)


computes(other_element, families=FAMILY, has=("input_tensor", "output_tensor"), lacks=("p",)).each(
    PaddingTakenForZeros=fault(
        lambda rows_with_0: rows_with_0.max(-1), "Has zeros in the padding, which are greater than what is negative."
    ),
    LastOfTheWindowLeftOut=lambda rows: rows[..., : max(rows.shape[-1] - 1, 1)].max(-1),
    LeastTaken=lambda rows_with_most: rows_with_most.min(-1),
    LargestMagnitudeTaken=fault(
        lambda rows_with_0: _greatest_by(np.abs(rows_with_0.astype(np.float64)), rows_with_0),
        "Takes the element that is farthest from 0.",
    ),
    GreatestByWayOfFloat16=_by_way_of_float16,
    ComparedWithoutASign=fault(
        lambda rows_with_0: _greatest_by(rows_with_0.view(UNSIGNED[rows_with_0.itemsize]), rows_with_0),
        "Compares the bits of elements as unsigned integers, by which negative ones are the greatest.",
    ),
)


def other_place(place: Any, desc: Any, arrays: Arrays) -> Any:
    """Counts the places of elements, in the input as one row, otherwise."""
    if desc.output_indices_tensor is None:
        return {}
    places = right(desc, arrays)["output_indices_tensor"].view(NUMBERS[desc.output_indices_tensor.data_type])
    x = numbers(desc, arrays)["input_tensor"]
    return {"output_indices_tensor": place(desc=desc, x=x, sizes=x.shape, places=places.astype(np.int64))}


def _column_by_column(sizes: Any, places: Any) -> Any:
    rows, columns = sizes[-2:]
    plane, rest = np.divmod(places, rows * columns)
    row, column = np.divmod(rest, columns)
    return plane * rows * columns + column * rows + row


def _last_of_equal_ones(desc: Any, x: Any, places: Any) -> Any:
    pooled = desc.output_tensor.sizes
    flat = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    rows, at = rows_of(x.astype(np.float64), desc, pooled, np.nan), rows_of(flat, desc, pooled, -1)
    most = x.reshape(-1)[places].astype(np.float64)[..., None]
    return np.where(rows == most, at, -1).max(-1)


computes(other_place, families=FAMILY, has=("output_indices_tensor",)).each(
    PlaceInItsPlane=fault(lambda sizes, places: places % prod(sizes[2:]), "Counts from 0 in each channel."),
    PlaceInItsBatch=lambda sizes, places: places % prod(sizes[1:]),
    PlaceInItsRow=lambda sizes, places: places % sizes[-1],
    PlaceColumnByColumn=fault(_column_by_column, "Counts down columns first, as ONNX's storage_order 1 has it."),
    PlaceFromOne=lambda places: places + 1,
    LastOfEqualOnes=fault(_last_of_equal_ones, "Names the last of equal elements."),
)


# --- norms ------------------------------------------------------------------------------------------------------------


def other_norm(norm: Any, desc: Any, arrays: Arrays) -> Any:
    """Computes something else of the magnitudes that a window sees, so many of which are not in the padding."""
    x, sizes = np.abs(wide(desc, arrays)["input_tensor"]), desc.output_tensor.sizes
    _, places = windows_seen(desc, x.shape, sizes)
    return norm(rows=rows_of(x, desc, sizes, 0.0), p=desc.p, count=counted(places, x.shape[2:]))


computes(other_norm, families=FAMILY, has=("p",)).each(
    AlwaysEuclidean=lambda rows: np.sqrt((rows**2).sum(-1)),
    AlwaysSumOfMagnitudes=lambda rows: rows.sum(-1),
    RootIsMissing=lambda rows, p: (rows**p).sum(-1),
    MeanOfPowers=fault(
        lambda rows, p, count: ((rows**p).sum(-1) / np.maximum(count, 1)) ** (1 / p),
        "Divides the sum of powers by their number.",
    ),
    LastPowerDropped=lambda rows, p: (rows[..., :-1] ** p).sum(-1) ** (1 / p),
    FirstPowerTwice=lambda rows, p: ((rows**p).sum(-1) + rows[..., 0] ** p) ** (1 / p),
    PowersInTf32=lambda rows, p: as_tf32(as_tf32(rows) ** p).sum(-1) ** (1 / p),
    SumOfPowersInFloat16=lambda rows, p: in_float16(rows**p, -1) ** (1 / p),
)


# --- quantized --------------------------------------------------------------------------------------------------------


class OtherQuantizedMean(WrongValues, abstract=True):
    """Computes something else of the integers that a window sees, in FLOAT64.

    A mutant takes the place of one of the steps.
    """

    families, has = OF_MEANS, ("input_scale_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given = wide(desc, arrays)
        x, sizes = given.pop("input_tensor"), desc.output_tensor.sizes
        by_channel = {key: of.reshape(1, -1, *(1,) * (x.ndim - 2)) for key, of in given.items()}
        zero, added = (by_channel.get(f"{of}_zero_point_tensor", 0.0) for of in ("input", "output"))
        _, places = windows_seen(desc, x.shape, sizes)
        rows = self.seen_rows(desc, x, zero)
        count = np.array(rows.shape[-1]) if desc.include_padding else np.maximum(counted(places, x.shape[2:]), 1)
        quotient = self.quotient(rows, count, by_channel["input_scale_tensor"], by_channel["output_scale_tensor"])
        whole = np.nan_to_num(self.rounded(quotient), nan=0.0, posinf=1e6, neginf=-1e6)
        return self.stored(whole + self.offset(added), desc)

    def seen_rows(self, desc: Any, x: Any, zero: Any) -> Any:
        """What windows see, a row for each."""
        return rows_of(x - zero, desc, desc.output_tensor.sizes, 0.0)

    def quotient(self, rows: Any, count: Any, scale: Any, by: Any) -> Any:
        return rows.sum(-1) / count * scale / by

    def rounded(self, quotient: Any) -> Any:
        return np.rint(quotient)

    def offset(self, zero_point: Any) -> Any:
        return zero_point

    def stored(self, whole: Any, desc: Any) -> Any:
        """As far as the type reaches."""
        return np.clip(whole, *desc.output_tensor.data_type.limits)


plants("seen_rows", OtherQuantizedMean).each(
    PaddingOfTheInteger0=fault(
        lambda desc, x, zero: rows_of(x, desc, desc.output_tensor.sizes, 0.0) - np.expand_dims(np.asarray(zero), -1),
        "Has the integer 0 in the padding, not the one that stands for 0.",
    ),
    InputZeroPointIgnored=lambda desc, x: rows_of(x, desc, desc.output_tensor.sizes, 0.0),
)

plants("offset", OtherQuantizedMean).each(
    OutputZeroPointIgnored=lambda: 0.0,
    OutputZeroPointSubtracted=lambda zero_point: -zero_point,
)

plants("quotient", OtherQuantizedMean).each(
    ScaleOfTheFirstChannel=lambda rows, count, scale, by: rows.sum(-1) / count * scale[:, :1] / by,
    OutputScaleOfTheFirstChannel=lambda rows, count, scale, by: rows.sum(-1) / count * scale / by[:, :1],
    ScalesTheOtherWayRound=lambda rows, count, scale, by: rows.sum(-1) / count / scale * by,
    MeanRoundedBeforeItIsScaled=lambda rows, count, scale, by: np.rint(rows.sum(-1) / count) * scale / by,
    LastIntegerDropped=lambda rows, count, scale, by: rows[..., :-1].sum(-1) / count * scale / by,
    SumKeptIn8Bits=fault(
        lambda rows, count, scale, by: rows.sum(-1).astype(np.int64).astype(np.int8) / count * scale / by,
        "Lets sums of integers wrap around.",
    ),
)

plants("rounded", OtherQuantizedMean).each(
    CutToAWholeNumber=lambda quotient: np.trunc(quotient),
    RoundedDown=lambda quotient: np.floor(quotient),
)


@plants("stored", OtherQuantizedMean)
def WrapsAround(whole: Any) -> Any:
    """Keeps the low bits of what the type does not reach."""
    return whole.astype(np.int64)


# --- gradients --------------------------------------------------------------------------------------------------------


class OtherGradient(WrongValues, abstract=True):
    """Gives elements other parts of the gradients of windows; computed in FLOAT64 and rounded once."""

    has = ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        gradients, sizes = wide(desc, arrays)["input_gradient_tensor"], desc.output_gradient_tensor.sizes
        flat = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
        at = rows_of(flat, desc, gradients.shape, -1)
        inside, shares = at >= 0, self.shares(desc, arrays, gradients[..., None], at)
        found = self.added(at[inside], np.broadcast_to(shares, at.shape)[inside], np.zeros(flat.size))
        return {"output_gradient_tensor": found}

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        """For each window and element of it, what its place gets; `at` has the places, -1 in the padding."""
        raise NotImplementedError

    def added(self, at: Any, shares: Any, found: Any) -> Any:
        np.add.at(found, at, shares)
        return found


def _overwritten(at: Any, shares: Any, found: Any) -> Any:
    found[at] = shares
    return found


def _added_in_float16(at: Any, shares: Any, found: Any) -> Any:
    found = found.astype(np.float16)
    np.add.at(found, at, shares.astype(np.float16))
    return found


class OtherMeansGradient(OtherGradient, abstract=True):
    families = OF_MEANS

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        return gradients / (at.shape[-1] if desc.include_padding else _inside(at))


def _inside(at: Any) -> Any:
    return np.maximum((at >= 0).sum(-1, keepdims=True), 1)


plants("shares", OtherMeansGradient).each(
    GradientNotDivided=lambda gradients: gradients,
    GradientDividedByAll=fault(
        lambda gradients, at: gradients / at.shape[-1], "Counts the padding whatever IncludePadding says."
    ),
    GradientDividedByWhatIsThere=fault(lambda gradients, at: gradients / _inside(at), "Counts the padding never."),
    GradientOfTheFirstElementAlone=fault(
        lambda gradients, at: np.where(np.arange(at.shape[-1]) == 0, gradients, 0.0),
        "Gives all of a gradient to the first element of its window.",
    ),
)

plants("added", OtherMeansGradient).each(
    LastGradientStays=fault(_overwritten, "Writes the parts of gradients over each other, and does not add them up."),
    GradientsAddedInFloat16=_added_in_float16,
)


class OtherGreatestGradient(OtherGradient, abstract=True):
    families = FAMILY

    def shares(self, desc: Any, arrays: Arrays, gradients: Any, at: Any) -> Any:
        most = equals(desc, arrays, gradients, np.fmax)
        return np.where(most & is_first(most), gradients, 0.0)


def equals(desc: Any, arrays: Arrays, gradients: Any, extreme: Any) -> Any:
    """Which elements of each window are its greatest or least."""
    rows = rows_of(wide(desc, arrays)["input_tensor"], desc, gradients.shape[:-1], np.nan)
    return rows == extreme.reduce(rows, -1, keepdims=True)


def is_first(most: Any) -> Any:
    return np.arange(most.shape[-1]) == most.argmax(-1)[..., None]


def _shared(desc: Any, arrays: Arrays, gradients: Any) -> Any:
    most = equals(desc, arrays, gradients, np.fmax)
    return np.where(most, gradients / np.maximum(most.sum(-1, keepdims=True), 1), 0.0)


def _to_the_last(desc: Any, arrays: Arrays, gradients: Any) -> Any:
    most = equals(desc, arrays, gradients, np.fmax)
    return np.where(most & is_first(most[..., ::-1])[..., ::-1], gradients, 0.0)


def _to_the_least(desc: Any, arrays: Arrays, gradients: Any) -> Any:
    least = equals(desc, arrays, gradients, np.fmin)
    return np.where(least & is_first(least), gradients, 0.0)


plants("shares", OtherGreatestGradient).each(
    EveryGreatestGetsTheGradient=fault(
        lambda desc, arrays, gradients: np.where(equals(desc, arrays, gradients, np.fmax), gradients, 0.0),
        "Gives a gradient to all elements that are as great.",
    ),
    GradientSharedByEqualOnes=_shared,
    LastGreatestGetsTheGradient=_to_the_last,
    LeastGetsTheGradient=_to_the_least,
    GradientOverTheWindow=fault(
        lambda gradients, at: gradients / at.shape[-1],
        "Spreads a gradient over its window, as that of the other pooling.",
    ),
)

plants("added", OtherGreatestGradient).each(
    LastWindowsGradientStays=fault(
        lambda at, shares, found: _overwritten(at[shares != 0], shares[shares != 0], found),
        "Writes the gradients of windows with one greatest element over each other.",
    ),
    GradientsOfTheGreatestInFloat16=_added_in_float16,
)
