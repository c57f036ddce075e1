"""MEAN_VARIANCE_NORMALIZATION1: elements less their mean, over the root of their variance, along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.functions import maximum, sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.expectation import Expectation


def normalize(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c] = activation(scale[c] * (input[c] - mean) / sqrt(variance + Epsilon) + bias[c])"""
    data_type, axes = desc.output_tensor.data_type, tuple(desc.axes)
    source = arrays["input_tensor"]
    if len(set(axes)) < len(axes):
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}

    def formula(profile: Profile) -> Enclosure:
        evaluation = Evaluation(profile)
        given = {key: evaluation.of(as_numbers(array, data_type)) for key, array in arrays.items()}
        x, scale, bias = (given.get(key) for key in ("input_tensor", "scale_tensor", "bias_tensor"))
        assert x is not None
        found = x - x.mean(axes)
        if desc.normalize_variance:
            root = sqrt(_variance(x, axes) + desc.epsilon)
            found = found / root if scale is None else either(scale * (found / root), found * (scale / root))
        elif scale is not None:
            found = scale * found
        if bias is not None:
            found = found + bias
        return activated(desc.fused_activation, found, data_type).to(data_type)

    return {"output_tensor": formula}


def _variance(x: Enclosure, axes: tuple[int, ...]) -> Enclosure:
    """In two passes, or in one, as kernels do that read their input once; of full precision it is in two."""
    if x.evaluation.profile.is_precise:
        return x.variance(axes)
    mean = x.mean(axes)
    return either(x.variance(axes), maximum((x * x).mean(axes) - mean * mean, 0.0))


OPERATORS: dict[str, Compute] = {"MEAN_VARIANCE_NORMALIZATION1": normalize}
CUTS: dict[str, Cut] = {"MEAN_VARIANCE_NORMALIZATION1": CutRows(lambda desc: desc.axes)}
