"""Batch normalizations, forward and backward, that are others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.spec.operators.batch_normalization import axes_of
from strength.mutants.base import Arrays, WrongValues, fault, plants, wide
from strength.mutants.sums import in_float16

FAMILY = ("batch_normalization",)
Axes = tuple[int, ...]


def mean_of(x: Any, axes: Axes) -> Any:
    return x.mean(axes, keepdims=True)


def in_turn(x: Any, axes: Axes) -> Any:
    """The sum along some axes, added up in FLOAT16 one after another."""
    for axis in axes:
        x = np.expand_dims(in_float16(x, axis), axis)
    return x


def count_of(x: Any, axes: Axes) -> int:
    return int(np.prod([x.shape[axis] for axis in axes]))


# --- forward ----------------------------------------------------------------------------------------------------------


class OtherForward(WrongValues, abstract=True):
    """Does one step otherwise, in FLOAT64 and rounded once; what an activation follows is right."""

    families, lacks = FAMILY, ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        if getattr(desc, "fused_activation", None) is not None:
            return {}
        given, found = wide(desc, arrays), {}
        x, mean, variance = given["input_tensor"], given.get("mean_tensor"), given.get("variance_tensor")
        if mean is None:
            axes = axes_of(desc)
            mean = self.mean(x, axes)
            variance = self.variance(x, mean, axes)
            found = {"output_mean_tensor": mean, "output_variance_tensor": variance}
        result = self.divided(x - mean, variance, desc.epsilon)
        result = self.scaled(result, given["scale_tensor"], given["bias_tensor"])
        return {"output_tensor": self.added(result, given.get("fused_add_tensor")), **found}

    def mean(self, x: Any, axes: Axes) -> Any:
        return mean_of(x, axes)

    def variance(self, x: Any, mean: Any, axes: Axes) -> Any:
        return mean_of((x - mean) ** 2, axes)

    def divided(self, away: Any, variance: Any, epsilon: float) -> Any:
        return away / np.sqrt(variance + epsilon)

    def scaled(self, found: Any, scale: Any, bias: Any) -> Any:
        return found * scale + bias

    def added(self, found: Any, add: Any) -> Any:
        return found if add is None else found + add


plants("divided", OtherForward).each(
    DividedByTheVariance=lambda away, variance, epsilon: away / (variance + epsilon),
    EpsilonBesideTheRoot=lambda away, variance, epsilon: away / (np.sqrt(variance) + epsilon),
    VarianceAtLeastEpsilon=lambda away, variance, epsilon: away / np.sqrt(np.maximum(variance, epsilon)),
    RootInFloat16=lambda away, variance, epsilon: away * (1 / np.sqrt(variance + epsilon)).astype(np.float16),
)

plants("scaled", OtherForward).each(
    ScaleAfterTheBias=lambda found, scale, bias: (found + bias) * scale,
    ScaleForgotten=lambda found, bias: found + bias,
    BiasOfOneNumber=fault(
        lambda found, scale, bias: found * scale + bias.reshape(-1)[0], "Adds the first element of the bias everywhere."
    ),
    ScaleOfTheLastDimension=fault(
        lambda found, scale, bias: found * np.resize(scale, (*(1,) * (found.ndim - 1), found.shape[-1])) + bias,
        "Repeats the scale along the last dimension whichever it is of.",
    ),
)

TRAINING = {"has": ("output_variance_tensor",)}
plants("added", OtherForward, **TRAINING).each(AddendForgotten=lambda found: found)
plants("variance", OtherForward, **TRAINING).each(
    VarianceOfASample=fault(
        lambda x, mean, axes: ((x - mean) ** 2).sum(axes, keepdims=True) / max(count_of(x, axes) - 1, 1),
        "Divides by one less than the number of elements.",
    ),
)
plants("mean", OtherForward, **TRAINING).each(
    StatisticsAddedInFloat16=lambda x, axes: in_turn(x, axes) / count_of(x, axes),
)
plants("variance", OtherForward, **TRAINING).each(
    VarianceAboutZero=lambda x, axes: mean_of(x * x, axes),
    DeviationForVariance=lambda x, mean, axes: np.sqrt(mean_of((x - mean) ** 2, axes)),
)


class StatisticsOfTheFirstOfTheBatch(OtherForward):
    """Leaves out all but the first along the first dimension that is reduced."""

    has = TRAINING["has"]

    def mean(self, x: Any, axes: Axes) -> Any:
        return mean_of(_first(x, axes), axes)

    def variance(self, x: Any, mean: Any, axes: Axes) -> Any:
        return mean_of((_first(x, axes) - mean) ** 2, axes)


def _first(x: Any, axes: Axes) -> Any:
    return x.take([0], axes[0]) if axes else x


# --- backward ---------------------------------------------------------------------------------------------------------


class OtherGradient(WrongValues, abstract=True):
    """Does one step otherwise, in FLOAT64 and rounded once."""

    families, has = FAMILY, ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given, axes = wide(desc, arrays), axes_of(desc)
        x, g, scale = given["input_tensor"], given["input_gradient_tensor"], given["scale_tensor"]
        away, variance = x - given["mean_tensor"], given["variance_tensor"] + desc.epsilon
        centered = g
        if desc.operator.endswith("TRAINING_GRAD"):
            centered = self.centered(g, x - mean_of(x, axes), away, variance, axes)
        found = {
            "output_gradient_tensor": self.coefficient(scale, variance) * centered,
            "output_scale_gradient_tensor": self.of_scale(g, away, np.sqrt(variance), axes),
            "output_bias_gradient_tensor": self.of_bias(g, axes),
        }
        return {key: of for key, of in found.items() if hasattr(desc, key)}

    def coefficient(self, scale: Any, variance: Any) -> Any:
        return scale / np.sqrt(variance)

    def centered(self, g: Any, own: Any, away: Any, variance: Any, axes: Axes) -> Any:
        """The gradient where the statistics are the input's own, which is `own` away from its own mean."""
        return g - mean_of(g, axes) - own * mean_of(g * own, axes) / variance

    def of_scale(self, g: Any, away: Any, root: Any, axes: Axes) -> Any:
        return (g * away / root).sum(axes, keepdims=True)

    def of_bias(self, g: Any, axes: Axes) -> Any:
        return g.sum(axes, keepdims=True)


