"""Quantization that scales, rounds or shifts wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference.operators.quantize import each_alone
from dml_conformance.spec.datatypes import DataType
from strength.mutants.base import Arrays, WrongValues, computes, fault, misreads, of_input, of_role, plants, right, wide
from strength.mutants.base import numbers as numbers_of

FAMILY = ("element_wise_quantize", "quantize")
BLOCKWISE = ("QUANTIZE", "DEQUANTIZE")
QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"
TO_INTEGERS, FROM_INTEGERS = ("QUANTIZE", QUANTIZE), ("DEQUANTIZE", DEQUANTIZE)
EITHER_WAY = (*TO_INTEGERS, *FROM_INTEGERS)
ADD = ("ELEMENT_WISE_QUANTIZED_LINEAR_ADD",)
FAR = 1e9  # what quotients are held to before they become integers


class ElementByElement(WrongValues, abstract=True):
    """Takes what belongs to blocks for what belongs to each element, as it is element by element."""

    families = FAMILY

    def given(self, desc: Any, arrays: Arrays) -> tuple[Any, Arrays]:
        return super().given(*(each_alone(desc, arrays) if desc.operator in BLOCKWISE else (desc, arrays)))


# --- to integers ------------------------------------------------------------------------------------------------------


class QuantizesOtherwise(ElementByElement, abstract=True):
    """Comes from the quotients to other integers."""

    names = TO_INTEGERS

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given, data_type = wide(desc, arrays), desc.output_tensor.data_type
        x, scale, zero_point = (
            given["input_tensor"],
            given["scale_tensor"],
            given.get("zero_point_tensor", np.zeros(())),
        )
        quotient = np.nan_to_num((x / scale).astype(np.float32).astype(np.float64), posinf=FAR, neginf=-FAR)
        found = self.whole(np.clip(quotient, -FAR, FAR), zero_point, scale)
        limits = self.limits(*(data_type.limits or (0, 0)))
        return (found if limits is None else np.clip(found, *limits)).astype(np.int64)

    def whole(self, quotient: Any, zero_point: Any, scale: Any) -> Any:
        """What is held between the limits of the type."""
        return np.rint(quotient) + zero_point

    def limits(self, least: int, most: int) -> Any:
        return least, most


plants("whole", QuantizesOtherwise).each(
    QuotientCut=lambda quotient, zero_point: np.trunc(quotient) + zero_point,
    QuotientRoundedDown=lambda quotient, zero_point: np.floor(quotient) + zero_point,
    HalvesUp=lambda quotient, zero_point: np.floor(quotient + 0.5) + zero_point,
    HalvesAwayFromZero=lambda quotient, zero_point: (
        np.copysign(np.floor(np.abs(quotient) + 0.5), quotient) + zero_point
    ),
    HalvesTowardZero=lambda quotient, zero_point: np.copysign(np.ceil(np.abs(quotient) - 0.5), quotient) + zero_point,
    ZeroPointSubtracted=lambda quotient, zero_point: np.rint(quotient) - zero_point,
    ZeroPointAddedBeforeScaling=lambda quotient, zero_point, scale: np.rint(quotient + zero_point / scale),
    ZeroPointAddedBeforeRounding=fault(
        lambda quotient, zero_point: np.rint(quotient + zero_point),
        "Rounds the sum, which has halves where the quotient has, but is even where that is odd.",
    ),
    ScaledInsteadOfDivided=lambda quotient, zero_point, scale: (
        np.rint(np.nan_to_num(np.clip(quotient * scale * scale, -FAR, FAR))) + zero_point
    ),
)

plants("limits", QuantizesOtherwise).each(
    QuantizedIntegersWrap=fault(lambda: None, "Keeps the low 8 bits of what the type does not reach."),
    QuantizedIntegersSymmetric=fault(
        lambda least, most: (-most, most) if least else (least, most),
        "Has -127 for the least signed integer.",
        since="2_1",
    ),
    QuantizedIntegersUnsigned=fault(
        lambda: (0, 255), "Holds signed integers between the limits of unsigned ones.", since="2_1"
    ),
)


@plants("whole", QuantizesOtherwise)
def SaturatesBeforeTheZeroPoint(quotient: Any, zero_point: Any) -> Any:
    """Holds the quotient to 8 bits, and adds the zero point after that."""
    return np.clip(np.rint(quotient), -128, 127) + zero_point


# --- of scales and zero points ----------------------------------------------------------------------------------------


def the_first(x: Any) -> Any:
    return np.full_like(x, x.reshape(-1)[0])


def _of_12_bits(x: Any) -> Any:
    mantissa, exponent = np.frexp(1 / x.astype(np.float64))
    return 1 / np.ldexp(np.trunc(mantissa * 2**12) / 2**12, exponent)


plants("inputs", ElementByElement, of_input("zero_point_tensor"), names=EITHER_WAY).each(
    ZeroPointIgnored=lambda x: np.zeros_like(x),
    FirstZeroPointForAll=the_first,
)
plants("inputs", ElementByElement, of_input("scale_tensor"), names=EITHER_WAY).each(
    FirstScaleForAll=the_first,
    ScaleOf12Bits=fault(_of_12_bits, "Has a scale by an estimate of its reciprocal, of 12 bits."),
    NegativeScalesPositive=lambda x: np.abs(x),
)


# --- from integers ----------------------------------------------------------------------------------------------------


@plants("found", ElementByElement, names=FROM_INTEGERS)
def DequantizesInFloat16(desc: Any, arrays: Arrays) -> Any:
    """Computes FLOAT32 in FLOAT16."""
    kept = right(desc, arrays)["output_tensor"]
    return kept.view(f"f{kept.itemsize}").astype(np.float16)


def scaled_difference(difference: Any, desc: Any, arrays: Arrays) -> Any:
    """Comes to another difference of input and zero point."""
    given = numbers_of(desc, arrays)
    x = given["input_tensor"]
    found = difference(x=x, zero_point=given.get("zero_point_tensor", np.zeros_like(x)))
    return found.astype(np.float64) * given["scale_tensor"].astype(np.float64)


def of_the_other_sign(x: Any) -> Any:
    return x.view(f"{'u' if x.dtype.kind == 'i' else 'i'}{x.itemsize}").astype(np.int64)


plants("found", ElementByElement, scaled_difference, names=FROM_INTEGERS).each(
    DifferenceWraps=fault(lambda x, zero_point: x - zero_point, "Subtracts in the type of the elements."),
    ZeroPointAdded=lambda x, zero_point: x.astype(np.int64) + zero_point.astype(np.int64),
    ZeroPointNotScaled=fault(
        lambda x, zero_point: np.maximum(x.astype(np.int64) - zero_point.astype(np.int64), 0),
        "Forgets the zero point where it is more than the element.",
    ),
    SignOfQuantizedOtherwise=fault(
        lambda x, zero_point: of_the_other_sign(x) - of_the_other_sign(zero_point),
        "Takes signed elements for unsigned ones, and unsigned for signed.",
    ),
)


# --- either way -------------------------------------------------------------------------------------------------------


def with_zero_point(zero_point: float, limits: Any, desc: Any, arrays: Arrays) -> Any:
    """What comes of another zero point; quotients are not rounded to FLOAT32 before."""
    given = wide(desc, arrays)
    x, scale = given["input_tensor"], given["scale_tensor"]
    if desc.operator == DEQUANTIZE:
        return (x - zero_point) * scale
    return np.clip(np.clip(np.nan_to_num(np.rint(x / scale)), -FAR, FAR) + zero_point, *limits)


@plants("found", ElementByElement, names=EITHER_WAY, since="2_1")
def SignOfTheZeroPointOtherwise(desc: Any, arrays: Arrays) -> Any:
    """Takes a signed zero point for an unsigned one."""
    zero_point = arrays.get("zero_point_tensor")
    if zero_point is None or not desc.zero_point_tensor.data_type.is_signed_integer:
        return {}
    return with_zero_point(zero_point.astype(np.float64), (-128, 127), desc, arrays)


@plants("found", ElementByElement, names=EITHER_WAY, since="6_2")
def MissingZeroPointInTheMiddle(desc: Any, arrays: Arrays) -> Any:
    """Has 128 in place of a missing zero point of unsigned integers."""
    if desc.zero_point_tensor is not None:
        return {}
    return with_zero_point(128, desc.output_tensor.data_type.limits, desc, arrays)


# --- sums -------------------------------------------------------------------------------------------------------------


class Term:
    """The integers of one operand, their zero points and scales."""

    def __init__(self, given: Arrays, of: str) -> None:
        self.x = given[f"{of}_tensor"]
        self.scale, self.zero_point = given[f"{of}_scale_tensor"], given.get(f"{of}_zero_point_tensor", np.zeros(()))
        self.numbers = (self.x - self.zero_point) * self.scale


class AddsOtherwise(WrongValues, abstract=True):
    """Adds other numbers, or comes from their sum to other integers."""

    families, names = FAMILY, ADD

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given, limits = wide(desc, arrays), desc.output_tensor.data_type.limits
        total = self.total(Term(given, "a"), Term(given, "b"))
        quotient = np.nan_to_num(total / given["output_scale_tensor"], posinf=FAR, neginf=-FAR)
        found = self.whole(np.clip(quotient, -FAR, FAR), given.get("output_zero_point_tensor", np.zeros(())))
        return self.held(np.clip(found, -FAR, FAR).astype(np.int64), *limits)

    def total(self, a: Term, b: Term) -> Any:
        return a.numbers + b.numbers

    def whole(self, quotient: Any, zero_point: Any) -> Any:
        return np.rint(quotient) + zero_point

    def held(self, whole: Any, least: int, most: int) -> Any:
        return np.clip(whole, least, most)


plants("total", AddsOtherwise).each(
    IntegersAdded=fault(
        lambda a, b: a.x - a.zero_point + b.x - b.zero_point, "Adds the integers without their scales."
    ),
    ScaleOfAForBoth=lambda a, b: a.numbers + (b.x - b.zero_point) * a.scale,
    ZeroPointOfAForBoth=lambda a, b: a.numbers + (b.x - a.zero_point) * b.scale,
    ZeroPointOfBLeftOut=lambda a, b: a.numbers + b.x * b.scale,
    ZeroPointsUnscaled=fault(
        lambda a, b: sum(of.x * of.scale - of.zero_point for of in (a, b)),
        "Subtracts zero points from numbers that are scaled already.",
    ),
    BSubtracted=lambda a, b: a.numbers - b.numbers,
    BLeftOut=lambda a, b: a.numbers + 0 * b.x,
    QuantizedSumInFloat16=lambda a, b: (a.numbers + b.numbers).astype(np.float16).astype(np.float64),
)

plants("whole", AddsOtherwise).each(
    SumCut=lambda quotient, zero_point: np.trunc(quotient) + zero_point,
    SumHalvesAway=fault(
        lambda quotient, zero_point: np.trunc(quotient + np.copysign(0.5, quotient)) + zero_point,
        "Rounds halves away from 0.",
    ),
    ZeroPointOfSumLeftOut=lambda quotient, zero_point: np.rint(quotient) + 0 * zero_point,
    ZeroPointOfSumSubtracted=lambda quotient, zero_point: np.rint(quotient) - zero_point,
)

plants("held", AddsOtherwise).each(
    SumWraps=fault(lambda whole: whole, "Keeps the low bits of what the type does not reach."),
    SumHeldAsSigned=fault(
        lambda whole: np.clip(whole, -128, 127), "Has the ends of the signed type for unsigned integers."
    ),
)


# --- by the range of what there is ------------------------------------------------------------------------------------


class RangesOtherwise(WrongValues, abstract=True):
    """Takes another range, or comes from it to another scale and zero point."""

    families = ("dynamic_quantize",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x, (least, most) = wide(desc, arrays)["input_tensor"], desc.output_tensor.data_type.limits
        low, high = self.ends(x)
        scale, zero = self.scale_and_zero(np.float64(low), np.float64(high), least, most)
        zero = np.clip(np.nan_to_num(np.rint(zero)), least, most)
        found = np.rint(np.clip(np.nan_to_num(x / scale), -FAR, FAR)) + zero
        shape = desc.output_scale_tensor.sizes
        return {
            "output_tensor": self.held(found, least, most).astype(np.int64),
            "output_scale_tensor": np.full(shape, scale),
            "output_zero_point_tensor": np.full(shape, zero).astype(np.int64),
        }

    def ends(self, x: Any) -> tuple[Any, Any]:
        return with_0(x)

    def scale_and_zero(self, low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
        return by_scale((high - low) / 255, low, least)

    def held(self, whole: Any, least: int, most: int) -> Any:
        return np.clip(whole, least, most)


def with_0(x: Any) -> tuple[Any, Any]:
    return x.min(initial=0), x.max(initial=0)


def by_scale(scale: Any, low: Any, least: int) -> tuple[Any, Any]:
    """A scale, and the integer that stands for 0 where the least one stands for the least number."""
    return scale, least - low / scale


plants("ends", RangesOtherwise).each(
    RangeFrom0=lambda x: (0, x.max(initial=0)),
    RangeTo0=lambda x: (x.min(initial=0), 0),
    RangeAround0=fault(lambda x: (-np.abs(x).max(), np.abs(x).max()), "Reaches as far on both sides of 0."),
    RangeOfTheFirstRow=lambda x: with_0(x.reshape(-1, x.shape[-1])[0]),
    RangeWithoutTheLast=fault(lambda x: with_0(x.reshape(-1)[:-1]), "Does not look at the last element."),
    RangeWithoutSigns=lambda x: (0, np.abs(x).max()),
)

plants("scale_and_zero", RangesOtherwise).each(
    StepsOf256=fault(
        lambda low, high, least: by_scale((high - low) / 256, low, least),
        "Divides the range by the numbers that the type has.",
    ),
    StepsOf127=lambda low, high, least, most: by_scale((high - low) / most, low, least),
    ZeroPointFrom0=fault(
        lambda low, high: by_scale((high - low) / 255, low, 0), "Has the zero point of unsigned integers."
    ),
    ZeroPointFromTheGreatest=lambda low, high, least: by_scale((high - low) / 255, -high, least),
    ScaleInFloat16=lambda low, high, least: by_scale(
        ((high - low) / 255).astype(np.float16).astype(np.float64), low, least
    ),
    ScaleInverted=lambda low, high, least: by_scale(255 / (high - low), low, least),
    ZeroPointOf0=lambda low, high: ((high - low) / 255, 0.0),
)


@plants("held", RangesOtherwise)
def RangeHeldAsSigned(whole: Any) -> Any:
    return np.clip(whole, -128, 127)


# --- blocks -----------------------------------------------------------------------------------------------------------


def by_places(places: Any, desc: Any, arrays: Arrays) -> Any:
    """Takes the scale and the zero point of other blocks: of each dimension the block that every element is in."""
    sizes = arrays["input_tensor"].shape
    others = {
        key: array[np.ix_(*places(sizes=sizes, counts=array.shape))] if key.endswith("]") else array
        for key, array in arrays.items()
    }
    return right(desc, others)


def by_dimension(along: Any, desc: Any, arrays: Arrays) -> Any:
    """The same, of each dimension alone: `length` elements are in a block."""

    def places(sizes: Any, counts: Any) -> Any:
        every = zip(sizes, counts, strict=True)
        return [along(n=np.arange(size), count=count, length=size // count) for size, count in every]

    return by_places(places, desc, arrays)


computes(by_dimension, families=("quantize",)).each(
    BlocksInTurn=fault(lambda n, count: n % count, "Takes every n-th element for one block."),
    BlocksBackward=lambda n, length: n[::-1] // length,
    FirstBlockForAll=lambda n: np.zeros_like(n),
    LastBlockForAll=lambda n, count: np.full_like(n, count - 1),
    BlocksOneLonger=lambda n, length: n // (length + 1),
    BlocksOnlyOfOneOrAll=fault(
        lambda n, length: n if length == 1 else np.zeros_like(n),
        "Knows one for all and one for each, as where sizes are broadcast.",
    ),
    BlocksFromTheSecondElementOn=lambda n, length: np.maximum(n - 1, 0) // length,
)

computes(by_places, families=("quantize",)).each(
    BlocksAlongTheLastDimensionAlone=lambda sizes, counts: [
        *(np.zeros(size, int) for size in sizes[:-1]),
        np.arange(sizes[-1]) // (sizes[-1] // counts[-1]),
    ],
    BlocksButOfTheLastDimension=lambda sizes, counts: [
        *(np.arange(size) // (size // count) for size, count in zip(sizes[:-1], counts[:-1], strict=True)),
        np.zeros(sizes[-1], int),
    ],
)


# --- halves of bytes --------------------------------------------------------------------------------------------------


class HalvesOtherwise(WrongValues, abstract=True):
    """Packs two elements into a byte otherwise, or takes them out so."""

    families = ("quantize",)

    def execute(self, desc: Any, level: Any, inputs: Any, outputs: Any) -> None:
        """On copies of what inputs hold, and then on what was written, where two elements share a byte."""
        read = {slot.key: self._copy(slot, inputs[slot.key]) for slot in of_role(desc, is_output=False)}
        super(WrongValues, self).execute(desc, level, read, outputs)
        tensor = desc.output_tensor
        if tensor.data_type.shares_bytes and tensor.strides is None:
            held = outputs["output_tensor"].view[: -(-tensor.element_count // 2)]
            held[:] = self.bytes_of(held, tensor)

    def _copy(self, slot: Any, binding: Any) -> Any:
        content = binding.view.copy()
        if slot.tensor.data_type.shares_bytes:
            content = self.bytes_of(content, slot.tensor)
        return Binding(content, 0, content.size)

    def bytes_of(self, held: Any, tensor: Any) -> Any:
        """What the bytes of a tensor are taken for."""
        raise NotImplementedError


plants("bytes_of", HalvesOtherwise).each(
    HalvesSwapped=fault(lambda held: held << 4 | held >> 4, "Has the first element in the high half."),
    LowHalfForBoth=lambda held: held << 4 | held & 15,
    HighHalfForBoth=lambda held: held >> 4 | held & 240,
    HighHalfEmpty=fault(lambda held: held & 15, "Has one element in a byte."),
    SignOfHalvesFlipped=lambda held: held ^ 136,
)


@plants("bytes_of", HalvesOtherwise)
def LastOddElementLost(held: Any, tensor: Any) -> Any:
    """Stops at the last whole byte."""
    found = held.copy()
    if tensor.element_count % 2:
        found[tensor.element_count // 2] ^= 15
    return found


@misreads(families=("quantize",))
def HalvesOfTheOtherSign(desc: Any, arrays: Arrays) -> Any:
    """Takes signed elements of 4 bits for unsigned ones, as if they had the same bits in 8."""
    kinds = {slot.key: slot.tensor.data_type for slot in of_role(desc, is_output=False)}
    return {key: arrays[key] & 15 for key, kind in kinds.items() if kind is DataType.INT4}


plants("limits", QuantizesOtherwise).each(
    HeldAsBytes=fault(
        lambda least: (-128, 127) if least else (0, 255),
        "Has the ends of 8 bits for 4, of which the low half is kept.",
        names=("QUANTIZE",),
    ),
)
