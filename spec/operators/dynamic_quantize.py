"""DYNAMIC_QUANTIZE_LINEAR: numbers as integers of 8 bits, by a scale and a zero point that follow from them."""

from __future__ import annotations

from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes
from dml_conformance.spec.structures import DynamicQuantize

NAME = "DYNAMIC_QUANTIZE_LINEAR"


def shape(desc: DynamicQuantize) -> Shapes:
    """The input's sizes, and one scale and one zero point."""
    one = (1,) * len(desc.input_tensor.sizes)
    return {"output_tensor": desc.input_tensor.sizes, "output_scale_tensor": one, "output_zero_point_tensor": one}


DYNAMIC_QUANTIZE_LINEAR = operator_spec(NAME, shape=shape, own_rules=(output_sizes(),))
SPECS = (DYNAMIC_QUANTIZE_LINEAR,)
