"""What the reference computes for a descriptor whose inputs are given, for worked examples and errata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.spec.case import Recipe
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.strategies.values import NUMPY_TYPE, fill

Reference = Callable[[OperatorDesc, Mapping[str, Binding]], Mapping[str, Any]]


def run_reference(
    desc: OperatorDesc, data: Mapping[str, Recipe], reference: Reference | None = None
) -> dict[str, tuple[Any, Any]]:
    """The output tensors of a descriptor by field name.

    Args:
        data: a recipe for each input tensor, by Python attribute name.
        reference: computes outputs as `backends.reference.expected_output` does, which is taken for None.

    Returns:
        For each output its elements as an array of the tensor's sizes and data type, and which of them the
        specification leaves open: an array of bool, or None for none.
    """
    inputs = {}
    for field in spec_of(desc).input_fields:
        buffer = fill(getattr(desc, field.attribute), data[field.attribute])
        inputs[field.attribute] = Binding(buffer, 0, len(buffer))
    results = (reference or expected_output)(desc, inputs)
    found = {}
    for field in spec_of(desc).output_fields:
        result, tensor = results[field.attribute], getattr(desc, field.attribute)
        elements = np.ascontiguousarray(result.values).reshape(-1).view(NUMPY_TYPE[tensor.data_type])
        found[field.name] = elements.reshape(tensor.sizes), result.open
    return found


def explicit(values: Mapping[str, Any]) -> dict[str, Recipe]:
    """Recipes for the elements of tensors, row-major, by Python attribute name."""
    return {name: Recipe("explicit", values=tuple(elements)) for name, elements in values.items()}
