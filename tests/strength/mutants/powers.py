"""Powers that are computed wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from strength.mutants.base import Arrays, WrongValues, plants, right


class OtherPower(WrongValues, abstract=True):
    """Comes to another power of a floating-point base, where it is not one of an integer."""

    families = ("element_wise_power",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        if not data_type.is_float:
            return {}
        base = _scaled(desc, as_numbers(arrays["input_tensor"], data_type).astype(np.float64))
        kept = as_numbers(right(desc, arrays)["output_tensor"], data_type)
        with np.errstate(all="ignore"):
            return {"output_tensor": _bits(self.power(base, _exponents(desc, arrays), kept), data_type)}

    def power(self, base: Any, exponent: Any, kept: Any) -> Any:
        """From the right power another one."""
        raise NotImplementedError


class OtherExponent(WrongValues, abstract=True):
    """Takes an exponent for another one."""

    families = ("element_wise_power",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if not hasattr(desc, "exponent_tensor"):
            return right(replace(desc, exponent=float(self.taken(np.array(desc.exponent)))), arrays)
        data_type = desc.exponent_tensor.data_type
        with np.errstate(all="ignore"):
            taken = self.taken(as_numbers(arrays["exponent_tensor"], data_type))
        return right(desc, {**arrays, "exponent_tensor": _bits(taken, data_type)})

    def taken(self, exponents: Any) -> Any:
        raise NotImplementedError


def _scaled(desc: Any, numbers: Any) -> Any:
    if desc.scale_bias is None:
        return numbers
    with np.errstate(all="ignore"):
        return numbers * desc.scale_bias.scale + desc.scale_bias.bias


def _exponents(desc: Any, arrays: Arrays) -> Any:
    if not hasattr(desc, "exponent_tensor"):
        return np.float64(desc.exponent)
    with np.errstate(invalid="ignore"):
        return as_numbers(arrays["exponent_tensor"], desc.exponent_tensor.data_type).astype(np.float64)


def _bits(numbers: Any, data_type: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(numbers.astype(NUMBERS[data_type])).view(UNSIGNED[data_type.size])


@plants("power", OtherPower)
def MultipliesInFloat16(base: Any, exponent: Any, kept: Any) -> Any:
    """Multiplies as often as a small whole exponent says, and rounds each product to FLOAT16."""
    found = factor = base.astype(np.float16)
    count = np.broadcast_to(np.where(np.abs(exponent) <= 40, exponent, 0), base.shape)
    for times in range(2, 41):
        found = np.where(count >= times, found * factor, found)
    return np.where((count >= 2) & (count == np.rint(count)), found, kept)


@plants("power", OtherPower)
def PowersOfNegativeBasesNan(base: Any, exponent: Any, kept: Any) -> Any:
    """Takes the logarithm of the base, and finds none of a negative one."""
    return np.where(base < 0, np.nan, kept)


@plants("power", OtherPower)
def SignOfTheBaseLost(base: Any, exponent: Any, kept: Any) -> Any:
    return np.where(np.isnan(kept), kept, np.abs(kept))


@plants("power", OtherPower)
def SignOfTheBaseKept(base: Any, exponent: Any, kept: Any) -> Any:
    """Gives every power the sign of its base."""
    return np.where(np.isnan(kept), kept, np.copysign(kept, base))


@plants("power", OtherPower)
def FractionalPowersOfNegativeBases(base: Any, exponent: Any, kept: Any) -> Any:
    """Ignores the sign of a base that has no such power."""
    return np.where(np.isnan(kept), np.power(np.abs(base), exponent), kept)


@plants("power", OtherPower)
def PowerOfZeroIsZero(base: Any, exponent: Any, kept: Any) -> Any:
    """Has all powers of 0 be 0, the negative ones too."""
    return np.where(base == 0, 0, kept)


@plants("power", OtherPower)
def NegativePowersAsPositive(base: Any, exponent: Any, kept: Any) -> Any:
    return np.where(exponent < 0, 1 / kept, kept)


@plants("taken", OtherExponent)
def ExponentCut(exponents: Any) -> Any:
    """Cuts the fraction off an exponent."""
    return np.trunc(exponents) if exponents.dtype.kind == "f" else exponents


@plants("taken", OtherExponent)
def ExponentOfAtMost8(exponents: Any) -> Any:
    """Multiplies up to 8 times."""
    return np.minimum(exponents, 8)


@plants("taken", OtherExponent, has=("exponent_tensor",))
def FirstExponentForAll(exponents: Any) -> Any:
    return np.full_like(exponents, exponents.reshape(-1)[0])


@plants("found", WrongValues, families=("element_wise_power",), has=("exponent_tensor",))
def BaseAndExponentSwapped(desc: Any, arrays: Arrays) -> Arrays:
    if desc.input_tensor.data_type is not desc.exponent_tensor.data_type:
        return {}
    return right(desc, {"input_tensor": arrays["exponent_tensor"], "exponent_tensor": arrays["input_tensor"]})


@plants("found", WrongValues, families=("element_wise_power",))
def ScalesThePower(desc: Any, arrays: Arrays) -> Arrays:
    """Applies ScaleBias to the power."""
    data_type = desc.input_tensor.data_type
    if not data_type.is_float:
        return {}
    powers = as_numbers(right(replace(desc, scale_bias=None), arrays)["output_tensor"], data_type)
    return {"output_tensor": _bits(_scaled(desc, powers.astype(np.float64)), data_type)}


class OtherPowerOfIntegers(WrongValues, abstract=True):
    """Comes to another power of integers."""

    families, has, since = ("element_wise_power",), ("exponent_tensor",), "3_0"

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type, other = desc.input_tensor.data_type, desc.exponent_tensor.data_type
        if data_type.is_float or other.is_float:
            return {}
        base, exponent = as_numbers(arrays["input_tensor"], data_type), as_numbers(arrays["exponent_tensor"], other)
        kept = as_numbers(right(desc, arrays)["output_tensor"], data_type)
        return {"output_tensor": _bits(self.power(base, exponent, kept), data_type)}

    def power(self, base: Any, exponent: Any, kept: Any) -> Any:
        raise NotImplementedError


@plants("power", OtherPowerOfIntegers)
def IntegerPowersInFloat32(base: Any, exponent: Any, kept: Any) -> Any:
    """Rounds the power to FLOAT32."""
    return kept.astype(np.float32).astype(np.int64)


@plants("power", OtherPowerOfIntegers)
def IntegerPowersByLogarithm(base: Any, exponent: Any, kept: Any) -> Any:
    """Cuts a power that is a little too small to the integer below."""
    with np.errstate(all="ignore"):
        found = np.power(base.astype(np.float64), exponent) * (1 - 2.0**-22)
    return np.where((np.abs(found) < 2.0**31) & (exponent > 1), np.trunc(found), kept)


@plants("power", OtherPowerOfIntegers)
def NegativePowersOfIntegersZero(base: Any, exponent: Any, kept: Any) -> Any:
    """Finds 0 for 1 to a negative power too."""
    return np.where(exponent < 0, 0, kept)


@plants("power", OtherPowerOfIntegers)
def UnsignedExponentsTakenForSigned(base: Any, exponent: Any, kept: Any) -> Any:
    """Takes an exponent with the top bit for a negative one, whose powers are 0."""
    return np.where(exponent.view(f"i{exponent.itemsize}") < 0, 0, kept)
