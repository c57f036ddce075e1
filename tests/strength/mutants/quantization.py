"""Quantization that scales, rounds or shifts wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.spec.datatypes import DataType
from strength.mutants.base import Arrays, WrongValues, plants, right

FAMILY = ("element_wise_quantize",)
QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"


class OneOfThem(WrongValues, abstract=True):
    """A bug of one of the two operators, or of both."""

    families, names = FAMILY, (QUANTIZE, DEQUANTIZE)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name in cls.names)


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
