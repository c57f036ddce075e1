"""GEMM: the product of matrices, scaled, with a scaled matrix added and an activation of what comes."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated, axes_of, stored
from dml_conformance.backends.reference.parts import Cut, CutRows, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators.gemm import TRANSPOSE
from dml_conformance.spec.structures import Gemm


def gemm(desc: Gemm, arrays: Arrays) -> dict[str, Any]:
    """output[..., m, n] = activation(Alpha * sum(a[..., m, k] * b[..., k, n]) + Beta * c[..., m, n])"""

    def formula(tolerance: Tolerance) -> Enclosure:
        evaluation, data_type = Evaluation(tolerance), desc.output_tensor.data_type
        numbers = {key: as_numbers(array, data_type) for key, array in arrays.items()}
        a = evaluation.of(numbers["a_tensor"].swapaxes(-1, -2) if desc.trans_a == TRANSPOSE else numbers["a_tensor"])
        b = evaluation.of(numbers["b_tensor"].swapaxes(-1, -2) if desc.trans_b == TRANSPOSE else numbers["b_tensor"])
        found = _scaled(a.product(b, data_type, is_stored=True), desc.alpha)
        if desc.alpha not in (0.0, 1.0):  # the formula can be read either way
            found = either(found, (a * desc.alpha).product(b, data_type, is_stored=True))
        if "c_tensor" in numbers:
            found = stored(found, data_type) + _scaled(evaluation.of(numbers["c_tensor"]), desc.beta)
        return activated(desc.fused_activation, found, data_type).to(data_type)

    return {"output_tensor": formula}


def _scaled(matrix: Enclosure, factor: float) -> Enclosure:
    """factor * matrix; of 0 also nothing, as libraries do not read what counts for nothing."""
    if factor == 1.0:
        return matrix
    product = matrix * factor
    return product if factor else either(product, matrix.operand(0.0).broadcast(*matrix.shape))


def cut(desc: Gemm, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The rows of A and the columns of B that the box is a product of."""
    *lead, rows, columns = spans
    every = slice(None)
    a = (every, rows) if desc.trans_a == TRANSPOSE else (rows, every)
    b = (columns, every) if desc.trans_b == TRANSPOSE else (every, columns)
    boxes = {"a_tensor": (*lead, *a), "b_tensor": (*lead, *b), "c_tensor": tuple(spans)}
    return desc, {key: array[boxes[key]] for key, array in arrays.items()}


def fused_axes(desc: Gemm) -> tuple[int, ...]:
    """Along which axes the activation is taken: those of softmax."""
    activation = desc.fused_activation
    if activation is None or "SOFTMAX" not in activation.operator:
        return ()
    return axes_of(activation, len(desc.output_tensor.sizes))


OPERATORS: dict[str, Compute] = {"GEMM": gemm}
CUTS: dict[str, Cut] = {"GEMM": CutRows(fused_axes, cut)}
