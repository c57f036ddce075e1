"""Operators that copy elements where they stand: ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import slots
from dml_conformance.spec.operators._element_wise import element_wise

SPECS = (
    element_wise(
        "ELEMENT_WISE_IDENTITY",
        "every output element is the input element at its coordinates, bit for bit; with ScaleBias, x * Scale + Bias "
        "of it, which is left open of integers and FLOAT64",
        primitives=(),
        summary="copies every element",
        pseudocode="output[c...] = input[c...]",
    ),
    element_wise(
        "ACTIVATION_IDENTITY",
        "every output element is the input element at its coordinates, bit for bit",
        summary="copies every element",
        pseudocode="output[c...] = input[c...]",
    ),
    element_wise(
        "ELEMENT_WISE_IF",
        "every output element is the element of ATensor at its coordinates where ConditionTensor is not 0, else that "
        "of BTensor, bit for bit",
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
