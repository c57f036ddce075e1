"""ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF: elements that stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.formula import Formula, scaled
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.descriptor import inputs
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import ElementWiseCopy


def identity(desc: ElementWiseCopy, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = input[c...]; with ScaleBias, input[c...] * Scale + Bias, which of integers and FLOAT64 is free"""
    source, data_type = arrays["input_tensor"], inputs(desc)[0].tensor.data_type
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None:
        return {"output_tensor": source}
    if not data_type.is_float or data_type.size == 8:
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    numbers = as_numbers(source, data_type)
    return {"output_tensor": Formula(lambda x: scaled(x, scale_bias), (numbers,), data_type, is_chained=True)}


def choose(desc: ElementWiseCopy, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = condition[c...] != 0 ? a[c...] : b[c...]"""
    return {"output_tensor": np.where(arrays["condition_tensor"] != 0, arrays["a_tensor"], arrays["b_tensor"])}


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_IDENTITY": identity,
    "ACTIVATION_IDENTITY": identity,
    "ELEMENT_WISE_IF": choose,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
