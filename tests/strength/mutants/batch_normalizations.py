"""Batch normalizations, forward and backward, that are others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.spec.operators.batch_normalization import axes_of
from strength.mutants.base import Arrays, Mutant, WrongValues, plants
from strength.mutants.sums import in_float16, rounded

Numbers = dict[str, Any]


class OtherBatchNormalization(WrongValues, abstract=True):
    """Does one step otherwise, in FLOAT64 and rounded once; what an activation follows is right."""

    families = ("batch_normalization",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if getattr(desc, "fused_activation", None) is not None:
            return {}
        with np.errstate(all="ignore"):
            given = {
                key: as_numbers(array, desc.input_tensor.data_type).astype(np.float64) for key, array in arrays.items()
            }
            outputs = self.outputs(given, self.axes(desc), self.epsilon(desc.epsilon))
            return {key: rounded(np.asarray(of), desc) for key, of in outputs.items() if hasattr(desc, key)}

    def outputs(self, given: Numbers, axes: tuple[int, ...], epsilon: float) -> Numbers:
        raise NotImplementedError

    def axes(self, desc: Any) -> tuple[int, ...]:
        return axes_of(desc)

    def epsilon(self, epsilon: float) -> float:
        return epsilon


class OtherForward(OtherBatchNormalization, abstract=True):
    lacks = ("input_gradient_tensor",)

    def outputs(self, given: Numbers, axes: tuple[int, ...], epsilon: float) -> Numbers:
        x, found = given["input_tensor"], {}
        if "mean_tensor" in given:
            mean, variance = given["mean_tensor"], given["variance_tensor"]
        else:
            mean, variance = self.statistics(x, axes)
            found = {"output_mean_tensor": mean, "output_variance_tensor": variance}
        result = self.scaled(self.divided(x - mean, variance, epsilon), given["scale_tensor"], given["bias_tensor"])
        return {"output_tensor": self.added(result, given.get("fused_add_tensor")), **found}

    def statistics(self, x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
        mean = x.mean(axes, keepdims=True)
        return mean, ((x - mean) ** 2).mean(axes, keepdims=True)

    def divided(self, away: Any, variance: Any, epsilon: float) -> Any:
        return away / np.sqrt(variance + epsilon)

    def scaled(self, found: Any, scale: Any, bias: Any) -> Any:
        return found * scale + bias

    def added(self, found: Any, add: Any) -> Any:
        return found if add is None else found + add


def forward(step: str, **traits: Any) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherForward, **traits)


TRAINING = {"has": ("output_variance_tensor",)}


@forward("divided")
def DividedByTheVariance(away: Any, variance: Any, epsilon: float) -> Any:
    return away / (variance + epsilon)


@forward("divided")
def EpsilonBesideTheRoot(away: Any, variance: Any, epsilon: float) -> Any:
    return away / (np.sqrt(variance) + epsilon)


@forward("divided")
def VarianceAtLeastEpsilon(away: Any, variance: Any, epsilon: float) -> Any:
    return away / np.sqrt(np.maximum(variance, epsilon))


@forward("divided")
def RootInFloat16(away: Any, variance: Any, epsilon: float) -> Any:
    return away * (1 / np.sqrt(variance + epsilon)).astype(np.float16)


@forward("scaled")
def ScaleAfterTheBias(found: Any, scale: Any, bias: Any) -> Any:
    return (found + bias) * scale


@forward("scaled")
def ScaleForgotten(found: Any, scale: Any, bias: Any) -> Any:
    return found + np.broadcast_to(bias, found.shape)


@forward("scaled")
def BiasOfOneNumber(found: Any, scale: Any, bias: Any) -> Any:
    """Adds the first element of the bias everywhere."""
    return found * scale + bias.reshape(-1)[0]


@forward("scaled")
def ScaleOfTheLastDimension(found: Any, scale: Any, bias: Any) -> Any:
    """Repeats the scale along the last dimension whichever it is of."""
    return found * np.resize(scale, (*(1,) * (found.ndim - 1), found.shape[-1])) + bias


@forward("added", **TRAINING)
def AddendForgotten(found: Any, add: Any) -> Any:
    return found


@forward("statistics", **TRAINING)
def VarianceOfASample(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Divides by one less than the number of elements."""
    mean, count = x.mean(axes, keepdims=True), np.prod([x.shape[axis] for axis in axes])
    return mean, ((x - mean) ** 2).sum(axes, keepdims=True) / max(count - 1, 1)


