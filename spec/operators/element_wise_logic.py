"""Operators whose results are truth values, 1 and 0: ELEMENT_WISE_LOGICAL_*, ELEMENT_WISE_IS_NAN and _IS_INFINITY.

LOGICAL_AND, _OR, _XOR and _NOT work on truth values, of which every number but 0 is a true one. The comparisons compare
floating-point numbers as Direct3D does, whose rules leave open whether a subnormal FLOAT32 is 0.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.sources import FLOATING_POINT_RULES, Source


def _truths(name: str, when: str, *tensors: str, **stated: Any) -> OperatorSpec:
    name = f"ELEMENT_WISE_LOGICAL_{name}"
    return element_wise(
        name,
        f"every output element is 1 where {when}, else 0; every number but 0 is true",
        settles=(f"{name}-1",),
        domains=dict.fromkeys(tensors, "conditions"),
        **stated,
    )


def _comparison(name: str, relation: str, symbol: str) -> OperatorSpec:
    name = f"ELEMENT_WISE_LOGICAL_{name}"
    return element_wise(
        name,
        f"every output element is 1 where the element of ATensor is {relation} that of BTensor, else 0; as Direct3D "
        "has it, no comparison with a NaN is true, and the two zeros are equal; where it matters whether subnormal "
        "FLOAT32 numbers count as 0, either is right",
        settles=(f"{name}-1",),
        also=(Source(FLOATING_POINT_RULES),),
        groups={"OutputTensor": ""},
        domains={"ATensor": "compared", "BTensor": "compared"},
        summary=f"says where an element of one tensor is {relation} that of another",
        pseudocode=f"output[c...] = a[c...] {symbol} b[c...] ? 1 : 0",
    )


SPECS = (
    _truths(
        "AND",
        "both input elements are true",
        "ATensor",
        "BTensor",
        summary="says where the elements of both of two tensors are true",
        pseudocode="output[c...] = a[c...] && b[c...] ? 1 : 0",
    ),
    _truths(
        "OR",
        "one of the input elements or both are true",
        "ATensor",
        "BTensor",
        summary="says where an element of any of two tensors is true",
        pseudocode="output[c...] = a[c...] || b[c...] ? 1 : 0",
    ),
    _truths(
        "XOR",
        "one of the input elements is true and the other is not",
        "ATensor",
        "BTensor",
        summary="says where the element of one of two tensors is true, and that of the other is not",
        pseudocode="output[c...] = (!!a[c...]) != (!!b[c...]) ? 1 : 0",
    ),
    _truths(
        "NOT",
        "the input element is not true",
        "InputTensor",
        summary="says where elements are not true",
        pseudocode="output[c...] = !input[c...] ? 1 : 0",
    ),
    _comparison("EQUALS", "equal to", "=="),
    _comparison("GREATER_THAN", "greater than", ">"),
    _comparison("LESS_THAN", "less than", "<"),
    _comparison("GREATER_THAN_OR_EQUAL", "greater than or equal to", ">="),
    _comparison("LESS_THAN_OR_EQUAL", "less than or equal to", "<="),
    element_wise(
        "ELEMENT_WISE_IS_NAN",
        "every output element is 1 where the input element is a NaN, of whatever sign and payload, else 0",
        groups={"OutputTensor": ""},
        summary="says which elements are NaN",
        pseudocode="output[c...] = isnan(input[c...]) ? 1 : 0",
    ),
    element_wise(
        "ELEMENT_WISE_IS_INFINITY",
        "every output element is 1 where the input element is an infinity of the sign, or of either, that InfinityMode "
        "names, else 0",
        groups={"OutputTensor": ""},
        domains={"InputTensor": "classes"},
        summary="says which elements are infinite",
        pseudocode="output[c...] = isinf(input[c...]) && (its sign is that of InfinityMode) ? 1 : 0",
    ),
)
