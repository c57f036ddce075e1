"""Limits that elements are held to wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.field_kinds import SCALAR
from strength.mutants.base import Arrays, WrongValues, computes, fault, numbers, plants, right

FAMILY = ("element_wise_clip",)


def other_limits(limits: Any, desc: Any) -> Any:
    """Has other limits than those that it is given."""
    low, high = limits(desc=desc, low=desc.min, high=getattr(desc, "max", None))
    return replace(desc, min=low, max=high) if hasattr(desc, "max") else replace(desc, min=low)


def ends(desc: Any) -> tuple[float, float]:
    """The least and the greatest limit there is."""
    kinds = {field.name: field.kind for field in desc.fields}
    least, most = desc.input_tensor.data_type.limits or (-np.inf, np.inf)
    if kinds["Min"] is SCALAR or np.isinf(least):
        return least, most
    return float(np.float32(least)), float(np.nextafter(np.float32(most), np.float32(0)))


plants("descriptor", WrongValues, other_limits, families=FAMILY).each(
    NoMin=lambda desc, high: (ends(desc)[0], high),
    NoMax=fault(lambda desc, low: (low, ends(desc)[1]), has=("max",)),
    MinForBoth=fault(lambda low: (low, low), has=("max",)),
    LimitsSwapped=fault(lambda low, high: (high, low), has=("max",)),
    NegativeLimitsPositive=fault(lambda low, high: (max(0, low), high), "Has 0 in place of a negative limit."),
    LimitsRoundedToNearest=fault(
        lambda low, high: (
            (float(np.rint(low)), float(np.rint(high))) if np.isfinite([low, high]).all() else (low, high)
        ),
        "Rounds the limits of integers to the nearest ones.",
        has=("max", "input_tensor", "output_tensor"),
        lacks=("min_max_data_type",),
        kinds=("i", "u"),
        since="2_1",
    ),
)


def held_otherwise(found: Any, desc: Any, arrays: Arrays) -> Any:
    """Compares elements with their limits otherwise; None stands for the right results."""
    x = numbers(desc, arrays)["input_tensor"]
    other = found(x=x, kept=right(desc, arrays)["output_tensor"].view(x.dtype), desc=desc)
    return {} if other is None else other


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


def _scaled(x: Any, desc: Any) -> Any:
    if desc.scale_bias is None:
        return None
    return _held(x, desc).astype(np.float64) * desc.scale_bias.scale + desc.scale_bias.bias


def _zero_below_min(x: Any, kept: Any, desc: Any) -> Any:
    if desc.scale_bias is not None:
        return None
    return np.where(x < _limits_as(desc, x.dtype)[0], x.dtype.type(0), kept)


def _in_float32(kept: Any) -> Any:
    info = np.iinfo(kept.dtype)
    return np.clip(kept.astype(np.float32).astype(np.float64), float(info.min), float(info.max) * (1 - 2.0**-40))


computes(held_otherwise, families=FAMILY, lacks=("input_gradient_tensor",)).each(
    LimitsUnsignedAsSigned=fault(
        lambda x, desc: _held(x.view(f"i{x.itemsize}"), desc),
        "Compares unsigned integers as signed ones.",
        kinds="u",
        since="2_1",
    ),
    LimitsSignedAsUnsigned=fault(
        lambda x, desc: _held(x.view(f"u{x.itemsize}"), desc),
        "Compares signed integers as unsigned ones.",
        kinds="i",
        since="2_1",
    ),
    LimitsBeforeScaleBias=fault(_scaled, "Applies ScaleBias to what is held between the limits already.", kinds="f"),
    ZeroBelowMin=fault(_zero_below_min, "Replaces what is below Min by 0."),
    LimitsInFloat16=fault(lambda kept: kept.astype(np.float16), "Computes FLOAT32 in FLOAT16.", kinds="f4"),
    IntegersHeldInFloat32=fault(_in_float32, "Computes integers in FLOAT32.", kinds=("i", "u"), since="2_1"),
    LowHalvesHeld=fault(
        lambda x, desc: _held(x.astype(f"{x.dtype.kind}4"), desc),
        "Holds the low 32 bits of 64 between the limits.",
        kinds=("f8", "i8", "u8"),
        since="5_0",
        has=("max",),
    ),
)


def passed_on(passed: Any, desc: Any, arrays: Arrays) -> Any:
    """Passes on other gradients."""
    given = numbers(desc, arrays)
    x, gradient = given["input_tensor"], given["input_gradient_tensor"]
    low, high = _limits_as(desc, x.dtype)
    return passed(x=x, gradient=gradient, low=low, high=high, is_between=_between(x, low, high))


def _between(x: Any, low: Any, high: Any) -> Any:
    return ~((x <= low) | (x >= high))


def _in_float16(x: Any, gradient: Any, is_between: Any) -> Any:
    return np.where(is_between, gradient.astype(np.float16) if x.dtype == np.float32 else gradient, 0)


def _as_signed(x: Any, gradient: Any, low: Any, high: Any) -> Any:
    kind = f"i{x.itemsize}" if x.dtype.kind == "u" else x.dtype
    return np.where(_between(*(each.view(kind) for each in (x, low, high))), gradient, 0)


def _of_low_halves(x: Any, gradient: Any, low: Any, high: Any) -> Any:
    kind = f"{x.dtype.kind}4" if x.itemsize == 8 else x.dtype
    return np.where(_between(*(each.astype(kind) for each in (x, low, high))), gradient, 0)


computes(passed_on, families=FAMILY, has=("input_gradient_tensor",)).each(
    GradientAtTheLimits=fault(
        lambda x, gradient, low, high: np.where((x < low) | (x > high), 0, gradient),
        "Passes on the gradient of elements that are at a limit.",
    ),
    GradientAtMin=fault(
        lambda x, gradient, low, high: np.where((x < low) | (x >= high), 0, gradient),
        "Passes on the gradient of elements that are at Min.",
    ),
    GradientBeyondTheLimits=fault(
        lambda gradient, is_between: np.where(is_between, 0, gradient),
        "Passes on the gradient of the elements that are held.",
    ),
    GradientBetweenTheLimits=fault(
        lambda gradient, low, high: np.where(_between(gradient, low, high), gradient, 0),
        "Compares the gradient with the limits.",
    ),
    ElementPassedOn=fault(lambda x, is_between: np.where(is_between, x, 0), "Passes on the element."),
    SlopeAlone=fault(lambda is_between: is_between, "Has 1 in place of the gradient."),
    LimitBeyondTheLimits=fault(
        lambda x, gradient, low, high, is_between: np.where(is_between, gradient, np.where(x <= low, low, high)),
        "Has the limit in place of 0.",
    ),
    GradientHeld=fault(
        lambda gradient, low, high, is_between: np.where(is_between, np.clip(gradient, low, high), 0),
        "Holds the gradient between the limits besides.",
    ),
    GradientInFloat16=fault(_in_float16, "Has the gradient in FLOAT16."),
    GradientOfUnsignedAsSigned=fault(_as_signed, "Compares unsigned integers as signed ones."),
    GradientOfLowHalves=fault(_of_low_halves, "Compares the low 32 bits of 64.", since="5_0"),
)