plants("coefficient", OtherGradient).each(
    GradientNotScaled=lambda scale, variance: np.ones_like(scale) / np.sqrt(variance),
    GradientByTheVariance=lambda scale, variance: scale / variance,
)

plants("of_scale", OtherGradient).each(
    ScaleGradientNotDivided=lambda g, away, axes: (g * away).sum(axes, keepdims=True),
    ScaleGradientNotCentered=fault(
        lambda g, away, root, axes: (g * (away - mean_of(away, axes)) / root).sum(axes, keepdims=True),
        "Takes each input less the mean of such differences.",
    ),
    ScaleGradientIsAMean=lambda g, away, root, axes: mean_of(g * away / root, axes),
)


def _of_one_dimension(g: Any, axes: Axes) -> Any:
    for axis in axes[:-1]:
        g = g.take([0], axis)
    return g.sum(axes[-1:], keepdims=True)


plants("of_bias", OtherGradient).each(
    BiasGradientIsAMean=lambda g, axes: mean_of(g, axes),
    BiasGradientAddedInFloat16=lambda g, axes: in_turn(g, axes),
    BiasGradientOfOneDimension=fault(
        _of_one_dimension, "Adds up along the last of the dimensions, and takes the first element of the others."
    ),
)

plants("centered", OtherGradient, names=("BATCH_NORMALIZATION_TRAINING_GRAD",)).each(
    StatisticsAsConstants=fault(lambda g: g, "The gradient of a normalization by what is given."),
    MeanAsConstant=lambda g, own, variance, axes: g - own * mean_of(g * own, axes) / variance,
    VarianceAsConstant=lambda g, axes: g - mean_of(g, axes),
    ProductsOfASample=fault(
        lambda g, own, variance, axes: (
            g - mean_of(g, axes) - own * (g * own).sum(axes, keepdims=True) / max(count_of(g, axes) - 1, 1) / variance
        ),
        "Divides the sum of products by one less than their number.",
    ),
    ProductsByTheRoot=lambda g, own, variance, axes: (
        g - mean_of(g, axes) - own * mean_of(g * own, axes) / np.sqrt(variance)
    ),
    InputNotCentered=fault(
        lambda g, own, away, variance, axes: g - mean_of(g, axes) - away * mean_of(g * own, axes) / variance,
        "Takes the input less MeanTensor where the mean of the input is meant.",
    ),
)
