"""The gradient of the rectifier: ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.structures import ActivationReluGrad
from dml_conformance.spec.tensor import braces


def shape(desc: ActivationReluGrad) -> Shapes | Misfit:
    """The output has the sizes of both inputs."""
    sizes, other = desc.input_tensor.sizes, desc.input_gradient_tensor.sizes
    if sizes != other:
        return Misfit("InputGradientTensor.Sizes", f"{braces(other)}, InputTensor has {braces(sizes)}")
    return {"output_gradient_tensor": sizes}


SPECS = (
    operator_spec(
        "ACTIVATION_RELU_GRAD",
        shape=shape,
        own_rules=(output_sizes(is_any=True, section="Tensor constraints"),),
    ),
)
