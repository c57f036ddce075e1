"""The gradient of the rectifier: ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces

PAGE = "ns-directml-dml_activation_relu_grad_operator_desc"


def shape(desc: Any) -> Shapes | Misfit:
    """The output has the sizes of both inputs."""
    sizes, other = desc.input_tensor.sizes, desc.input_gradient_tensor.sizes
    if sizes != other:
        return Misfit("InputGradientTensor.Sizes", f"{braces(other)}, InputTensor has {braces(sizes)}")
    return {"output_gradient_tensor": sizes}


SPECS = (
    operator_spec(
        "ACTIVATION_RELU_GRAD",
        shape=shape,
        own_rules=(
            output_sizes_rule(
                "ACTIVATION_RELU_GRAD",
                Source(PAGE, "Tensor constraints"),
                shapes_comparable("ACTIVATION_RELU_GRAD"),
                is_any=True,
            ),
        ),
        execution_rules=(
            Rule(
                "ACTIVATION_RELU_GRAD.values",
                Category.EXECUTION,
                "an output element is the gradient's where the input's is greater than 0, else 0; left open is what "
                "becomes of NaN and of subnormals",
                Source(PAGE, "Description"),
            ),
        ),
        domains={"InputTensor": "comparable"},
        summary="passes on the gradient of every element above 0",
        pseudocode="output[c...] = input[c...] > 0 ? gradient[c...] : 0",
    ),
)
