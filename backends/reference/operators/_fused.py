"""Activation functions of what another operator computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dml_conformance.backends.reference.enclosure import Enclosure, either
from dml_conformance.backends.reference.operators.activation import ACTIVATIONS, applied
from dml_conformance.backends.reference.operators.softmax import softmax
from dml_conformance.spec.datatypes import DataType


def activated(activation: Any, x: Enclosure, data_type: DataType) -> Enclosure:
    """The activation of a result, rounded to a type before or not; open where the pages do not say what it is.

    Args:
        activation: its descriptor, without tensors; None for none.
        x: the result.
        data_type: of the output.
    """
    if activation is None:
        return x
    function = _function(activation, len(x.shape), data_type)
    if function is None:
        return x.opened(x.xp.ones_like(x.value, dtype=x.xp.bool))
    return function(rounded_or_not(x, data_type))


def _function(activation: Any, rank: int, data_type: DataType) -> Callable[[Enclosure], Enclosure] | None:
    """What it computes of an output with so many dimensions, along axes of that too; None where that is not said."""
    if activation.operator in ACTIVATIONS:
        return applied(activation)
    axes = axes_of(activation, rank)
    return partial(softmax, axes=axes, data_type=data_type) if len(set(axes)) == len(axes) else None


def axes_of(activation: Any, rank: int) -> tuple[int, ...]:
    """The axes that a fused softmax is taken along."""
    return getattr(activation, "axes", (rank - 1,))


def rounded_or_not(x: Enclosure, data_type: DataType) -> Enclosure:
    """What is computed in FLOAT32, and may be rounded to the tensors' type before it is computed with again."""
    return x if x.evaluation.data_type is data_type else either(x, x.to(data_type))


def stored(x: Enclosure, data_type: DataType) -> Enclosure:
    """What may be rounded on the way where the tolerance lets numbers be kept in the tensors' type, else as it is."""
    return rounded_or_not(x, data_type) if data_type in x.evaluation.tolerance.stored else x
