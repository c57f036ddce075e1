"""Activation functions of single elements."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.forms._fused import FUNCTIONS, activated
from dml_conformance.backends.onnxruntime.graph import FormGraph, is_float
from dml_conformance.backends.onnxruntime.table import ACTIVATIONS


def activation(graph: FormGraph, desc: Any) -> None:
    """One node in the tensors' type, several in FLOAT32."""
    is_one = desc.operator not in FUNCTIONS
    x = graph.input("input_tensor") if is_one else graph.number("input_tensor")
    graph.output("output_tensor", activated(graph, x, desc))


def identity(graph: FormGraph, desc: Any) -> None:
    graph.moved("output_tensor", graph.node("Identity", graph.input("input_tensor")))


def parameterized(graph: FormGraph, desc: Any) -> None:
    """The runtime has no integers here."""
    x, slope = graph.input("input_tensor"), graph.input("slope_tensor")
    if is_float(x.kind):
        graph.output("output_tensor", graph.node("PRelu", x, slope))
        return
    zero = graph.constant(0, "INT64")
    x, slope = graph.cast(x, "INT64"), graph.cast(slope, "INT64")
    product = graph.node("Mul", x, slope)
    is_negative = graph.node("Less", x, zero, kind="BOOL")
    graph.output("output_tensor", graph.node("Where", is_negative, product, x, kind="INT64"))


FORMS = {
    **{f"ACTIVATION_{name}": activation for name, *_ in ACTIVATIONS},
    **dict.fromkeys(FUNCTIONS, activation),
    "ACTIVATION_IDENTITY": identity,
    "ACTIVATION_PARAMETERIZED_RELU": parameterized,
}
