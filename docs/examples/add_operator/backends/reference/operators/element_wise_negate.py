"""ELEMENT_WISE_NEGATE: numbers with the opposite sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers
from dml_conformance.spec.expectation import Expectation


def negate(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = -input[c...]; free where the page does not say what that is."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    if desc.input_tensor.data_type.is_float:
        free = np.isnan(numbers) | (np.abs(numbers) < np.finfo(numbers.dtype).tiny)
    else:
        free = numbers == np.iinfo(numbers.dtype).min
    return {"output_tensor": Expectation(as_bits(-numbers, desc.output_tensor), free=free)}


OPERATORS: dict[str, Compute] = {"ELEMENT_WISE_NEGATE": negate}
