"""MEAN_VARIANCE_NORMALIZATION, 1 and 2: elements less their mean, over the root of their variance, along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.functions import maximum, sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated, stored
from dml_conformance.backends.reference.parts import Cut, CutRows, RowStatistics
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import MeanVariance


def normalize(desc: MeanVariance, arrays: Arrays) -> dict[str, Any]:
    """output[c] = activation(scale[c] * (input[c] - mean) / sqrt(variance + Epsilon) + bias[c])"""
    axes, source = axes_of(desc), arrays["input_tensor"]
    if len(set(axes)) < len(axes):
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    return {"output_tensor": lambda tolerance: _elements(desc, arrays, _statistics(desc, arrays, tolerance), tolerance)}


def _statistics(desc: MeanVariance, arrays: Arrays, tolerance: Tolerance) -> tuple[Enclosure, ...]:
    """The mean along axes, and the root of the variance where it is divided by."""
    data_type, axes = desc.output_tensor.data_type, axes_of(desc)
    x = Evaluation(tolerance).of(as_numbers(arrays["input_tensor"], data_type))
    of_terms = x.mean(axes)
    mean = stored(of_terms, data_type)
    if not (desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance):
        return (mean,)
    variance = variance_of(x, axes, of_terms, mean)
    # Without a mean the variance may be that around 0, as where a root mean square is divided by.
    variance = variance if _has_mean(desc) else either((x * x).mean(axes), variance)
    return mean, sqrt(stored(variance, data_type) + desc.epsilon)


def _elements(desc: MeanVariance, arrays: Arrays, statistics: tuple[Enclosure, ...], tolerance: Tolerance) -> Enclosure:
    data_type, evaluation = desc.output_tensor.data_type, Evaluation(tolerance)
    given = {key: evaluation.of(as_numbers(array, data_type)) for key, array in arrays.items()}
    x, scale, bias = (given.get(key) for key in ("input_tensor", "scale_tensor", "bias_tensor"))
    assert x is not None
    mean, *roots = statistics
    found = x - mean if _has_mean(desc) else x
    for root in roots:
        found = found / root if scale is None else either(scale * (found / root), found * (scale / root))
    if scale is not None and not roots:
        found = scale * found
    if bias is not None:
        found = found + bias
    return activated(desc.fused_activation, found, data_type).to(data_type)


def _has_mean(desc: MeanVariance) -> bool:
    return bool(getattr(desc, "use_mean", True))


def axes_of(desc: MeanVariance) -> tuple[int, ...]:
    """Along which elements are taken together: an image's, with CrossChannel the channels too, or Axes."""
    if hasattr(desc, "axes"):
        return tuple(desc.axes)
    return (1, 2, 3) if desc.cross_channel else (2, 3)


def variance_of(x: Enclosure, axes: tuple[int, ...], mean: Enclosure, seen: Enclosure) -> Enclosure:
    """In two passes, of which the second sees the mean, or in one, as kernels do that read their input once; of full
    precision it is in two.

    Args:
        x: the elements.
        axes: along which they are taken together.
        mean: theirs along these.
        seen: what the second pass has of it.
    """
    variance = x.variance(axes, seen)
    if x.evaluation.tolerance.is_precise:
        return variance
    return either(variance, maximum((x * x).mean(axes) - mean * mean, 0.0))


OPERATORS: dict[str, Compute] = dict.fromkeys(
    ("MEAN_VARIANCE_NORMALIZATION", "MEAN_VARIANCE_NORMALIZATION1", "MEAN_VARIANCE_NORMALIZATION2"), normalize
)
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CutRows(axes_of, statistics=RowStatistics(_statistics, _elements)))
