"""What moves elements and computes none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, named, row_of
from dml_conformance.backends.onnxruntime.graph import BOOL, FormGraph, FormValue, NoForm, is_float, numpy_type

# Of which the runtime keeps the bits where it selects one of two; of the zeros of floating-point numbers not the sign.
INTEGERS = frozenset({"INT32", "INT64"})
PAD_MODES = {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect", "WRAP": "wrap"}


def number_of(value: float, kind: str) -> Any:
    """A number of a field in an element type; of an integer type without its fraction.

    Raises:
        NoForm: the type does not reach it.
    """
    if is_float(kind):
        with np.errstate(over="ignore"):
            return numpy_type(kind).type(value)
    ends = np.iinfo(numpy_type(kind))
    if not math.isfinite(value) or not ends.min <= math.trunc(value) <= ends.max:
        raise NoForm(f"{kind} of {value}")
    return numpy_type(kind).type(math.trunc(value))


def like(graph: FormGraph, number: Any, value: FormValue) -> FormValue:
    """A number as moved elements have it: its bits, or these in a wider type."""
    bits = np.asarray(number)
    same = bits.dtype.itemsize == numpy_type(value.kind).itemsize
    if not same:
        bits = bits.view(np.dtype(f"u{bits.dtype.itemsize}"))
    return graph.constant(bits.view(numpy_type(value.kind)) if same else bits, value.kind)


def sliced(graph: FormGraph, desc: Any) -> None:
    _slice(graph, desc, desc.offsets, desc.strides)


def sliced_by_windows(graph: FormGraph, desc: Any) -> None:
    """Of a negative stride the last element of the window comes first."""
    windows = zip(desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides, strict=True)
    starts = [offset if stride > 0 else offset + size - 1 for offset, size, stride in windows]
    _slice(graph, desc, starts, desc.input_window_strides)


def _slice(graph: FormGraph, desc: Any, starts: Any, strides: Any) -> None:
    ends = []
    for start, stride, size in zip(starts, strides, desc.output_tensor.sizes, strict=True):
        last = start + (size - 1) * stride
        ends.append(last + 1 if stride > 0 else last - 1 if last else -(2**31))
    x = graph.mover("input_tensor", "Slice")
    numbers = (starts, ends, range(len(starts)), strides)
    graph.moved("output_tensor", graph.node("Slice", x, *(graph.constant(list(each)) for each in numbers)))


def slice_gradient(graph: FormGraph, desc: Any) -> None:
    """Every element goes to the place that SLICE1 takes it from."""
    sizes = desc.output_gradient_tensor.sizes
    windows = zip(desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides, strict=True)
    lines = [
        (offset if stride > 0 else offset + window - 1) + np.arange(count) * stride
        for (offset, window, stride), count in zip(windows, desc.input_gradient_tensor.sizes, strict=True)
    ]
    places = np.ravel_multi_index(np.meshgrid(*lines, indexing="ij"), sizes).ravel()
    x = graph.mover("input_gradient_tensor", "ScatterElements", sizes=(len(places),))
    zeros = graph.node("Expand", graph.constant(0, x.kind), graph.constant([math.prod(sizes)]))
    found = graph.node("ScatterElements", zeros, graph.constant(places), x, axis=0)
    graph.moved("output_gradient_tensor", found)


def split(graph: FormGraph, desc: Any) -> None:
    x = graph.mover("input_tensor", "Split")
    sizes = graph.constant([tensor.sizes[desc.axis] for tensor in desc.output_tensors])
    kinds = [x.kind] * len(desc.output_tensors)
    for number, part in enumerate(graph.results("Split", x, sizes, kinds=kinds, axis=desc.axis)):
        graph.moved(f"output_tensors[{number}]", part)


def joined(graph: FormGraph, desc: Any) -> None:
    parts = [graph.mover(f"input_tensors[{number}]", "Concat") for number in range(len(desc.input_tensors))]
    graph.moved("output_tensor", graph.node("Concat", *parts, axis=desc.axis))


def padded(graph: FormGraph, desc: Any) -> None:
    mode = named(desc, "padding_mode")
    if mode not in PAD_MODES:
        raise NoForm(f"Pad with padding_mode of {mode}")
    starts, ends = desc.start_padding, desc.end_padding
    for size, start, end in zip(desc.input_tensor.sizes, starts, ends, strict=True):
        if (mode == "REFLECTION" and max(start, end) > size - 1) or (mode == "WRAP" and max(start, end) > size):
            raise NoForm(f"Pad with padding_mode of {mode} beyond the input's size")
    x = graph.mover("input_tensor", "Pad")
    value = None
    if mode == "CONSTANT":
        value = like(graph, number_of(desc.padding_value, desc.input_tensor.data_type.unpacked.name), x)
    pads = graph.constant([*starts, *ends])
    graph.moved("output_tensor", graph.node("Pad", x, pads, value, mode=PAD_MODES[mode]))


def within(graph: FormGraph, indices: FormValue, sizes: Sequence[int]) -> FormValue:
    """Indices of ONNX: DirectML reads some element where one is out of range, of which ONNX makes an error."""
    least, most = graph.constant([-size for size in sizes]), graph.constant([size - 1 for size in sizes])
    return graph.node("Min", graph.node("Max", indices, least), most)


def gathered(graph: FormGraph, desc: Any) -> None:
    count = desc.index_dimensions
    indices = graph.index("indices_tensor", sizes=desc.indices_tensor.sizes[len(desc.indices_tensor.sizes) - count :])
    indices = within(graph, indices, [desc.input_tensor.sizes[desc.axis]])
    x = graph.mover("input_tensor", "Gather")
    graph.moved("output_tensor", graph.node("Gather", x, indices, axis=desc.axis))


def gathered_elements(graph: FormGraph, desc: Any) -> None:
    x = graph.mover("input_tensor", "GatherElements")
    indices = within(graph, graph.index("indices_tensor"), [desc.input_tensor.sizes[desc.axis]])
    graph.moved("output_tensor", graph.node("GatherElements", x, indices, axis=desc.axis))


def _last(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    return sizes[len(sizes) - count :]


def gathered_nd(graph: FormGraph, desc: Any) -> None:
    x = graph.mover("input_tensor", "GatherND", sizes=_last(desc.input_tensor.sizes, desc.input_dimension_count))
    indices = graph.index("indices_tensor", sizes=_last(desc.indices_tensor.sizes, desc.indices_dimension_count))
    first = len(desc.input_tensor.sizes) - desc.input_dimension_count + getattr(desc, "batch_dimension_count", 0)
    indices = within(graph, indices, desc.input_tensor.sizes[first : first + desc.indices_tensor.sizes[-1]])
    graph.moved("output_tensor", graph.node("GatherND", x, indices, **attributes_of(desc, row_of(desc))))


def scattered(graph: FormGraph, desc: Any) -> None:
    x, updates = (graph.mover(key, "ScatterElements") for key in ("input_tensor", "updates_tensor"))
    indices = graph.index("indices_tensor")
    found = graph.node("ScatterElements", x, indices, updates, **attributes_of(desc, row_of(desc)))
    graph.moved("output_tensor", found)


def scattered_nd(graph: FormGraph, desc: Any) -> None:
    rank, sizes = desc.input_dimension_count, _last(desc.indices_tensor.sizes, desc.indices_dimension_count)
    x = graph.mover("input_tensor", "ScatterND", sizes=_last(desc.input_tensor.sizes, rank))
    updates = graph.mover(
        "updates_tensor",
        "ScatterND",
        sizes=(*sizes[:-1], *_last(desc.input_tensor.sizes, rank)[sizes[-1] :]),
    )
    graph.moved("output_tensor", graph.node("ScatterND", x, graph.index("indices_tensor", sizes=sizes), updates))


def tiled(graph: FormGraph, desc: Any) -> None:
    x = graph.mover("input_tensor", "Tile")
    graph.moved("output_tensor", graph.node("Tile", x, graph.constant(desc.repeats)))


def reversed_parts(graph: FormGraph, desc: Any) -> None:
    """ONNX has sequences along one of two dimensions: all others are made one."""
    order = (desc.axis, *(d for d in range(len(desc.input_tensor.sizes)) if d != desc.axis))
    length = desc.input_tensor.sizes[desc.axis]
    count = desc.input_tensor.element_count // length
    x = graph.mover("input_tensor", "ReverseSequence", order=order, sizes=(length, count))
    lengths = graph.input("sequence_lengths_tensor", sizes=(count,))
    lengths = graph.cast(graph.node("Min", lengths, graph.constant([length], lengths.kind)), "INT64")
    graph.moved("output_tensor", graph.node("ReverseSequence", x, lengths, time_axis=0, batch_axis=1), order=order)


def depth_space(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    x = graph.mover("input_tensor", row.op_type)
    graph.moved("output_tensor", graph.node(row.op_type, x, **attributes_of(desc, row)))


def space_to_depth(graph: FormGraph, desc: Any) -> None:
    """ONNX has one of the two orders; the other one is a transposition."""
    if named(desc, "order") == "DEPTH_COLUMN_ROW":
        depth_space(graph, desc)
        return
    (count, channels, height, width), block = desc.input_tensor.sizes, desc.block_size
    blocks = (count, channels, height // block, block, width // block, block)
    x = graph.mover("input_tensor", "Transpose", sizes=blocks)
    graph.moved("output_tensor", graph.node("Transpose", x, perm=[0, 1, 3, 5, 2, 4]))


def one_hot(graph: FormGraph, desc: Any) -> None:
    """The runtime has FLOAT32 and INT64 alone."""
    kinds = frozenset({"FLOAT32", "INT64"})
    values = graph.input("values_tensor", kinds=kinds, sizes=(desc.values_tensor.element_count,))
    if values.kind not in kinds:
        values = graph.cast(values, "INT64")
    values = graph.node("Slice", values, graph.constant([0]), graph.constant([2]))
    sizes = desc.indices_tensor.sizes
    rest = (*sizes[: desc.axis], *sizes[desc.axis + 1 :])
    indices, size = graph.input("indices_tensor", sizes=rest or (1,)), desc.output_tensor.sizes[desc.axis]
    if indices.kind.startswith("U"):  # what INT64 does not have names no element either
        indices = graph.node("Min", indices, graph.constant(size, indices.kind))
    indices, depth = graph.cast(indices, "INT64"), graph.constant(size)
    graph.moved("output_tensor", graph.node("OneHot", indices, depth, values, kind=values.kind, axis=desc.axis))


def cast(graph: FormGraph, desc: Any) -> None:
    x = graph.input("input_tensor")
    kind = desc.output_tensor.data_type
    graph.output("output_tensor", x if x.kind != kind.unpacked.name else graph.node("Identity", x))


def filled(graph: FormGraph, desc: Any) -> None:
    kind = desc.output_tensor.data_type.unpacked.name
    number = graph.constant(np.asarray(desc.value).astype(numpy_type(kind)), kind)
    graph.output("output_tensor", graph.node("Expand", number, graph.constant(desc.output_tensor.sizes)))


def sequence(graph: FormGraph, desc: Any) -> None:
    kind = desc.output_tensor.data_type.unpacked.name
    count = desc.output_tensor.element_count
    places = graph.node("Range", graph.constant(0), graph.constant(count), graph.constant(1))
    carrier = kind if is_float(kind) and kind != "FLOAT16" else "FLOAT32" if kind == "FLOAT16" else "INT64"
    start, delta = (
        graph.constant(np.asarray(value).astype(numpy_type(kind)).astype(numpy_type(carrier)), carrier)
        for value in (desc.value_start, desc.value_delta)
    )
    steps = graph.node("Mul", graph.cast(places, carrier), delta)
    graph.output("output_tensor", graph.node("Add", steps, start))


def _diagonals(graph: FormGraph, desc: Any, begin: int, end: int) -> FormValue:
    """Where the diagonals from begin to before end are, of a matrix."""
    rows, columns = desc.output_tensor.sizes[-2:]
    first, second = (
        graph.node("Range", graph.constant(0), graph.constant(size), graph.constant(1)) for size in (rows, columns)
    )
    down = graph.node("Unsqueeze", first, graph.constant([1]))
    place = graph.node("Sub", second, down)
    least = graph.node("GreaterOrEqual", place, graph.constant(min(begin, end)), kind=BOOL)
    most = graph.node("Less", place, graph.constant(max(begin, end)), kind=BOOL)
    inside = graph.node("And", least, most, kind=BOOL)
    return graph.node("Not", inside, kind=BOOL) if end < begin else inside


def _filled_diagonals(graph: FormGraph, desc: Any, begin: int, end: int) -> None:
    kind = desc.output_tensor.data_type.unpacked.name
    number = number_of(desc.value, kind)
    moved = "INT64" if number.dtype.itemsize == 8 else "INT32"
    value = like(graph, number, FormValue("", moved))
    if getattr(desc, "input_tensor", None) is not None:
        rest = graph.mover("input_tensor", "Where", INTEGERS)
        value = like(graph, number, rest)
    else:
        zero = graph.constant(0, moved)
        rest = graph.node("Expand", zero, graph.constant(desc.output_tensor.sizes))
    graph.moved("output_tensor", graph.node("Where", _diagonals(graph, desc, begin, end), value, rest, kind=rest.kind))


def diagonal(graph: FormGraph, desc: Any) -> None:
    _filled_diagonals(graph, desc, desc.offset, desc.offset + 1)


def diagonals(graph: FormGraph, desc: Any) -> None:
    _filled_diagonals(graph, desc, desc.diagonal_fill_begin, desc.diagonal_fill_end)


def nonzero(graph: FormGraph, desc: Any) -> None:
    """Rows behind the last one are zeros."""
    x = graph.cast(graph.input("input_tensor"), BOOL)
    found = graph.node("NonZero", x, kind="INT64")
    shape = graph.node("Shape", found, start=1, kind="INT64")
    graph.output("output_count_tensor", shape)
    width = desc.output_coordinates_tensor.sizes[-1]
    rank = len(desc.input_tensor.sizes)
    rows = graph.node("Transpose", found, perm=[1, 0])
    lasts = graph.node("Slice", rows, graph.constant([rank - width]), graph.constant([rank]), graph.constant([1]))
    missing = graph.node("Sub", graph.constant([desc.output_coordinates_tensor.element_count // width]), shape)
    zero = graph.constant([0])
    pads = graph.node("Concat", zero, zero, missing, zero, axis=0)
    graph.output("output_coordinates_tensor", graph.node("Pad", lasts, pads))


def unpooled(graph: FormGraph, desc: Any) -> None:
    """MaxUnpool has no outputs of another batch or channel count; an index beyond the output is left open."""
    count, most = desc.input_tensor.element_count, desc.output_tensor.element_count
    x = graph.mover("input_tensor", "ScatterElements", sizes=(count,))
    indices = within(graph, graph.index("indices_tensor", sizes=(count,)), [most])
    zeros = graph.node("Expand", graph.constant(0, x.kind), graph.constant([most]))
    graph.moved("output_tensor", graph.node("ScatterElements", zeros, indices, x, axis=0))


FORMS = {
    "SLICE": sliced,
    "SLICE1": sliced_by_windows,
    "SLICE_GRAD": slice_gradient,
    "SPLIT": split,
    "JOIN": joined,
    "PADDING": padded,
    "PADDING1": padded,
    "GATHER": gathered,
    "GATHER_ELEMENTS": gathered_elements,
    "GATHER_ND": gathered_nd,
    "GATHER_ND1": gathered_nd,
    "SCATTER": scattered,
    "SCATTER_ND": scattered_nd,
    "TILE": tiled,
    "REVERSE_SUBSEQUENCES": reversed_parts,
    "DEPTH_TO_SPACE": depth_space,
    "DEPTH_TO_SPACE1": depth_space,
    "SPACE_TO_DEPTH": depth_space,
    "SPACE_TO_DEPTH1": space_to_depth,
    "ONE_HOT": one_hot,
    "CAST": cast,
    "FILL_VALUE_CONSTANT": filled,
    "FILL_VALUE_SEQUENCE": sequence,
    "DIAGONAL_MATRIX": diagonal,
    "DIAGONAL_MATRIX1": diagonals,
    "NONZERO_COORDINATES": nonzero,
    "MAX_UNPOOLING": unpooled,
}
