"""ACTIVATION_RELU_GRAD: gradients where the input is above 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, where
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.functions import or_nan
from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.structures import ActivationReluGrad


def relu_grad(desc: ActivationReluGrad, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = input[c...] > 0 ? gradient[c...] : 0"""
    data_type, output = desc.input_tensor.data_type, desc.output_gradient_tensor
    x, gradient = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "input_gradient_tensor"))
    if not data_type.is_float:
        passed = np.where(x > 0, gradient, gradient.dtype.type(0))
        return {"output_gradient_tensor": as_bits(passed, output)}

    def formula(x: Enclosure, gradient: Enclosure) -> Enclosure:
        return where(or_nan(x > 0, x), gradient, 0.0)

    return {"output_gradient_tensor": Formula(formula, (x, gradient), data_type, is_chained=True)}


OPERATORS: dict[str, Compute] = {"ACTIVATION_RELU_GRAD": relu_grad}
CUTS: dict[str, Cut] = {"ACTIVATION_RELU_GRAD": cut_elementwise}
