"""RANDOM_GENERATOR: numbers by the Philox 4x32-10 algorithm, whose state goes in and comes out."""

from __future__ import annotations

from dml_conformance.spec.constraints import leading_ones, same_sizes, size_within
from dml_conformance.spec.operator import Shapes, operator_spec
from dml_conformance.spec.structures import RandomGenerator

COUNTER, STATE = 4, 6  # words of the counter, and of it and the key


def shape(desc: RandomGenerator) -> Shapes:
    """Any sizes of OutputTensor, and the input's of the state."""
    found = {"output_tensor": desc.output_tensor.sizes}
    if desc.output_state_tensor is not None:
        found["output_state_tensor"] = desc.input_state_tensor.sizes
    return found


RANDOM_GENERATOR = operator_spec(
    "RANDOM_GENERATOR",
    shape=shape,
    own_rules=(
        size_within("InputStateTensor", -1, STATE, STATE, name="state-size"),
        leading_ones("InputStateTensor", 1),
        same_sizes("OutputStateTensor", "InputStateTensor", name="output-sizes"),
    ),
)
SPECS = (RANDOM_GENERATOR,)
