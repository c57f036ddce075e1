"""CAST: every element as a value of the output's data type."""

from __future__ import annotations

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._conversion import converted
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import Cast


def cast(desc: Cast, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = (type of the output) input[c...]"""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    return {"output_tensor": converted(numbers, desc.output_tensor.data_type)}


OPERATORS: dict[str, Compute] = {"CAST": cast}
CUTS: dict[str, Cut] = {"CAST": cut_elementwise}
