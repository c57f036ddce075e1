"""What moves elements, and does not compute: pieces, joins, fills, indices, orders. Also sums along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dml_conformance.backends.onnxruntime.table import REDUCTIONS
from dml_conformance.conformance.exchange.onnx.mapping import maps
from dml_conformance.conformance.exchange.onnx.node import (
    LEAST_RANK,
    Mapped,
    ModelNode,
    NotMapped,
    Sizes,
    broadcast,
    from_first,
    integers,
    operation,
    padded,
    retyped,
    scalar,
    transposed,
    view,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import INT32_MAX, INT32_MIN


def leading(sizes: Sequence[int]) -> int:
    """How many dimensions lead a tensor of these sizes."""
    return max(LEAST_RANK - len(sizes), 0)


@maps("Transpose", "ELEMENT_WISE_IDENTITY")
def transposition(node: ModelNode) -> Mapped:
    """The input is read with its strides in another order."""
    given = node.input(0)
    order = node.attribute("perm") or tuple(reversed(range(len(given.sizes))))
    yield operation("ELEMENT_WISE_IDENTITY", input_tensor=transposed(given, order), output_tensor=view(node.result))


@maps("Expand", "ELEMENT_WISE_IDENTITY")
def expansion(node: ModelNode) -> Mapped:
    yield operation(
        "ELEMENT_WISE_IDENTITY",
        input_tensor=broadcast(node.input(0), node.result.sizes),
        output_tensor=view(node.result),
    )


@maps("Concat", "JOIN")
def join(node: ModelNode) -> Mapped:
    """Inputs without elements are left out."""
    sizes = node.result.sizes
    parts = [value for value in node.inputs if value is not None and 0 not in value.sizes]
    axis = leading(sizes) + node.axis(len(sizes))
    yield operation("JOIN", input_tensors=[view(part) for part in parts], output_tensor=view(node.result), axis=axis)


@maps("Split", "SPLIT")
def split(node: ModelNode) -> Mapped:
    """Outputs without elements are left out."""
    sizes = node.input(0).sizes
    parts = []
    for value in node.outputs:
        if value is None:
            raise NotMapped("an output is left out, and SPLIT writes all of them")
        if 0 not in value.sizes:
            parts.append(view(value))
    axis = leading(sizes) + node.axis(len(sizes))
    yield operation("SPLIT", input_tensor=view(node.input(0)), output_tensors=parts, axis=axis)


@maps("Slice", "SLICE1 SLICE")
def piece(node: ModelNode) -> Mapped:
    """A window of each dimension; a negative step walks it from its end."""
    given, sizes, made = node.input(0), node.input(0).sizes, node.result.sizes
    if node.version < 10:
        starts, ends = list(node.attribute("starts")), list(node.attribute("ends"))
        axes, steps = list(node.attribute("axes") or range(len(starts))), [1] * len(starts)
    else:
        starts, ends = integers(node.input(1)), integers(node.input(2))
        named, stepped = node.optional(3), node.optional(4)
        axes = list(range(len(starts))) if named is None else integers(named)
        steps = [1] * len(starts) if stepped is None else integers(stepped)
    if 0 in made:
        raise NotMapped("nothing is left, and DirectML has no tensors without elements")
    offsets, windows, strides = [0] * len(sizes), list(sizes), [1] * len(sizes)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        d = from_first(axis, len(sizes))
        first, stop, _ = slice(start, end, step).indices(sizes[d])
        reach = (len(range(first, stop, step)) - 1) * abs(step)
        offsets[d], strides[d] = (first - reach if step < 0 else first), step
        windows[d] = reach + 1 if step < 0 else stop - first
    rank = len(sizes) + leading(sizes)
    tensors = {"input_tensor": view(given), "output_tensor": view(node.result)}
    if node.has("SLICE1"):
        yield operation(
            "SLICE1",
            **tensors,
            input_window_offsets=padded(offsets, rank, 0),
            input_window_sizes=padded(windows, rank),
            input_window_strides=padded(strides, rank),
        )
    elif min(strides, default=1) < 1:
        raise NotMapped("a step is negative, which SLICE1 has, and it comes with level 2_1")
    else:
        yield operation(
            "SLICE",
            **tensors,
            offsets=padded(offsets, rank, 0),
            sizes=padded(made, rank),
            strides=padded(strides, rank),
        )


@maps("Pad", "PADDING1 PADDING")
def padding(node: ModelNode) -> Mapped:
    given, data_type = node.input(0), node.result.data_type
    sizes = given.sizes
    pads = list(node.attribute("pads")) if node.version < 11 else integers(node.input(1))
    value: Any = node.attribute("value", 0.0)
    if node.version >= 11:
        filler = node.optional(2)
        value = 0 if filler is None or 0 in filler.sizes else scalar(filler, data_type)
    named = node.optional(3)
    axes = list(range(len(sizes))) if named is None else [from_first(axis, len(sizes)) for axis in integers(named)]
    if min(pads, default=0) < 0:
        raise NotMapped("a padding is negative, and DirectML's are not")
    modes = {"constant": "CONSTANT", "edge": "EDGE", "reflect": "REFLECTION"}
    mode = node.attribute("mode", "constant")
    if mode not in modes:
        raise NotMapped(f"mode {mode} is none of DirectML's for any type")
    before, behind = [0] * len(sizes), [0] * len(sizes)
    for n, d in enumerate(axes):
        before[d], behind[d] = pads[n], pads[n + len(axes)]
    rank = len(sizes) + leading(sizes)
    fields = {
        "input_tensor": view(given),
        "output_tensor": view(node.result),
        "padding_mode": modes[mode],
        "padding_value": float(value) if data_type.is_float else int(value),
        "start_padding": padded(before, rank, 0),
        "end_padding": padded(behind, rank, 0),
    }
    if node.has("PADDING1"):
        yield operation("PADDING1", **fields, padding_value_data_type=data_type)
    else:
        yield operation("PADDING", **fields)


@maps("Tile", "TILE")
def tile(node: ModelNode) -> Mapped:
    given, repeats = node.input(0), integers(node.input(1))
    rank = len(given.sizes) + leading(given.sizes)
    yield operation("TILE", input_tensor=view(given), output_tensor=view(node.result), repeats=padded(repeats, rank))


@maps("DepthToSpace", "DEPTH_TO_SPACE1 DEPTH_TO_SPACE")
@maps("SpaceToDepth", "SPACE_TO_DEPTH1 SPACE_TO_DEPTH")
def depth_and_space(node: ModelNode) -> Mapped:
    """In the order depth, column, row, unless a later version is asked for another one."""
    name = "DEPTH_TO_SPACE" if node.op_type == "DepthToSpace" else "SPACE_TO_DEPTH"
    orders = {"DCR": "DEPTH_COLUMN_ROW", "CRD": "COLUMN_ROW_DEPTH"}
    order = orders[node.attribute("mode", "DCR")]
    fields = {
        "input_tensor": view(node.input(0)),
        "output_tensor": view(node.result),
        "block_size": node.attribute("blocksize"),
    }
    if node.has(f"{name}1"):
        yield operation(f"{name}1", **fields, order=order)
    elif order == "COLUMN_ROW_DEPTH":
        raise NotMapped(f"order CRD is what {name}1 has, which comes with level 2_1")
    else:
        yield operation(name, **fields)


# --- indices ------------------------------------------------------------------------------------------------------


def _rank(node: ModelNode, *numbers: int) -> int:
    """As many dimensions as the largest of some inputs and the output has, so that all can have them."""
    return max(LEAST_RANK, len(node.result.sizes), *(len(node.input(n).sizes) for n in numbers))


@maps("Gather", "GATHER")
def gather(node: ModelNode) -> Mapped:
    data, indices, rank = node.input(0), node.input(1), _rank(node, 0, 1)
    yield operation(
        "GATHER",
        input_tensor=view(data, padded(data.sizes, rank)),
        indices_tensor=view(indices, padded(indices.sizes, rank)),
        output_tensor=view(node.result, padded(node.result.sizes, rank)),
        axis=rank - len(data.sizes) + node.axis(len(data.sizes)),
        index_dimensions=len(indices.sizes),
    )


@maps("GatherElements", "GATHER_ELEMENTS")
def gather_elements(node: ModelNode) -> Mapped:
    sizes = node.input(0).sizes
    yield operation(
        "GATHER_ELEMENTS",
        input_tensor=view(node.input(0)),
        indices_tensor=view(node.input(1)),
        output_tensor=view(node.result),
        axis=leading(sizes) + node.axis(len(sizes)),
    )


@maps("GatherND", "GATHER_ND1 GATHER_ND")
def gather_by_coordinates(node: ModelNode) -> Mapped:
    data, indices, rank = node.input(0), node.input(1), _rank(node, 0, 1)
    batch = node.attribute("batch_dims", 0)
    fields = {
        "input_tensor": view(data, padded(data.sizes, rank)),
        "indices_tensor": view(indices, padded(indices.sizes, rank)),
        "output_tensor": view(node.result, padded(node.result.sizes, rank)),
        "input_dimension_count": len(data.sizes),
        "indices_dimension_count": len(indices.sizes),
    }
    if node.has("GATHER_ND1"):
        yield operation("GATHER_ND1", **fields, batch_dimension_count=batch)
    elif batch:
        raise NotMapped("batch_dims is what GATHER_ND1 has, which comes with level 3_0")
    else:
        yield operation("GATHER_ND", **fields)


def _check_reduction(node: ModelNode) -> None:
    if node.attribute("reduction", "none") != "none":
        raise NotMapped(f"reduction {node.attribute('reduction')} is none of DirectML's")


@maps("Scatter ScatterElements", "SCATTER")
def scatter(node: ModelNode) -> Mapped:
    _check_reduction(node)
    sizes = node.input(0).sizes
    yield operation(
        "SCATTER",
        input_tensor=view(node.input(0)),
        indices_tensor=view(node.input(1)),
        updates_tensor=view(node.input(2)),
        output_tensor=view(node.result),
        axis=leading(sizes) + node.axis(len(sizes)),
    )


@maps("ScatterND", "SCATTER_ND")
def scatter_by_coordinates(node: ModelNode) -> Mapped:
    _check_reduction(node)
    data, indices, updates, rank = node.input(0), node.input(1), node.input(2), _rank(node, 0, 1, 2)
    yield operation(
        "SCATTER_ND",
        input_tensor=view(data, padded(data.sizes, rank)),
        indices_tensor=view(indices, padded(indices.sizes, rank)),
        updates_tensor=view(updates, padded(updates.sizes, rank)),
        output_tensor=view(node.result, padded(node.result.sizes, rank)),
        input_dimension_count=len(data.sizes),
        indices_dimension_count=len(indices.sizes),
    )


@maps("OneHot", "ONE_HOT")
def one_hot(node: ModelNode) -> Mapped:
    """Indices get a dimension of size 1 where the output has the new one."""
    sizes = node.result.sizes
    axis = node.axis(len(sizes), -1)
    yield operation(
        "ONE_HOT",
        indices_tensor=view(node.input(0), padded((*sizes[:axis], 1, *sizes[axis + 1 :]))),
        values_tensor=view(node.input(2)),
        output_tensor=view(node.result),
        axis=leading(sizes) + axis,
    )


@maps("TopK", "TOP_K1 TOP_K")
def top_k(node: ModelNode) -> Mapped:
    sizes, indices = node.input(0).sizes, node.output(1)
    if indices is None:
        raise NotMapped("its indices are left out, and TOP_K writes them")
    largest = node.attribute("largest", 1)
    axis = node.axis(len(sizes), -1)
    fields = {
        "input_tensor": view(node.input(0)),
        "output_value_tensor": view(node.result),
        "output_index_tensor": retyped(view(indices), DataType.UINT64),
        "axis": leading(sizes) + axis,
        "k": node.result.sizes[axis],
    }
    if node.has("TOP_K1"):
        yield operation("TOP_K1", **fields, axis_direction="DECREASING" if largest else "INCREASING")
    elif not largest:
        raise NotMapped("the least elements are what TOP_K1 finds, which comes with level 2_1")
    else:
        yield operation("TOP_K", **fields)


@maps("ReverseSequence", "REVERSE_SUBSEQUENCES")
def reversed_sequences(node: ModelNode) -> Mapped:
    """A length for each sequence, whatever else there is of it."""
    sizes, lengths = node.input(0).sizes, node.input(1)
    time, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    own = [size if d == batch else 1 for d, size in enumerate(sizes)]
    stretched = [1 if d == time else size for d, size in enumerate(sizes)]
    yield operation(
        "REVERSE_SUBSEQUENCES",
        input_tensor=view(node.input(0)),
        sequence_lengths_tensor=retyped(broadcast(lengths, stretched, own), DataType.UINT64),
        output_tensor=view(node.result),
        axis=leading(sizes) + time,
    )


# --- fills --------------------------------------------------------------------------------------------------------


@maps("ConstantOfShape", "FILL_VALUE_CONSTANT")
def fill(node: ModelNode) -> Mapped:
    made = node.result
    value = node.attribute("value")
    number = np.zeros(1) if value is None else value
    yield operation(
        "FILL_VALUE_CONSTANT",
        output_tensor=view(made),
        value_data_type=made.data_type,
        value=float(number.reshape(())) if made.data_type.is_float else int(number.reshape(())),
    )


@maps("Range", "FILL_VALUE_SEQUENCE")
def sequence(node: ModelNode) -> Mapped:
    made = node.result
    yield operation(
        "FILL_VALUE_SEQUENCE",
        output_tensor=view(made),
        value_data_type=made.data_type,
        value_start=scalar(node.input(0), made.data_type),
        value_delta=scalar(node.input(2), made.data_type),
    )


@maps("EyeLike", "DIAGONAL_MATRIX1 DIAGONAL_MATRIX")
def diagonal(node: ModelNode) -> Mapped:
    """Ones along a diagonal, and zeros elsewhere."""
    made, offset = node.result, node.attribute("k", 0)
    if node.has("DIAGONAL_MATRIX1"):
        one = 1.0 if made.data_type.is_float else 1
        yield operation(
            "DIAGONAL_MATRIX1",
            output_tensor=view(made),
            value_data_type=made.data_type,
            value=one,
            diagonal_fill_begin=offset,
            diagonal_fill_end=offset + 1,
        )
    else:
        yield operation("DIAGONAL_MATRIX", output_tensor=view(made), offset=offset, value=1.0)


@maps("Trilu", "DIAGONAL_MATRIX1")
def triangle(node: ModelNode) -> Mapped:
    """Zeros on the other side of a diagonal."""
    made, shift = node.result, node.optional(1)
    k = 0 if shift is None else int(scalar(shift, DataType.INT64))
    k = max(INT32_MIN + 1, min(k, INT32_MAX - 1))
    begin, end = (INT32_MIN, k) if node.attribute("upper", 1) else (k + 1, INT32_MAX)
    yield operation(
        "DIAGONAL_MATRIX1",
        input_tensor=view(node.input(0)),
        output_tensor=view(made),
        value_data_type=made.data_type,
        value=0.0 if made.data_type.is_float else 0,
        diagonal_fill_begin=begin,
        diagonal_fill_end=end,
    )


# --- along axes ---------------------------------------------------------------------------------------------------

_FUNCTIONS = {op_type: function for function, op_type, _ in REDUCTIONS}


def reduced(sizes: Sizes, axes: Sequence[int]) -> Sizes:
    return tuple(1 if d in axes else size for d, size in enumerate(sizes))


@maps(" ".join(_FUNCTIONS), "REDUCE")
def reduction(node: ModelNode) -> Mapped:
    """The output keeps its dimensions, whether the node says so or not."""
    sizes, named = node.input(0).sizes, node.optional(1)
    given = node.attribute("axes") if named is None else integers(named)
    if not given and node.attribute("noop_with_empty_axes", 0):
        given = ()
    elif not given:
        given = range(len(sizes))
    axes = sorted({from_first(axis, len(sizes)) for axis in given})
    yield operation(
        "REDUCE",
        function=_FUNCTIONS[node.op_type],
        input_tensor=view(node.input(0)),
        output_tensor=view(node.result, padded(reduced(sizes, axes))),
        axes=[leading(sizes) + axis for axis in axes],
    )


@maps("ArgMax", "ARGMAX REDUCE")
@maps("ArgMin", "ARGMIN REDUCE")
def place_of_extreme(node: ModelNode) -> Mapped:
    sizes = node.input(0).sizes
    axis = node.axis(len(sizes))
    name = node.op_type.upper()
    is_last = node.attribute("select_last_index", 0)
    fields = {
        "input_tensor": view(node.input(0)),
        "output_tensor": view(node.result, padded(reduced(sizes, [axis]))),
        "axes": (leading(sizes) + axis,),
    }
    if node.has(name):
        yield operation(name, **fields, axis_direction="DECREASING" if is_last else "INCREASING")
    elif is_last:
        raise NotMapped(f"the last of several is what {name} finds, which comes with level 3_0")
    else:
        yield operation("REDUCE", function=name, **fields)
