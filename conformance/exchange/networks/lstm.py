"""A language model of two LSTM layers, 35 words at a time.

Layers: Zaremba, Sutskever, Vinyals, "Recurrent Neural Network Regularization", section 4.1, the medium one
(https://arxiv.org/abs/1409.2329): 650 units, 10,000 words, 35 steps; some 20M parameters. ONNX has a bias for what
comes in and one for what is kept, so 19,780,400.
"""

from __future__ import annotations

from onnx import TensorProto

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph


def lstm_lm(
    element: str, batch: int = 1, *, steps: int = 35, layers: int = 2, width: int = 650, vocabulary: int = 10_000
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: texts.
        steps: words of each.
        layers: how many.
        width: units of each, and of a word.
        vocabulary: words.
    """
    graph = NetworkGraph("lstm-lm", element)
    ids = graph.input("input_ids", (steps, batch), TensorProto.INT64)
    x = graph.node("Gather", graph.weight("encoder.weight", vocabulary, width), ids, name="encoder")
    outputs = list[str]()
    for layer in range(layers):
        with graph.scope("rnn", layer):
            weights = [graph.weight(name, 1, 4 * width, width) for name in ("w", "r")]
            states = [graph.input(f"{of}.{layer}", (1, batch, width)) for of in ("hidden", "cell")]
            bias = graph.weight("b", 1, 8 * width)
            x, hidden, cell = graph.nodes(
                "LSTM", x, *weights, bias, "", *states, outputs=3, hidden_size=width, name="lstm"
            )
            x = graph.node("Squeeze", x, graph.integers(1))
        outputs += [hidden, cell]
    x = graph.gemm("decoder", graph.node("Reshape", x, graph.integers(-1, width)), width, vocabulary)
    return graph, [graph.node("LogSoftmax", x, axis=-1), *outputs]
