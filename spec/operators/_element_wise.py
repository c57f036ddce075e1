"""What operators share whose tensors all have the same sizes, element by element."""

from __future__ import annotations

from collections.abc import Sequence

from dml_conformance.spec.constraints import Constraint, value_of
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.operator import Misfit, OperatorSpec, ShapeFunction, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operator import inputs as inputs_of
from dml_conformance.spec.operator import outputs as outputs_of
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.structures import WithScaleTensor
from dml_conformance.spec.tensor import braces


def same_sizes(desc: OperatorDesc) -> Shapes | Misfit:
    """The sizes that all inputs have."""
    first, *others = inputs_of(desc)
    for slot in others:
        if slot.tensor.sizes != first.tensor.sizes:
            return Misfit(
                f"{slot.name}.Sizes", f"{braces(slot.tensor.sizes)}, {first.name} has {braces(first.tensor.sizes)}"
            )
    return {slot.key: first.tensor.sizes for slot in outputs_of(desc)}


def first_sizes(desc: OperatorDesc) -> Shapes:
    """The sizes of the first input, whatever the others have."""
    return {slot.key: inputs_of(desc)[0].tensor.sizes for slot in outputs_of(desc)}


def broadcast_misfit(desc: WithScaleTensor, names: Sequence[str]) -> Misfit | None:
    """The first tensor, of those that are there, of which a size is neither 1 nor InputTensor's."""
    wanted = desc.input_tensor.sizes
    for name in names:
        found = () if value_of(desc, name) is None else value_of(desc, name).sizes
        if any(size not in (1, full) for size, full in zip(found, wanted, strict=False)):
            return Misfit(f"{name}.Sizes", f"{braces(found)}, InputTensor has {braces(wanted)}")
    return None


def element_wise(name: str, *own_rules: Rule | Constraint, shape: ShapeFunction = same_sizes) -> OperatorSpec:
    """One such operator.

    Args:
        name: the operator's.
        own_rules: of its descriptors, besides that its output has the inputs' sizes.
        shape: how the output's sizes follow where not all inputs have the same.
    """
    sizes = output_sizes(is_any=shape is same_sizes, section="Tensor constraints")
    return operator_spec(name, shape=shape, own_rules=(*own_rules, sizes))
