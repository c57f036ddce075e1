"""Functions of single elements, whose inputs are stretched to the sizes of the output by strides of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.onnxruntime.table import NODES, NodeRow
from dml_conformance.conformance.exchange.onnx.mapping import maps
from dml_conformance.conformance.exchange.onnx.node import (
    Alias,
    Mapped,
    ModelNode,
    NotMapped,
    broadcast,
    integers,
    operation,
    scalar,
    stretched,
    view,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import FLOAT32_MAX, ScaleBias

# Rows of the table that need more than their inputs stretched; the functions below make these.
_OTHERS = frozenset(
    (
        *("Identity", "Clip", "Pow", "Neg", "Abs", "Max", "Min", "Mean", "Softmax", "LogSoftmax", "Hardmax"),
        *("QuantizeLinear", "DequantizeLinear", "QLinearAdd"),
    )
)


def _is_simple(row: NodeRow) -> bool:
    tensors = {field.attribute for field in descriptor_classes()[row.operator].fields if field.is_tensor}
    return (
        row.operator.startswith(("ELEMENT_WISE_", "ACTIVATION_"))
        and row.op_type not in _OTHERS
        and row.operator not in ("ELEMENT_WISE_TANH", "ELEMENT_WISE_ADD1")
        and all(isinstance(name, str) and name in tensors for name in row.inputs)
    )


_SIMPLE: dict[str, list[NodeRow]] = {}
for _row in filter(_is_simple, NODES):
    _SIMPLE.setdefault(_row.op_type, []).append(_row)


def _of_row(node: ModelNode) -> Mapped:
    """As the table of correspondences has it."""
    rows = _SIMPLE[node.op_type]
    row = next((row for row in rows if all(node.attribute(name) == is_ for name, is_ in row.constants.items())), None)
    if row is None:
        found = ", ".join(f"{name}={node.attribute(name)!r}" for name in rows[0].constants)
        raise NotMapped(f"no operator does what it does with {found}")
    sizes = node.result.sizes
    fields: dict[str, Any] = {str(name): broadcast(node.input(n), sizes) for n, name in enumerate(row.inputs)}
    fields |= {field: node.attribute(name) for name, field in row.attributes.items() if isinstance(field, str)}
    yield operation(row.operator, **fields, **row.given, output_tensor=view(node.result))


for _op_type, _rows in _SIMPLE.items():
    maps(_op_type, " ".join(row.operator for row in _rows))(_of_row)


@maps("Sum", "ELEMENT_WISE_ADD ELEMENT_WISE_IDENTITY")
@maps("Max", "ELEMENT_WISE_MAX ELEMENT_WISE_IDENTITY")
@maps("Min", "ELEMENT_WISE_MIN ELEMENT_WISE_IDENTITY")
@maps("Mean", "ELEMENT_WISE_MEAN ELEMENT_WISE_ADD ELEMENT_WISE_IDENTITY")
def variadic(node: ModelNode) -> Mapped:
    """Of two inputs after the other; of more than two a mean is their sum, scaled."""
    given = [broadcast(node.input(n), node.result.sizes) for n in range(len(node.inputs))]
    output = view(node.result)
    if len(given) == 1:
        yield operation("ELEMENT_WISE_IDENTITY", input_tensor=given[0], output_tensor=output)
        return
    is_mean = node.op_type == "Mean" and len(given) > 2
    name = "ADD" if node.op_type == "Sum" or is_mean else node.op_type.upper()
    before = given[0]
    for n, one in enumerate(given[1:]):
        is_last = n == len(given) - 2 and not is_mean
        result = output if is_last else node.between(n, output.tensor.data_type, node.result.sizes)
        yield operation(f"ELEMENT_WISE_{name}", a_tensor=before, b_tensor=one, output_tensor=result)
        before = result
    if is_mean:
        scale = ScaleBias(float(np.float32(1 / len(given))), 0.0)
        yield operation("ELEMENT_WISE_IDENTITY", input_tensor=before, output_tensor=output, scale_bias=scale)


@maps("Abs", "ELEMENT_WISE_ABS ELEMENT_WISE_IDENTITY")
def absolute(node: ModelNode) -> Mapped:
    """What has no sign stays what it is."""
    is_signed = node.result.data_type.is_float or node.result.data_type.is_signed_integer
    name = "ELEMENT_WISE_ABS" if is_signed else "ELEMENT_WISE_IDENTITY"
    yield operation(name, input_tensor=view(node.input(0)), output_tensor=view(node.result))


@maps("Neg", "ELEMENT_WISE_NEGATE ELEMENT_WISE_IDENTITY")
def negative(node: ModelNode) -> Mapped:
    """Scaled by -1 at levels that have no operator for it."""
    tensors = {"input_tensor": view(node.input(0)), "output_tensor": view(node.result)}
    if node.has("ELEMENT_WISE_NEGATE"):
        yield operation("ELEMENT_WISE_NEGATE", **tensors)
    else:
        yield operation("ELEMENT_WISE_IDENTITY", **tensors, scale_bias=ScaleBias(-1.0, 0.0))


@maps("Pow", "ELEMENT_WISE_CONSTANT_POW ELEMENT_WISE_POW")
def power(node: ModelNode) -> Mapped:
    """An exponent that is one known number is an attribute."""
    base, exponent, sizes = node.input(0), node.input(1), node.result.sizes
    tensors = {"input_tensor": broadcast(base, sizes), "output_tensor": view(node.result)}
    if exponent.constant is not None and exponent.constant.size == 1:
        yield operation("ELEMENT_WISE_CONSTANT_POW", **tensors, exponent=float(exponent.constant.reshape(())))
    else:
        yield operation("ELEMENT_WISE_POW", **tensors, exponent_tensor=broadcast(exponent, sizes))


@maps("Clip", "ELEMENT_WISE_CLIP1 ELEMENT_WISE_CLIP")
def clip(node: ModelNode) -> Mapped:
    """Limits are attributes; a limit that is not given is the end of the type."""
    data_type = node.result.data_type
    least, most = data_type.limits or (-FLOAT32_MAX, FLOAT32_MAX)
    if data_type is DataType.FLOAT16:
        least, most = -65504.0, 65504.0
    if data_type is DataType.FLOAT64:
        least, most = -float(np.finfo(np.float64).max), float(np.finfo(np.float64).max)
    ends = [
        node.attribute(name, end) if value is None else scalar(value, data_type)
        for name, value, end in (("min", node.optional(1), least), ("max", node.optional(2), most))
    ]
    fields = {"input_tensor": view(node.input(0)), "output_tensor": view(node.result), "min": ends[0], "max": ends[1]}
    if node.has("ELEMENT_WISE_CLIP1"):
        yield operation("ELEMENT_WISE_CLIP1", **fields, min_max_data_type=data_type)
    else:
        yield operation("ELEMENT_WISE_CLIP", **fields)


@maps("Cast CastLike", "CAST FILL_VALUE_CONSTANT ELEMENT_WISE_LOGICAL_EQUALS ELEMENT_WISE_LOGICAL_NOT")
def cast(node: ModelNode) -> Mapped:
    """Elements of another type. What becomes a truth value is held against 0."""
    given, made = node.input(0), node.result
    if made.is_bool and not given.is_bool:
        zero = node.between(0, given.data_type, (1,))
        equal = node.between(1, DataType.UINT8, made.sizes)
        number = 0.0 if given.data_type.is_float else 0
        yield operation("FILL_VALUE_CONSTANT", output_tensor=zero, value_data_type=given.data_type, value=number)
        zeros = stretched(zero, made.sizes, (1,))
        yield operation("ELEMENT_WISE_LOGICAL_EQUALS", a_tensor=view(given), b_tensor=zeros, output_tensor=equal)
        yield operation("ELEMENT_WISE_LOGICAL_NOT", input_tensor=equal, output_tensor=view(made))
    elif given.data_type == made.data_type:
        yield Alias(made.name, given.name)
    else:
        yield operation("CAST", input_tensor=view(given), output_tensor=view(made))


@maps("Identity Reshape Flatten Squeeze Unsqueeze Dropout BitCast")
def same_memory(node: ModelNode) -> Mapped:
    """What changes the sizes alone, or nothing, is no operator: the value is the memory of its input."""
    if node.op_type == "Dropout":
        training = node.optional(2)
        if training is not None and (training.constant is None or training.constant.any()):
            raise NotMapped("it is in training mode, or may be")
        if node.output(1) is not None:
            raise NotMapped("its mask is asked for")
    if node.op_type == "BitCast" and node.input(0).data_type.bits != node.result.data_type.bits:
        raise NotMapped("the types have elements of other sizes")
    node.input(0).sizes, node.result.sizes
    yield Alias(node.result.name, node.input(0).name)


@maps("Softmax", "ACTIVATION_SOFTMAX1 ACTIVATION_SOFTMAX")
@maps("LogSoftmax", "ACTIVATION_LOG_SOFTMAX1 ACTIVATION_LOG_SOFTMAX")
@maps("Hardmax", "ACTIVATION_HARDMAX1 ACTIVATION_HARDMAX")
def along_axis(node: ModelNode) -> Mapped:
    """Before opset 13 along all dimensions from the axis on; since then along one, at old levels the last alone."""
    name = {"Softmax": "SOFTMAX", "LogSoftmax": "LOG_SOFTMAX", "Hardmax": "HARDMAX"}[node.op_type]
    given, made = node.input(0), node.result
    rank = len(given.sizes)
    axis = node.axis(rank, 1 if node.version < 13 else -1)
    if node.version >= 13 and node.has(f"ACTIVATION_{name}1"):
        whole = view(given)
        axes = (len(whole.tensor.sizes) - rank + axis,)
        yield operation(f"ACTIVATION_{name}1", input_tensor=whole, output_tensor=view(made), axes=axes)
        return
    if node.version >= 13 and axis != max(rank, 1) - 1:
        raise NotMapped(f"axis {axis} is not the last one, and ACTIVATION_{name} is along that alone")
    rows = int(np.prod(given.sizes[:axis], dtype=np.int64))
    sizes = (1, 1, rows, int(np.prod(given.sizes[axis:], dtype=np.int64)))
    yield operation(f"ACTIVATION_{name}", input_tensor=view(given, sizes), output_tensor=view(made, sizes))


@maps("CumSum", "CUMULATIVE_SUMMATION")
@maps("CumProd", "CUMULATIVE_PRODUCT")
def cumulative(node: ModelNode) -> Mapped:
    """Along an axis that is known."""
    given = node.input(0)
    (found,) = integers(node.input(1))
    rank = len(given.sizes)
    whole = view(given)
    is_sum = node.op_type == "CumSum"
    yield operation(
        "CUMULATIVE_SUMMATION" if is_sum else "CUMULATIVE_PRODUCT",
        input_tensor=whole,
        output_tensor=view(node.result),
        axis=len(whole.tensor.sizes) - rank + (found + rank if found < 0 else found),
        axis_direction="DECREASING" if node.attribute("reverse") else "INCREASING",
        **{f"has_exclusive_{'sum' if is_sum else 'product'}": node.attribute("exclusive")},
    )
