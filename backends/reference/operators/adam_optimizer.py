"""ADAM_OPTIMIZER."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either, known, where
from dml_conformance.backends.reference.functions import of_ends, sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import rounded_or_not
from dml_conformance.backends.reference.parts import Cuts, cut_elementwise
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import AdamOptimizer


def adam(desc: AdamOptimizer, arrays: Arrays) -> dict[str, Any]:
    """m = Beta1 * m + (1 - Beta1) * g; v = Beta2 * v + (1 - Beta2) * g * g

    x -= LearningRate * alpha * m / (sqrt(v) + Epsilon), where alpha = sqrt(1 - Beta2^step) / (1 - Beta1^step), or 1 in
    step 0
    """
    data_type = desc.input_parameters_tensor.data_type

    def given(name: str, tolerance: Tolerance) -> Enclosure:
        key = f"{name}_tensor"
        return Evaluation(tolerance).of(as_numbers(arrays[key], getattr(desc, key).data_type))

    def first_moment(tolerance: Tolerance) -> Enclosure:
        m, g = (given(name, tolerance) for name in ("input_first_moment", "gradient"))
        beta = m.operand(desc.beta1)
        return beta * m + (1.0 - beta) * g

    def second_moment(tolerance: Tolerance) -> Enclosure:
        v, g = (given(name, tolerance) for name in ("input_second_moment", "gradient"))
        beta = v.operand(desc.beta2)
        return beta * v + either((1.0 - beta) * g * g, (1.0 - beta) * (g * g))

    def parameters(tolerance: Tolerance) -> Enclosure:
        x, step = (given(name, tolerance) for name in ("input_parameters", "training_step"))
        m, v = (rounded_or_not(moment(tolerance), data_type) for moment in (first_moment, second_moment))
        root = sqrt(v) + desc.epsilon
        ones = [1.0 - _power(x.operand(beta), step) for beta in (desc.beta1, desc.beta2)]
        alpha = sqrt(ones[1]) / ones[0]
        alpha = either(alpha, where(known(step.value == 0), x.operand(1.0), alpha))
        rate = desc.learning_rate * alpha
        return x - either(rate * m / root, rate * (m / root))

    return {
        "output_parameters_tensor": lambda tolerance: parameters(tolerance).to(data_type),
        "output_first_moment_tensor": lambda tolerance: first_moment(tolerance).to(data_type),
        "output_second_moment_tensor": lambda tolerance: second_moment(tolerance).to(data_type),
    }


def _power(beta: Enclosure, step: Enclosure) -> Enclosure:
    """beta^step, where the step may be rounded; it is 1 in step 0, however it is computed."""
    step = either(step, step.to(DataType.FLOAT32))
    found = of_ends("pow", lambda a, b: [step.xp.pow(a, b)], beta, step)
    return where(known(step.value == 0), step.operand(1.0), found)


OPERATORS: dict[str, Compute] = {"ADAM_OPTIMIZER": adam}
CUTS: dict[str, Cuts] = {
    "ADAM_OPTIMIZER": dict.fromkeys(
        ("output_parameters_tensor", "output_first_moment_tensor", "output_second_moment_tensor"), cut_elementwise
    )
}
