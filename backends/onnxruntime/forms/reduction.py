"""What goes along axes: reductions, indices of the largest, sums so far, the largest in order, softmax."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, named, node, row_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm, is_float


def ordered(graph: FormGraph, value: FormValue) -> FormValue:
    """UINT64 as INT64 in the same order, which the runtime has more kernels of."""
    if value.kind != "UINT64":
        return value
    flipped = graph.node("BitwiseXor", value, graph.constant(2**63, "UINT64"))
    return graph.cast(flipped, "INT64")


def unordered(graph: FormGraph, value: FormValue, kind: str) -> FormValue:
    """What `ordered` brought elsewhere, back in its own type."""
    if kind != "UINT64":
        return graph.cast(value, kind)
    return graph.node("BitwiseXor", graph.cast(value, "UINT64"), graph.constant(2**63, "UINT64"))


def _no_axis_twice(desc: Any) -> None:
    if len(set(desc.axes)) < len(desc.axes):
        raise NoForm(f"{desc.operator} along an axis that is named twice")


def _last(desc: Any, key: str = "input_tensor") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order of dimensions in which the axes come last, and the sizes with these in one."""
    sizes = getattr(desc, key).sizes
    kept = [d for d in range(len(sizes)) if d not in desc.axes]
    length = 1
    for axis in desc.axes:
        length *= sizes[axis]
    return (*kept, *sorted(desc.axes)), (*(sizes[d] for d in kept), length)


def reduced(graph: FormGraph, desc: Any) -> None:
    _no_axis_twice(desc)
    function = named(desc, "function")
    if function in ("ARGMAX", "ARGMIN"):
        indices(graph, desc)
        return
    row = row_of(desc)
    if desc.axes:
        x, axes = graph.input("input_tensor"), graph.constant(desc.axes)
    else:  # which to ONNX is all of them: along one more of one element
        sizes = desc.input_tensor.sizes
        x, axes = graph.input("input_tensor", sizes=(*sizes, 1)), graph.constant([len(sizes)])
    kind = x.kind
    if function in ("MAX", "MIN"):
        found = graph.node(row.op_type, ordered(graph, x), axes, keepdims=1)
        graph.output("output_tensor", unordered(graph, found, kind))
        return
    if not is_float(kind) and function not in ("SUM", "MULTIPLY", "SUM_SQUARE", "L1"):
        raise NoForm(f"{row.op_type} of {kind}")
    if function == "L1" and kind.startswith("UINT"):  # which is the sum, and the same bits as of signed ones
        found = graph.node("ReduceSum", x, axes, keepdims=1)
    else:
        found = graph.node(row.op_type, x, axes, keepdims=1)
    graph.output("output_tensor", found)


def indices(graph: FormGraph, desc: Any) -> None:
    """ONNX has one axis."""
    _no_axis_twice(desc)
    row = row_of(desc)
    order, sizes = _last(desc)
    x = ordered(graph, graph.input("input_tensor", order=order, sizes=sizes))
    attributes = {**attributes_of(desc, row), "axis": len(sizes) - 1}
    graph.output("output_tensor", graph.node(row.op_type, x, kind="INT64", **attributes), order=order)


def cumulative(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    graph.output("output_tensor", node(graph, desc, row, graph.input("input_tensor"), graph.constant(desc.axis)))


def largest(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    x = graph.input("input_tensor")
    values, places = graph.results(
        row.op_type, ordered(graph, x), graph.constant([desc.k]), kinds=(None, "INT64"), **attributes_of(desc, row)
    )
    graph.output("output_value_tensor", unordered(graph, values, x.kind))
    graph.output("output_index_tensor", places)


def softmax(graph: FormGraph, desc: Any) -> None:
    """ONNX has one axis."""
    row = row_of(desc)
    if hasattr(desc, "axes"):
        _no_axis_twice(desc)
        order, sizes = _last(desc)
        x = graph.input("input_tensor", order=order, sizes=sizes)
        graph.output("output_tensor", graph.node(row.op_type, x, axis=len(sizes) - 1), order=order)
    else:
        graph.output("output_tensor", node(graph, desc, row, graph.input("input_tensor")))


FORMS = {
    "REDUCE": reduced,
    "ARGMIN": indices,
    "ARGMAX": indices,
    "CUMULATIVE_SUMMATION": cumulative,
    "CUMULATIVE_PRODUCT": cumulative,
    "TOP_K": largest,
    "TOP_K1": largest,
    **{f"ACTIVATION_{name}{one}": softmax for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX") for one in ("", "1")},
}
