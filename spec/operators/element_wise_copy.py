"""Operators that copy elements where they stand: ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from dml_conformance.spec.operator import slots
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.structures import ElementWiseCopy

COPIES = ("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY", "ELEMENT_WISE_IF")
SPECS = tuple(element_wise(name) for name in COPIES)


def scale_bias_of_64_bits(desc: ElementWiseCopy) -> bool:
    """Whether elements of 64 bits are scaled, by anything but 1 and 0."""
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None or (scale_bias.scale, scale_bias.bias) == (1.0, 0.0):
        return False
    return all(slot.tensor.data_type.size == 8 for slot in slots(desc))


DIVERGENCES = {"DIV-scale-bias-of-64-bits": scale_bias_of_64_bits}
