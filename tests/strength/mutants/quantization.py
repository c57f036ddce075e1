"""Quantization that scales, rounds or shifts wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.backends.reference.operators.quantize import each_alone
from dml_conformance.spec.datatypes import DataType
from strength.mutants.base import Arrays, WrongValues, of_role, plants, right

FAMILY = ("element_wise_quantize", "quantize")
BLOCKWISE = ("QUANTIZE", "DEQUANTIZE")
QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"
ADD = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"


class OneOfThem(WrongValues, abstract=True):
    """A bug of one of the two operators, or of both."""

    families, names = FAMILY, (QUANTIZE, DEQUANTIZE)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if {name, f"ELEMENT_WISE_{name}_LINEAR"} & {*cls.names})

    def given(self, desc: Any, arrays: Arrays) -> tuple[Any, Arrays]:
        """By blocks as element by element."""
        return each_alone(desc, arrays) if desc.operator in BLOCKWISE else (desc, arrays)


def _wide(desc: Any, arrays: Arrays, key: str) -> Any:
    """The elements of an input as FLOAT64; 0 where there is no such tensor."""
    if key not in arrays:
        return np.zeros(())
    with np.errstate(invalid="ignore"):
        return as_numbers(arrays[key], getattr(desc, key).data_type).astype(np.float64)


def _bits(numbers: Any, data_type: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(numbers.astype(NUMBERS[data_type])).view(UNSIGNED[data_type.size])


class QuantizesOtherwise(OneOfThem, abstract=True):
    """Comes from the quotients to other integers."""

    names = (QUANTIZE,)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        x, scale, zero_point = (_wide(desc, arrays, f"{key}_tensor") for key in ("input", "scale", "zero_point"))
        data_type = desc.output_tensor.data_type
        with np.errstate(all="ignore"):
            quotient = np.nan_to_num((x / scale).astype(np.float32).astype(np.float64), posinf=1e9, neginf=-1e9)
            whole = self.whole(np.clip(quotient, -1e9, 1e9), zero_point, scale)
            limits = self.limits(*(data_type.limits or (0, 0)))
            if limits is not None:
                whole = np.clip(whole, *limits)
            return {"output_tensor": _bits(whole.astype(np.int64), data_type)}

    def whole(self, quotient: Any, zero_point: Any, scale: Any) -> Any:
        """What is held between the limits of the type."""
        return np.rint(quotient) + zero_point

    def limits(self, least: int, most: int) -> Any:
        return least, most


@plants("whole", QuantizesOtherwise)
def QuotientCut(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.trunc(quotient) + zero_point


@plants("whole", QuantizesOtherwise)
def QuotientRoundedDown(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.floor(quotient) + zero_point


@plants("whole", QuantizesOtherwise)
def HalvesUp(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.floor(quotient + 0.5) + zero_point


@plants("whole", QuantizesOtherwise)
def HalvesAwayFromZero(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.copysign(np.floor(np.abs(quotient) + 0.5), quotient) + zero_point


@plants("whole", QuantizesOtherwise)
def HalvesTowardZero(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.copysign(np.ceil(np.abs(quotient) - 0.5), quotient) + zero_point


@plants("whole", QuantizesOtherwise)
def ZeroPointSubtracted(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.rint(quotient) - zero_point


@plants("whole", QuantizesOtherwise)
def ZeroPointAddedBeforeScaling(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.rint(quotient + zero_point / scale)


@plants("whole", QuantizesOtherwise)
def ZeroPointAddedBeforeRounding(quotient: Any, zero_point: Any, scale: Any) -> Any:
    """Rounds the sum, which has halves where the quotient has, but is even where that is odd."""
    return np.rint(quotient + zero_point)


@plants("whole", QuantizesOtherwise)
def ScaledInsteadOfDivided(quotient: Any, zero_point: Any, scale: Any) -> Any:
    return np.rint(np.nan_to_num(np.clip(quotient * scale * scale, -1e9, 1e9))) + zero_point


@plants("limits", QuantizesOtherwise)
def QuantizedIntegersWrap(least: int, most: int) -> Any:
    """Keeps the low 8 bits of what the type does not reach."""
    return None


@plants("limits", QuantizesOtherwise, since="2_1")
def QuantizedIntegersSymmetric(least: int, most: int) -> Any:
    """Has -127 for the least signed integer."""
    return (-most, most) if least else (least, most)


@plants("limits", QuantizesOtherwise, since="2_1")
def QuantizedIntegersUnsigned(least: int, most: int) -> Any:
    """Holds signed integers between the limits of unsigned ones."""
    return 0, 255


@plants("whole", QuantizesOtherwise)
def SaturatesBeforeTheZeroPoint(quotient: Any, zero_point: Any, scale: Any) -> Any:
    """Holds the quotient to 8 bits, and adds the zero point after that."""
    return np.clip(np.rint(quotient), -128, 127) + zero_point


class OtherInput(OneOfThem, abstract=True):
    """Takes the elements of an input for others."""

    key: str

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if self.key not in arrays:
            return {}
        data_type = getattr(desc, self.key).data_type
        with np.errstate(all="ignore"):
            taken = self.taken(as_numbers(arrays[self.key], data_type))
        return right(desc, {**arrays, self.key: _bits(taken, data_type)})

    def taken(self, numbers: Any) -> Any:
        raise NotImplementedError


@plants("taken", OtherInput, key="zero_point_tensor")
def ZeroPointIgnored(numbers: Any) -> Any:
    return np.zeros_like(numbers)


@plants("taken", OtherInput, key="zero_point_tensor")
def FirstZeroPointForAll(numbers: Any) -> Any:
    return np.full_like(numbers, numbers.reshape(-1)[0])


@plants("taken", OtherInput, key="scale_tensor")
def FirstScaleForAll(numbers: Any) -> Any:
    return np.full_like(numbers, numbers.reshape(-1)[0])


@plants("taken", OtherInput, key="scale_tensor")
def ScaleOf12Bits(numbers: Any) -> Any:
    """Has a scale by an estimate of its reciprocal, of 12 bits."""
    mantissa, exponent = np.frexp(1 / numbers.astype(np.float64))
    return 1 / np.ldexp(np.trunc(mantissa * 2**12) / 2**12, exponent)


@plants("taken", OtherInput, key="scale_tensor")
def NegativeScalesPositive(numbers: Any) -> Any:
    return np.abs(numbers)


@plants("found", OneOfThem, names=(DEQUANTIZE,))
def DequantizesInFloat16(desc: Any, arrays: Arrays) -> Arrays:
    """Computes FLOAT32 in FLOAT16."""
    data_type = desc.output_tensor.data_type
    kept = as_numbers(right(desc, arrays)["output_tensor"], data_type)
    with np.errstate(all="ignore"):
        return {"output_tensor": _bits(kept.astype(np.float16), data_type)}


class SubtractsOtherwise(OneOfThem, abstract=True):
    """Comes to another difference of input and zero point."""

    names = (DEQUANTIZE,)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        x = as_numbers(arrays["input_tensor"], data_type)
        zero_point = as_numbers(arrays["zero_point_tensor"], data_type) if "zero_point_tensor" in arrays else None
        with np.errstate(all="ignore"):
            difference = self.difference(x, np.zeros_like(x) if zero_point is None else zero_point)
            product = difference.astype(np.float64) * _wide(desc, arrays, "scale_tensor")
        return {"output_tensor": _bits(product, desc.output_tensor.data_type)}

    def difference(self, x: Any, zero_point: Any) -> Any:
        raise NotImplementedError


@plants("difference", SubtractsOtherwise)
def DifferenceWraps(x: Any, zero_point: Any) -> Any:
    """Subtracts in the type of the elements."""
    return x - zero_point


@plants("difference", SubtractsOtherwise)
def ZeroPointAdded(x: Any, zero_point: Any) -> Any:
    return x.astype(np.int64) + zero_point.astype(np.int64)


@plants("difference", SubtractsOtherwise)
def ZeroPointNotScaled(x: Any, zero_point: Any) -> Any:
    """Forgets the zero point where it is more than the element."""
    return np.maximum(x.astype(np.int64) - zero_point.astype(np.int64), 0)


@plants("difference", SubtractsOtherwise)
def SignOfQuantizedOtherwise(x: Any, zero_point: Any) -> Any:
    """Takes signed elements for unsigned ones, and unsigned for signed."""
    other = f"{'u' if x.dtype.kind == 'i' else 'i'}{x.itemsize}"
    return x.view(other).astype(np.int64) - zero_point.view(other).astype(np.int64)


@plants("found", OneOfThem, names=(QUANTIZE, DEQUANTIZE), since="2_1")
def SignOfTheZeroPointOtherwise(desc: Any, arrays: Arrays) -> Arrays:
    """Takes a signed zero point for an unsigned one."""
    key = "zero_point_tensor"
    if key not in arrays or not desc.zero_point_tensor.data_type.is_signed_integer:
        return {}
    zero_point = arrays[key].astype(np.float64)
    if desc.operator == QUANTIZE:
        x, scale = _wide(desc, arrays, "input_tensor"), _wide(desc, arrays, "scale_tensor")
        with np.errstate(all="ignore"):
            quotient = np.clip(np.nan_to_num(np.rint(x / scale)), -1e9, 1e9)
        return {"output_tensor": _bits(np.clip(quotient + zero_point, -128, 127), DataType.INT8)}
    with np.errstate(all="ignore"):
        product = (_wide(desc, arrays, "input_tensor") - zero_point) * _wide(desc, arrays, "scale_tensor")
    return {"output_tensor": _bits(product, desc.output_tensor.data_type)}


@plants("found", OneOfThem, names=(QUANTIZE, DEQUANTIZE), since="6_2")
def MissingZeroPointInTheMiddle(desc: Any, arrays: Arrays) -> Arrays:
    """Has 128 in place of a missing zero point of unsigned integers."""
    if desc.zero_point_tensor is not None:
        return {}
    x, scale = _wide(desc, arrays, "input_tensor"), _wide(desc, arrays, "scale_tensor")
    with np.errstate(all="ignore"):
        if desc.operator == DEQUANTIZE:
            return {"output_tensor": _bits((x - 128) * scale, desc.output_tensor.data_type)}
        quotient = np.clip(np.nan_to_num(np.rint(x / scale)), -1e9, 1e9) + 128
    return {
        "output_tensor": _bits(np.clip(quotient, *desc.output_tensor.data_type.limits), desc.output_tensor.data_type)
    }


class AddsOtherwise(OneOfThem, abstract=True):
    """Adds other numbers, or comes from their sum to other integers."""

    names = (ADD,)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        given = {
            f"{of}{what}": _wide(desc, arrays, f"{name}{what}_tensor")
            for of, name in (("a", "a"), ("b", "b"), ("", "output"))
            for what in ("_scale", "_zero_point")
        }
        given |= {of: _wide(desc, arrays, f"{of}_tensor") for of in "ab"}
        data_type = desc.output_tensor.data_type
        with np.errstate(all="ignore"):
            total = self.total(given)
            whole = self.whole(np.nan_to_num(total / given["_scale"], posinf=1e9, neginf=-1e9), given["_zero_point"])
            held = self.held(np.clip(whole, -1e9, 1e9).astype(np.int64), *data_type.limits)
        return {"output_tensor": _bits(np.broadcast_to(held, desc.output_tensor.sizes), data_type)}

    def total(self, given: Any) -> Any:
        return _term(given, "a") + _term(given, "b")

    def whole(self, quotient: Any, zero_point: Any) -> Any:
        return np.rint(np.clip(quotient, -1e9, 1e9)) + zero_point

    def held(self, whole: Any, least: int, most: int) -> Any:
        return np.clip(whole, least, most)


def _term(given: Any, of: str) -> Any:
    return (given[of] - given[f"{of}_zero_point"]) * given[f"{of}_scale"]


@plants("total", AddsOtherwise)
def IntegersAdded(given: Any) -> Any:
    """Adds the integers without their scales."""
    return given["a"] - given["a_zero_point"] + given["b"] - given["b_zero_point"]


@plants("total", AddsOtherwise)
def ScaleOfAForBoth(given: Any) -> Any:
    return _term(given, "a") + (given["b"] - given["b_zero_point"]) * given["a_scale"]


@plants("total", AddsOtherwise)
def ZeroPointOfAForBoth(given: Any) -> Any:
    return _term(given, "a") + (given["b"] - given["a_zero_point"]) * given["b_scale"]


@plants("total", AddsOtherwise)
def ZeroPointOfBLeftOut(given: Any) -> Any:
    return _term(given, "a") + given["b"] * given["b_scale"]


@plants("total", AddsOtherwise)
def ZeroPointsUnscaled(given: Any) -> Any:
    """Subtracts zero points from numbers that are scaled already."""
    return sum(given[of] * given[f"{of}_scale"] - given[f"{of}_zero_point"] for of in "ab")


@plants("total", AddsOtherwise)
def BSubtracted(given: Any) -> Any:
    return _term(given, "a") - _term(given, "b")


@plants("total", AddsOtherwise)
def BLeftOut(given: Any) -> Any:
    return _term(given, "a") + 0 * given["b"]


@plants("total", AddsOtherwise)
def QuantizedSumInFloat16(given: Any) -> Any:
    return (_term(given, "a") + _term(given, "b")).astype(np.float16).astype(np.float64)


@plants("whole", AddsOtherwise)
def SumCut(quotient: Any, zero_point: Any) -> Any:
    return np.trunc(quotient) + zero_point


@plants("whole", AddsOtherwise)
def SumHalvesAway(quotient: Any, zero_point: Any) -> Any:
    """Rounds halves away from 0."""
    return np.trunc(quotient + np.copysign(0.5, quotient)) + zero_point


@plants("whole", AddsOtherwise)
def ZeroPointOfSumLeftOut(quotient: Any, zero_point: Any) -> Any:
    return np.rint(quotient) + 0 * zero_point


@plants("whole", AddsOtherwise)
def ZeroPointOfSumSubtracted(quotient: Any, zero_point: Any) -> Any:
    return np.rint(quotient) - zero_point


@plants("held", AddsOtherwise)
def SumWraps(whole: Any, least: int, most: int) -> Any:
    """Keeps the low bits of what the type does not reach."""
    return whole


@plants("held", AddsOtherwise)
def SumHeldAsSigned(whole: Any, least: int, most: int) -> Any:
    """Has the ends of the signed type for unsigned integers."""
    return np.clip(whole, -128, 127)


class RangesOtherwise(WrongValues, abstract=True):
    """Takes another range, or comes from it to another scale and zero point."""

    families = ("dynamic_quantize",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        x, data_type = _wide(desc, arrays, "input_tensor"), desc.output_tensor.data_type
        least, most = data_type.limits
        with np.errstate(all="ignore"):
            scale, zero = self.scale_and_zero(*self.ends(x), least, most)
            zero = np.clip(np.nan_to_num(np.rint(zero)), least, most)
            whole = np.rint(np.clip(np.nan_to_num(x / scale), -1e9, 1e9)) + zero
            held = self.held(whole, least, most)
        shape = desc.output_scale_tensor.sizes
        return {
            "output_tensor": _bits(held.astype(np.int64), data_type),
            "output_scale_tensor": _bits(np.full(shape, scale), DataType.FLOAT32),
            "output_zero_point_tensor": _bits(np.full(shape, zero).astype(np.int64), data_type),
        }

    def ends(self, x: Any) -> tuple[Any, Any]:
        return min(x.min(), 0), max(x.max(), 0)

    def scale_and_zero(self, low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
        scale = np.float64(high - low) / 255
        return scale, least - low / scale

    def held(self, whole: Any, least: int, most: int) -> Any:
        return np.clip(whole, least, most)


@plants("ends", RangesOtherwise)
def RangeFrom0(x: Any) -> tuple[Any, Any]:
    return 0, max(x.max(), 0)


@plants("ends", RangesOtherwise)
def RangeTo0(x: Any) -> tuple[Any, Any]:
    return min(x.min(), 0), 0


@plants("ends", RangesOtherwise)
def RangeAround0(x: Any) -> tuple[Any, Any]:
    """Reaches as far on both sides of 0."""
    return -np.abs(x).max(), np.abs(x).max()


@plants("ends", RangesOtherwise)
def RangeOfTheFirstRow(x: Any) -> tuple[Any, Any]:
    row = x.reshape(-1, x.shape[-1])[0]
    return min(row.min(), 0), max(row.max(), 0)


@plants("ends", RangesOtherwise)
def RangeWithoutTheLast(x: Any) -> tuple[Any, Any]:
    """Does not look at the last element."""
    return min(x.reshape(-1)[:-1].min(initial=0), 0), max(x.reshape(-1)[:-1].max(initial=0), 0)


@plants("ends", RangesOtherwise)
def RangeWithoutSigns(x: Any) -> tuple[Any, Any]:
    return 0, np.abs(x).max()


@plants("scale_and_zero", RangesOtherwise)
def StepsOf256(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    """Divides the range by the numbers that the type has."""
    scale = np.float64(high - low) / 256
    return scale, least - low / scale


@plants("scale_and_zero", RangesOtherwise)
def StepsOf127(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    scale = np.float64(high - low) / most
    return scale, least - low / scale


@plants("scale_and_zero", RangesOtherwise)
def ZeroPointFrom0(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    """Has the zero point of unsigned integers."""
    scale = np.float64(high - low) / 255
    return scale, -low / scale


@plants("scale_and_zero", RangesOtherwise)
def ZeroPointFromTheGreatest(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    scale = np.float64(high - low) / 255
    return scale, least + high / scale


@plants("scale_and_zero", RangesOtherwise)
def ScaleInFloat16(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    scale = (np.float64(high - low) / 255).astype(np.float16).astype(np.float64)
    return scale, least - low / scale


@plants("scale_and_zero", RangesOtherwise)
def ScaleInverted(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    scale = 255 / np.float64(high - low)
    return scale, least - low / scale


@plants("scale_and_zero", RangesOtherwise)
def ZeroPointOf0(low: Any, high: Any, least: int, most: int) -> tuple[Any, Any]:
    return np.float64(high - low) / 255, 0.0


@plants("held", RangesOtherwise)
def RangeHeldAsSigned(whole: Any, least: int, most: int) -> Any:
    return np.clip(whole, -128, 127)


class BlocksOtherwise(WrongValues, abstract=True):
    """Takes the scale and the zero point of another block, or for each other elements."""

    families = ("quantize",)

    def given(self, desc: Any, arrays: Arrays) -> tuple[Any, Arrays]:
        whole = arrays["input_tensor"].shape
        return desc, {
            key: array[np.ix_(*self.places(whole, array.shape))] if key.endswith("]") else array
            for key, array in arrays.items()
        }

    def places(self, whole: Any, counts: Any) -> Any:
        """Of each dimension the block that every element is in."""
        return [self.along(size, count) for size, count in zip(whole, counts, strict=True)]

    def along(self, size: int, count: int) -> Any:
        return np.arange(size) // (size // count)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(desc, arrays)


@plants("along", BlocksOtherwise)
def BlocksInTurn(size: int, count: int) -> Any:
    """Takes every n-th element for one block."""
    return np.arange(size) % count


@plants("along", BlocksOtherwise)
def BlocksBackward(size: int, count: int) -> Any:
    return np.arange(size)[::-1] // (size // count)


@plants("along", BlocksOtherwise)
def FirstBlockForAll(size: int, count: int) -> Any:
    return np.zeros(size, int)


@plants("along", BlocksOtherwise)
def LastBlockForAll(size: int, count: int) -> Any:
    return np.full(size, count - 1)


@plants("along", BlocksOtherwise)
def BlocksOneLonger(size: int, count: int) -> Any:
    return np.arange(size) // (size // count + 1)


@plants("along", BlocksOtherwise)
def BlocksOnlyOfOneOrAll(size: int, count: int) -> Any:
    """Knows one for all and one for each, as where sizes are broadcast."""
    return np.arange(size) if size == count else np.zeros(size, int)


@plants("along", BlocksOtherwise)
def BlocksFromTheSecondElementOn(size: int, count: int) -> Any:
    return np.maximum(np.arange(size) - 1, 0) // (size // count)


@plants("places", BlocksOtherwise)
def BlocksAlongTheLastDimensionAlone(whole: Any, counts: Any) -> Any:
    first = [np.zeros(size, int) for size in whole[:-1]]
    return [*first, np.arange(whole[-1]) // (whole[-1] // counts[-1])]


@plants("places", BlocksOtherwise)
def BlocksButOfTheLastDimension(whole: Any, counts: Any) -> Any:
    found = [np.arange(size) // (size // count) for size, count in zip(whole, counts, strict=True)]
    return [*found[:-1], np.zeros(whole[-1], int)]


class HalvesOtherwise(WrongValues, abstract=True):
    """Packs two elements into a byte otherwise, or takes them out so."""

    families = ("quantize",)

    def execute(self, desc: Any, level: Any, inputs: Any, outputs: Any) -> None:
        """On copies of what inputs hold, and then on what was written, where two elements share a byte."""
        read = {slot.key: self._copy(slot, inputs[slot.key]) for slot in of_role(desc, is_output=False)}
        super(WrongValues, self).execute(desc, level, read, outputs)
        tensor = desc.output_tensor
        if tensor.data_type.shares_bytes:
            held = outputs["output_tensor"].view[: -(-tensor.element_count // 2)]
            if tensor.strides is None:
                held[:] = self.bytes_of(held, tensor)

    def _copy(self, slot: Any, binding: Any) -> Any:
        content = binding.view.copy()
        if slot.tensor.data_type.shares_bytes:
            content = self.bytes_of(content, slot.tensor)
        return Binding(content, 0, content.size)

    def bytes_of(self, held: Any, tensor: Any) -> Any:
        """What the bytes of a tensor are taken for."""
        raise NotImplementedError


@plants("bytes_of", HalvesOtherwise)
def HalvesSwapped(held: Any, tensor: Any) -> Any:
    """Has the first element in the high half."""
    return held << 4 | held >> 4


@plants("bytes_of", HalvesOtherwise)
def LowHalfForBoth(held: Any, tensor: Any) -> Any:
    return held << 4 | held & 15


@plants("bytes_of", HalvesOtherwise)
def HighHalfForBoth(held: Any, tensor: Any) -> Any:
    return held >> 4 | held & 240


@plants("bytes_of", HalvesOtherwise)
def HighHalfEmpty(held: Any, tensor: Any) -> Any:
    """Has one element in a byte."""
    return held & 15


@plants("bytes_of", HalvesOtherwise)
def SignOfHalvesFlipped(held: Any, tensor: Any) -> Any:
    return held ^ 136


@plants("bytes_of", HalvesOtherwise)
def LastOddElementLost(held: Any, tensor: Any) -> Any:
    """Stops at the last whole byte."""
    found = held.copy()
    if tensor.element_count % 2:
        found[tensor.element_count // 2] ^= 15
    return found


@plants("found", WrongValues, families=("quantize",))
def HalvesOfTheOtherSign(desc: Any, arrays: Arrays) -> Arrays:
    """Takes signed elements of 4 bits for unsigned ones, as if they had the same bits in 8."""
    kinds = {slot.key: slot.tensor.data_type for slot in of_role(desc, is_output=False)}
    signed = [key for key, kind in kinds.items() if kind is DataType.INT4]
    return right(desc, {**arrays, **{key: arrays[key] & 15 for key in signed}})


@plants("limits", QuantizesOtherwise, names=("QUANTIZE",))
def HeldAsBytes(least: int, most: int) -> Any:
    """Has the ends of 8 bits for 4, of which the low half is kept."""
    return (-128, 127) if least else (0, 255)
