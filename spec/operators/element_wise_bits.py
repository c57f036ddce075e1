"""Operators on the bits of elements: ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT.

Their pages apply them to the elements in their own encoding: of a data type only the width counts.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise

OPERANDS = {"ATensor": "operands", "BTensor": "operands"}


def _bits(name: str, values: str, **stated: Any) -> OperatorSpec:
    return element_wise(f"ELEMENT_WISE_BIT_{name}", f"every output element has {values}", **stated)


def _shift(direction: str, symbol: str) -> OperatorSpec:
    name = f"ELEMENT_WISE_BIT_SHIFT_{direction.upper()}"
    return element_wise(
        name,
        f"every output element is the element of ATensor, shifted to the {direction} by as many bits as the element of "
        "BTensor says, with zeros for the bits that come in; of as many bits as the type has, or more, any value is "
        "right",
        settles=(f"{name}-1",),
        domains={"BTensor": "shifts"},
        summary=f"shifts the bits of every element to the {direction}",
        pseudocode=f"output[c...] = a[c...] {symbol} b[c...]",
    )


SPECS = (
    _shift("left", "<<"),
    _shift("right", ">>"),
    _bits(
        "AND",
        "those bits set that both input elements have set",
        domains=OPERANDS,
        summary="has the bits that are set in both of two tensors",
        pseudocode="output[c...] = a[c...] & b[c...]",
    ),
    _bits(
        "OR",
        "those bits set that one of the input elements or both have set",
        domains=OPERANDS,
        summary="has the bits that are set in any of two tensors",
        pseudocode="output[c...] = a[c...] | b[c...]",
    ),
    _bits(
        "XOR",
        "those bits set that one of the input elements, and not the other, has set",
        domains=OPERANDS,
        summary="has the bits that differ between two tensors",
        pseudocode="output[c...] = a[c...] ^ b[c...]",
    ),
    _bits(
        "NOT",
        "those bits set that the input element has not",
        summary="inverts every bit",
        pseudocode="output[c...] = ~input[c...]",
    ),
    element_wise(
        "ELEMENT_WISE_BIT_COUNT",
        "every output element is the number of bits that the input element has set",
        groups={"OutputTensor": ""},
        summary="counts the bits of every element that are set",
        pseudocode="output[c...] = popcount(input[c...])",
    ),
)
