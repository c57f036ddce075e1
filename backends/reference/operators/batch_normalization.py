"""BATCH_NORMALIZATION, BATCH_NORMALIZATION_TRAINING and the gradients of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.functions import sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated, rounded_or_not
from dml_conformance.backends.reference.operators.mean_variance import variance_of
from dml_conformance.backends.reference.parts import Cut, CutRows, cut_elementwise
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators.batch_normalization import axes_of
from dml_conformance.spec.structures import BatchNormalization

Inputs = dict[str, Enclosure]
Outputs = dict[str, Callable[[], Enclosure]]  # each computed when it is asked for


def normalized(given: Inputs, mean: Enclosure, variance: Enclosure, desc: BatchNormalization) -> Enclosure:
    """activation(scale * (x - mean) / sqrt(variance + Epsilon) + bias), or the same as a multiple of x and a rest."""
    x, scale, bias, add = (given.get(f"{key}_tensor") for key in ("input", "scale", "bias", "fused_add"))
    assert x is not None
    assert scale is not None
    assert bias is not None
    root = sqrt(variance + desc.epsilon)
    factor = scale / root
    found = _added(either(scale * ((x - mean) / root), (x - mean) * factor), bias, add)
    if not x.evaluation.tolerance.is_precise:
        found = either(found, _added(x * factor, bias - mean * factor, add))
    data_type = desc.output_tensor.data_type
    return activated(desc.fused_activation, found, data_type).to(data_type)


def _added(one: Enclosure, other: Enclosure, last: Enclosure | None) -> Enclosure:
    """Two numbers, or three in any order."""
    if last is None:
        return one + other
    return either((one + other) + last, one + (other + last), (one + last) + other)


def inference(given: Inputs, desc: BatchNormalization) -> Outputs:
    """With a mean and a variance that are given."""
    return {"output_tensor": lambda: normalized(given, given["mean_tensor"], given["variance_tensor"], desc)}


def training(given: Inputs, desc: BatchNormalization) -> Outputs:
    """With those of the input; in FLOAT16 they may be what the outputs hold of them."""
    data_type, x, axes = desc.output_tensor.data_type, given["input_tensor"], axes_of(desc)
    mean = x.mean(axes)
    variance = variance_of(x, axes, mean, mean)
    used = [rounded_or_not(of, data_type) for of in (mean, variance)]
    return {
        "output_tensor": lambda: normalized(given, used[0], used[1], desc),
        "output_mean_tensor": lambda: mean.to(data_type),
        "output_variance_tensor": lambda: variance.to(data_type),
    }


def _parameter_gradients(given: Inputs, desc: BatchNormalization) -> Outputs:
    """Those of scale and bias, which both operators compute alike."""
    axes, data_type, gradient = axes_of(desc), desc.input_tensor.data_type, given["input_gradient_tensor"]

    def of_scale() -> Enclosure:
        away, root = given["input_tensor"] - given["mean_tensor"], sqrt(given["variance_tensor"] + desc.epsilon)
        terms = gradient * away
        found = either((terms / root).sum(axes), (gradient * (away / root)).sum(axes), terms.sum(axes) / root)
        return found.to(data_type)

    return {
        "output_scale_gradient_tensor": of_scale,
        "output_bias_gradient_tensor": lambda: gradient.sum(axes).to(data_type),
    }


def _scaled(of: Enclosure, given: Inputs, root: Enclosure, desc: BatchNormalization) -> Enclosure:
    scale = given["scale_tensor"]
    return either(of * (scale / root), scale * (of / root)).to(desc.input_tensor.data_type)


def gradients(given: Inputs, desc: BatchNormalization) -> Outputs:
    """gradient * (scale / sqrt(variance + Epsilon)) for the input"""

    def of_input() -> Enclosure:
        return _scaled(given["input_gradient_tensor"], given, sqrt(given["variance_tensor"] + desc.epsilon), desc)

    return {"output_gradient_tensor": of_input, **_parameter_gradients(given, desc)}


def training_gradients(given: Inputs, desc: BatchNormalization) -> Outputs:
    """scale / root * (centered gradient - centered input * mean(gradient * centered input) / variance) for the input"""

    def of_input() -> Enclosure:
        axes, gradient, variance = (
            axes_of(desc),
            given["input_gradient_tensor"],
            given["variance_tensor"] + desc.epsilon,
        )
        root, centered = sqrt(variance), given["input_tensor"] - given["input_tensor"].mean(axes)
        product = (gradient * centered).mean(axes)
        part = either(
            centered * product / variance, centered * (product / variance), centered * (product / root / root)
        )
        return _scaled(gradient - gradient.mean(axes) - part, given, root, desc)

    return {"output_gradient_tensor": of_input, **_parameter_gradients(given, desc)}


def _operator(formula: Callable[[Inputs, Any], Outputs]) -> Compute:
    """What computes each output on its own when it is asked for, under a tolerance."""

    def compute(desc: BatchNormalization, arrays: Arrays) -> dict[str, Any]:
        found: dict[str, Outputs] = {}

        def output(key: str, tolerance: Tolerance) -> Enclosure:
            if tolerance.name not in found:
                evaluation, data_type = Evaluation(tolerance), desc.input_tensor.data_type
                given = {name: evaluation.of(as_numbers(array, data_type)) for name, array in arrays.items()}
                found[tolerance.name] = formula(given, desc)
            return found[tolerance.name][key]()

        keys = [field.attribute for field in desc.fields if field.is_output]
        return {key: partial(output, key) for key in keys}

    return compute


OPERATORS: dict[str, Compute] = {
    "BATCH_NORMALIZATION": _operator(inference),
    "BATCH_NORMALIZATION_TRAINING": _operator(training),
    "BATCH_NORMALIZATION_GRAD": _operator(gradients),
    "BATCH_NORMALIZATION_TRAINING_GRAD": _operator(training_gradients),
}
CUTS: dict[str, Cut] = {
    **dict.fromkeys(OPERATORS, CutRows(axes_of)),
    "BATCH_NORMALIZATION": cut_elementwise,
}
