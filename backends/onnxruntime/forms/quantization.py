"""Numbers as integers, and what is computed with these."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, row_of
from dml_conformance.backends.onnxruntime.graph import Graph, NoForm, Value
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
        self.attributes: dict[str, int] = {}
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


def _narrow(graph: Graph, value: Value, tensor: TensorDesc) -> Value:
    """Elements of 4 bits in a byte each as those of 4 bits."""
    return graph.cast(value, tensor.data_type.name) if tensor.data_type.shares_bytes else value


def _beside(graph: Graph, blocks: Blocks, key: str) -> Value:
    value = graph.input(key, sizes=blocks.scale_sizes)
    return value if blocks.expanded is None else graph.node("Expand", value, graph.constant(blocks.expanded))


def quantized(graph: Graph, desc: Any) -> None:
    _quantized(graph, desc, "scale_tensor", "zero_point_tensor" if desc.zero_point_tensor else "")


def quantized_in_blocks(graph: Graph, desc: Any) -> None:
    keys = [f"quantization_tensors[{number}]" for number in range(len(desc.quantization_tensors))]
    if not keys:
        raise NoForm(f"{desc.operator} without a scale")
    _quantized(graph, desc, keys[0], keys[1] if len(keys) > 1 else "")


def _quantized(graph: Graph, desc: Any, scale_key: str, zero_point_key: str) -> None:
    graph.opset = NEWEST
    tensors = getattr(desc, "quantization_tensors", None)
    scale_tensor = tensors[0] if tensors else desc.scale_tensor
    blocks = Blocks(desc.input_tensor, scale_tensor)
    scale = _beside(graph, blocks, scale_key)
    x = graph.input("input_tensor", sizes=blocks.sizes)
    is_input = "DEQUANTIZE" in desc.operator
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


def quantized_by_itself(graph: Graph, desc: Any) -> None:
    if desc.output_tensor.data_type.name != "UINT8":
        raise NoForm(f"DynamicQuantizeLinear to {desc.output_tensor.data_type.name}")
    x = graph.number("input_tensor")
    found = graph.results("DynamicQuantizeLinear", x, kinds=("UINT8", "FLOAT32", "UINT8"))
    keys = ("output_tensor", "output_scale_tensor", "output_zero_point_tensor")
    for key, value in zip(keys, found, strict=True):
        graph.output(key, value)


def single(graph: Graph, desc: Any, key: str, kind: str = "UINT8") -> Value:
    """A scale or zero point that is one number; a zero point that is not given is 0."""
    tensor = getattr(desc, key)
    if tensor is None:
        return graph.constant(0, kind)
    if tensor.element_count > 1:
        raise NoForm(f"{desc.operator} with several elements in {key}")
    return graph.input(key, sizes=())


def in_row(graph: Graph, desc: Any, key: str, kind: str = "UINT8") -> Value:
    """The same, or as many as there are columns or channels."""
    tensor = getattr(desc, key)
    if tensor is None or tensor.element_count == 1:
        return single(graph, desc, key, kind)
    return graph.input(key, sizes=(tensor.element_count,))


def _kind(tensor: TensorDesc) -> str:
    return tensor.data_type.name


def added(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    kinds = {_kind(each) for each in (desc.a_tensor, desc.b_tensor, desc.output_tensor)}
    if len(kinds) > 1:
        raise NoForm("QLinearAdd of different types")
    (kind,) = kinds
    inputs = [
        graph.input(field) if field in ("a_tensor", "b_tensor") else single(graph, desc, field, kind)
        for field in map(str, row.inputs)
    ]
    graph.output("output_tensor", graph.node(row.op_type, *inputs, domain=row.domain))


def averaged(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    if set(desc.dilations) != {1}:
        raise NoForm("QLinearAveragePool with dilations")
    if desc.input_tensor.data_type != desc.output_tensor.data_type:
        raise NoForm("QLinearAveragePool of different types")
    kind = _kind(desc.input_tensor)
    inputs = [
        graph.input(field) if field == "input_tensor" else single(graph, desc, field, kind)
        for field in map(str, row.inputs)
    ]
    graph.output("output_tensor", graph.node(row.op_type, *inputs, domain=row.domain, **attributes_of(desc, row)))


def _check_kernel(op_type: str, first: str, second: str, output: str = "") -> None:
    """Raise NoForm for types of which the runtime has no kernel."""
    if first == "INT8" and second == "UINT8" and op_type != "MatMulInteger":
        raise NoForm(f"ONNX Runtime has no kernel of {op_type} of INT8 and UINT8")
    if output and output != first:
        raise NoForm(f"ONNX Runtime has no kernel of {op_type} of {first} to {output}")


def multiplied(graph: Graph, desc: Any) -> None:
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    _check_kernel("MatMulInteger", a.kind, b.kind)
    inputs = (
        a,
        b,
        single(graph, desc, "a_zero_point_tensor", a.kind),
        in_row(graph, desc, "b_zero_point_tensor", b.kind),
    )
    graph.output("output_tensor", graph.node("MatMulInteger", *inputs, kind="INT32"))


def multiplied_quantized(graph: Graph, desc: Any) -> None:
    a, b, kind = graph.input("a_tensor"), graph.input("b_tensor"), _kind(desc.output_tensor)
    _check_kernel("QLinearMatMul", a.kind, b.kind, kind)
    inputs = (
        a,
        single(graph, desc, "a_scale_tensor"),
        single(graph, desc, "a_zero_point_tensor", a.kind),
        b,
        in_row(graph, desc, "b_scale_tensor"),
        in_row(graph, desc, "b_zero_point_tensor", b.kind),
        single(graph, desc, "output_scale_tensor"),
        single(graph, desc, "output_zero_point_tensor", kind),
    )
    graph.output("output_tensor", graph.node("QLinearMatMul", *inputs, kind=kind))


def multiplied_to_float(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    a, b = graph.input("a_tensor"), graph.input("b_tensor")
    if not {a.kind, b.kind} <= {"INT8", "UINT8"}:
        raise NoForm(f"{row.op_type} of {a.kind} and {b.kind}")
    _check_kernel(row.op_type, a.kind, b.kind)
    inputs = (
        a,
        b,
        graph.cast(single(graph, desc, "a_scale_tensor"), "FLOAT32"),
        graph.cast(in_row(graph, desc, "b_scale_tensor"), "FLOAT32"),
        single(graph, desc, "a_zero_point_tensor", a.kind),
        in_row(graph, desc, "b_zero_point_tensor", b.kind),
    )
    found = graph.node(row.op_type, *inputs, kind="FLOAT32", domain=row.domain)
    if desc.bias_tensor is not None:
        found = graph.node("Add", found, graph.number("bias_tensor"))
    graph.output("output_tensor", found)


def convolved(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    x, weights = graph.input("input_tensor"), graph.input("filter_tensor")
    points = (
        single(graph, desc, "input_zero_point_tensor", x.kind),
        single(graph, desc, "filter_zero_point_tensor", weights.kind),
    )
    graph.output(
        "output_tensor", graph.node(row.op_type, x, weights, *points, kind="INT32", **attributes_of(desc, row))
    )


def convolved_quantized(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    x, weights, kind = graph.input("input_tensor"), graph.input("filter_tensor"), _kind(desc.output_tensor)
    _check_kernel(row.op_type, x.kind, weights.kind, kind)
    inputs = (
        x,
        single(graph, desc, "input_scale_tensor"),
        single(graph, desc, "input_zero_point_tensor", x.kind),
        weights,
        in_row(graph, desc, "filter_scale_tensor"),
        in_row(graph, desc, "filter_zero_point_tensor", weights.kind),
        single(graph, desc, "output_scale_tensor"),
        single(graph, desc, "output_zero_point_tensor", kind),
        in_row(graph, desc, "bias_tensor") if desc.bias_tensor else None,
    )
    graph.output("output_tensor", graph.node(row.op_type, *inputs, kind=kind, **attributes_of(desc, row)))


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
