"""Numbers as integers of few bits and back."""

from __future__ import annotations

from math import prod

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
    from_first,
    operation,
    padded,
    view,
)


def stretched(value: ModelValue, sizes: Sizes, axis: int) -> View:
    """A scale or zero point for every element: one for all, one along an axis, or of sizes that broadcast."""
    own = value.sizes
    if prod(own) == 1:
        own = (1,) * len(sizes)
    elif len(own) == 1:
        d = from_first(axis, len(sizes))
        own = (*(1,) * d, own[0], *(1,) * (len(sizes) - 1 - d))
    return broadcast(value, sizes, own)


@maps("QuantizeLinear", "ELEMENT_WISE_QUANTIZE_LINEAR QUANTIZE")
@maps("DequantizeLinear", "ELEMENT_WISE_DEQUANTIZE_LINEAR DEQUANTIZE")
@maps("QuantizeLinear", "ELEMENT_WISE_QUANTIZE_LINEAR", MICROSOFT, shape_of(0), 2)
@maps("DequantizeLinear", "ELEMENT_WISE_DEQUANTIZE_LINEAR", MICROSOFT, shape_of(0), 1)
def linear(node: ModelNode) -> Mapped:
    """With a scale and zero point for each element, by strides of 0, or by blocks where the node has them."""
    name = "QUANTIZE" if node.op_type == "QuantizeLinear" else "DEQUANTIZE"
    given, scale, zero_point = node.input(0), node.input(1), node.optional(2)
    sizes = given.sizes
    if node.attribute("block_size", 0) or (len(scale.sizes) == len(sizes) > 1 and scale.sizes != sizes):
        yield _by_blocks(name, given, scale, zero_point, node.result)
        return
    axis = node.attribute("axis", 1)
    yield operation(
        f"ELEMENT_WISE_{name}_LINEAR",
        input_tensor=view(given),
        scale_tensor=stretched(scale, sizes, axis),
        zero_point_tensor=None if zero_point is None else stretched(zero_point, sizes, axis),
        output_tensor=view(node.result),
    )


def _by_blocks(
    name: str, given: ModelValue, scale: ModelValue, zero_point: ModelValue | None, made: ModelValue
) -> Operation:
    parts = [view(scale)] if zero_point is None else [view(scale), view(zero_point)]
    return operation(
        name,
        input_tensor=view(given),
        quantization_type="SCALE" if zero_point is None else "SCALE_ZERO_POINT",
        quantization_tensors=parts,
        output_tensor=view(made),
    )


@maps("DynamicQuantizeLinear", "DYNAMIC_QUANTIZE_LINEAR")
def dynamic(node: ModelNode) -> Mapped:
    scale, zero_point = node.output(1), node.output(2)
    if scale is None or zero_point is None:
        raise NotMapped("an output is left out, and DYNAMIC_QUANTIZE_LINEAR writes all of them")
    yield operation(
        "DYNAMIC_QUANTIZE_LINEAR",
        input_tensor=view(node.input(0)),
        output_tensor=view(node.result),
        output_scale_tensor=view(scale),
        output_zero_point_tensor=view(zero_point),
    )


def _sum_sizes(node: ModelNode) -> list[Sizes]:
    a, b = node.input(0).sizes, node.input(3).sizes
    rank = max(len(a), len(b))
    return [tuple(max(pair) for pair in zip(padded(a, rank), padded(b, rank), strict=True))]


@maps("QLinearAdd", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", MICROSOFT, _sum_sizes)
def quantized_sum(node: ModelNode) -> Mapped:
    sizes = node.result.sizes

    def one(n: int) -> View | None:
        value = node.optional(n)
        return None if value is None else view(value, padded((), max(len(sizes), 4)))

    yield operation(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        a_tensor=broadcast(node.input(0), sizes),
        a_scale_tensor=one(1),
        a_zero_point_tensor=one(2),
        b_tensor=broadcast(node.input(3), sizes),
        b_scale_tensor=one(4),
        b_zero_point_tensor=one(5),
        output_scale_tensor=one(6),
        output_zero_point_tensor=one(7),
        output_tensor=view(node.result),
    )


def _dequantized(name: str, given: View, scale: ModelValue, zero_point: ModelValue | None, made: View) -> Operation:
    """Numbers of a tensor that has one scale, or integers of them."""
    sizes = given.tensor.sizes
    return operation(
        name,
        input_tensor=given,
        scale_tensor=stretched(scale, sizes, 0),
        zero_point_tensor=None if zero_point is None else stretched(zero_point, sizes, 0),
        output_tensor=made,
    )


DEQUANTIZE, QUANTIZE = "ELEMENT_WISE_DEQUANTIZE_LINEAR", "ELEMENT_WISE_QUANTIZE_LINEAR"


@maps("QLinearSigmoid", f"{DEQUANTIZE} ACTIVATION_SIGMOID {QUANTIZE}", MICROSOFT, shape_of(0))
def quantized_sigmoid(node: ModelNode) -> Mapped:
    """As numbers in between."""
    given, scale = node.input(0), node.input(1)
    numbers, found = (node.between(n, scale.data_type, given.sizes) for n in range(2))
    yield _dequantized(DEQUANTIZE, view(given), scale, node.optional(2), numbers)
    yield operation("ACTIVATION_SIGMOID", input_tensor=numbers, output_tensor=found)
    yield _dequantized(QUANTIZE, found, node.input(3), node.optional(4), view(node.result))


def _join_sizes(node: ModelNode) -> list[Sizes]:
    parts = [node.input(n).sizes for n in range(2, len(node.inputs), 3)]
    axis = node.axis(len(parts[0]))
    total = sum(sizes[axis] for sizes in parts)
    return [(*parts[0][:axis], total, *parts[0][axis + 1 :])]


@maps("QLinearConcat", f"{DEQUANTIZE} JOIN {QUANTIZE}", MICROSOFT, _join_sizes, 2)
def quantized_join(node: ModelNode) -> Mapped:
    """As numbers in between, as each part has a scale of its own."""
    sizes, scale = node.result.sizes, node.input(0)
    parts = []
    for n in range(2, len(node.inputs), 3):
        given = node.input(n)
        parts.append(node.between(n, scale.data_type, given.sizes))
        yield _dequantized(DEQUANTIZE, view(given), node.input(n + 1), node.optional(n + 2), parts[-1])
    joined = node.between(0, scale.data_type, sizes)
    axis = max(4 - len(sizes), 0) + node.axis(len(sizes))
    yield operation("JOIN", input_tensors=parts, output_tensor=joined, axis=axis)
    yield _dequantized(QUANTIZE, joined, scale, node.optional(1), view(node.result))
