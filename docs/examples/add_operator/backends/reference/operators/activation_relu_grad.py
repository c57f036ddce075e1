"""ACTIVATION_RELU_GRAD: gradients where the input is greater than 0."""

from __future__ import annotations

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import ActivationReluGrad


def relu_grad(desc: ActivationReluGrad, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = input[c...] > 0 ? gradient[c...] : 0; free where the page does not say what that is."""
    data_type, free = desc.input_tensor.data_type, None
    x, gradient = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "input_gradient_tensor"))
    if data_type.is_float:
        least = np.finfo(x.dtype).tiny
        open_ = (np.isnan(numbers) | ((np.abs(numbers) < least) & (numbers != 0)) for numbers in (x, gradient))
        free = np.logical_or(*open_)
    values = np.where(x > 0, gradient, x.dtype.type(0))
    return {"output_gradient_tensor": Expectation(as_bits(values, desc.output_gradient_tensor), free=free)}


OPERATORS: dict[str, Compute] = {"ACTIVATION_RELU_GRAD": relu_grad}
