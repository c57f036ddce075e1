"""ADAM_OPTIMIZER."""

from __future__ import annotations

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._numbers import widen
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import AdamOptimizer

_INPUTS = ("input_parameters_tensor", "input_first_moment_tensor", "input_second_moment_tensor", "gradient_tensor")
_OUTPUTS = ("output_parameters_tensor", "output_first_moment_tensor", "output_second_moment_tensor")


def adam(desc: AdamOptimizer, tensors: Tensors) -> Tensors:
    """`x -= LearningRate * alpha * m / (sqrt(v) + Epsilon)`, with new moments m and v, in FLOAT32."""
    shapes, step = {tensors[key].shape for key in _INPUTS}, tensors["training_step_tensor"]
    if len(shapes) > 1 or step.numel() != 1:
        raise PlanError(f"the inputs have sizes {[*map(tuple, shapes)]}, the step {tuple(step.shape)}")
    if step.is_meta:
        return dict.fromkeys(_OUTPUTS, tensors[_INPUTS[0]])
    x, m, v, g = (tensors[key].float() for key in _INPUTS)
    count = widen(step).float()
    m = m * desc.beta1 + g * (1.0 - desc.beta1)
    v = v * desc.beta2 + g * g * (1.0 - desc.beta2)
    alpha = (1.0 - desc.beta2**count).sqrt() / (1.0 - desc.beta1**count)
    x = x - desc.learning_rate * alpha * m / (v.sqrt() + desc.epsilon)
    return {key: of.to(tensors[_INPUTS[0]].dtype) for key, of in zip(_OUTPUTS, (x, m, v), strict=True)}


def _fault(desc: AdamOptimizer, level: Level) -> str:
    step = desc.training_step_tensor.data_type
    if step is not DataType.UINT32:
        return f"the step is counted in {step.name}"
    if not (0 <= desc.beta1 <= 1 and 0 <= desc.beta2 <= 1):
        return f"the decay rates {desc.beta1} and {desc.beta2} are not both from 0 to 1"
    return ""


OPERATORS = {
    "ADAM_OPTIMIZER": TorchOperator(
        adam,
        ((*_INPUTS, *_OUTPUTS),),
        frozenset({*_INPUTS, "training_step_tensor"}),
        fault=_fault,
        apart=lambda desc: range(len(desc.gradient_tensor.sizes)),
    )
}
