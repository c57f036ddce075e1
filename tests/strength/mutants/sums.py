"""Sums of products: of matrices, along axes, of recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dml_conformance.spec.field_kinds import enumeration
from strength.mutants.base import Arrays, WrongValues, fault, plants, wide

FUNCTION = enumeration("DML_REDUCE_FUNCTION")
TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE


def in_float16(terms: Any, axis: int) -> Any:
    """Terms added up one after another, each sum rounded to FLOAT16."""
    return np.add.accumulate(terms.astype(np.float16), axis=axis, dtype=np.float16).take(-1, axis).astype(np.float64)


def as_tf32(numbers: Any) -> Any:
    """With 10 bits of mantissa."""
    found, exponents = np.frexp(numbers)
    return np.ldexp(np.round(found * 2.0**11) / 2.0**11, exponents)


# --- matrices ---------------------------------------------------------------------------------------------------------


class OtherProduct(WrongValues, abstract=True):
    """Computes something else of two matrices and a third one, in FLOAT64 and rounded once; activations are right."""

    families = ("gemm",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        if desc.fused_activation is not None:
            return {}
        given = wide(desc, arrays)
        a, b = (self.transformed(given[f"{of}_tensor"], getattr(desc, f"trans_{of}")) for of in "ab")
        return self.sums(a, b, given.get("c_tensor"), desc.alpha, desc.beta)

    def transformed(self, matrix: Any, transform: int) -> Any:
        return matrix.swapaxes(-1, -2) if transform == TRANSPOSE else matrix

    def sums(self, a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
        """What it makes of matrices; the right thing here."""
        return self.product(a, b) * alpha + (0 if c is None else c * beta)

    def product(self, a: Any, b: Any) -> Any:
        return a @ b


plants("product", OtherProduct).each(
    FactorsInTf32=fault(
        lambda a, b: as_tf32(a) @ as_tf32(b),
        "Rounds the factors to 10 bits of mantissa, as tensor cores do unless told not to.",
    ),
    SumsOfProductsInFloat16=lambda a, b: in_float16(a[..., :, :, None] * b[..., None, :, :], -2),
    LastProductDropped=lambda a, b: a[..., :-1] @ b[..., :-1, :],
    LastProductTwice=lambda a, b: a @ b + a[..., -1:] @ b[..., -1:, :],
    FirstMatrixOfTheBatch=fault(
        lambda a, b: a @ b[(slice(0, 1),) * (b.ndim - 2)], "Multiplies all matrices of a batch by the same one."
    ),
)


@plants("transformed", OtherProduct)
def TransformOfSizesAlone(matrix: Any, transform: int) -> Any:
    """Turns the sizes of a matrix around, and leaves its elements where they are in memory."""
    return matrix.reshape(*matrix.shape[:-2], *matrix.shape[:-3:-1]) if transform == TRANSPOSE else matrix


plants("sums", OtherProduct).each(
    BiasOfTheFirstColumn=fault(
        lambda a, b, c, alpha, beta: a @ b * alpha + (0 if c is None else c[..., :1] * beta),
        "Adds one element of C to all of a row.",
    ),
    BiasOfTheFirstRow=lambda a, b, c, alpha, beta: a @ b * alpha + (0 if c is None else c[..., :1, :] * beta),
    AddendScaleIgnored=lambda a, b, c, alpha: a @ b * alpha + (0 if c is None else c),
    ProductScaleIgnored=lambda a, b, c, beta: a @ b + (0 if c is None else c * beta),
    AlphaAfterBias=fault(
        lambda a, b, c, alpha, beta: (a @ b + (0 if c is None else c * beta)) * alpha,
        "Scales the sum with C, and not the product alone.",
    ),
)


# --- along axes -------------------------------------------------------------------------------------------------------


def logarithm_of_exponentials(rows: Any) -> Any:
    largest = rows.max(-1, keepdims=True)
    return np.log(np.exp(rows - largest).sum(-1)) + largest[..., 0]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "AVERAGE": lambda rows: rows.mean(-1),
    "L1": lambda rows: np.abs(rows).sum(-1),
    "L2": lambda rows: np.sqrt((rows * rows).sum(-1)),
    "LOG_SUM": lambda rows: np.log(rows.sum(-1)),
    "LOG_SUM_EXP": logarithm_of_exponentials,
    "MAX": lambda rows: rows.max(-1),
    "MIN": lambda rows: rows.min(-1),
    "MULTIPLY": lambda rows: rows.prod(-1),
    "SUM": lambda rows: rows.sum(-1),
    "SUM_SQUARE": lambda rows: (rows * rows).sum(-1),
}


class OtherReduction(WrongValues, abstract=True):
    """Makes something else of the elements along Axes; of floating-point numbers in FLOAT64, rounded once.

    Attributes:
        functions: whose results are others; the rest is right.
    """

    families = ("reduce",)
    functions: ClassVar[tuple[str, ...]] = tuple(FUNCTIONS)
    kinds = "f"

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x, name = wide(desc, arrays)["input_tensor"], FUNCTION(desc.function).name
        if name not in self.functions:
            return {}
        axes = sorted(set(self.axes(desc.axes, x.ndim)))
        kept = [d for d in range(x.ndim) if d not in axes]
        rows = x.transpose(*kept, *axes).reshape(*(x.shape[d] for d in kept), -1)
        return np.resize(self.of(rows, name), desc.output_tensor.sizes)

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """The axes that it takes in place of those."""
        return axes

    def of(self, rows: Any, name: str) -> Any:
        """What it makes of rows; the right thing here."""
        return FUNCTIONS[name](rows)


plants("axes", OtherReduction).each(
    ReducedAlongTheAxisBefore=lambda axes: tuple(max(axis - 1, 0) for axis in axes),
    ReducedAlongTheLastAxisAlone=lambda axes: axes[-1:],
)


@plants("of", OtherReduction)
def LastRowTermDropped(rows: Any, name: str) -> Any:
    return FUNCTIONS[name](rows[..., :-1] if rows.shape[-1] > 1 else rows)


@plants("of", OtherReduction, functions=("SUM", "AVERAGE", "L1"))
def TermsAddedInFloat16(rows: Any, name: str) -> Any:
    total = in_float16(np.abs(rows) if name == "L1" else rows, -1)
    return total / rows.shape[-1] if name == "AVERAGE" else total


plants("of", OtherReduction).each(
    MeanOfOneFewer=fault(
        lambda rows: rows.sum(-1) / max(rows.shape[-1] - 1, 1),
        "Divides by one less than the number of elements.",
        functions=("AVERAGE",),
    ),
    RootForgotten=fault(lambda rows: (rows * rows).sum(-1), functions=("L2",)),
    MagnitudeOfTheSum=fault(lambda rows: np.abs(rows.sum(-1)), functions=("L1",)),
    SquareOfTheSum=fault(lambda rows: rows.sum(-1) ** 2, functions=("SUM_SQUARE",)),
    ExponentialsNotShifted=fault(
        lambda rows: np.log(np.exp(rows).astype(np.float32).sum(-1)),
        "Adds exponentials of the elements themselves, which overflow in FLOAT32.",
        functions=("LOG_SUM_EXP",),
    ),
    LogarithmOfEachTerm=fault(lambda rows: np.log(rows).sum(-1), functions=("LOG_SUM",)),
)


@plants("of", OtherReduction, functions=("ARGMAX", "ARGMIN"))
def LastOfEqualElements(rows: Any, name: str) -> Any:
    find = np.argmax if name == "ARGMAX" else np.argmin
    return rows.shape[-1] - 1 - find(rows[..., ::-1], -1)


# --- mean and variance ------------------------------------------------------------------------------------------------


class OtherNormalization(WrongValues, abstract=True):
    """Normalizes otherwise, in FLOAT64 and rounded once; what an activation follows is right."""

    families = ("mean_variance",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        if desc.fused_activation is not None:
            return {}
        given = wide(desc, arrays)
        x = given["input_tensor"]
        axes = self.axes(self.together(desc), x.ndim)
        found = away = x - self.mean(x, axes, desc)
        if self.is_divided(desc):
            found = away / self.root(self.variance(x, away, axes), desc.epsilon)
        scale, bias = given.get("scale_tensor", np.array(1.0)), given.get("bias_tensor", np.array(0.0))
        return self.scaled(found, scale, bias)

    def together(self, desc: Any) -> tuple[int, ...]:
        """The axes along which elements are taken together."""
        if hasattr(desc, "axes"):
            return tuple(desc.axes)
        return (1, 2, 3) if desc.cross_channel else (2, 3)

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        return axes

    def mean(self, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
        """What is taken from every element."""
        return x.mean(axes, keepdims=True) if getattr(desc, "use_mean", True) else 0.0

    def variance(self, x: Any, away: Any, axes: tuple[int, ...]) -> Any:
        return (away * away).mean(axes, keepdims=True)

    def root(self, variance: Any, epsilon: float) -> Any:
        return np.sqrt(variance + epsilon)

    def is_divided(self, desc: Any) -> bool:
        return bool(desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance)

    def scaled(self, found: Any, scale: Any, bias: Any) -> Any:
        return found * scale + bias


plants("together", OtherNormalization, has=("cross_channel",)).each(
    ChannelsNeverCrossed=lambda: (2, 3),
    BatchCrossedToo=fault(
        lambda desc: (0, 1, 2, 3) if desc.cross_channel else (2, 3), "Takes all images of a batch together."
    ),
)

plants("axes", OtherNormalization).each(
    NormalizedAlongTheAxisBefore=lambda axes: tuple({max(axis - 1, 0) for axis in axes}),
    NormalizedOverTheImage=fault(
        lambda rank: tuple(range(max(rank - 2, 0), rank)),
        "Along the last two dimensions whatever Axes are, as an instance is normalized.",
    ),
)

plants("mean", OtherNormalization, has=("use_mean",)).each(
    MeanAlwaysTaken=fault(lambda x, axes: x.mean(axes, keepdims=True), "Takes the mean away without UseMean too."),
    MeanNeverTaken=lambda: 0.0,
)

plants("root", OtherNormalization).each(
    EpsilonOutsideTheRoot=lambda variance, epsilon: np.sqrt(variance) + epsilon,
    EpsilonIgnored=lambda variance: np.sqrt(variance),
)


@plants("variance", OtherNormalization)
def VarianceUnbiased(away: Any, axes: tuple[int, ...]) -> Any:
    """Divides by one less than the number of elements, as of a sample."""
    count = max(np.prod([away.shape[axis] for axis in axes]) - 1, 1)
    return (away * away).sum(axes, keepdims=True) / count


plants("is_divided", OtherNormalization).each(
    VarianceAlwaysNormalized=fault(lambda: True, "Divides without NormalizeVariance too."),
)
plants("variance", OtherNormalization).each(
    VarianceAroundZero=fault(
        lambda x, axes: (x * x).mean(axes, keepdims=True), "Takes the mean of the squares of the elements themselves."
    ),
)
plants("scaled", OtherNormalization).each(
    BiasBeforeScale=lambda found, scale, bias: (found + bias) * scale,
    NormalizedNotScaled=lambda found, bias: found + bias,
)
