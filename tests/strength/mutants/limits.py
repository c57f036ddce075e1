"""Limits that elements are held to wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import UNSIGNED, as_numbers
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import SCALAR
from strength.mutants.base import Arrays, WrongValues, plants, right

FAMILY = ("element_wise_clip",)


class OtherLimits(WrongValues, abstract=True):
    """Has other limits than those that it is given."""

    families = FAMILY

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        low, high = desc.min, getattr(desc, "max", None)
        names = ("min", "max")[: 1 if high is None else 2]
        return right(replace(desc, **dict(zip(names, self.limits(desc, low, high), strict=False))), arrays)

    def limits(self, desc: Any, low: float, high: float) -> tuple[float, float]:
        raise NotImplementedError


def ends(desc: Any) -> tuple[float, float]:
    """The least and the greatest limit there is."""
    kinds = {field.name: field.kind for field in desc.fields}
    least, most = desc.input_tensor.data_type.limits or (-np.inf, np.inf)
    if kinds["Min"] is SCALAR or np.isinf(least):
        return least, most
    return float(np.float32(least)), float(np.nextafter(np.float32(most), np.float32(0)))


@plants("limits", OtherLimits)
def NoMin(desc: Any, low: float, high: float) -> tuple[float, float]:
    return ends(desc)[0], high


@plants("limits", OtherLimits, has=("max",))
def NoMax(desc: Any, low: float, high: float) -> tuple[float, float]:
    return low, ends(desc)[1]


@plants("limits", OtherLimits, has=("max",))
def MinForBoth(desc: Any, low: float, high: float) -> tuple[float, float]:
    return low, low


@plants("limits", OtherLimits, has=("max",))
def LimitsSwapped(desc: Any, low: float, high: float) -> tuple[float, float]:
    return high, low


@plants("limits", OtherLimits)
def NegativeLimitsPositive(desc: Any, low: float, high: float) -> tuple[float, float]:
    """Has 0 in place of a negative limit."""
    return max(0, low), high


@plants(
    "found",
    WrongValues,
    families=FAMILY,
    has=("max", "input_tensor", "output_tensor"),
    lacks=("min_max_data_type",),
    since="2_1",
)
def LimitsRoundedToNearest(desc: Any, arrays: Arrays) -> Arrays:
    """Rounds the limits of integers to the nearest ones."""
    if desc.input_tensor.data_type.is_float or not np.isfinite([desc.min, desc.max]).all():
        return {}
    return right(replace(desc, min=float(np.rint(desc.min)), max=float(np.rint(desc.max))), arrays)


class HoldsOtherwise(WrongValues, abstract=True):
    """Compares elements with their limits otherwise."""

    families = FAMILY
    lacks = ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        numbers = as_numbers(arrays["input_tensor"], data_type)
        with np.errstate(all="ignore"):
            altered = self.altered_numbers(numbers, right(desc, arrays)["output_tensor"].view(numbers.dtype), desc)
        if altered is None:
            return {}
        return {"output_tensor": np.ascontiguousarray(altered.astype(numbers.dtype)).view(UNSIGNED[data_type.size])}

    def altered_numbers(self, numbers: Any, kept: Any, desc: Any) -> Any:
        """The results from the elements and the right results; None where they are right."""
        raise NotImplementedError


def _limits_as(desc: Any, dtype: Any) -> tuple[Any, Any]:
    """The limits as numbers of this type, low bits of integers."""
    limits = [desc.min, getattr(desc, "max", desc.min)]
    if np.dtype(dtype).kind == "f":
        return tuple(np.array(limits).astype(dtype))
    whole = [int(limit) if np.isfinite(limit) else 0 for limit in limits]
    return tuple(np.array([n % 2**64 for n in whole], np.uint64).astype(f"u{np.dtype(dtype).itemsize}").view(dtype))


def _held(numbers: Any, desc: Any) -> Any:
    low, high = _limits_as(desc, numbers.dtype)
    found = np.maximum(numbers, low)
    return np.minimum(found, high) if hasattr(desc, "max") else found


@plants("altered_numbers", HoldsOtherwise, since="2_1")
def LimitsUnsignedAsSigned(numbers: Any, kept: Any, desc: Any) -> Any:
    """Compares unsigned integers as signed ones."""
    if numbers.dtype.kind != "u":
        return None
    return _held(numbers.view(f"i{numbers.itemsize}"), desc).view(numbers.dtype)


@plants("altered_numbers", HoldsOtherwise, since="2_1")
def LimitsSignedAsUnsigned(numbers: Any, kept: Any, desc: Any) -> Any:
    """Compares signed integers as unsigned ones."""
    if numbers.dtype.kind != "i":
        return None
    return _held(numbers.view(f"u{numbers.itemsize}"), desc).view(numbers.dtype)


@plants("altered_numbers", HoldsOtherwise)
def LimitsBeforeScaleBias(numbers: Any, kept: Any, desc: Any) -> Any:
    """Applies ScaleBias to what is held between the limits already."""
    if desc.scale_bias is None or numbers.dtype.kind != "f":
        return None
    return _held(numbers, desc).astype(np.float64) * desc.scale_bias.scale + desc.scale_bias.bias


@plants("altered_numbers", HoldsOtherwise)
def ZeroBelowMin(numbers: Any, kept: Any, desc: Any) -> Any:
    """Replaces what is below Min by 0."""
    if desc.scale_bias is not None:
        return None
    return np.where(numbers < _limits_as(desc, numbers.dtype)[0], numbers.dtype.type(0), kept)


@plants("altered_numbers", HoldsOtherwise)
def LimitsInFloat16(numbers: Any, kept: Any, desc: Any) -> Any:
    """Computes FLOAT32 in FLOAT16."""
    return kept.astype(np.float16) if desc.input_tensor.data_type is DataType.FLOAT32 else None


@plants("altered_numbers", HoldsOtherwise, since="2_1")
def IntegersHeldInFloat32(numbers: Any, kept: Any, desc: Any) -> Any:
    """Computes integers in FLOAT32."""
    if numbers.dtype.kind == "f":
        return None
    info = np.iinfo(numbers.dtype)
    return np.clip(kept.astype(np.float32).astype(np.float64), float(info.min), float(info.max) * (1 - 2.0**-40))


@plants("altered_numbers", HoldsOtherwise, since="5_0", has=("max",))
def LowHalvesHeld(numbers: Any, kept: Any, desc: Any) -> Any:
    """Holds the low 32 bits of 64 between the limits."""
    if numbers.itemsize != 8:
        return None
    return _held(numbers.astype(f"{numbers.dtype.kind}4"), desc)


class PassesOtherwise(WrongValues, abstract=True):
    """Passes on other gradients."""

    families = FAMILY
    has = ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        numbers, gradient = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "input_gradient_tensor"))
        with np.errstate(all="ignore"):
            passed = self.passed(numbers, gradient, *_limits_as(desc, numbers.dtype))
        bits = np.ascontiguousarray(passed.astype(numbers.dtype)).view(UNSIGNED[data_type.size])
        return {"output_gradient_tensor": bits}

    def passed(self, numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
        raise NotImplementedError


def _between(numbers: Any, low: Any, high: Any) -> Any:
    return ~((numbers <= low) | (numbers >= high))


@plants("passed", PassesOtherwise)
def GradientAtTheLimits(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Passes on the gradient of elements that are at a limit."""
    return np.where((numbers < low) | (numbers > high), 0, gradient)


