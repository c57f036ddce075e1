"""ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF: elements that stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._conversion import converted
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation


def identity(desc: Any, arrays: Arrays) -> dict[str, Array | Expectation]:
    """output[c...] = input[c...]; with ScaleBias, `x * scale + bias`, which is not judged."""
    source, scale_bias = arrays["input_tensor"], getattr(desc, "scale_bias", None)
    if scale_bias is None:
        return {"output_tensor": source}
    data_type = desc.input_tensor.data_type
    with np.errstate(all="ignore"):
        scaled = as_numbers(source, data_type).astype(np.float64) * scale_bias.scale + scale_bias.bias
    return {"output_tensor": Expectation(converted(scaled, data_type).values, free=np.ones(source.shape, np.bool_))}


def choose(desc: Any, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = condition[c...] != 0 ? a[c...] : b[c...]"""
    return {"output_tensor": np.where(arrays["condition_tensor"] != 0, arrays["a_tensor"], arrays["b_tensor"])}


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_IDENTITY": identity,
    "ACTIVATION_IDENTITY": identity,
    "ELEMENT_WISE_IF": choose,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
