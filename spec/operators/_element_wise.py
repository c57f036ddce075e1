"""What operators share whose tensors all have the same sizes, element by element."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import Constraint
from dml_conformance.spec.operator import Misfit, OperatorSpec, ShapeFunction, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operator import inputs as inputs_of
from dml_conformance.spec.operator import outputs as outputs_of
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor import braces


def same_sizes(desc: Any) -> Shapes | Misfit:
    """The sizes that all inputs have."""
    first, *others = inputs_of(desc)
    for slot in others:
        if slot.tensor.sizes != first.tensor.sizes:
            return Misfit(
                f"{slot.name}.Sizes", f"{braces(slot.tensor.sizes)}, {first.name} has {braces(first.tensor.sizes)}"
            )
    return {slot.key: first.tensor.sizes for slot in outputs_of(desc)}


def element_wise(name: str, *own_rules: Rule | Constraint, shape: ShapeFunction = same_sizes) -> OperatorSpec:
    """One such operator.

    Args:
        name: the operator's.
        own_rules: of its descriptors, besides that its output has the inputs' sizes.
        shape: how the output's sizes follow where not all inputs have the same.
    """
    sizes = output_sizes(is_any=shape is same_sizes, section="Tensor constraints")
    return operator_spec(name, shape=shape, own_rules=(*own_rules, sizes))
