"""RNN, LSTM and GRU."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import named, row_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm

# The activations of ONNX's recurrent nodes, and their coefficients alpha and beta: fields, or numbers.
ACTIVATIONS: dict[str, tuple[str, tuple[str | float, ...]]] = {
    "ACTIVATION_IDENTITY": ("Affine", (1.0, 0.0)),
    "ACTIVATION_RELU": ("Relu", ()),
    "ACTIVATION_TANH": ("Tanh", ()),
    "ACTIVATION_SIGMOID": ("Sigmoid", ()),
    "ACTIVATION_SOFTSIGN": ("Softsign", ()),
    "ACTIVATION_ELU": ("Elu", ("alpha",)),
    "ACTIVATION_LEAKY_RELU": ("LeakyRelu", ("alpha",)),
    "ACTIVATION_THRESHOLDED_RELU": ("ThresholdedRelu", ("alpha",)),
    "ACTIVATION_LINEAR": ("Affine", ("alpha", "beta")),
    "ACTIVATION_SCALED_TANH": ("ScaledTanh", ("alpha", "beta")),
    "ACTIVATION_HARD_SIGMOID": ("HardSigmoid", ("alpha", "beta")),
}
DIRECTIONS = {"FORWARD": "forward", "BACKWARD": "reverse", "BIDIRECTIONAL": "bidirectional"}


def recurrent(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    names: list[str] = []
    coefficients: dict[str, list[float]] = {"alpha": [], "beta": []}
    for activation in desc.activation_descs:
        if activation.operator not in ACTIVATIONS:
            raise NoForm(f"{row.op_type} with {activation.operator}")
        name, fields = ACTIVATIONS[activation.operator]
        names.append(name)
        for coefficient, source in zip(coefficients, fields, strict=False):
            value = getattr(activation, source) if isinstance(source, str) else source
            coefficients[coefficient].append(value)
    attributes: dict[str, Any] = {
        "activations": names,
        "direction": DIRECTIONS[named(desc, "direction")],
        "hidden_size": desc.recurrence_tensor.sizes[3],
    }
    attributes |= {f"activation_{field}": found for field, found in coefficients.items() if found}
    if desc.operator == "GRU":
        attributes["linear_before_reset"] = int(desc.linear_before_reset)
    if desc.operator == "LSTM":
        attributes["input_forget"] = int(desc.couple_input_forget)
        if desc.use_clip_threshold:
            if not desc.clip_threshold > 0:
                raise NoForm(f"LSTM with a clip of {desc.clip_threshold:g}")
            attributes["clip"] = desc.clip_threshold
    inputs = [_read(graph, desc, str(field)) for field in row.inputs]
    found = graph.results(row.op_type, *inputs, kinds=(None,) * len(row.outputs), **attributes)
    for key, value in zip(row.outputs, found, strict=True):
        if getattr(desc, key) is not None:
            graph.output(key, value)


def _read(graph: FormGraph, desc: Any, key: str) -> FormValue | None:
    """A tensor without the dimensions of one element that ONNX does not have."""
    tensor = getattr(desc, key)
    if tensor is None:
        return None
    if key == "sequence_lengths_tensor":
        return graph.cast(graph.input(key, sizes=tensor.sizes[3:]), "INT32")
    first = 2 if key in ("bias_tensor", "peephole_tensor") else 1
    return graph.input(key, sizes=tensor.sizes[first:])


FORMS = dict.fromkeys(("RNN", "LSTM", "GRU"), recurrent)
