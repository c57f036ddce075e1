"""Element-wise functions, comparisons and bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml_conformance.backends.onnxruntime.forms._fused import activated
from dml_conformance.backends.onnxruntime.forms._rows import named, node, row_of
from dml_conformance.backends.onnxruntime.graph import BOOL, MOVERS, FormGraph, FormValue, NoForm, is_float, numpy_type
from dml_conformance.backends.onnxruntime.table import UNARY
from dml_conformance.spec.datatypes import DataType


def scaled(graph: FormGraph, desc: Any) -> FormValue:
    """The input, times Scale plus Bias where there are some."""
    if desc.scale_bias is None:
        return graph.input("input_tensor")
    x = graph.number("input_tensor")
    if x.kind != "FLOAT32":
        raise NoForm(f"ScaleBias of {x.kind}, which the page leaves open")
    product = graph.node("Mul", x, graph.constant(desc.scale_bias.scale, x.kind))
    return graph.node("Add", product, graph.constant(desc.scale_bias.bias, x.kind))


def unary(graph: FormGraph, desc: Any) -> None:
    graph.output("output_tensor", node(graph, desc, row_of(desc), scaled(graph, desc)))


def identity(graph: FormGraph, desc: Any) -> None:
    if desc.scale_bias is None:
        graph.moved("output_tensor", graph.node("Identity", graph.input("input_tensor")))
    else:
        graph.output("output_tensor", scaled(graph, desc))


def added(graph: FormGraph, desc: Any) -> None:
    if desc.fused_activation is None:
        total = graph.node("Add", graph.input("a_tensor"), graph.input("b_tensor"))
    else:
        total = graph.node("Add", graph.number("a_tensor"), graph.number("b_tensor"))
    graph.output("output_tensor", activated(graph, total, desc.fused_activation))


def mean(graph: FormGraph, desc: Any) -> None:
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    if is_float(a.kind):
        graph.output("output_tensor", graph.node("Mean", a, b))
        return
    total = graph.node("Add", graph.cast(a, "INT64"), graph.cast(b, "INT64"))
    graph.output("output_tensor", graph.node("Div", total, graph.constant(2)))


def difference_square(graph: FormGraph, desc: Any) -> None:
    difference = graph.node("Sub", graph.number("a_tensor"), graph.number("b_tensor"))
    graph.output("output_tensor", graph.node("Mul", difference, difference))


def divided(graph: FormGraph, desc: Any) -> None:
    """ONNX leaves open what an integer divided by 0 is, and the runtime ends there; DirectML leaves it open too."""
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    if is_float(a.kind):
        graph.output("output_tensor", graph.node("Div", a, b))
    else:
        graph.output("output_tensor", graph.node("Div", a, _divisor(graph, a, b)))


def _divisor(graph: FormGraph, a: FormValue, b: FormValue) -> FormValue:
    """An integer divisor without what the runtime ends at: 0, and -1 of the least number."""
    one = graph.constant(1, b.kind)
    b = chosen(graph, graph.node("Equal", b, graph.constant(0, b.kind), kind=BOOL), one, b)
    if not b.kind.startswith("INT"):
        return b
    least = graph.constant(np.iinfo(numpy_type(a.kind)).min, a.kind)
    is_least = graph.node("Equal", a, least, kind=BOOL)
    is_open = graph.node("And", is_least, graph.node("Equal", b, graph.constant(-1, b.kind), kind=BOOL))
    return chosen(graph, is_open, one, b)


def chosen(graph: FormGraph, condition: FormValue, a: FormValue, b: FormValue) -> FormValue:
    """Elements of one of two numbers, of any type."""
    if a.kind == "UINT64":
        a, b = graph.cast(a, "INT64"), graph.cast(b, "INT64")
        return graph.cast(chosen(graph, condition, a, b), "UINT64")
    if a.kind in ("INT16", "UINT16"):
        kind = a.kind
        return graph.cast(chosen(graph, condition, graph.cast(a, "INT32"), graph.cast(b, "INT32")), kind)
    return graph.node("Where", condition, a, b, kind=a.kind)


def modulus(graph: FormGraph, desc: Any) -> None:
    """Of floating-point numbers ONNX has the truncating one alone."""
    row = row_of(desc)
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    if not is_float(a.kind):
        graph.output("output_tensor", node(graph, desc, row, a, _divisor(graph, a, b)))
    elif row.constants["fmod"]:
        graph.output("output_tensor", node(graph, desc, row, a, b))
    else:
        a, b = graph.number("a_tensor"), graph.number("b_tensor")
        multiple = graph.node("Mul", graph.node("Floor", graph.node("Div", a, b)), b)
        graph.output("output_tensor", graph.node("Sub", a, multiple))


def clipped(graph: FormGraph, desc: Any) -> None:
    x = scaled(graph, desc)
    limits = (graph.constant(held(value, x.kind), x.kind) for value in (desc.min, desc.max))
    graph.output("output_tensor", graph.node("Clip", x, *limits))


def held(value: float, kind: str) -> float | int:
    """A limit as a number of an element type: without its fraction, and held between the ends of an integer type."""
    if is_float(kind):
        return value
    ends = np.iinfo(numpy_type(kind))
    if math.isnan(value):
        raise NoForm(f"limit of {kind} that is a NaN")
    return min(max(math.trunc(value) if math.isfinite(value) else math.copysign(2**70, value), ends.min), ends.max)


def threshold(graph: FormGraph, desc: Any) -> None:
    x = scaled(graph, desc)
    graph.output("output_tensor", graph.node("Max", x, graph.constant(held(desc.min, x.kind), x.kind)))


def clip_gradient(graph: FormGraph, desc: Any) -> None:
    x, gradient = graph.input("input_tensor"), graph.input("input_gradient_tensor")
    low, high = (graph.constant(held(value, x.kind), x.kind) for value in (desc.min, desc.max))
    inside = graph.node(
        "And", graph.node("Greater", x, low, kind=BOOL), graph.node("Less", x, high, kind=BOOL), kind=BOOL
    )
    graph.output("output_gradient_tensor", chosen(graph, inside, gradient, graph.constant(0, gradient.kind)))


def relu_gradient(graph: FormGraph, desc: Any) -> None:
    x, gradient = graph.input("input_tensor"), graph.input("input_gradient_tensor")
    above = graph.node("Greater", x, graph.constant(0, x.kind), kind=BOOL)
    graph.output("output_gradient_tensor", chosen(graph, above, gradient, graph.constant(0, gradient.kind)))


def power(graph: FormGraph, desc: Any) -> None:
    base, exponent = scaled(graph, desc), graph.input("exponent_tensor")
    if base.kind in ("FLOAT32", "FLOAT16") and is_float(exponent.kind):
        graph.output("output_tensor", graph.node("Pow", base, graph.cast(exponent, base.kind)))
        return
    kind = "FLOAT64" if is_float(base.kind) or is_float(exponent.kind) else "INT64"
    graph.output("output_tensor", graph.node("Pow", graph.cast(base, kind), graph.cast(exponent, kind)))


def constant_power(graph: FormGraph, desc: Any) -> None:
    x = scaled(graph, desc)
    graph.output("output_tensor", graph.node("Pow", x, graph.constant(desc.exponent, x.kind)))


def round_to_whole(graph: FormGraph, desc: Any) -> None:
    """ONNX has halves rounded to the even number alone."""
    mode = named(desc, "rounding_mode")
    if mode == "HALVES_TO_NEAREST_EVEN":
        graph.output("output_tensor", graph.node("Round", graph.input("input_tensor")))
        return
    x = graph.number("input_tensor")
    magnitude = graph.node("Abs", x)
    whole = graph.node("Floor", magnitude)
    if mode == "TOWARD_INFINITY":  # halves away from zero
        rest, half = graph.node("Sub", magnitude, whole), graph.constant(0.5, x.kind)
        is_more = graph.node("GreaterOrEqual", rest, half, kind=BOOL)
        whole = graph.node("Add", whole, graph.cast(is_more, x.kind))
    graph.output("output_tensor", graph.node("Mul", graph.node("Sign", x), whole))


def sign(graph: FormGraph, desc: Any) -> None:
    """ONNX does not say what comes of a NaN, of which DirectML's is 0."""
    x = graph.input("input_tensor")
    if is_float(x.kind):
        x = graph.number("input_tensor")
        x = chosen(graph, graph.node("IsNaN", x, kind=BOOL), graph.constant(0, x.kind), x)
    graph.output("output_tensor", graph.node("Sign", x))


