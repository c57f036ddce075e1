"""Operators of the domain com.microsoft that fuse several: attention, and functions with a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, maps, shape_of
from dml_conformance.conformance.exchange.onnx.node import (
    Mapped,
    ModelNode,
    ModelValue,
    NotMapped,
    Operation,
    Sizes,
    View,
    broadcast,
    operation,
    optional_view,
    padded,
    retyped,
    stretched,
    view,
    viewed,
)
from dml_conformance.conformance.exchange.onnx.operators.normalization import mean_variance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias

MASK_VALUE = -10_000.0


def _attended_sizes(node: ModelNode) -> list[Sizes]:
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


def _present_sizes(node: ModelNode, n: int) -> Sizes:
    """Keys or values from before and those that are new, by head."""
    given, past, heads = node.input(n), node.optional(5 + n), node.attribute("num_heads")
    if len(given.sizes) != 3:
        raise NotMapped("its keys and values, as they are then, are asked for, and it has none of its own")
    batch, length, width = given.sizes
    return batch, heads, length + (0 if past is None else past.sizes[2]), width // heads


@maps("MultiHeadAttention", "MULTIHEAD_ATTENTION", MICROSOFT, _attended_sizes)
def attention_of_heads(node: ModelNode) -> Mapped:
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


def _mask(mask: ModelValue | None, scores: Sizes) -> dict[str, Any]:
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


def _attention_sizes(node: ModelNode) -> list[Sizes]:
    return [(*node.input(0).sizes[:2], node.input(1).sizes[1] // 3)]


@maps("Attention", "GEMM ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", MICROSOFT, _attention_sizes)
def attention(node: ModelNode) -> Mapped:
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
        input_tensor=viewed(made, sizes, strides),
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


# --- lookups ------------------------------------------------------------------------------------------------------


@maps(
    "RotaryEmbedding",
    "SPLIT JOIN FILL_VALUE_SEQUENCE ELEMENT_WISE_ADD GATHER ELEMENT_WISE_MULTIPLY",
    MICROSOFT,
    shape_of(0),
)
def rotary_embedding(node: ModelNode) -> Mapped:
    """The halves of each head, or neighbours in it, are swapped; both are weighed by what stands at their positions."""
    given, positions, sizes = node.input(0), node.input(1), node.input(0).sizes
    if len(sizes) != 3:
        raise NotMapped("its heads come before the sequence")
    for name, neutral in (("rotary_embedding_dim", 0), ("is_packed_batching", 0), ("scale", 1.0)):
        if node.attribute(name, neutral) != neutral:
            raise NotMapped(f"{name} is not what the provider takes")
    (batch, length, _), half, kind = sizes, node.input(2).sizes[-1], given.data_type
    heads, interleaved = sizes[2] // (2 * half), node.attribute("interleaved", 0)
    apart = (batch, length, heads, half, 2) if interleaved else (batch, length, heads, 2, half)
    axis = 4 if interleaved else 3
    part = (*apart[:axis], 1, *apart[axis + 1 :])
    first, second, swapped = node.between(0, kind, part), node.between(1, kind, part), node.between(2, kind, apart)
    yield operation("SPLIT", input_tensor=view(given, apart), output_tensors=[first, second], axis=axis)
    yield operation("JOIN", input_tensors=[second, first], output_tensor=swapped, axis=axis)
    places = view(positions)
    if len(positions.sizes) < 2:
        index, rows = positions.data_type, (1, 1, batch, length)
        turn, places = node.between(3, index, (length,)), node.between(4, index, rows)
        yield _sequence(turn, 0, 1)
        offset = broadcast(positions, rows)
        yield operation(
            "ELEMENT_WISE_ADD", a_tensor=stretched(turn, rows, (length,)), b_tensor=offset, output_tensor=places
        )
    sign = node.between(5, kind, (2,))
    signed, by_sine, by_cosine = (node.between(n, kind, apart) for n in range(6, 9))
    yield _sequence(sign, -1.0, 2.0)
    weights = []
    for n, cache in enumerate((node.input(2), node.input(3))):
        found = node.between(9 + n, kind, (1, batch, length, half))
        yield operation(
            "GATHER", input_tensor=view(cache), indices_tensor=places, output_tensor=found, axis=2, index_dimensions=2
        )
        own = (batch, length, 1, half, 1) if interleaved else (batch, length, 1, 1, half)
        weights.append(stretched(found, apart, own))
    signs = stretched(sign, apart, (2,) if interleaved else (2, 1))
    multiply = "ELEMENT_WISE_MULTIPLY"
    yield operation(multiply, a_tensor=view(given, apart), b_tensor=weights[0], output_tensor=by_cosine)
    yield operation(multiply, a_tensor=swapped, b_tensor=weights[1], output_tensor=by_sine)
    yield operation(multiply, a_tensor=by_sine, b_tensor=signs, output_tensor=signed)
    yield operation("ELEMENT_WISE_ADD", a_tensor=by_cosine, b_tensor=signed, output_tensor=view(node.result, apart))


def _sequence(made: View, start: float, delta: float) -> Operation:
    return operation(
        "FILL_VALUE_SEQUENCE",
        output_tensor=made,
        value_data_type=made.tensor.data_type,
        value_start=start,
        value_delta=delta,
    )


def _embedded_sizes(node: ModelNode) -> list[Sizes]:
    (batch, length), width = node.input(0).sizes, node.input(2).sizes[1]
    return [(batch, length, width), (batch,), (batch, length, width)][: len(node.outputs)]


@maps(
    "EmbedLayerNormalization",
    "FILL_VALUE_SEQUENCE GATHER ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION1 FILL_VALUE_CONSTANT "
    "ELEMENT_WISE_LOGICAL_EQUALS REDUCE",
    MICROSOFT,
    _embedded_sizes,
    *(2, 0, 2),
)
def embedded_normalization(node: ModelNode) -> Mapped:
    """The sum of two lookups, or three, is normalized, and may be an output too; another one counts the mask's ones."""
    words, sizes = node.input(0), node.result.sizes
    kind, summed = node.input(2).data_type, node.output(2)
    places, rows = node.optional(8), padded(words.sizes)
    if places is None:
        turn = node.between(0, words.data_type, rows[-1:])
        yield _sequence(turn, 0, 1)
        ordered = stretched(turn, rows, rows[-1:])
    else:
        ordered = broadcast(places, rows)
    lookups = [(node.input(2), view(words)), (node.input(3), ordered)]
    if node.optional(1) is not None:
        lookups.append((node.input(4), view(node.input(1))))
    total = None
    for n, (table, indices) in enumerate(lookups):
        found = node.between(1 + 2 * n, kind, sizes)
        yield operation(
            "GATHER", input_tensor=view(table), indices_tensor=indices, output_tensor=found, axis=2, index_dimensions=2
        )
        if total is None:
            total = found
            continue
        is_last = n == len(lookups) - 1
        result = view(summed) if is_last and summed is not None else node.between(2 + 2 * n, kind, sizes)
        yield operation("ELEMENT_WISE_ADD", a_tensor=total, b_tensor=found, output_tensor=result)
        total = result
    assert total is not None
    scale, bias = (view(node.input(n)) for n in (5, 6))
    yield mean_variance(node, total, view(node.result), (3,), scale, bias)
    counted = node.output(1)
    if counted is not None:
        yield from _mask_index(node, counted, node.optional(7))


