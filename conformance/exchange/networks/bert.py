"""BERT-base, a sequence of 128 tokens, with its pooler.

Layers: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", section 3
(https://arxiv.org/abs/1810.04805): L=12, H=768, A=12, 110M parameters; the mask of -10000 and the widths of the tables:
modeling.py and bert_config.json of https://github.com/google-research/bert. 109,482,240 parameters, of which the
embeddings have 23,837,184.
"""

from __future__ import annotations

from onnx import TensorProto

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph

EPSILON, TYPES = 1e-12, 2


def bert_base(
    element: str,
    batch: int = 1,
    *,
    tokens: int = 128,
    layers: int = 12,
    heads: int = 12,
    head: int = 64,
    vocabulary: int = 30522,
    positions: int = 512,
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: sequences.
        tokens: of each.
        layers: of the encoder.
        heads: of attention.
        head: channels of each.
        vocabulary: rows of the table of words.
        positions: rows of the table of positions.
    """
    graph, width = NetworkGraph("bert-base", element), heads * head
    ids, types, mask = (
        graph.input(name, (batch, tokens), TensorProto.INT64)
        for name in ("input_ids", "token_type_ids", "attention_mask")
    )
    added = graph.additive_mask(mask)
    with graph.scope("embeddings"):
        words = graph.node("Gather", graph.weight("words", vocabulary, width), ids, name="words")
        kinds = graph.node("Gather", graph.weight("types", TYPES, width), types, name="types")
        places = graph.weight("positions", positions, width)
        bounds = graph.integers(0), graph.integers(tokens), graph.integers(0)
        places = graph.node("Slice", places, *bounds, name="positions")
        x = graph.node("Add", graph.node("Add", words, kinds), places)
        x = graph.layer_norm("norm", x, width, EPSILON)
    for layer in range(layers):
        with graph.scope("layer", layer):
            y = _attention(graph, x, added, (tokens, heads, head))
            x = graph.layer_norm("attention.norm", graph.node("Add", y, x), width, EPSILON)
            y = graph.gelu(graph.linear("intermediate", x, width, 4 * width))
            y = graph.linear("output", y, 4 * width, width)
            x = graph.layer_norm("output.norm", graph.node("Add", y, x), width, EPSILON)
    first = graph.node("Gather", x, graph.constant(0, element=TensorProto.INT64), axis=1, name="first")
    return graph, [x, graph.node("Tanh", graph.gemm("pooler", first, width, width))]


def _attention(graph: NetworkGraph, x: str, mask: str, shape: tuple[int, int, int]) -> str:
    width = shape[1] * shape[2]
    with graph.scope("attention"):
        query, key, value = (
            graph.heads(graph.linear(name, x, width, width), *shape) for name in ("query", "key", "value")
        )
        return graph.linear("output", graph.attention(query, key, value, shape, mask), width, width)
