"""Products of matrices, whose batches are stretched by strides of 0, and sums of products that are such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, maps
from dml_conformance.conformance.exchange.onnx.node import (
    Mapped,
    ModelNode,
    ModelValue,
    NotMapped,
    Sizes,
    View,
    broadcast,
    operation,
    padded,
    transposed,
    view,
    viewed,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import TensorDesc, packed_strides

NO_TRANSFORM = {"trans_a": "NONE", "trans_b": "NONE"}


@maps("Gemm", "GEMM")
def gemm(node: ModelNode) -> Mapped:
    """C is stretched to the sizes of the output."""
    addend = node.optional(2)
    yield operation(
        "GEMM",
        a_tensor=view(node.input(0)),
        b_tensor=view(node.input(1)),
        c_tensor=None if addend is None else broadcast(addend, node.result.sizes),
        output_tensor=view(node.result),
        trans_a="TRANSPOSE" if node.attribute("transA") else "NONE",
        trans_b="TRANSPOSE" if node.attribute("transB") else "NONE",
        alpha=node.attribute("alpha", 1.0),
        beta=node.attribute("beta", 1.0),
    )


class Matrices:
    """Two factors and their product, each with rows and columns, and with the batch of the product."""

    def __init__(self, node: ModelNode, a: int = 0, b: int = 1) -> None:
        own_a, own_b, output = node.input(a).sizes, node.input(b).sizes, node.result.sizes
        if not own_a or not own_b:
            raise NotMapped("a factor is a single number")
        if len(own_b) == 1:
            own_b, output = (*own_b, 1), (*output, 1)
        if len(own_a) == 1:
            own_a, output = (1, *own_a), (*output[:-1], 1, output[-1])
        batch = output[:-2]
        self.a = broadcast(node.input(a), (*batch, *own_a[-2:]), own_a)
        self.b = broadcast(node.input(b), (*batch, *own_b[-2:]), own_b)
        self.output = view(node.result, padded(output))
        self.rows, self.columns = output[-2:]


@maps("MatMul", "GEMM")
def product(node: ModelNode) -> Mapped:
    """A vector is a matrix of one row or column."""
    of = Matrices(node)
    yield operation("GEMM", a_tensor=of.a, b_tensor=of.b, output_tensor=of.output, **NO_TRANSFORM, alpha=1.0, beta=0.0)


def _fused_sizes(node: ModelNode) -> list[Sizes]:
    (*batch_a, m, k), (*batch_b, n, p) = node.input(0).sizes, node.input(1).sizes
    if node.attribute("transA", 0):
        m, k = k, m
    if node.attribute("transB", 0):
        n, p = p, n
    if k != n or node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0):
        raise NotMapped("its batches are transposed, or its factors do not fit")
    rank = max(len(batch_a), len(batch_b))
    pairs = zip(padded(batch_a, rank), padded(batch_b, rank), strict=True)
    return [(*(max(pair) for pair in pairs), m, p)]


@maps("FusedMatMul", "GEMM", MICROSOFT, _fused_sizes)
def fused_product(node: ModelNode) -> Mapped:
    """A product with transposed factors and a factor of its own."""
    a, b, output = node.input(0), node.input(1), node.result
    batch = output.sizes[:-2]
    yield operation(
        "GEMM",
        a_tensor=broadcast(a, (*batch, *a.sizes[-2:])),
        b_tensor=broadcast(b, (*batch, *b.sizes[-2:])),
        output_tensor=view(output),
        trans_a="TRANSPOSE" if node.attribute("transA", 0) else "NONE",
        trans_b="TRANSPOSE" if node.attribute("transB", 0) else "NONE",
        alpha=node.attribute("alpha", 1.0),
        beta=0.0,
    )


# --- of integers --------------------------------------------------------------------------------------------------


def _along_rows(value: ModelValue | None) -> View | None:
    """A scale or zero point for each row, or one for all."""
    return None if value is None else _along(value, (1, 1, prod(value.sizes), 1))


def _along_columns(value: ModelValue | None) -> View | None:
    return None if value is None else _along(value, (1, 1, 1, prod(value.sizes)))


def _along(value: ModelValue, sizes: Sizes) -> View:
    if len([size for size in value.sizes if size != 1]) > 1:
        raise NotMapped(f"{value.name!r} has sizes {list(value.sizes)}, one for more than each row or column")
    return view(value, sizes)


@maps("MatMulInteger", "MATRIX_MULTIPLY_INTEGER")
def product_of_integers(node: ModelNode) -> Mapped:
    of = Matrices(node)
    yield operation(
        "MATRIX_MULTIPLY_INTEGER",
        a_tensor=of.a,
        a_zero_point_tensor=_along_rows(node.optional(2)),
        b_tensor=of.b,
        b_zero_point_tensor=_along_columns(node.optional(3)),
        output_tensor=of.output,
    )


@maps("QLinearMatMul", "QUANTIZED_LINEAR_MATRIX_MULTIPLY")
def quantized_product(node: ModelNode) -> Mapped:
    of = Matrices(node, 0, 3)
    yield operation(
        "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
        a_tensor=of.a,
        a_scale_tensor=_along_rows(node.input(1)),
        a_zero_point_tensor=_along_rows(node.optional(2)),
        b_tensor=of.b,
        b_scale_tensor=_along_columns(node.input(4)),
        b_zero_point_tensor=_along_columns(node.optional(5)),
        output_scale_tensor=_along_rows(node.input(6)),
        output_zero_point_tensor=_along_rows(node.optional(7)),
        output_tensor=of.output,
    )


def _product_sizes(node: ModelNode) -> list[Sizes]:
    (*batch_a, m, _), (*batch_b, _, n) = node.input(0).sizes, node.input(1).sizes
    rank = max(len(batch_a), len(batch_b))
    return [(*(max(pair) for pair in zip(padded(batch_a, rank), padded(batch_b, rank), strict=True)), m, n)]


@maps("MatMulIntegerToFloat", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", MICROSOFT, _product_sizes, 2)
def product_of_integers_to_float(node: ModelNode) -> Mapped:
    of, bias = Matrices(node), node.optional(6)
    yield operation(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        a_tensor=of.a,
        a_scale_tensor=_along_rows(node.input(2)),
        a_zero_point_tensor=_along_rows(node.optional(4)),
        b_tensor=of.b,
        b_scale_tensor=_along_columns(node.input(3)),
        b_zero_point_tensor=_along_columns(node.optional(5)),
        bias_tensor=None if bias is None else broadcast(bias, of.output.tensor.sizes),
        output_tensor=of.output,
    )


@maps(
    "DynamicQuantizeMatMul",
    "DYNAMIC_QUANTIZE_LINEAR MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
    MICROSOFT,
    _product_sizes,
)
def dynamically_quantized_product(node: ModelNode) -> Mapped:
    """A is quantized by what is found in it."""
    a, bias = node.input(0), node.optional(4)
    of = Matrices(node)
    quantized = node.between(0, DataType.UINT8, a.sizes)
    scale, zero_point = node.between(1, DataType.FLOAT32, (1,)), node.between(2, DataType.UINT8, (1,))
    yield operation(
        "DYNAMIC_QUANTIZE_LINEAR",
        input_tensor=view(a),
        output_tensor=quantized,
        output_scale_tensor=scale,
        output_zero_point_tensor=zero_point,
    )
    yield operation(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        a_tensor=viewed(quantized, of.a.tensor.sizes, of.a.tensor.strides),
        a_scale_tensor=scale,
        a_zero_point_tensor=zero_point,
        b_tensor=of.b,
        b_scale_tensor=_along_columns(node.input(2)),
        b_zero_point_tensor=_along_columns(node.optional(3)),
        bias_tensor=None if bias is None else broadcast(bias, of.output.tensor.sizes),
        output_tensor=of.output,
    )


# --- sums of products ---------------------------------------------------------------------------------------------


@maps("Einsum", "GEMM ELEMENT_WISE_MULTIPLY ELEMENT_WISE_IDENTITY REDUCE")
def sum_of_products(node: ModelNode) -> Mapped:
    """What is a product of matrices in a batch, of elements, a sum or a transposition, by strides alone."""
    equation = re.sub(r"\s", "", node.attribute("equation"))
    left, _, output = equation.partition("->")
    terms = left.split(",")
    if not re.fullmatch(r"[A-Za-z,]*->[A-Za-z]*", equation) or any(
        len(set(term)) < len(term) for term in (*terms, output)
    ):
        raise NotMapped(f"{equation} leaves dimensions unnamed, or has a diagonal")
    if len(terms) == 1:
        yield from _of_one(node, terms[0], output)
    elif len(terms) == 2:
        yield from _of_two(node, terms[0], terms[1], output)
    else:
        raise NotMapped(f"{equation} has more than two factors")


def _of_one(node: ModelNode, term: str, output: str) -> Mapped:
    given, made = node.input(0), node.result
    summed = [label for label in term if label not in output]
    order = [term.index(label) for label in (*output, *summed)]
    turned = transposed(given, order)
    if not summed:
        yield operation("ELEMENT_WISE_IDENTITY", input_tensor=turned, output_tensor=view(made))
        return
    rank = len(turned.tensor.sizes)
    kept = (*turned.tensor.sizes[: rank - len(summed)], *(1,) * len(summed))
    axes = tuple(range(rank - len(summed), rank))
    yield operation("REDUCE", function="SUM", input_tensor=turned, output_tensor=view(made, kept), axes=axes)


def _of_two(node: ModelNode, a: str, b: str, output: str) -> Mapped:
    batch = [label for label in output if label in a and label in b]
    rows = [label for label in output if label in a and label not in b]
    columns = [label for label in output if label in b and label not in a]
    inner = [label for label in a if label in b and label not in output]
    lost = [label for label in a + b if label not in (*batch, *rows, *columns, *inner)]
    if lost or any(len(labels) > 1 for labels in (rows, columns, inner)):
        raise NotMapped(f"{a},{b}->{output} is no product of matrices in a batch")
    if not inner and not rows and not columns:
        yield operation(
            "ELEMENT_WISE_MULTIPLY",
            a_tensor=_labelled(node.input(0), a, batch),
            b_tensor=_labelled(node.input(1), b, batch),
            output_tensor=_labelled(node.result, output, batch),
        )
        return
    yield operation(
        "GEMM",
        a_tensor=_labelled(node.input(0), a, (*batch, *(rows or " "), *(inner or " "))),
        b_tensor=_labelled(node.input(1), b, (*batch, *(inner or " "), *(columns or " "))),
        output_tensor=_labelled(node.result, output, (*batch, *(rows or " "), *(columns or " "))),
        **NO_TRANSFORM,
        alpha=1.0,
        beta=0.0,
    )


def _labelled(value: ModelValue, term: str, order: Sequence[str]) -> View:
    """A value with its labelled dimensions in another order; an unlabelled one has size 1."""
    sizes, strides = (
        dict(zip(term, value.sizes, strict=True)),
        dict(zip(term, packed_strides(value.sizes), strict=True)),
    )
    count = prod(value.sizes)
    turned = padded([sizes.get(label, 1) for label in order])
    steps = padded([strides.get(label, count) for label in order], len(turned), count)
    return view(value, turned, None if steps == packed_strides(turned) else steps)


# --- weights of few bits ------------------------------------------------------------------------------------------


def _few_bits_sizes(node: ModelNode) -> list[Sizes]:
    return [(*node.input(0).sizes[:-1], node.attribute("N"))]


@maps("MatMulNBits", "DEQUANTIZE GEMM", MICROSOFT, _few_bits_sizes)
def product_by_few_bits(node: ModelNode) -> Mapped:
    """The weights, two in a byte and in blocks along the rows of B transposed, are numbers first."""
    n, k, size = node.attribute("N"), node.attribute("K"), node.attribute("block_size")
    if node.attribute("bits", 4) != 4:
        raise NotMapped(f"weights have {node.attribute('bits')} bits, and DirectML has types of 4")
    if node.optional(4) is not None:
        raise NotMapped("columns are in an order of their own, by g_idx")
    if k % size:
        raise NotMapped(f"K = {k} is no multiple of block_size {size}, and DirectML's blocks divide a dimension")
    blocks = k // size
    a, bias, zero_points = node.input(0), node.optional(5), node.optional(3)
    packed, kind = node.input(1), DataType.UINT4
    made = node.between(0, a.data_type, (1, 1, n, k))
    weights = View(packed.name, TensorDesc.of(kind, (1, 1, n, k)))
    parts = [view(node.input(2), (1, 1, n, blocks))]
    if zero_points is None or zero_points.data_type is not DataType.UINT8 or blocks % 2:
        raise NotMapped("zero points are left out, or rows of them end within a byte")
    parts.append(View(zero_points.name, TensorDesc.of(kind, (1, 1, n, blocks))))
    yield operation(
        "DEQUANTIZE",
        input_tensor=weights,
        quantization_type="SCALE_ZERO_POINT",
        quantization_tensors=parts,
        output_tensor=made,
    )
    rows = prod(a.sizes[:-1])
    yield operation(
        "GEMM",
        a_tensor=view(a, (1, 1, rows, k)),
        b_tensor=made,
        c_tensor=None if bias is None else broadcast(bias, (1, 1, rows, n)),
        output_tensor=view(node.result, (1, 1, rows, n)),
        trans_a="NONE",
        trans_b="TRANSPOSE",
        alpha=1.0,
        beta=1.0 if bias is not None else 0.0,
    )