def angle(graph: FormGraph, desc: Any) -> None:
    """ONNX has the arctangent of one number; on the left the angle is taken from half a turn."""
    y, x = graph.number("a_tensor"), graph.number("b_tensor")
    zero = graph.constant(0, x.kind)
    right = graph.node("Atan", graph.node("Div", y, graph.node("Abs", x)))
    is_below = graph.node("Less", y, zero, kind=BOOL)
    is_zero_below = graph.node("Less", graph.node("Reciprocal", y), zero, kind=BOOL)
    is_below = graph.node("Or", is_below, is_zero_below, kind=BOOL)
    half_turn = chosen(graph, is_below, graph.constant(-math.pi, x.kind), graph.constant(math.pi, x.kind))
    left = graph.node("Sub", half_turn, right)
    graph.output("output_tensor", chosen(graph, graph.node("Less", x, zero, kind=BOOL), left, right))


def selected(graph: FormGraph, desc: Any) -> None:
    condition = graph.cast(graph.input("condition_tensor"), BOOL)
    a, b = (graph.input(field, kinds=MOVERS["Where"]) for field in ("a_tensor", "b_tensor"))
    graph.moved("output_tensor", chosen(graph, condition, a, b))


def bits(graph: FormGraph, desc: Any) -> None:
    """Elements of any type as unsigned integers."""
    row = row_of(desc)
    kinds = frozenset(kind.name for kind in DataType if kind.name.startswith("UINT"))
    found = node(graph, desc, row, *(graph.input(str(field), kinds=kinds) for field in row.inputs))
    if desc.output_tensor.data_type.shares_bytes:
        found = graph.node("BitwiseAnd", found, graph.constant(15, found.kind))
    graph.moved("output_tensor", found)