@plants("passed", PassesOtherwise)
def GradientAtMin(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Passes on the gradient of elements that are at Min."""
    return np.where((numbers < low) | (numbers >= high), 0, gradient)


@plants("passed", PassesOtherwise)
def GradientBeyondTheLimits(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Passes on the gradient of the elements that are held."""
    return np.where(_between(numbers, low, high), 0, gradient)


@plants("passed", PassesOtherwise)
def GradientBetweenTheLimits(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Compares the gradient with the limits."""
    return np.where(_between(gradient, low, high), gradient, 0)


@plants("passed", PassesOtherwise)
def ElementPassedOn(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Passes on the element."""
    return np.where(_between(numbers, low, high), numbers, 0)


@plants("passed", PassesOtherwise)
def SlopeAlone(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Has 1 in place of the gradient."""
    return _between(numbers, low, high)


@plants("passed", PassesOtherwise)
def LimitBeyondTheLimits(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Has the limit in place of 0."""
    return np.where(_between(numbers, low, high), gradient, np.where(numbers <= low, low, high))


@plants("passed", PassesOtherwise)
def GradientHeld(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Holds the gradient between the limits besides."""
    return np.where(_between(numbers, low, high), np.clip(gradient, low, high), 0)


@plants("passed", PassesOtherwise)
def GradientInFloat16(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Has the gradient in FLOAT16."""
    short = gradient.astype(np.float16) if numbers.dtype == np.float32 else gradient
    return np.where(_between(numbers, low, high), short, 0)


@plants("passed", PassesOtherwise)
def GradientOfUnsignedAsSigned(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Compares unsigned integers as signed ones."""
    kind = f"i{numbers.itemsize}" if numbers.dtype.kind == "u" else numbers.dtype
    return np.where(_between(*(each.view(kind) for each in (numbers, low, high))), gradient, 0)


@plants("passed", PassesOtherwise, since="5_0")
def GradientOfLowHalves(numbers: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Compares the low 32 bits of 64."""
    kind = f"{numbers.dtype.kind}4" if numbers.itemsize == 8 else numbers.dtype
    return np.where(_between(*(each.astype(kind) for each in (numbers, low, high))), gradient, 0)
