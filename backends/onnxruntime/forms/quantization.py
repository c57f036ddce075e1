"""Numbers as integers, and what is computed with these."""

from __future__ import annotations

import math
from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, row_of
from dml_conformance.backends.onnxruntime.forms.windows import fits, pool
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm
from dml_conformance.spec.tensor import TensorDesc

NEWEST = 21  # the opset that has blocks, and types of 4 bits


class Blocks:
    """How a scale goes with an input: one number, one for each place along an axis, or one for each block.

    Args:
        input: the tensor.
        scale: of as many dimensions; its sizes divide those of the input.

    Attributes:
        sizes: of the input's array, with each dimension cut into blocks where one block size does not do.
        scale_sizes: of the scale's array.
        expanded: the sizes that the scale is to be repeated to; None where it is not.
        attributes: of the node.
    """

    def __init__(self, input: TensorDesc, scale: TensorDesc) -> None:
        sizes, parts = input.sizes, scale.sizes
        parts = tuple(1 if stride == 0 else part for part, stride in zip(parts, scale.effective_strides, strict=True))
        self.sizes: tuple[int, ...] = sizes
        self.expanded: list[int] | None = None
        along = [d for d, part in enumerate(parts) if part > 1]
        blocked = [d for d, (size, part) in enumerate(zip(sizes, scale.sizes, strict=True)) if size != part]
        self.attributes: dict[str, Any] = {}
        if scale.element_count == 1:
            self.scale_sizes: tuple[int, ...] = ()
        elif len(along) == 1 and sizes[along[0]] == parts[along[0]] and scale.element_count == parts[along[0]]:
            self.scale_sizes, self.attributes = (parts[along[0]],), {"axis": along[0]}
        elif len(blocked) <= 1:
            axis = blocked[0] if blocked else len(sizes) - 1
            self.scale_sizes = scale.sizes
            self.attributes = {"axis": axis, "block_size": sizes[axis] // scale.sizes[axis]}
        else:
            lengths = [size // part for size, part in zip(sizes, scale.sizes, strict=True)]
            self.sizes = tuple(each for pair in zip(scale.sizes, lengths, strict=True) for each in pair)
            self.scale_sizes = tuple(each for part in scale.sizes for each in (part, 1))
            self.expanded = list(self.sizes)
            self.attributes = {"axis": len(self.sizes) - 1, "block_size": 1}


def _narrow(graph: FormGraph, value: FormValue, tensor: TensorDesc) -> FormValue:
    """Elements of 4 bits in a byte each as those of 4 bits."""
    return graph.cast(value, tensor.data_type.name) if tensor.data_type.shares_bytes else value


def _beside(graph: FormGraph, blocks: Blocks, key: str) -> FormValue:
    value = graph.input(key, sizes=blocks.scale_sizes)
    return value if blocks.expanded is None else graph.node("Expand", value, graph.constant(blocks.expanded))


def quantized(graph: FormGraph, desc: Any) -> None:
    _quantized(graph, desc, "scale_tensor", "zero_point_tensor" if desc.zero_point_tensor else "")


def quantized_in_blocks(graph: FormGraph, desc: Any) -> None:
    keys = [f"quantization_tensors[{number}]" for number in range(len(desc.quantization_tensors))]
    if not keys:
        raise NoForm(f"{desc.operator} without a scale")
    _quantized(graph, desc, keys[0], keys[1] if len(keys) > 1 else "")


def _quantized(graph: FormGraph, desc: Any, scale_key: str, zero_point_key: str) -> None:
    graph.opset = NEWEST
    tensors = getattr(desc, "quantization_tensors", None)
    scale_tensor = tensors[0] if tensors else desc.scale_tensor
    blocks = Blocks(desc.input_tensor, scale_tensor)
    scale = _beside(graph, blocks, scale_key)
    x = graph.input("input_tensor", sizes=blocks.sizes)
    is_input = "DEQUANTIZE" in desc.operator
    if is_input and desc.input_tensor.data_type.name == "UINT32":  # of which ONNX has none
        _dequantized_by_parts(graph, desc)
        return
    integer = desc.input_tensor if is_input else desc.output_tensor
    zero_point = None
    if zero_point_key:
        zero_point = _narrow(graph, _beside(graph, blocks, zero_point_key), integer)
    if is_input:
        found = graph.node(
            "DequantizeLinear", _narrow(graph, x, integer), scale, zero_point, kind=scale.kind, **blocks.attributes
        )
    else:
        kind = integer.data_type.name
        attributes = {**blocks.attributes, **({} if zero_point else {"output_dtype": kind})}
        found = graph.node("QuantizeLinear", graph.cast(x, scale.kind), scale, zero_point, kind=kind, **attributes)
    graph.output("output_tensor", found)


def _dequantized_by_parts(graph: FormGraph, desc: Any) -> None:
    difference = graph.cast(graph.input("input_tensor"), "INT64")
    if desc.zero_point_tensor is not None:
        difference = graph.node("Sub", difference, graph.index("zero_point_tensor"))
    product = graph.node("Mul", graph.cast(difference, "FLOAT32"), graph.number("scale_tensor"))
    graph.output("output_tensor", product)


def quantized_by_itself(graph: FormGraph, desc: Any) -> None:
    """ONNX has UINT8 alone; the formula of INT8 is the same with another least number."""
    x = graph.number("input_tensor")
    keys = ("output_tensor", "output_scale_tensor", "output_zero_point_tensor")
    if desc.output_tensor.data_type.name == "UINT8":
        found = graph.results("DynamicQuantizeLinear", x, kinds=("UINT8", "FLOAT32", "UINT8"))
    else:
        graph.opset = NEWEST
        zero = graph.constant(0, "FLOAT32")
        least, most = (graph.node(name, graph.node(f"Reduce{name}", x, keepdims=0), zero) for name in ("Min", "Max"))
        scale = graph.node("Div", graph.node("Sub", most, least), graph.constant(255, "FLOAT32"))
        point = graph.node("Sub", graph.constant(-128, "FLOAT32"), graph.node("Div", least, scale))
        point = graph.cast(graph.node("Round", point), "INT8")
        found = [graph.node("QuantizeLinear", x, scale, point, kind="INT8"), scale, point]
    for key, value in zip(keys, found, strict=True):
        graph.output(key, value)


def _kind(tensor: TensorDesc) -> str:
    return tensor.data_type.name


def _is_single(*tensors: TensorDesc | None) -> bool:
    return all(tensor is None or tensor.element_count == 1 for tensor in tensors)


def single(graph: FormGraph, desc: Any, key: str, kind: str = "UINT8") -> FormValue:
    """A scale or zero point that is one number; a zero point that is not given is 0."""
    return graph.constant(0, kind) if getattr(desc, key) is None else graph.input(key, sizes=())


def in_row(graph: FormGraph, desc: Any, key: str, kind: str = "UINT8") -> FormValue:
    """The same, or as many as there are channels."""
    tensor = getattr(desc, key)
    if tensor is None or tensor.element_count == 1:
        return single(graph, desc, key, kind)
    return graph.input(key, sizes=(tensor.element_count,))


def by_column(graph: FormGraph, desc: Any, key: str, kind: str = "UINT8") -> FormValue:
    """The same, or as many as B has columns; of a batch of matrices the runtime wants them for each."""
    tensor, matrix = getattr(desc, key), desc.b_tensor.sizes
    value = in_row(graph, desc, key, kind)
    if _is_single(tensor) or len(matrix) == 2:
        return value
    return graph.node("Expand", value, graph.constant([*matrix[:-2], 1, matrix[-1]]))


def _difference(graph: FormGraph, desc: Any, name: str, sizes: Any = None) -> FormValue:
    """Integers less their zero point, in a type that has all of these."""
    key = f"{name}_zero_point_tensor"
    x = graph.input(f"{name}_tensor")
    wide = "INT64" if x.kind.endswith("32") else "INT32"
    x = graph.cast(x, wide)
    if getattr(desc, key) is None:
        return x
    return graph.node("Sub", x, graph.cast(graph.input(key, sizes=sizes), wide))


def _number(graph: FormGraph, desc: Any, name: str, sizes: Any = None) -> FormValue:
    """What integers stand for."""
    scale = graph.number(f"{name}_scale_tensor", sizes=sizes)
    return graph.node("Mul", graph.cast(_difference(graph, desc, name, sizes), "FLOAT32"), scale)


def _as_integers(graph: FormGraph, desc: Any, value: FormValue) -> None:
    """The output, of numbers as integers."""
    graph.opset = NEWEST
    kind = _kind(desc.output_tensor)
    if not _is_single(desc.output_scale_tensor, desc.output_zero_point_tensor):
        _beside_each_other(graph, desc, value)
        return
    point = single(graph, desc, "output_zero_point_tensor", kind)
    scale = single(graph, desc, "output_scale_tensor")
    graph.output("output_tensor", graph.node("QuantizeLinear", value, scale, point, kind=kind))


def _beside_each_other(graph: FormGraph, desc: Any, value: FormValue) -> None:
    """The same with several scales, which are broadcast."""
    sizes = desc.output_scale_tensor.sizes[-len(desc.output_tensor.sizes) :]
    found = graph.node("Round", graph.node("Div", value, graph.input("output_scale_tensor", sizes=sizes)))
    if desc.output_zero_point_tensor is not None:
        point = graph.input("output_zero_point_tensor", sizes=sizes)
        found = graph.node("Add", found, graph.cast(point, "FLOAT32"))
    ends = desc.output_tensor.data_type.limits
    found = graph.node("Clip", found, *(graph.constant(end, "FLOAT32") for end in ends))
    graph.output("output_tensor", graph.cast(found, _kind(desc.output_tensor)))


def added(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has one type and single scales."""
    row = row_of(desc)
    kinds = {_kind(each) for each in (desc.a_tensor, desc.b_tensor, desc.output_tensor)}
    beside = [getattr(desc, str(field)) for field in row.inputs if field not in ("a_tensor", "b_tensor")]
    if len(kinds) > 1 or not _is_single(*beside):
        _as_integers(graph, desc, graph.node("Add", _number(graph, desc, "a"), _number(graph, desc, "b")))
        return
    (kind,) = kinds
    inputs = [
        graph.input(field) if field in ("a_tensor", "b_tensor") else single(graph, desc, field, kind)
        for field in map(str, row.inputs)
    ]
    graph.output("output_tensor", graph.node(row.op_type, *inputs, domain=row.domain))


def averaged(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has one type and no dilations."""
    row = row_of(desc)
    kind = _kind(desc.input_tensor)
    beside = [getattr(desc, str(field)) for field in row.inputs if field != "input_tensor"]
    is_plain = set(desc.dilations) == {1} and kind == _kind(desc.output_tensor) and _is_single(*beside)
    if not is_plain or not fits(desc):
        sizes = desc.input_scale_tensor.sizes[-len(desc.input_tensor.sizes) :]
        _as_integers(graph, desc, pool(graph, desc, _number(graph, desc, "input", sizes)))
        return
    inputs = [
        graph.input(field) if field == "input_tensor" else single(graph, desc, field, kind)
        for field in map(str, row.inputs)
    ]
    graph.output("output_tensor", graph.node(row.op_type, *inputs, domain=row.domain, **attributes_of(desc, row)))


def _has_kernel(first: str, second: str, output: str) -> bool:
    """Whether the runtime multiplies these types."""
    return first == output and (first == "UINT8" or second == "INT8")


def _last_two(tensor: TensorDesc) -> tuple[int, ...]:
    return tensor.sizes[-2:]


def multiplied(graph: FormGraph, desc: Any) -> None:
    if not _is_single(desc.a_zero_point_tensor):
        a, b = _factors(graph, desc, _difference)
        graph.output("output_tensor", graph.node("MatMul", a, b))
        return
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    points = (single(graph, desc, "a_zero_point_tensor", a.kind), by_column(graph, desc, "b_zero_point_tensor", b.kind))
    graph.output("output_tensor", graph.node("MatMulInteger", a, b, *points, kind="INT32"))


def _factors(graph: FormGraph, desc: Any, made: Any) -> list[FormValue]:
    """A and B, with their scales and zero points beside the last two dimensions."""
    found = []
    for name in ("a", "b"):
        beside = getattr(desc, f"{name}_zero_point_tensor") or getattr(desc, f"{name}_scale_tensor", None)
        found.append(made(graph, desc, name, None if beside is None else _last_two(beside)))
    return found


def multiplied_quantized(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has some of the types, and single scales of A."""
    kinds = [_kind(each) for each in (desc.a_tensor, desc.b_tensor, desc.output_tensor)]
    beside = [getattr(desc, f"{name}_{part}_tensor") for name in ("a", "output") for part in ("scale", "zero_point")]
    if not _has_kernel(*kinds) or not _is_single(*beside):
        _as_integers(graph, desc, graph.node("MatMul", *_factors(graph, desc, _number)))
        return
    inputs = (
        graph.input("a_tensor"),
        single(graph, desc, "a_scale_tensor"),
        single(graph, desc, "a_zero_point_tensor", kinds[0]),
        graph.input("b_tensor"),
        by_column(graph, desc, "b_scale_tensor"),
        by_column(graph, desc, "b_zero_point_tensor", kinds[1]),
        single(graph, desc, "output_scale_tensor"),
        single(graph, desc, "output_zero_point_tensor", kinds[2]),
    )
    graph.output("output_tensor", graph.node("QLinearMatMul", *inputs, kind=kinds[2]))


def multiplied_to_float(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has some of the types of 8 bits, and single scales of A."""
    row = row_of(desc)
    a, b = _kind(desc.a_tensor), _kind(desc.b_tensor)
    is_single = _is_single(desc.a_scale_tensor, desc.a_zero_point_tensor)
    if {a, b} <= {"INT8", "UINT8"} and _has_kernel(a, b, a) and is_single:
        inputs = (
            graph.input("a_tensor"),
            graph.input("b_tensor"),
            graph.cast(single(graph, desc, "a_scale_tensor"), "FLOAT32"),
            graph.cast(by_column(graph, desc, "b_scale_tensor"), "FLOAT32"),
            single(graph, desc, "a_zero_point_tensor", a),
            by_column(graph, desc, "b_zero_point_tensor", b),
        )
        found = graph.node(row.op_type, *inputs, kind="FLOAT32", domain=row.domain)
    else:
        found = graph.node("MatMul", *_factors(graph, desc, _number))
    if desc.bias_tensor is not None:
        found = graph.node("Add", found, graph.number("bias_tensor"))
    graph.output("output_tensor", found)


def convolved(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has single zero points."""
    row = row_of(desc)
    attributes = attributes_of(desc, row)
    if _is_single(desc.input_zero_point_tensor, desc.filter_zero_point_tensor):
        x, weights = graph.input("input_tensor"), graph.input("filter_tensor")
        points = (
            single(graph, desc, "input_zero_point_tensor", x.kind),
            single(graph, desc, "filter_zero_point_tensor", weights.kind),
        )
        found = graph.node(row.op_type, x, weights, *points, kind="INT32", **attributes)
    else:
        if math.prod(desc.filter_tensor.sizes[1:]) * 255**2 > 2**24:
            raise NoForm("ConvInteger with a zero point for each channel, of sums that FLOAT32 does not have")
        x = graph.cast(_difference(graph, desc, "input", ()), "FLOAT32")
        weights = graph.cast(_difference(graph, desc, "filter", _by_filter(desc)), "FLOAT32")
        found = graph.cast(graph.node("Conv", x, weights, **attributes), "INT32")
    graph.output("output_tensor", found)


def _by_filter(desc: Any) -> tuple[int, ...]:
    """The sizes of what there is for each channel of the filter, beside it."""
    tensor = desc.filter_zero_point_tensor or desc.filter_scale_tensor
    return (tensor.element_count, *[1] * (len(desc.filter_tensor.sizes) - 1))


def convolved_quantized(graph: FormGraph, desc: Any) -> None:
    """The runtime's node has some of the types."""
    row = row_of(desc)
    kinds = [_kind(each) for each in (desc.input_tensor, desc.filter_tensor, desc.output_tensor)]
    if not _has_kernel(*kinds):
        x, weights = _number(graph, desc, "input", ()), _number(graph, desc, "filter", _by_filter(desc))
        bias = None
        if desc.bias_tensor is not None:
            scale = graph.node(
                "Mul", single(graph, desc, "input_scale_tensor"), in_row(graph, desc, "filter_scale_tensor")
            )
            bias = graph.input("bias_tensor", sizes=(desc.bias_tensor.element_count,))
            bias = graph.node("Mul", graph.cast(bias, "FLOAT32"), scale)
        _as_integers(graph, desc, graph.node("Conv", x, weights, bias, **attributes_of(desc, row)))
        return
    inputs = (
        graph.input("input_tensor"),
        single(graph, desc, "input_scale_tensor"),
        single(graph, desc, "input_zero_point_tensor", kinds[0]),
        graph.input("filter_tensor"),
        in_row(graph, desc, "filter_scale_tensor"),
        in_row(graph, desc, "filter_zero_point_tensor", kinds[1]),
        single(graph, desc, "output_scale_tensor"),
        single(graph, desc, "output_zero_point_tensor", kinds[2]),
        graph.input("bias_tensor", sizes=(desc.bias_tensor.element_count,)) if desc.bias_tensor else None,
    )
    graph.output("output_tensor", graph.node(row.op_type, *inputs, kind=kinds[2], **attributes_of(desc, row)))


FORMS = {
    **dict.fromkeys(("ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"), quantized),
    **dict.fromkeys(("QUANTIZE", "DEQUANTIZE"), quantized_in_blocks),
    "DYNAMIC_QUANTIZE_LINEAR": quantized_by_itself,
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": added,
    "QUANTIZED_LINEAR_AVERAGE_POOLING": averaged,
    "MATRIX_MULTIPLY_INTEGER": multiplied,
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": multiplied_quantized,
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": multiplied_to_float,
    "CONVOLUTION_INTEGER": convolved,
    "QUANTIZED_LINEAR_CONVOLUTION": convolved_quantized,
}
