"""Sums of products: of matrices, along axes, of recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import outputs
from strength.mutants.base import Arrays, Mutant, WrongValues, plants

FUNCTION = enumeration("DML_REDUCE_FUNCTION")
TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE


def rounded(values: Any, desc: Any) -> Any:
    """The bits of FLOAT64 numbers in the type of the first output."""
    kind = NUMBERS[outputs(desc)[0].tensor.data_type]
    return np.ascontiguousarray(values.astype(kind)).view(UNSIGNED[kind.itemsize])


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

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.fused_activation is not None:
            return {}
        with np.errstate(all="ignore"):
            a, b = (
                self.transformed(as_numbers(arrays[key], desc.a_tensor.data_type).astype(np.float64), transform)
                for key, transform in (("a_tensor", desc.trans_a), ("b_tensor", desc.trans_b))
            )
            c = None
            if "c_tensor" in arrays:
                c = as_numbers(arrays["c_tensor"], desc.a_tensor.data_type).astype(np.float64)
            found = self.sums(a, b, c, desc.alpha, desc.beta)
            return {"output_tensor": rounded(found, desc)}

    def transformed(self, matrix: Any, transform: int) -> Any:
        return matrix.swapaxes(-1, -2) if transform == TRANSPOSE else matrix

    def sums(self, a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
        """What it makes of matrices; the right thing here."""
        return self.product(a, b) * alpha + (0 if c is None else c * beta)

    def product(self, a: Any, b: Any) -> Any:
        return a @ b


def matrices(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherProduct)


@matrices("product")
def FactorsInTf32(a: Any, b: Any) -> Any:
    """Rounds the factors to 10 bits of mantissa, as tensor cores do unless told not to."""
    return as_tf32(a) @ as_tf32(b)


@matrices("product")
def SumsOfProductsInFloat16(a: Any, b: Any) -> Any:
    return in_float16(a[..., :, :, None] * b[..., None, :, :], -2)


@matrices("product")
def LastProductDropped(a: Any, b: Any) -> Any:
    return a[..., :-1] @ b[..., :-1, :]


@matrices("product")
def LastProductTwice(a: Any, b: Any) -> Any:
    return a @ b + a[..., -1:] @ b[..., -1:, :]


@matrices("product")
def FirstMatrixOfTheBatch(a: Any, b: Any) -> Any:
    """Multiplies all matrices of a batch by the same one."""
    return a @ b[(slice(0, 1),) * (b.ndim - 2)]


@matrices("transformed")
def TransformOfSizesAlone(matrix: Any, transform: int) -> Any:
    """Turns the sizes of a matrix around, and leaves its elements where they are in memory."""
    return matrix.reshape(*matrix.shape[:-2], *matrix.shape[:-3:-1]) if transform == TRANSPOSE else matrix


@matrices("sums")
def BiasOfTheFirstColumn(a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
    """Adds one element of C to all of a row."""
    return a @ b * alpha + (0 if c is None else c[..., :1] * beta)


@matrices("sums")
def BiasOfTheFirstRow(a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
    return a @ b * alpha + (0 if c is None else c[..., :1, :] * beta)


@matrices("sums")
def AddendScaleIgnored(a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
    return a @ b * alpha + (0 if c is None else c)


@matrices("sums")
def ProductScaleIgnored(a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
    return a @ b + (0 if c is None else c * beta)


@matrices("sums")
def AlphaAfterBias(a: Any, b: Any, c: Any, alpha: float, beta: float) -> Any:
    """Scales the sum with C, and not the product alone."""
    return (a @ b + (0 if c is None else c * beta)) * alpha


# --- along axes -------------------------------------------------------------------------------------------------------


class OtherReduction(WrongValues, abstract=True):
    """Makes something else of the elements along Axes; of floating-point numbers in FLOAT64, rounded once.

    Attributes:
        functions: whose results are others; the rest is right.
    """

    families = ("reduce",)
    functions: ClassVar[tuple[str, ...]] = (
        *("AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE"),
    )

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        source, data_type = arrays["input_tensor"], desc.input_tensor.data_type
        name = FUNCTION(desc.function).name
        if name not in self.functions or not data_type.is_float:
            return {}
        axes = sorted(set(self.axes(desc.axes, source.ndim)))
        kept = [d for d in range(source.ndim) if d not in axes]
        sizes = desc.output_tensor.sizes
        with np.errstate(all="ignore"):
            moved = as_numbers(source, data_type).astype(np.float64).transpose(*kept, *axes)
            found = self.of(moved.reshape(*(source.shape[d] for d in kept), -1), name)
            if name.startswith("ARG"):
                kind = f"u{desc.output_tensor.data_type.size}"
                return {"output_tensor": np.resize(np.asarray(found).astype(kind), sizes)}
            return {"output_tensor": np.resize(rounded(np.asarray(found), desc), sizes)}

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """The axes that it takes in place of those."""
        return axes

    def of(self, rows: Any, name: str) -> Any:
        """What it makes of rows; the right thing here."""
        return reduction(rows, name)


def reduction(rows: Any, name: str) -> Any:
    largest = rows.max(-1, keepdims=True) if name == "LOG_SUM_EXP" else 0.0
    return {
        "AVERAGE": lambda: rows.mean(-1),
        "L1": lambda: np.abs(rows).sum(-1),
        "L2": lambda: np.sqrt((rows * rows).sum(-1)),
        "LOG_SUM": lambda: np.log(rows.sum(-1)),
        "LOG_SUM_EXP": lambda: np.log(np.exp(rows - largest).sum(-1)) + largest[..., 0],
        "MAX": lambda: rows.max(-1),
        "MIN": lambda: rows.min(-1),
        "MULTIPLY": lambda: rows.prod(-1),
        "SUM": lambda: rows.sum(-1),
        "SUM_SQUARE": lambda: (rows * rows).sum(-1),
    }[name]()


def reductions(step: str, *names: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherReduction, **({"functions": names} if names else {}))


@reductions("axes")
def ReducedAlongTheAxisBefore(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(max(axis - 1, 0) for axis in axes)


@reductions("axes")
def ReducedAlongTheLastAxisAlone(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return axes[-1:]


@reductions("of")
def LastRowTermDropped(rows: Any, name: str) -> Any:
    return reduction(rows[..., :-1] if rows.shape[-1] > 1 else rows, name)


@reductions("of", "SUM", "AVERAGE", "L1")
def TermsAddedInFloat16(rows: Any, name: str) -> Any:
    total = in_float16(np.abs(rows) if name == "L1" else rows, -1)
    return total / rows.shape[-1] if name == "AVERAGE" else total


@reductions("of", "AVERAGE")
def MeanOfOneFewer(rows: Any, name: str) -> Any:
    """Divides by one less than the number of elements."""
    return rows.sum(-1) / max(rows.shape[-1] - 1, 1)


@reductions("of", "L2")
def RootForgotten(rows: Any, name: str) -> Any:
    return (rows * rows).sum(-1)


@reductions("of", "L1")
def MagnitudeOfTheSum(rows: Any, name: str) -> Any:
    return np.abs(rows.sum(-1))


@reductions("of", "SUM_SQUARE")
def SquareOfTheSum(rows: Any, name: str) -> Any:
    return rows.sum(-1) ** 2


@reductions("of", "LOG_SUM_EXP")
def ExponentialsNotShifted(rows: Any, name: str) -> Any:
    """Adds exponentials of the elements themselves, which overflow in FLOAT32."""
    return np.log(np.exp(rows).astype(np.float32).sum(-1))


@reductions("of", "LOG_SUM")
def LogarithmOfEachTerm(rows: Any, name: str) -> Any:
    return np.log(rows).sum(-1)


@reductions("of", "ARGMAX", "ARGMIN")
def LastOfEqualElements(rows: Any, name: str) -> Any:
    find = np.argmax if name == "ARGMAX" else np.argmin
    return rows.shape[-1] - 1 - find(rows[..., ::-1], -1)


# --- mean and variance ------------------------------------------------------------------------------------------------


class OtherNormalization(WrongValues, abstract=True):
    """Normalizes otherwise, in FLOAT64 and rounded once; what an activation follows is right."""

    families = ("mean_variance",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.fused_activation is not None:
            return {}
        with np.errstate(all="ignore"):
            given = {
                key: as_numbers(array, desc.input_tensor.data_type).astype(np.float64) for key, array in arrays.items()
            }
            x = given["input_tensor"]
            axes = self.axes(self.together(desc), x.ndim)
            found = self.divided(x - self.mean(x, axes, desc), x, axes, desc)
            scale, bias = given.get("scale_tensor", np.array(1.0)), given.get("bias_tensor", np.array(0.0))
            return {"output_tensor": rounded(self.scaled(found, scale, bias), desc)}

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

    def divided(self, away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
        """How far elements are from their mean, over the root of the variance."""
        variance = (away * away).mean(axes, keepdims=True)
        return away / np.sqrt(variance + desc.epsilon) if is_divided(desc) else away

    def scaled(self, found: Any, scale: Any, bias: Any) -> Any:
        return found * scale + bias


def is_divided(desc: Any) -> bool:
    return bool(desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance)


def normalizations(step: str, *has: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    """With the attributes that it shows in."""
    return plants(step, OtherNormalization, **({"has": has} if has else {}))


@normalizations("together", "cross_channel")
def ChannelsNeverCrossed(desc: Any) -> tuple[int, ...]:
    return (2, 3)


@normalizations("together", "cross_channel")
def BatchCrossedToo(desc: Any) -> tuple[int, ...]:
    """Takes all images of a batch together."""
    return (0, 1, 2, 3) if desc.cross_channel else (2, 3)


@normalizations("axes")
def NormalizedAlongTheAxisBefore(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple({max(axis - 1, 0) for axis in axes})


@normalizations("axes")
def NormalizedOverTheImage(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Along the last two dimensions whatever Axes are, as an instance is normalized."""
    return tuple(range(max(rank - 2, 0), rank))


