"""Activation functions, on their own and of what another operator computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import attributes_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm
from dml_conformance.backends.onnxruntime.table import nodes_of

Function = Callable[[FormGraph, Any, FormValue], FormValue]


def activated(graph: FormGraph, x: FormValue, activation: Any) -> FormValue:
    """An activation of a value, or that itself where there is none.

    Raises:
        NoForm: no nodes compute it.
    """
    if activation is None:
        return x
    if activation.operator == "ACTIVATION_SIGMOID" and graph.desc is not activation:
        return logistic(graph, x)
    if activation.operator == "ACTIVATION_SHRINK" and activation.threshold < 0:
        raise NoForm("Shrink with a negative threshold, of which ONNX has the other case first")
    if activation.operator in FUNCTIONS:
        return FUNCTIONS[activation.operator](graph, activation, x)
    rows = [row for row in nodes_of(activation.operator) if len(row.inputs) == 1 and not row.given]
    if hasattr(activation, "axes"):
        desc: Any = graph.desc
        if activation.axes != (len(desc.output_tensor.sizes) - 1,):
            raise NoForm(f"{activation.operator} along other axes than the last of what another node computes")
        return graph.node(rows[0].op_type, x, axis=-1)
    if not rows:
        raise NoForm(f"{activation.operator} of what another node computes")
    return graph.node(rows[0].op_type, x, **attributes_of(activation, rows[0]))


def logistic(graph: FormGraph, x: FormValue) -> FormValue:
    """1 / (1 + exp(-x)): the runtime's Sigmoid is less accurate than what it is used in has to be."""
    one = graph.constant(1, x.kind)
    return graph.node("Div", one, graph.node("Add", graph.node("Exp", graph.node("Neg", x)), one))


def _linear(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    return graph.node(
        "Add", graph.node("Mul", x, graph.constant(desc.alpha, x.kind)), graph.constant(desc.beta, x.kind)
    )


def _scaled_tanh(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    inner = graph.node("Tanh", graph.node("Mul", x, graph.constant(desc.beta, x.kind)))
    return graph.node("Mul", inner, graph.constant(desc.alpha, x.kind))


def _parametric_softplus(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    inner = graph.node("Softplus", graph.node("Mul", x, graph.constant(desc.beta, x.kind)))
    return graph.node("Mul", inner, graph.constant(desc.alpha, x.kind))


def _softplus(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    if desc.steepness == 1:
        return graph.node("Softplus", x)
    steepness = graph.constant(desc.steepness, x.kind)
    return graph.node("Div", graph.node("Softplus", graph.node("Mul", x, steepness)), steepness)


def _swish(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    inner = graph.node("Mul", x, graph.constant(desc.sigmoid_input_scale, x.kind))
    return graph.node("Mul", x, logistic(graph, inner))


def _hard_swish(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    return graph.node("Mul", x, graph.node("HardSigmoid", x, alpha=desc.alpha, beta=desc.beta))


FUNCTIONS: dict[str, Function] = {
    "ACTIVATION_LINEAR": _linear,
    "ACTIVATION_SCALED_TANH": _scaled_tanh,
    "ACTIVATION_PARAMETRIC_SOFTPLUS": _parametric_softplus,
    "ACTIVATION_SOFTPLUS": _softplus,
    "ACTIVATION_SWISH": _swish,
    "ACTIVATION_HARD_SWISH": _hard_swish,
}
