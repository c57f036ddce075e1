"""A backend for two operators whose results are rounded, with NumPy; it fuses four activations and checks nothing."""

import numpy as np

from dml_conformance import Answer, Capabilities, Category, Level, Scope
from dml_conformance.spec.field_kinds import enumeration

TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE
NUMBERS = {"FLOAT32": "<f4", "FLOAT16": "<f2"}
ACTIVATIONS = {
    "ACTIVATION_IDENTITY": lambda activation, x: x,
    "ACTIVATION_LINEAR": lambda activation, x: activation.alpha * x + activation.beta,
    "ACTIVATION_RELU": lambda activation, x: np.maximum(x, 0),
    "ACTIVATION_TANH": lambda activation, x: np.tanh(x),
}


class ArithmeticBackend:
    def capabilities(self):
        operators = ("ELEMENT_WISE_EXP", "GEMM")
        claims = frozenset({Category.EXECUTION})
        versions, scope = {"numpy": np.__version__}, Scope(attributes={"FusedActivation": tuple(ACTIVATIONS)})
        return Capabilities("numpy-arithmetic", "host", versions, tuple(Level), operators, claims, scopes=(scope,))

    def validate(self, desc, level):
        return Answer(True)

    def execute(self, desc, level, inputs, outputs):
        read = {name: numbers(binding, getattr(desc, name)) for name, binding in inputs.items()}
        compute = gemm if desc.operator == "GEMM" else exponential
        with np.errstate(all="ignore"):
            result = compute(desc, **{name: array.astype(np.float32) for name, array in read.items()})
            numbers(outputs["output_tensor"], desc.output_tensor)[...] = result


def exponential(desc, input_tensor):
    if desc.scale_bias is not None:
        input_tensor = input_tensor * desc.scale_bias.scale + desc.scale_bias.bias
    return np.exp(input_tensor)


def gemm(desc, a_tensor, b_tensor, c_tensor=None):
    a = a_tensor.swapaxes(-1, -2) if desc.trans_a == TRANSPOSE else a_tensor
    b = b_tensor.swapaxes(-1, -2) if desc.trans_b == TRANSPOSE else b_tensor
    result = desc.alpha * (a @ b)
    if c_tensor is not None:
        result = result + desc.beta * c_tensor
    if desc.fused_activation is None:
        return result
    return ACTIVATIONS[desc.fused_activation.operator](desc.fused_activation, result)


def numbers(binding, tensor):
    """The tensor's elements as numbers, where they lie in the bound memory."""
    strides = [stride * tensor.data_type.size for stride in tensor.effective_strides]
    return np.ndarray(tensor.sizes, NUMBERS[tensor.data_type.name], binding.view, strides=strides)
