"""Activation functions of what another operator computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic, Inner, chained
from dml_conformance.backends.reference.layout import NUMBERS, Array, as_bits, as_numbers
from dml_conformance.backends.reference.operators.activation import OPERATORS
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.tensor import TensorDesc


def activated(activation: Any, output: TensorDesc, inner: Inner, arguments: tuple[Array, ...]) -> dict[str, Any]:
    """What is right of an output that holds an activation of the result of an inner operation.

    Args:
        activation: its descriptor, without tensors.
        output: the tensor.
        inner: gives what the activation is of.
        arguments: all that it takes.
    """
    if activation.operator == "ACTIVATION_IDENTITY":
        return {"output_tensor": Arithmetic(inner.function, arguments)}
    with np.errstate(all="ignore"):
        exact = inner.function(*(argument.astype(np.float64) for argument in arguments))
        rounded = as_bits(exact.astype(NUMBERS[output.data_type]), output)
        desc = with_tensors(activation, {"input_tensor": output, "output_tensor": output})
        found = OPERATORS[activation.operator](desc, {"input_tensor": rounded})["output_tensor"]
        if not isinstance(found, Arithmetic):
            return {"output_tensor": found}
        nan = found.nan
        if found.inner is not None:  # a NaN may come of what is infinite when it is rounded
            numbers = as_numbers(rounded, output.data_type).astype(np.float64)
            of_rounded = np.isnan(found.function(found.inner.function(numbers)))
            nan = of_rounded if nan is None else nan | of_rounded
    found = found._replace(
        arguments=arguments, inner=chained(inner, found.inner), nan=nan, bounds_of=activation.operator
    )
    return {"output_tensor": found}
