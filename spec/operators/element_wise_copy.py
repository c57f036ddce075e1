"""Operators that copy elements where they stand: ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
    slots,
)
from dml_conformance.spec.operator import inputs as inputs_of
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces


def shape(desc: Any) -> Shapes | Misfit:
    """The sizes that all inputs have."""
    first, *others = inputs_of(desc)
    for slot in others:
        if slot.tensor.sizes != first.tensor.sizes:
            return Misfit(
                f"{slot.name}.Sizes", f"{braces(slot.tensor.sizes)}, {first.name} has {braces(first.tensor.sizes)}"
            )
    return {"output_tensor": first.tensor.sizes}


def _copy(name: str, copied: str, **stated: Any) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=shape,
        own_rules=(output_sizes_rule(name, Source(page, "Tensor constraints"), shapes_comparable(name)),),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                f"every output element is {copied}, bit for bit",
                Source(page, "Description"),
            ),
        ),
        **stated,
    )


SPECS = (
    _copy(
        "ELEMENT_WISE_IDENTITY",
        "the input element at its coordinates; with ScaleBias, which is arithmetic, it is not judged",
        summary="copies every element",
        pseudocode="output[c...] = input[c...]",
    ),
    _copy(
        "ACTIVATION_IDENTITY",
        "the input element at its coordinates",
        summary="copies every element",
        pseudocode="output[c...] = input[c...]",
    ),
    _copy(
        "ELEMENT_WISE_IF",
        "the element of ATensor at its coordinates where ConditionTensor is not 0, else that of BTensor",
        groups={"ConditionTensor": ""},
        domains={"ConditionTensor": "truths"},
        summary="copies every element from one of two tensors, chosen by a condition",
        pseudocode="output[c...] = condition[c...] != 0 ? a[c...] : b[c...]",
    ),
)


def scale_bias_of_64_bits(desc: Any) -> bool:
    """Whether elements of 64 bits are scaled, by anything but 1 and 0."""
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None or (scale_bias.scale, scale_bias.bias) == (1.0, 0.0):
        return False
    return all(slot.tensor.data_type.size == 8 for slot in slots(desc))


DIVERGENCES = {"DIV-scale-bias-of-64-bits": scale_bias_of_64_bits}