def _mask_index(node: ModelNode, counted: ModelValue, mask: ModelValue | None) -> Mapped:
    """How many elements of each row of a mask are one; none where there is no mask."""
    kind = counted.data_type
    fill = {"value_data_type": kind, "value": 0 if mask is None else 1}
    if mask is None:
        yield operation("FILL_VALUE_CONSTANT", output_tensor=view(counted), **fill)
        return
    one, equal = node.between(8, kind, (1,)), node.between(9, DataType.UINT32, mask.sizes)
    yield operation("FILL_VALUE_CONSTANT", output_tensor=one, **fill)
    ones = stretched(one, mask.sizes, (1,))
    yield operation("ELEMENT_WISE_LOGICAL_EQUALS", a_tensor=view(mask), b_tensor=ones, output_tensor=equal)
    yield operation(
        "REDUCE",
        function="SUM",
        input_tensor=retyped(equal, kind),
        output_tensor=view(counted, (1, 1, *counted.sizes, 1)),
        axes=(3,),
    )


# --- functions with a bias ----------------------------------------------------------------------------------------


@maps("Gelu BiasGelu FastGelu", "ELEMENT_WISE_ADD ACTIVATION_GELU", MICROSOFT, shape_of(0))
def gelu(node: ModelNode) -> Mapped:
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
def quick_gelu(node: ModelNode) -> Mapped:
    """The input times the sigmoid of a multiple of it."""
    given, alpha = node.input(0), node.attribute("alpha", 1.702)
    scaled, gate = (node.between(n, given.data_type, given.sizes) for n in range(2))
    scale = ScaleBias(float(np.float32(alpha)), 0.0)
    yield operation("ELEMENT_WISE_IDENTITY", input_tensor=view(given), output_tensor=scaled, scale_bias=scale)
    yield operation("ACTIVATION_SIGMOID", input_tensor=scaled, output_tensor=gate)
    yield operation("ELEMENT_WISE_MULTIPLY", a_tensor=view(given), b_tensor=gate, output_tensor=view(node.result))


@maps("BiasAdd", "ELEMENT_WISE_ADD", MICROSOFT, shape_of(0))
def bias_add(node: ModelNode) -> Mapped:
    """Two sums."""
    given = node.input(0)
    total = node.between(0, given.data_type, given.sizes)
    bias = broadcast(node.input(1), given.sizes)
    yield operation("ELEMENT_WISE_ADD", a_tensor=view(given), b_tensor=bias, output_tensor=total)
    yield operation("ELEMENT_WISE_ADD", a_tensor=total, b_tensor=view(node.input(2)), output_tensor=view(node.result))


def _half_sizes(node: ModelNode) -> list[Sizes]:
    *leading, last = node.input(0).sizes
    return [(*leading, last // 2)]


@maps("BiasSplitGelu", "ELEMENT_WISE_ADD SPLIT ACTIVATION_GELU ELEMENT_WISE_MULTIPLY", MICROSOFT, _half_sizes)
def bias_split_gelu(node: ModelNode) -> Mapped:
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
