"""ELEMENT_WISE_LOGICAL_*, ELEMENT_WISE_IS_NAN and ELEMENT_WISE_IS_INFINITY: what is true of elements, as 1 and 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec import structures
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import inputs
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Within
from dml_conformance.spec.field_kinds import enumeration

EITHER, POSITIVE, NEGATIVE = enumeration("DML_IS_INFINITY_MODE")

Operation = Callable[[Array, Array], Mask]
_INFINITE: dict[int, Callable[[Array], Mask]] = {EITHER: np.isinf, POSITIVE: np.isposinf, NEGATIVE: np.isneginf}


def combine(operation: Operation, desc: structures.ElementWiseLogic, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = operation(a[c...] != 0, b[c...] != 0) ? 1 : 0"""
    return _truths(desc, operation(arrays["a_tensor"] != 0, arrays["b_tensor"] != 0))


def negate(desc: structures.ElementWiseLogic, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = input[c...] == 0 ? 1 : 0"""
    return _truths(desc, arrays["input_tensor"] == 0)


def compare(operation: Operation, desc: structures.ElementWiseLogic, arrays: Arrays) -> dict[str, Array | Expectation]:
    """output[c...] = operation(a[c...], b[c...]) ? 1 : 0; either where subnormal FLOAT32 numbers as 0 change that."""
    data_type = inputs(desc)[0].tensor.data_type
    a, b = (as_numbers(arrays[key], data_type) for key in ("a_tensor", "b_tensor"))
    found = _truths(desc, operation(a, b))
    if data_type is not DataType.FLOAT32:
        return {**found}
    flushed = _truths(desc, operation(*map(_flushed, (a, b))))
    kept = found["output_tensor"]
    differs = np.asarray(kept != flushed["output_tensor"])
    if not differs.any():
        return {**found}
    within = Within(np.zeros_like(kept), np.ones_like(kept), where=differs)
    return {"output_tensor": Expectation(kept, within=within)}


def is_nan(desc: structures.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = isnan(input[c...]) ? 1 : 0"""
    return _truths(desc, np.isnan(as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)))


def is_infinity(desc: structures.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = isinf(input[c...]), of the sign that InfinityMode names, ? 1 : 0"""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    return _truths(desc, _INFINITE[desc.infinity_mode](numbers))


def _truths(desc: structures.ElementWiseLogic, found: Mask) -> dict[str, Bits]:
    """What is true as 1, what is not as 0."""
    return {"output_tensor": np.asarray(found).astype(UNSIGNED[desc.output_tensor.data_type.size])}


def _flushed(numbers: Array) -> Array:
    """Numbers with 0 in the place of subnormal ones."""
    return np.where(np.abs(numbers) < np.finfo(numbers.dtype).tiny, numbers.dtype.type(0), numbers)


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_LOGICAL_AND": partial(combine, np.logical_and),
    "ELEMENT_WISE_LOGICAL_OR": partial(combine, np.logical_or),
    "ELEMENT_WISE_LOGICAL_XOR": partial(combine, np.logical_xor),
    "ELEMENT_WISE_LOGICAL_NOT": negate,
    "ELEMENT_WISE_LOGICAL_EQUALS": partial(compare, np.equal),
    "ELEMENT_WISE_LOGICAL_GREATER_THAN": partial(compare, np.greater),
    "ELEMENT_WISE_LOGICAL_LESS_THAN": partial(compare, np.less),
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": partial(compare, np.greater_equal),
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": partial(compare, np.less_equal),
    "ELEMENT_WISE_IS_NAN": is_nan,
    "ELEMENT_WISE_IS_INFINITY": is_infinity,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
