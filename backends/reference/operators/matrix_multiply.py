"""Products of matrices of integers: exact, or of the numbers that they stand for."""

from __future__ import annotations

from operator import matmul
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, Factors, either, product_of
from dml_conformance.backends.reference.floats import Array
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._quantized import (
    as_float32,
    as_int32,
    has_no_int32,
    has_no_quotient,
    numbers_of,
    over_scale,
    quantized,
)
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Mask
from dml_conformance.spec.structures import MatrixMultiply

EXACT = 2.0**53  # below which FLOAT64 has all sums of integers
MOST_AT_ONCE = 2**20  # elements of a matrix; of more as many columns of A and rows of B are multiplied at a time


def multiply_integer(desc: MatrixMultiply, arrays: Arrays) -> dict[str, Expectation]:
    """output[..., m, n] = sum((a[..., m, k] - a_zero_point[m]) * (b[..., k, n] - b_zero_point[n])); open beyond
    INT32"""
    return {"output_tensor": as_int32(_differences(desc, arrays).sums(matmul))}


def quantized_multiply(desc: MatrixMultiply, arrays: Arrays) -> dict[str, Any]:
    """output[..., m, n] = clamp(round(sum((a - a_zero_point) * a_scale * (b - b_zero_point) * b_scale) / scale)
    + zero_point, least, largest), ties to even"""
    differences = _differences(desc, arrays)
    scales = [numbers_of(desc, arrays, f"{name}_scale_tensor") for name in ("a", "b", "output")]
    of_a, of_b, scale = map(_beside, scales)
    with np.errstate(all="ignore"):
        is_open = has_no_quotient((of_a, of_b, of_a * of_b), scale) | has_no_int32(differences.sums(matmul))

    def expected(tolerance: Tolerance) -> Expectation:
        evaluation = Evaluation(tolerance)
        of_x, of_y, by = map(evaluation.of, (of_a, of_b, scale))
        factors = differences.each(lambda a, b: (evaluation.of(a), evaluation.of(b)))
        scaled = factors.each(lambda x, y: (x * of_x, y * of_y))
        found = over_scale(product_of(factors), product_of(scaled), (of_x, of_y), by)
        zero_point = _beside(numbers_of(desc, arrays, "output_zero_point_tensor"))
        return quantized(found, zero_point, desc.output_tensor.data_type, is_open)

    return {"output_tensor": expected}


def multiply_to_float(desc: MatrixMultiply, arrays: Arrays) -> dict[str, Any]:
    """output[..., m, n] = sum((a - a_zero_point) * a_scale * (b - b_zero_point) * b_scale) + bias[..., m, n]"""
    differences = _differences(desc, arrays)
    data_type, types = desc.output_tensor.data_type, (desc.a_tensor.data_type, desc.b_tensor.data_type)
    with np.errstate(all="ignore"):
        is_open = has_no_int32(differences.sums(matmul))
        is_open = is_open | (differences.sums(lambda a, b: np.abs(a) @ np.abs(b)) >= EXACT)
        is_open = is_open | differences.sums(lambda a, b: _has_beyond(a, b, types))

    def formula(tolerance: Tolerance) -> Enclosure:
        evaluation = Evaluation(tolerance)
        of_x, of_y = (
            evaluation.of(_beside(as_numbers(arrays[key], data_type))) for key in ("a_scale_tensor", "b_scale_tensor")
        )
        factors = differences.each(lambda a, b: (as_float32(evaluation.of(a)), as_float32(evaluation.of(b))))
        scaled = factors.each(lambda x, y: (x * of_x, y * of_y))
        product = product_of(factors)
        found = either(product_of(scaled), product * (of_x * of_y), product * of_x * of_y, product * of_y * of_x)
        if data_type is DataType.FLOAT16:
            found = either(found, product_of(scaled.each(lambda x, y: (x.to(data_type), y.to(data_type)))))
        if "bias_tensor" in arrays:
            found = found + evaluation.of(as_numbers(arrays["bias_tensor"], data_type))
        return found.to(data_type).opened(is_open)

    return {"output_tensor": formula}


def _beside(numbers: Array) -> Array:
    """Scales or zero points as they broadcast beside matrices of any dimension count: what is before rows is 1."""
    return numbers.reshape(numbers.shape[-2:])


def _differences(desc: MatrixMultiply, arrays: Arrays) -> Factors:
    """A and B less their zero points, part by part where they are large."""
    rows, columns = arrays["a_tensor"], arrays["b_tensor"]

    def part(along: slice) -> tuple[Array, Array]:
        seen = {**arrays, "a_tensor": rows[..., along], "b_tensor": columns[..., along, :]}
        a, b = (
            numbers_of(desc, seen, f"{name}_tensor") - _beside(numbers_of(desc, seen, f"{name}_zero_point_tensor"))
            for name in ("a", "b")
        )
        return a, b

    count = rows.shape[-1]
    return Factors.of(count, max(1, MOST_AT_ONCE * count // max(rows.size, columns.size)), part)


def _has_beyond(a: Array, b: Array, types: tuple[DataType, DataType]) -> Mask:
    """Of which sums a difference is one that a type of 32 bits does not have; narrower ones are computed in a wider
    type."""
    found = []
    for differences, data_type, axis in zip((a, b), types, (-1, -2), strict=True):
        least, most = (data_type.limits or (0, 0)) if data_type.size == 4 else (-np.inf, np.inf)
        found.append(((differences < least) | (differences > most)).any(axis, keepdims=True))
    return np.asarray(found[0] | found[1])


def cut(desc: MatrixMultiply, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The rows of A and the columns of B that the box is a product of, and what stands beside them."""
    *lead, rows, columns = spans
    every, found, box = slice(None), dict[str, Any](), tuple[Any, ...]()
    for key, array in arrays.items():
        if key == "a_tensor":
            box = (*lead, rows, every)
        elif key == "b_tensor":
            box = (*lead, every, columns)
        elif key == "bias_tensor":
            box = (*lead, rows, columns)
        else:
            last = zip(array.shape[-2:], (rows, columns)[-array.ndim :], strict=True)
            box = (..., *(span if size > 1 else every for size, span in last))
        found[key] = array[box]
    return desc, found


OPERATORS: dict[str, Compute] = {
    "MATRIX_MULTIPLY_INTEGER": multiply_integer,
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": quantized_multiply,
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": multiply_to_float,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut)
