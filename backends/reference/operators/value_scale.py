"""VALUE_SCALE_2D: elements of an image scaled, and moved by the bias of their channel."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate
from dml_conformance.backends.reference.formula import attribute
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, Spans, cut_elementwise
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.structures import ValueScale


def value_scale(desc: ValueScale, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, h, w] = input[n, c, h, w] * Scale + Bias[c]"""
    data_type = desc.output_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)

    def scaled(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance, data_type).of(numbers)
        biases = concatenate([attribute(x, bias).reshape(1, 1, 1, 1) for bias in desc.bias], axis=1)
        return x * attribute(x, desc.scale) + biases

    return {"output_tensor": scaled}


def cut(desc: ValueScale, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """With the biases of a box's channels."""
    return replace(desc, bias=desc.bias[spans[1]]), cut_elementwise(desc, spans, arrays)[1]


OPERATORS: dict[str, Compute] = {"VALUE_SCALE_2D": value_scale}
CUTS: dict[str, Cut] = {"VALUE_SCALE_2D": cut}
