"""Layers of recurrent units. Tensors get leading dimensions of size 1; the order of gates is the same."""

from __future__ import annotations

from typing import Any

from dml_conformance.conformance.exchange.onnx.mapping import maps
from dml_conformance.conformance.exchange.onnx.node import (
    Mapped,
    ModelNode,
    NotMapped,
    activation,
    operation,
    optional_view,
    retyped,
    view,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc

DIRECTIONS = {"forward": "FORWARD", "reverse": "BACKWARD", "bidirectional": "BIDIRECTIONAL"}
DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
# The operator of each function, with its parameters and their values where the node has none.
FUNCTIONS: dict[str, tuple[str, dict[str, float]]] = {
    "relu": ("RELU", {}),
    "tanh": ("TANH", {}),
    "sigmoid": ("SIGMOID", {}),
    "softsign": ("SOFTSIGN", {}),
    "affine": ("LINEAR", {"alpha": 1.0, "beta": 0.0}),
    "leakyrelu": ("LEAKY_RELU", {"alpha": 0.01}),
    "thresholdedrelu": ("THRESHOLDED_RELU", {"alpha": 1.0}),
    "scaledtanh": ("SCALED_TANH", {"alpha": 1.0, "beta": 1.0}),
    "hardsigmoid": ("HARD_SIGMOID", {"alpha": 0.2, "beta": 0.5}),
    "elu": ("ELU", {"alpha": 1.0}),
    "softplus": ("SOFTPLUS", {}),
}


def activations(node: ModelNode) -> list[OperatorDesc]:
    """Those of each direction; parameters are taken from the node's lists by those that have any, in turn."""
    directions = 2 if node.attribute("direction") == "bidirectional" else 1
    names = node.attribute("activations") or DEFAULTS[node.op_type] * directions
    left = {
        "alpha": list(node.attribute("activation_alpha") or ()),
        "beta": list(node.attribute("activation_beta") or ()),
    }
    found = []
    for name in names[: len(DEFAULTS[node.op_type]) * directions]:
        if name.lower() not in FUNCTIONS:
            raise NotMapped(f"activation {name} is none of DirectML's")
        operator, parameters = FUNCTIONS[name.lower()]
        given = {key: left[key].pop(0) if left[key] else default for key, default in parameters.items()}
        found.append(activation(operator, **({"steepness": 1.0} if operator == "SOFTPLUS" else given)))
    return found


@maps("RNN", "RNN")
@maps("GRU", "GRU")
@maps("LSTM", "LSTM")
def recurrent(node: ModelNode) -> Mapped:
    if node.attribute("layout", 0):
        raise NotMapped("the batch comes first, by layout, and DirectML has the sequence first")
    if node.attribute("clip") is not None and node.op_type != "LSTM":
        raise NotMapped("clip is what LSTM alone has in DirectML")
    lengths, outputs = node.optional(4), [node.output(n) for n in range(3)]
    fields: dict[str, Any] = {
        "input_tensor": view(node.input(0)),
        "weight_tensor": view(node.input(1)),
        "recurrence_tensor": view(node.input(2)),
        "bias_tensor": optional_view(node.optional(3)),
        "hidden_init_tensor": optional_view(node.optional(5)),
        "sequence_lengths_tensor": None if lengths is None else retyped(view(lengths), DataType.UINT32),
        "output_sequence_tensor": optional_view(outputs[0]),
        "output_single_tensor": optional_view(outputs[1]),
        "activation_descs": activations(node),
        "direction": DIRECTIONS[node.attribute("direction", "forward")],
    }
    if node.op_type == "GRU":
        fields["linear_before_reset"] = bool(node.attribute("linear_before_reset", 0))
    if node.op_type == "LSTM":
        fields |= {
            "cell_mem_init_tensor": optional_view(node.optional(6)),
            "peephole_tensor": optional_view(node.optional(7)),
            "output_cell_single_tensor": optional_view(outputs[2]),
            "clip_threshold": node.attribute("clip") or 0.0,
            "use_clip_threshold": node.attribute("clip") is not None,
            "couple_input_forget": bool(node.attribute("input_forget", 0)),
        }
    yield operation(node.op_type, **fields)