@normalizations("mean", "use_mean")
def MeanAlwaysTaken(x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    """Takes the mean away without UseMean too."""
    return x.mean(axes, keepdims=True)


@normalizations("mean", "use_mean")
def MeanNeverTaken(x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    return 0.0


@normalizations("divided")
def EpsilonOutsideTheRoot(away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    root = np.sqrt((away * away).mean(axes, keepdims=True))
    return away / (root + desc.epsilon) if is_divided(desc) else away


@normalizations("divided")
def EpsilonIgnored(away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    return away / np.sqrt((away * away).mean(axes, keepdims=True)) if is_divided(desc) else away


@normalizations("divided")
def VarianceUnbiased(away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    """Divides by one less than the number of elements, as of a sample."""
    count = max(np.prod([x.shape[axis] for axis in axes]) - 1, 1)
    variance = (away * away).sum(axes, keepdims=True) / count
    return away / np.sqrt(variance + desc.epsilon) if is_divided(desc) else away


@normalizations("divided")
def VarianceAlwaysNormalized(away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    """Divides without NormalizeVariance too."""
    return away / np.sqrt((away * away).mean(axes, keepdims=True) + desc.epsilon)


@normalizations("divided")
def VarianceAroundZero(away: Any, x: Any, axes: tuple[int, ...], desc: Any) -> Any:
    """Takes the mean of the squares of the elements themselves."""
    return away / np.sqrt((x * x).mean(axes, keepdims=True) + desc.epsilon) if is_divided(desc) else away


@normalizations("scaled")
def BiasBeforeScale(found: Any, scale: Any, bias: Any) -> Any:
    return (found + bias) * scale


@normalizations("scaled")
def NormalizedNotScaled(found: Any, scale: Any, bias: Any) -> Any:
    return found + bias
