"""DML_OPERATOR_CAST: every element as a value of the output's data type."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes


def shape(desc: Any) -> Shapes:
    """The input's sizes."""
    return {"output_tensor": desc.input_tensor.sizes}


SPECS = (operator_spec("CAST", shape=shape, own_rules=(output_sizes(section="Tensor constraints"),)),)
