"""Powers that are computed wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from strength.mutants.base import Arrays, WrongValues, computes, fault, numbers, plants, right, wide

FAMILY = ("element_wise_power",)


def other_power(power: Any, desc: Any, arrays: Arrays) -> Any:
    """Comes to another power of a floating-point base, where it is not one of an integer."""
    given = wide(desc, arrays)
    exponent = given.get("exponent_tensor", np.float64(getattr(desc, "exponent", 0.0)))
    kept = right(desc, arrays)["output_tensor"].view(numbers(desc, arrays)["input_tensor"].dtype)
    return power(base=_scaled(desc, given["input_tensor"]), exponent=exponent, kept=kept)


def _scaled(desc: Any, x: Any) -> Any:
    return x if desc.scale_bias is None else x * desc.scale_bias.scale + desc.scale_bias.bias


@computes(other_power, families=FAMILY, kinds="f")
def MultipliesInFloat16(base: Any, exponent: Any, kept: Any) -> Any:
    """Multiplies as often as a small whole exponent says, and rounds each product to FLOAT16."""
    found = factor = base.astype(np.float16)
    count = np.broadcast_to(np.where(np.abs(exponent) <= 40, exponent, 0), base.shape)
    for times in range(2, 41):
        found = np.where(count >= times, found * factor, found)
    return np.where((count >= 2) & (count == np.rint(count)), found, kept)


computes(other_power, families=FAMILY, kinds="f").each(
    PowersOfNegativeBasesNan=fault(
        lambda base, kept: np.where(base < 0, np.nan, kept),
        "Takes the logarithm of the base, and finds none of a negative one.",
    ),
    SignOfTheBaseLost=lambda kept: np.where(np.isnan(kept), kept, np.abs(kept)),
    SignOfTheBaseKept=fault(
        lambda base, kept: np.where(np.isnan(kept), kept, np.copysign(kept, base)),
        "Gives every power the sign of its base.",
    ),
    FractionalPowersOfNegativeBases=fault(
        lambda base, exponent, kept: np.where(np.isnan(kept), np.power(np.abs(base), exponent), kept),
        "Ignores the sign of a base that has no such power.",
    ),
    PowerOfZeroIsZero=fault(
        lambda base, kept: np.where(base == 0, 0, kept), "Has all powers of 0 be 0, the negative ones too."
    ),
    NegativePowersAsPositive=lambda exponent, kept: np.where(exponent < 0, 1 / kept, kept),
)


# --- exponents --------------------------------------------------------------------------------------------------------


class OtherExponent(WrongValues, abstract=True):
    """Takes an exponent for another one."""

    families = FAMILY

    def descriptor(self, desc: Any) -> Any:
        if not hasattr(desc, "exponent"):
            return desc
        return replace(desc, exponent=float(self.taken(np.array(desc.exponent))))

    def inputs(self, desc: Any, arrays: Arrays) -> Arrays:
        if "exponent_tensor" not in arrays:
            return {}
        return {"exponent_tensor": self.taken(numbers(desc, arrays)["exponent_tensor"])}

    def taken(self, exponents: Any) -> Any:
        raise NotImplementedError


plants("taken", OtherExponent).each(
    ExponentCut=fault(
        lambda exponents: np.trunc(exponents) if exponents.dtype.kind == "f" else exponents,
        "Cuts the fraction off an exponent.",
    ),
    ExponentOfAtMost8=fault(lambda exponents: np.minimum(exponents, 8), "Multiplies up to 8 times."),
    FirstExponentForAll=fault(
        lambda exponents: np.full_like(exponents, exponents.reshape(-1)[0]), has=("exponent_tensor",)
    ),
)


@computes(families=FAMILY, has=("exponent_tensor",))
def BaseAndExponentSwapped(desc: Any, arrays: Arrays) -> Any:
    if desc.input_tensor.data_type is not desc.exponent_tensor.data_type:
        return {}
    return right(desc, {"input_tensor": arrays["exponent_tensor"], "exponent_tensor": arrays["input_tensor"]})


@computes(families=FAMILY, kinds="f")
def ScalesThePower(desc: Any, arrays: Arrays) -> Any:
    """Applies ScaleBias to the power."""
    powers = right(replace(desc, scale_bias=None), arrays)["output_tensor"]
    return _scaled(desc, powers.view(f"f{powers.itemsize}").astype(np.float64))


# --- integers ---------------------------------------------------------------------------------------------------------


def of_integers(power: Any, desc: Any, arrays: Arrays) -> Any:
    """Comes to another power of integers."""
    if desc.exponent_tensor.data_type.is_float:
        return {}
    given = numbers(desc, arrays)
    base, exponent = given["input_tensor"], given["exponent_tensor"]
    return power(base=base, exponent=exponent, kept=right(desc, arrays)["output_tensor"].view(base.dtype))


def _by_logarithm(base: Any, exponent: Any, kept: Any) -> Any:
    found = np.power(base.astype(np.float64), exponent) * (1 - 2.0**-22)
    return np.where((np.abs(found) < 2.0**31) & (exponent > 1), np.trunc(found), kept)


computes(of_integers, families=FAMILY, has=("exponent_tensor",), kinds=("i", "u"), since="3_0").each(
    IntegerPowersInFloat32=fault(lambda kept: kept.astype(np.float32).astype(np.int64), "Rounds the power to FLOAT32."),
    IntegerPowersByLogarithm=fault(_by_logarithm, "Cuts a power that is a little too small to the integer below."),
    NegativePowersOfIntegersZero=fault(
        lambda exponent, kept: np.where(exponent < 0, 0, kept), "Finds 0 for 1 to a negative power too."
    ),
    UnsignedExponentsTakenForSigned=fault(
        lambda exponent, kept: np.where(exponent.view(f"i{exponent.itemsize}") < 0, 0, kept),
        "Takes an exponent with the top bit for a negative one, whose powers are 0.",
    ),
)
