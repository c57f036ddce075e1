"""Products of integers, and of the numbers that they stand for, of which other factors are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.spec.registry import operators
from strength.mutants.base import Arrays, WrongValues, computes, fault, numbers, of_input, plants
from strength.mutants.base import wide as as_float64
from strength.mutants.sums import as_tf32


class OtherFactors(WrongValues, abstract=True):
    """Takes other elements of some inputs, in the place of those that there are, where some have zero points."""

    families = ("matrix_multiply", "convolution")

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        every = operators()
        return tuple(
            name for name in super().operators() if any("zero_point" in field.attribute for field in every[name].fields)
        )


def of_zero_points(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Takes all zero points but the output's for others."""
    return {
        key: function(x=x)
        for key, x in numbers(desc, arrays).items()
        if key.endswith("zero_point_tensor") and not key.startswith("output")
    }


def of_factor(operand: str, what: str = "") -> Any:
    """By other numbers of a tensor of the first or second factor, which are called so or input and filter."""

    def taken(function: Any, desc: Any, arrays: Arrays) -> Any:
        name = {"a": "input", "b": "filter"}[operand] if hasattr(desc, "input_tensor") else operand
        return of_input(f"{name}{what}_tensor")(function, desc, arrays)

    return taken


def nothing(x: Any) -> Any:
    return np.zeros_like(x)


def the_first(x: Any) -> Any:
    return np.full_like(x, x.reshape(-1)[0])


plants("inputs", OtherFactors, of_zero_points).each(ZeroPointsIgnored=nothing)
plants("inputs", OtherFactors, of_factor("a", "_zero_point")).each(FirstZeroPointIgnored=nothing)
plants("inputs", OtherFactors, of_factor("b", "_zero_point")).each(SecondZeroPointIgnored=nothing)
plants("inputs", OtherFactors, of_zero_points).each(
    OneZeroPointForAll=fault(the_first, "Takes the first zero point for all rows, columns or channels."),
    ZeroPointsInReverse=lambda x: x.reshape(-1)[::-1],
)


@plants("inputs", OtherFactors)
def LastFactorDropped(desc: Any, arrays: Arrays) -> Any:
    """Leaves out the last of the terms: the column of A, or the last element of a window."""
    given, name = numbers(desc, arrays), "filter" if hasattr(desc, "input_tensor") else "b"
    kept, point = given[f"{name}_tensor"].copy(), given.get(f"{name}_zero_point_tensor", np.zeros(1)).reshape(-1)
    if name == "b":
        kept[..., -1, :] = point
    else:
        kept.reshape(kept.shape[0], -1)[:, -1] = point
    return {f"{name}_tensor": kept}


def _twice(x: Any, desc: Any) -> Any:
    found = x.copy()
    if hasattr(desc, "input_tensor"):
        found[-1] = found[-2:][0]
    else:
        found[..., -1] = found[..., -2:][..., 0]
    return found


plants("inputs", OtherFactors, of_factor("b")).each(
    SecondFactorOfTheOtherSign=fault(
        lambda x: x ^ x.dtype.type(1 << (8 * x.itemsize - 2)),
        "Takes signed integers for unsigned ones, and the other way round, without their zero points.",
    ),
    ColumnTwice=fault(_twice, "Has the last column, or output channel, but one in place of the last."),
)
plants("inputs", OtherFactors, of_factor("b", "_scale"), has=("output_scale_tensor",)).each(
    ScalesOfTheSecondFactorIgnored=lambda x: np.ones_like(x),
    OneScaleForAll=the_first,
)
plants("inputs", OtherFactors, of_input("output_scale_tensor"), has=("output_scale_tensor",)).each(
    MultipliedByTheOutputsScale=fault(lambda x: 1.0 / x, "Multiplies by it where it is to be divided by."),
)
plants("inputs", OtherFactors, of_input("output_zero_point_tensor"), has=("output_zero_point_tensor",)).each(
    OutputsZeroPointIgnored=nothing,
)
plants("inputs", OtherFactors, of_input("a_scale_tensor"), has=("a_scale_tensor",)).each(
    ScalesOfRowsIgnored=fault(the_first, "Takes the first scale of A for all of its rows."),
)
plants("inputs", OtherFactors, of_input("bias_tensor"), has=("bias_tensor",)).each(BiasLeftOut=nothing)


def other_products(made: Any, desc: Any, arrays: Arrays) -> Any:
    """Makes something else of the numbers that A and B stand for than quantizing or rounding their product does."""
    given, data_type = as_float64(desc, arrays), desc.output_tensor.data_type

    def wide(name: str) -> Any:
        found = given.get(f"{name}_tensor", np.array(1.0 if name.endswith("scale") else 0.0))
        return found.reshape(found.shape[-2:]) if "_" in name else found

    a, b = ((wide(name) - wide(f"{name}_zero_point")) * wide(f"{name}_scale") for name in ("a", "b"))
    limits = data_type.limits or (0, 0)
    found = made(a=a, b=b, scale=wide("output_scale"), zero_point=wide("output_zero_point"), limits=limits)
    if data_type.is_float:
        return found + wide("bias")
    return np.nan_to_num(np.clip(found, -(2.0**40), 2.0**40)).astype(np.int64)


computes(other_products, families=("matrix_multiply",), has=("output_scale_tensor",)).each(
    QuotientsHalvesUp=lambda a, b, scale, zero_point, limits: np.clip(
        np.floor(a @ b / scale + 0.5) + zero_point, *limits
    ),
    QuotientsCut=lambda a, b, scale, zero_point, limits: np.clip(np.trunc(a @ b / scale) + zero_point, *limits),
    QuotientsWrap=fault(lambda a, b, scale, zero_point: np.rint(a @ b / scale) + zero_point, "Keeps the low 8 bits."),
    QuotientsSaturateBeforeTheZeroPoint=lambda a, b, scale, zero_point: (
        np.clip(np.rint(a @ b / scale), -128, 127) + zero_point
    ),
)


@computes(other_products, families=("matrix_multiply",), lacks=("output_scale_tensor", "a_scale_tensor"))
def SumsOfProductsInInt16(a: Any, b: Any) -> Any:
    """Adds two neighbours up in INT16, and cuts them to it, as instructions of processors do."""
    pairs = [np.clip(a[..., k : k + 2] @ b[..., k : k + 2, :], -(2**15), 2**15 - 1) for k in range(0, a.shape[-1], 2)]
    return np.sum(pairs, axis=0)


@computes(other_products, families=("matrix_multiply",), lacks=("output_scale_tensor", "a_scale_tensor"))
def SumsOfProductsInFloat32(a: Any, b: Any) -> Any:
    """Loses what is beyond 24 bits."""
    return (a @ b).astype(np.float32)


@computes(other_products, families=("matrix_multiply",), has=("bias_tensor",), lacks=("input_tensor",))
def SumsOfFactorsInFloat16(a: Any, b: Any) -> Any:
    """Adds up in FLOAT16, one product after the other."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), np.float16)
    for k in range(a.shape[-1]):
        total = total + (a[..., k : k + 1] * b[..., k : k + 1, :]).astype(np.float16)
    return total.astype(np.float64)


@computes(other_products, families=("matrix_multiply",), has=("bias_tensor",), lacks=("input_tensor",))
def FactorsWithTheMantissaOfTensorCores(a: Any, b: Any) -> Any:
    """Takes factors with the 10 bits of TF32."""
    return as_tf32(a) @ as_tf32(b)