def bit_count(graph: FormGraph, desc: Any) -> None:
    """One bit after the other."""
    kinds = frozenset({"UINT8", "UINT16", "UINT32", "UINT64"})
    x = graph.input("input_tensor", kinds=kinds)
    width = desc.input_tensor.data_type.bits
    one = graph.constant(1, x.kind)
    total = graph.node("BitwiseAnd", x, one)
    for place in range(1, width):
        shifted = graph.node("BitShift", x, graph.constant(place, x.kind), direction="RIGHT")
        total = graph.node("Add", total, graph.node("BitwiseAnd", shifted, one))
    graph.output("output_tensor", total)


FORMS = {
    **{f"ELEMENT_WISE_{name}": unary for name, _, _ in UNARY},
    "ELEMENT_WISE_IDENTITY": identity,
    "ELEMENT_WISE_ADD1": added,
    "ELEMENT_WISE_MEAN": mean,
    "ELEMENT_WISE_DIFFERENCE_SQUARE": difference_square,
    "ELEMENT_WISE_DIVIDE": divided,
    "ELEMENT_WISE_MODULUS_TRUNCATE": modulus,
    "ELEMENT_WISE_MODULUS_FLOOR": modulus,
    "ELEMENT_WISE_CLIP": clipped,
    "ELEMENT_WISE_CLIP1": clipped,
    "ELEMENT_WISE_CLIP_GRAD": clip_gradient,
    "ELEMENT_WISE_CLIP_GRAD1": clip_gradient,
    "ACTIVATION_RELU_GRAD": relu_gradient,
    "ELEMENT_WISE_THRESHOLD": threshold,
    "ELEMENT_WISE_POW": power,
    "ELEMENT_WISE_CONSTANT_POW": constant_power,
    "ELEMENT_WISE_ROUND": round_to_whole,
    "ELEMENT_WISE_SIGN": sign,
    "ELEMENT_WISE_ATAN_YX": angle,
    "ELEMENT_WISE_IF": selected,
    **{f"ELEMENT_WISE_BIT_{name}": bits for name in ("AND", "OR", "XOR", "NOT")},
    "ELEMENT_WISE_BIT_COUNT": bit_count,
}
