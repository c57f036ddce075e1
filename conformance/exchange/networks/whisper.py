"""Whisper-tiny: its encoder of 30 seconds of speech, and one step of its decoder.

Layers: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", table 1
(https://arxiv.org/abs/2212.04356): 4 layers, 384 channels, 6 heads, 39M parameters; model.py of
https://github.com/openai/whisper: 80 mels, 1,500 and 448 positions, 51,865 tokens; keys have no bias. 37,184,640
learned parameters. The keys and values that the decoder makes of the encoder's output are made once, with the encoder.
"""

from __future__ import annotations

from onnx import TensorProto

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph


def whisper_tiny_encoder(
    element: str, batch: int = 1, *, frames: int = 3000, mels: int = 80, layers: int = 4, heads: int = 6, head: int = 64
) -> tuple[NetworkGraph, list[str]]:
    """The graph of the encoder and its outputs, keys and values for the decoder among them.

    Args:
        element: a key of `builder.FLOATS`.
        batch: recordings.
        frames: of each, an even number.
        mels: of each frame.
        layers: of the encoder, and of the decoder.
        heads: of attention.
        head: channels of each.
    """
    graph, width, tokens = NetworkGraph("whisper-tiny-encoder", element), heads * head, frames // 2
    shape = tokens, heads, head
    x = graph.input("mel", (batch, mels, frames))
    x = graph.gelu(graph.conv("conv1", x, mels, width, 3, axes=1, bias=True))
    x = graph.gelu(graph.conv("conv2", x, width, width, 3, axes=1, stride=2, bias=True))
    x = graph.node("Transpose", x, perm=[0, 2, 1])
    x = graph.node("Add", x, graph.buffer("positions", tokens, width), name="positions")
    for layer in range(layers):
        with graph.scope("blocks", layer):
            normed = graph.layer_norm("attn_ln", x, width)
            with graph.scope("attn"):
                query = graph.heads(graph.linear("query", normed, width, width), *shape)
                y = graph.attention(query, *_keys_and_values(graph, normed, shape), shape)
                x = graph.node("Add", x, graph.linear("out", y, width, width), name="residual")
            x = _mlp(graph, x, width)
    x = graph.layer_norm("ln_post", x, width)
    outputs = [x]
    for layer in range(layers):
        with graph.scope("decoder", layer, "cross_attn"):
            outputs += _keys_and_values(graph, x, shape)
    return graph, outputs


def whisper_tiny_decoder(
    element: str,
    batch: int = 1,
    *,
    past: int = 128,
    audio: int = 1500,
    layers: int = 4,
    heads: int = 6,
    head: int = 64,
    vocabulary: int = 51865,
    positions: int = 448,
) -> tuple[NetworkGraph, list[str]]:
    """The graph of a step of the decoder and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: recordings.
        past: tokens before.
        audio: tokens of the encoder.
        layers: how many.
        heads: of attention.
        head: channels of each.
        vocabulary: rows of the table of words.
        positions: rows of the table of positions.
    """
    graph, width = NetworkGraph("whisper-tiny-decoder", element), heads * head
    shape = 1, heads, head
    words = graph.weight("token_embedding", vocabulary, width)
    x = graph.node("Gather", words, graph.input("input_ids", (batch, 1), TensorProto.INT64), name="token_embedding")
    bounds = graph.integers(past), graph.integers(past + 1), graph.integers(0)
    place = graph.node("Slice", graph.weight("positions", positions, width), *bounds, name="position")
    x, outputs = graph.node("Add", x, place), list[str]()
    for layer in range(layers):
        with graph.scope("blocks", layer):
            normed = graph.layer_norm("attn_ln", x, width)
            with graph.scope("attn"):
                query = graph.heads(graph.linear("query", normed, width, width), *shape)
                present = []
                for of, new in zip(("key", "value"), _keys_and_values(graph, normed, shape), strict=True):
                    before = graph.input(f"past.{layer}.{of}", (batch, heads, past, head))
                    present.append(graph.node("Concat", before, new, axis=2, name=f"present_{of}"))
                outputs += present
                y = graph.attention(query, present[0], present[1], shape)
                x = graph.node("Add", x, graph.linear("out", y, width, width), name="residual")
            normed = graph.layer_norm("cross_attn_ln", x, width)
            with graph.scope("cross_attn"):
                query = graph.heads(graph.linear("query", normed, width, width), *shape)
                key, value = (
                    graph.input(f"cross.{layer}.{of}", (batch, heads, audio, head)) for of in ("key", "value")
                )
                y = graph.attention(query, key, value, shape)
                x = graph.node("Add", x, graph.linear("out", y, width, width), name="residual")
            x = _mlp(graph, x, width)
    x = graph.node("Reshape", graph.layer_norm("ln", x, width), graph.integers(batch, width))
    return graph, [graph.node("Gemm", x, words, transB=1, name="logits"), *outputs]


def _keys_and_values(graph: NetworkGraph, x: str, shape: tuple[int, int, int]) -> tuple[str, str]:
    width = shape[1] * shape[2]
    key = graph.linear("key", x, width, width, bias=False)
    return graph.heads(key, *shape), graph.heads(graph.linear("value", x, width, width), *shape)


def _mlp(graph: NetworkGraph, x: str, width: int) -> str:
    with graph.scope("mlp"):
        y = graph.gelu(graph.linear("0", graph.layer_norm("ln", x, width), width, 4 * width))
        return graph.node("Add", x, graph.linear("2", y, 4 * width, width), name="residual")