@forward("statistics", **TRAINING)
def StatisticsAddedInFloat16(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    mean, count = x, 1
    for axis in axes:
        mean, count = np.expand_dims(in_float16(mean, axis), axis), count * x.shape[axis]
    mean = mean / count
    return mean, ((x - mean) ** 2).mean(axes, keepdims=True)


@forward("statistics", **TRAINING)
def VarianceAboutZero(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    return x.mean(axes, keepdims=True), (x * x).mean(axes, keepdims=True)


@forward("statistics", **TRAINING)
def DeviationForVariance(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    mean = x.mean(axes, keepdims=True)
    return mean, np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True))


@forward("statistics", **TRAINING)
def StatisticsOfTheFirstOfTheBatch(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Leaves out all but the first along the first dimension that is reduced."""
    first = x.take([0], axes[0]) if axes else x
    mean = first.mean(axes, keepdims=True)
    return mean, ((first - mean) ** 2).mean(axes, keepdims=True)


class OtherGradient(OtherBatchNormalization, abstract=True):
    has = ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        self.is_training = desc.operator.endswith("TRAINING_GRAD")
        return super().found(desc, arrays)

    def outputs(self, given: Numbers, axes: tuple[int, ...], epsilon: float) -> Numbers:
        x, g, mean, variance, scale = (
            given[f"{key}_tensor"] for key in ("input", "input_gradient", "mean", "variance", "scale")
        )
        variance = variance + epsilon
        coefficient = self.coefficient(scale, variance)
        of_input = coefficient * g
        if self.is_training:
            own = x.mean(axes, keepdims=True)
            of_input = coefficient * self.centered(g, x - own, x - mean, variance, axes)
        return {
            "output_gradient_tensor": of_input,
            "output_scale_gradient_tensor": self.of_scale(g, x - mean, np.sqrt(variance), axes),
            "output_bias_gradient_tensor": self.of_bias(g, axes),
        }

    def coefficient(self, scale: Any, variance: Any) -> Any:
        return scale / np.sqrt(variance)

    def centered(self, g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
        return g - g.mean(axes, keepdims=True) - own * (g * own).mean(axes, keepdims=True) / variance

    def of_scale(self, g: Any, away: Any, root: Any, axes: tuple[int, ...]) -> Any:
        return (g * away / root).sum(axes, keepdims=True)

    def of_bias(self, g: Any, axes: tuple[int, ...]) -> Any:
        return g.sum(axes, keepdims=True)


def backward(step: str, **traits: Any) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherGradient, **traits)


@backward("coefficient")
def GradientNotScaled(scale: Any, variance: Any) -> Any:
    return np.ones_like(scale) / np.sqrt(variance)


@backward("coefficient")
def GradientByTheVariance(scale: Any, variance: Any) -> Any:
    return scale / variance


@backward("of_scale")
def ScaleGradientNotDivided(g: Any, away: Any, root: Any, axes: tuple[int, ...]) -> Any:
    return (g * away).sum(axes, keepdims=True)


@backward("of_scale")
def ScaleGradientNotCentered(g: Any, away: Any, root: Any, axes: tuple[int, ...]) -> Any:
    """Takes each input less the mean of such differences."""
    return (g * (away - away.mean(axes, keepdims=True)) / root).sum(axes, keepdims=True)


@backward("of_scale")
def ScaleGradientIsAMean(g: Any, away: Any, root: Any, axes: tuple[int, ...]) -> Any:
    return (g * away / root).mean(axes, keepdims=True)


@backward("of_bias")
def BiasGradientIsAMean(g: Any, axes: tuple[int, ...]) -> Any:
    return g.mean(axes, keepdims=True)


@backward("of_bias")
def BiasGradientAddedInFloat16(g: Any, axes: tuple[int, ...]) -> Any:
    for axis in axes:
        g = np.expand_dims(in_float16(g, axis), axis)
    return g


@backward("of_bias")
def BiasGradientOfOneDimension(g: Any, axes: tuple[int, ...]) -> Any:
    """Adds up along the last of the dimensions, and takes the first element of the others."""
    for axis in axes[:-1]:
        g = g.take([0], axis)
    return g.sum(axes[-1:], keepdims=True)


class OtherTrainingGradient(OtherGradient, abstract=True):
    """Shows where the statistics are the input's own."""

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return ("BATCH_NORMALIZATION_TRAINING_GRAD",)


def in_training(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherTrainingGradient)


@in_training("centered")
def StatisticsAsConstants(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    """The gradient of a normalization by what is given."""
    return g


@in_training("centered")
def MeanAsConstant(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    return g - own * (g * own).mean(axes, keepdims=True) / variance


@in_training("centered")
def VarianceAsConstant(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    return g - g.mean(axes, keepdims=True)


@in_training("centered")
def ProductsOfASample(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    """Divides the sum of products by one less than their number."""
    count = max(np.prod([g.shape[axis] for axis in axes]) - 1, 1)
    return g - g.mean(axes, keepdims=True) - own * (g * own).sum(axes, keepdims=True) / count / variance


@in_training("centered")
def ProductsByTheRoot(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    return g - g.mean(axes, keepdims=True) - own * (g * own).mean(axes, keepdims=True) / np.sqrt(variance)


@in_training("centered")
def InputNotCentered(g: Any, own: Any, away: Any, variance: Any, axes: tuple[int, ...]) -> Any:
    """Takes the input less MeanTensor where the mean of the input is meant."""
    return g - g.mean(axes, keepdims=True) - away * (g * own).mean(axes, keepdims=True) / variance
