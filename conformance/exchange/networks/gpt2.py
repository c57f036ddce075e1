"""GPT-2, the smallest: one step of decoding, with the keys and values of the 128 tokens before.

Layers: Radford et al., "Language Models are Unsupervised Multitask Learners", table 2; model.py and hparams of
https://github.com/openai/gpt-2: 12 layers, 768 channels, 12 heads, 50,257 tokens, 1,024 positions; DEVELOPERS.md there
names it 124M. 124,439,808 parameters; the last product's matrix is the table of words.
"""

from __future__ import annotations

from math import pi, sqrt

from onnx import TensorProto

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph


def gpt2(
    element: str,
    batch: int = 1,
    *,
    past: int = 128,
    layers: int = 12,
    heads: int = 12,
    head: int = 64,
    vocabulary: int = 50257,
    positions: int = 1024,
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: sequences.
        past: tokens before.
        layers: how many.
        heads: of attention.
        head: channels of each.
        vocabulary: rows of the table of words.
        positions: rows of the table of positions.
    """
    graph, width = NetworkGraph("gpt2", element), heads * head
    ids = graph.input("input_ids", (batch, 1), TensorProto.INT64)
    places = graph.input("position_ids", (batch, 1), TensorProto.INT64)
    added = graph.additive_mask(graph.input("attention_mask", (batch, past + 1), TensorProto.INT64))
    words = graph.weight("wte", vocabulary, width)
    x = graph.node("Gather", words, ids, name="wte")
    x = graph.node("Add", x, graph.node("Gather", graph.weight("wpe", positions, width), places, name="wpe"))
    outputs = list[str]()
    for layer in range(layers):
        with graph.scope("h", layer):
            before = {of: graph.input(f"past.{layer}.{of}", (batch, heads, past, head)) for of in ("key", "value")}
            y, present = _attention(graph, graph.layer_norm("ln_1", x, width), before, added, (1, heads, head))
            x = graph.node("Add", x, y, name="attn.residual")
            y = graph.linear("mlp.c_fc", graph.layer_norm("ln_2", x, width), width, 4 * width)
            y = graph.linear("mlp.c_proj", _gelu(graph, y), 4 * width, width)
            x = graph.node("Add", x, y, name="mlp.residual")
        outputs += present.values()
    x = graph.node("Reshape", graph.layer_norm("ln_f", x, width), graph.integers(batch, width))
    return graph, [graph.node("Gemm", x, words, transB=1, name="lm_head"), *outputs]


def _attention(
    graph: NetworkGraph, x: str, past: dict[str, str], mask: str, shape: tuple[int, int, int]
) -> tuple[str, dict[str, str]]:
    width = shape[1] * shape[2]
    with graph.scope("attn"):
        x = graph.linear("c_attn", x, width, 3 * width)
        parts = graph.nodes("Split", x, graph.integers(width, width, width), outputs=3, axis=-1, name="split")
        query, key, value = (graph.heads(part, *shape) for part in parts)
        present = {
            of: graph.node("Concat", past[of], new, axis=2, name=f"present_{of}")
            for of, new in (("key", key), ("value", value))
        }
        x = graph.attention(query, present["key"], present["value"], shape, mask)
        return graph.linear("c_proj", x, width, width), present


def _gelu(graph: NetworkGraph, x: str) -> str:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    cube = graph.node("Mul", graph.node("Pow", x, graph.constant(3)), graph.constant(0.044715))
    inner = graph.node("Mul", graph.node("Add", x, cube), graph.constant(sqrt(2 / pi)))
    right = graph.node("Add", graph.node("Tanh", inner), graph.constant(1))
    return graph.node("Mul", graph.node("Mul", x, graph.constant(0.5)), right)
