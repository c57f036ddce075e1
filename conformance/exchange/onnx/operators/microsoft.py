"""Operators of the domain com.microsoft that fuse several: attention, and functions with a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, maps, shape_of
from dml_conformance.conformance.exchange.onnx.node import (
    Mapped,
    Node,
    NotMapped,
    Sizes,
    Value,
    View,
    broadcast,
    operation,
    optional_view,
    view,
)
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.tensor import TensorDesc

MASK_VALUE = -10_000.0


def _attended_sizes(node: Node) -> list[Sizes]:
    query, heads = node.input(0).sizes, node.attribute("num_heads")
    if len(query) == 5:
        batch, length, _, _, size = query
        return [(batch, length, heads * size)]
    value = node.optional(2)
    width = query[2]
    if value is not None:
        width = value.sizes[2] if len(value.sizes) == 3 else value.sizes[1] * value.sizes[3]
    found = [(*query[:2], width)]
    for n in range(1, len(node.outputs)):
        found.append(_present_sizes(node, n))
    return found


def _present_sizes(node: Node, n: int) -> Sizes:
    """Keys or values from before and those that are new, by head."""
    given, past, heads = node.input(n), node.optional(5 + n), node.attribute("num_heads")
    if len(given.sizes) != 3:
        raise NotMapped("its keys and values, as they are then, are asked for, and it has none of its own")
    batch, length, width = given.sizes
    return batch, heads, length + (0 if past is None else past.sizes[2]), width // heads


@maps("MultiHeadAttention", "MULTIHEAD_ATTENTION", MICROSOFT, _attended_sizes)
def attention_of_heads(node: Node) -> Mapped:
    """Query, key and value apart, or stacked where they have five dimensions; keys of four are those from before."""
    query, key = node.input(0), node.optional(1)
    mask, bias = node.optional(4), node.optional(5)
    if node.attribute("unidirectional", 0):
        raise NotMapped("it is unidirectional, and MULTIHEAD_ATTENTION is not")
    heads = node.attribute("num_heads")
    past_key, past_value = node.optional(6), node.optional(7)
    if any(node.optional(n) is not None for n in (8, 9)):
        raise NotMapped("it has a past of its own length, or an order of beams")
    fields: dict[str, Any] = {}
    if len(query.sizes) == 5:
        fields["stacked_query_key_value_tensor"] = view(query)
        batch, length, size = query.sizes[0], query.sizes[1], query.sizes[4]
        keys = length
    else:
        fields["query_tensor"] = view(query, query.sizes)
        batch, length, size = query.sizes[0], query.sizes[1], query.sizes[2] // heads
        if key is None:
            raise NotMapped("its keys are left out")
        if len(key.sizes) == 5:
            fields["stacked_key_value_tensor"] = view(key)
        elif len(key.sizes) == 4:
            raise NotMapped("its keys are those from before alone, and MULTIHEAD_ATTENTION has keys besides")
        else:
            fields |= {"key_tensor": view(key, key.sizes), "value_tensor": view(node.input(2), node.input(2).sizes)}
        keys = key.sizes[1]
    total = keys + (0 if past_key is None else past_key.sizes[2])
    scores = (batch, heads, length, total)
    yield operation(
        "MULTIHEAD_ATTENTION",
        **fields,
        bias_tensor=None if node.optional(3) is None else view(node.input(3), node.input(3).sizes),
        **_mask(mask, scores),
        relative_position_bias_tensor=None if bias is None else broadcast(bias, scores),
        past_key_tensor=optional_view(past_key),
        past_value_tensor=optional_view(past_value),
        output_tensor=view(node.result, node.result.sizes),
        output_present_key_tensor=optional_view(node.output(1)),
        output_present_value_tensor=optional_view(node.output(2)),
        scale=node.attribute("scale", 0.0) or 1 / np.sqrt(size),
        mask_filter_value=node.attribute("mask_filter_value", MASK_VALUE),
        head_count=heads,
    )


def _mask(mask: Value | None, scores: Sizes) -> dict[str, Any]:
    """A mask of one dimension has lengths, or ends and starts, another one a truth value for each key."""
    if mask is None:
        return {"mask_type": "NONE"}
    batch = scores[0]
    sizes = mask.sizes
    if len(sizes) == 1:
        kinds = {1: "KEY_SEQUENCE_LENGTH", 2: "KEY_SEQUENCE_END_START"}
        rows = sizes[0] // batch
        if sizes[0] % batch or rows not in kinds:
            raise NotMapped(f"a mask of {sizes[0]} elements for a batch of {batch}")
        return {"mask_tensor": view(mask, (rows, batch)), "mask_type": kinds[rows]}
    own = (sizes[0], *(1,) * (4 - len(sizes)), *sizes[1:])
    return {"mask_tensor": broadcast(mask, scores, own), "mask_type": "BOOLEAN"}


def _attention_sizes(node: Node) -> list[Sizes]:
    return [(*node.input(0).sizes[:2], node.input(1).sizes[1] // 3)]


@maps("Attention", "GEMM ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", MICROSOFT, _attention_sizes)
def attention(node: Node) -> Mapped:
    """A product makes query, key and value of the input; strides put those of a head beside each other."""
    given, weights, bias, mask = node.input(0), node.input(1), node.optional(2), node.optional(3)
    for name in ("unidirectional", "do_rotary"):
        if node.attribute(name, 0):
            raise NotMapped(f"{name} is what MULTIHEAD_ATTENTION has not")
    if node.attribute("qkv_hidden_sizes") or any(node.optional(n) is not None for n in (4, 6)) or node.output(1):
        raise NotMapped("it has a past, or values of other sizes than keys")
    (batch, length, width), heads = given.sizes, node.attribute("num_heads")
    hidden = weights.sizes[1] // 3
    size, kind = hidden // heads, given.data_type
    made = node.between(0, kind, (1, batch, length, 3 * hidden))
    yield operation(
        "GEMM",
        a_tensor=view(given),
        b_tensor=broadcast(weights, (1, batch, width, 3 * hidden)),
        c_tensor=None if bias is None else broadcast(bias, (1, batch, length, 3 * hidden)),
        output_tensor=made,
        trans_a="NONE",
        trans_b="NONE",
        alpha=1.0,
        beta=1.0,
    )
    sizes = (batch, length, heads, 3, size)
    strides = (length * 3 * hidden, 3 * hidden, size, hidden, 1)
    stacked = node.between(1, kind, sizes)
    yield operation(
        "ELEMENT_WISE_IDENTITY",
        input_tensor=View(made.value, TensorDesc.of(kind, sizes, strides)),
        output_tensor=stacked,
    )
    scores = (batch, heads, length, length)
    relative = node.optional(5)
    yield operation(
        "MULTIHEAD_ATTENTION",
        stacked_query_key_value_tensor=stacked,
        **_mask(mask, scores),
        relative_position_bias_tensor=None if relative is None else broadcast(relative, scores),
        output_tensor=view(node.result, node.result.sizes),
        scale=node.attribute("scale", 0.0) or 1 / np.sqrt(size),
        mask_filter_value=node.attribute("mask_filter_value", MASK_VALUE),
        head_count=heads,
    )


# --- functions with a bias ----------------------------------------------------------------------------------------


@maps("Gelu BiasGelu FastGelu", "ELEMENT_WISE_ADD ACTIVATION_GELU", MICROSOFT, shape_of(0))
def gelu(node: Node) -> Mapped:
    """The provider has no approximation of it."""
    given, bias, output = node.input(0), node.optional(1), view(node.result)
    if bias is None:
        yield operation("ACTIVATION_GELU", input_tensor=view(given), output_tensor=output)
        return
    total = node.between(0, given.data_type, given.sizes)
    yield operation(
        "ELEMENT_WISE_ADD", a_tensor=view(given), b_tensor=broadcast(bias, given.sizes), output_tensor=total
    )
    yield operation("ACTIVATION_GELU", input_tensor=total, output_tensor=output)


@maps("QuickGelu", "ELEMENT_WISE_IDENTITY ACTIVATION_SIGMOID ELEMENT_WISE_MULTIPLY", MICROSOFT, shape_of(0))
def quick_gelu(node: Node) -> Mapped:
    """The input times the sigmoid of a multiple of it."""
    given, alpha = node.input(0), node.attribute("alpha", 1.702)
    scaled, gate = (node.between(n, given.data_type, given.sizes) for n in range(2))
    scale = ScaleBias(float(np.float32(alpha)), 0.0)
    yield operation("ELEMENT_WISE_IDENTITY", input_tensor=view(given), output_tensor=scaled, scale_bias=scale)
    yield operation("ACTIVATION_SIGMOID", input_tensor=scaled, output_tensor=gate)
    yield operation("ELEMENT_WISE_MULTIPLY", a_tensor=view(given), b_tensor=gate, output_tensor=view(node.result))


@maps("BiasAdd", "ELEMENT_WISE_ADD", MICROSOFT, shape_of(0))
def bias_add(node: Node) -> Mapped:
    """Two sums."""
    given = node.input(0)
    total = node.between(0, given.data_type, given.sizes)
    bias = broadcast(node.input(1), given.sizes)
    yield operation("ELEMENT_WISE_ADD", a_tensor=view(given), b_tensor=bias, output_tensor=total)
    yield operation("ELEMENT_WISE_ADD", a_tensor=total, b_tensor=view(node.input(2)), output_tensor=view(node.result))


def _half_sizes(node: Node) -> list[Sizes]:
    *leading, last = node.input(0).sizes
    return [(*leading, last // 2)]


@maps("BiasSplitGelu", "ELEMENT_WISE_ADD SPLIT ACTIVATION_GELU ELEMENT_WISE_MULTIPLY", MICROSOFT, _half_sizes)
def bias_split_gelu(node: Node) -> Mapped:
    """One half of a sum times the function of the other."""
    given, half = node.input(0), node.result.sizes
    kind = given.data_type
    total = node.between(0, kind, given.sizes)
    left, right, gate = (node.between(n, kind, half) for n in range(1, 4))
    bias = broadcast(node.input(1), given.sizes)
    yield operation("ELEMENT_WISE_ADD", a_tensor=view(given), b_tensor=bias, output_tensor=total)
    axis = len(total.tensor.sizes) - 1
    yield operation("SPLIT", input_tensor=total, output_tensors=[left, right], axis=axis)
    yield operation("ACTIVATION_GELU", input_tensor=right, output_tensor=gate)
    yield operation("ELEMENT_WISE_MULTIPLY", a_tensor=left, b_tensor=gate, output_tensor=view(node.result))
