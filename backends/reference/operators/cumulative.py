"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT: the running sum, or product, of the elements along an axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.backends.reference.products import cumulative_product
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators.cumulative import DIRECTION, is_exclusive
from dml_conformance.spec.structures import Cumulative

Scan = Callable[[Any, int], Any]


def cumulative(empty: int, of_integers: Callable[..., Any], of_floats: Scan, desc: Cumulative, arrays: Arrays) -> Any:
    """output[c] = input[c with 0 along Axis] + ... + input[c], or their product.

    Args:
        empty: the sum, or product, of no elements.
        of_integers: that of integers, modulo 2 to the number of their bits.
        of_floats: that of enclosures.
        desc: the descriptor.
        arrays: the input.
    """
    data_type, axis = desc.input_tensor.data_type, desc.axis
    turned: Any = slice(None, None, -1 if desc.axis_direction == DIRECTION.DECREASING else 1)
    numbers = as_numbers(arrays["input_tensor"], data_type)
    turn = (*(slice(None),) * axis, turned)
    before_last = (*(slice(None),) * axis, slice(None, -1))
    first = np.full((*numbers.shape[:axis], 1, *numbers.shape[axis + 1 :]), empty)
    if not data_type.is_float:
        found = of_integers(numbers[turn], axis=axis, dtype=numbers.dtype)
        if is_exclusive(desc):
            found = np.concatenate((first.astype(numbers.dtype), found[before_last]), axis)
        return {"output_tensor": found[turn]}

    def formula(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(numbers[turn])
        found = of_floats(x, axis)
        if is_exclusive(desc):
            found = concatenate((Enclosure(x.evaluation, first.astype(np.float64)), found[before_last]), axis)
        output: Enclosure = found[turn].to(data_type)
        return output

    return {"output_tensor": formula}


OPERATORS: dict[str, Compute] = {
    "CUMULATIVE_SUMMATION": partial(cumulative, 0, np.cumsum, Enclosure.cumulative_sum),
    "CUMULATIVE_PRODUCT": partial(cumulative, 1, np.cumprod, cumulative_product),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CutRows(lambda desc: (desc.axis,)))
