"""Convolutions, poolings, their gradients, and what else sees elements through windows."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from dml_conformance.backends.onnxruntime.forms._fused import activated
from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, named, row_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm


def fits(desc: Any) -> bool:
    """Whether the runtime takes the padding: less than a window's size along each dimension."""
    paddings = zip(desc.window_size, desc.start_padding, desc.end_padding, strict=True)
    return all(max(start, end) < window for window, start, end in paddings)


def with_padding(graph: FormGraph, desc: Any, x: FormValue, number: float) -> FormValue:
    """The input with its padding made elements."""
    pads = graph.constant([0, 0, *desc.start_padding, 0, 0, *desc.end_padding])
    return graph.node("Pad", x, pads, graph.constant(number, x.kind))


def pooled(graph: FormGraph, desc: Any) -> None:
    graph.output("output_tensor", pool(graph, desc, graph.input("input_tensor")))


def pool(graph: FormGraph, desc: Any, x: FormValue) -> FormValue:
    """Averages or norms of windows."""
    row = row_of(desc)
    op_type = "AveragePool" if "AVERAGE" in desc.operator else row.op_type
    attributes = {**attributes_of(desc, row), **({"dilations": list(desc.dilations)} if has_dilations(desc) else {})}
    if fits(desc):
        return graph.node(op_type, x, **attributes)
    del attributes["pads"]
    found = graph.node(op_type, with_padding(graph, desc, x, 0), **attributes)
    if not getattr(desc, "include_padding", True):  # what part of the window counts
        sizes = [1, 1, *desc.input_tensor.sizes[2:]]
        image = graph.node("Expand", graph.constant(1, x.kind), graph.constant(sizes))
        part = graph.node(op_type, with_padding(graph, desc, image, 0), **attributes)
        return graph.node("Div", found, part)
    return found


def has_dilations(desc: Any) -> bool:
    return hasattr(desc, "dilations")


def greatest(graph: FormGraph, desc: Any) -> None:
    values, places = greatest_of_windows(graph, desc)
    graph.output("output_tensor", values)
    if getattr(desc, "output_indices_tensor", None) is not None:
        graph.output("output_indices_tensor", places)


def greatest_of_windows(graph: FormGraph, desc: Any) -> list[FormValue]:
    """The greatest elements, and their places in the input."""
    x = graph.input("input_tensor")
    attributes: dict[str, Any] = {"kernel_shape": list(desc.window_size), "strides": list(desc.strides)}
    if has_dilations(desc):
        attributes["dilations"] = list(desc.dilations)
    pads = [*desc.start_padding, *desc.end_padding]
    if fits(desc) and (not any(pads) or set(attributes.get("dilations", {1})) == {1}):  # no window sees padding alone
        return graph.results("MaxPool", x, kinds=(None, "INT64"), pads=pads, **attributes)
    if x.kind.endswith("64"):
        raise NoForm(f"MaxPool of {x.kind}")
    # In FLOAT64, where every element is above what stands in the padding.
    elements = graph.node("Max", graph.cast(x, "FLOAT64"), graph.constant(-1e300, "FLOAT64"))
    padded = with_padding(graph, desc, elements, -math.inf)
    values, places = graph.results("MaxPool", padded, kinds=(None, "INT64"), **attributes)
    sizes = desc.input_tensor.sizes
    own, paddings = np.arange(math.prod(sizes)).reshape(sizes), zip(desc.start_padding, desc.end_padding, strict=True)
    table = np.pad(own, [(0, 0), (0, 0), *paddings], constant_values=math.prod(sizes))
    return [graph.cast(values, x.kind), graph.node("Gather", graph.constant(table.ravel()), places, kind="INT64")]


def average_gradient(graph: FormGraph, desc: Any) -> None:
    """Every gradient, divided by the number of its window's elements, goes to each of them."""
    gradient = _planes(graph, "input_gradient_tensor", desc.input_gradient_tensor.sizes)
    sizes = desc.output_gradient_tensor.sizes[2:]
    ones = graph.constant(np.ones((1, 1, *desc.window_size)), "FLOAT32")
    pads = [*desc.start_padding, *desc.end_padding]
    if desc.include_padding:
        count = graph.constant(math.prod(desc.window_size), "FLOAT32")
    else:
        image = graph.constant(np.ones((1, 1, *sizes)), "FLOAT32")
        count = graph.node("Conv", image, ones, strides=list(desc.strides), pads=pads)
    share = graph.node("Div", gradient, count)
    rest = [
        size + sum(padding) - (stride * (number - 1) + window)
        for size, stride, number, window, *padding in zip(
            sizes,
            desc.strides,
            desc.input_gradient_tensor.sizes[2:],
            desc.window_size,
            desc.start_padding,
            desc.end_padding,
            strict=True,
        )
    ]
    found = graph.node("ConvTranspose", share, ones, strides=list(desc.strides), pads=pads, output_padding=rest)
    graph.output("output_gradient_tensor", found)


def _planes(graph: FormGraph, key: str, sizes: tuple[int, ...]) -> FormValue:
    """The channels of all images as images of one channel."""
    return graph.number(key, sizes=(sizes[0] * sizes[1], 1, *sizes[2:]))


def greatest_gradient(graph: FormGraph, desc: Any) -> None:
    _, places = greatest_of_windows(graph, desc)
    row = graph.constant([-1])
    gradient = graph.node("Reshape", graph.number("input_gradient_tensor"), row)
    count = desc.input_tensor.element_count
    zeros = graph.node("Expand", graph.constant(0, "FLOAT32"), graph.constant([count + 1]))  # the last one is padding
    places = graph.node("Reshape", places, row)
    found = graph.node("ScatterElements", zeros, places, gradient, axis=0, reduction="add")
    found = graph.node("Slice", found, graph.constant([0]), graph.constant([count]))
    graph.output("output_gradient_tensor", found)


def convolved(graph: FormGraph, desc: Any) -> None:
    is_forward = named(desc, "direction") == "FORWARD"
    read = graph.input if desc.fused_activation is None else graph.number
    x, weights = read("input_tensor"), read("filter_tensor")
    spatial = len(desc.strides)
    if named(desc, "mode") == "CONVOLUTION":
        axes = range(2, 2 + spatial)
        numbers = ([-1] * spatial, [-(2**31)] * spatial, axes, [-1] * spatial)
        weights = graph.node("Slice", weights, *(graph.constant(list(each)) for each in numbers))
    bias = None if desc.bias_tensor is None else read("bias_tensor", sizes=(desc.bias_tensor.sizes[1],))
    attributes = {
        "strides": list(desc.strides),
        "dilations": list(desc.dilations),
        "pads": [*desc.start_padding, *desc.end_padding],
        "group": desc.group_count,
    }
    if is_forward:
        found = graph.node("Conv", x, weights, bias, **attributes)
    else:
        steps = zip(desc.output_padding, desc.strides, strict=True)
        if all(rest < stride for rest, stride in steps):
            attributes["output_padding"] = list(desc.output_padding)
        elif any(size <= rest for size, rest in zip(desc.output_tensor.sizes[2:], desc.output_padding, strict=True)):
            raise NoForm("ConvTranspose of nothing but output padding")
        found = graph.node("ConvTranspose", x, weights, bias, **attributes)
        if "output_padding" not in attributes:  # the runtime takes no more; what comes of them is left open or 0
            pads = graph.constant([*[0] * (4 + spatial), *desc.output_padding])
            found = graph.node("Pad", found, pads)
    graph.output("output_tensor", activated(graph, found, desc.fused_activation))


def regions(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    if desc.spatial_scale <= 0:
        raise NoForm("MaxRoiPool with a spatial scale that is not above 0")
    x = graph.input("input_tensor")
    rows = graph.input("roi_tensor", sizes=desc.roi_tensor.sizes[-2:])
    limits = ([0, -math.inf, -math.inf, -math.inf, -math.inf], [desc.input_tensor.sizes[0] - 1, *[math.inf] * 4])
    for op_type, limit in zip(("Max", "Min"), limits, strict=True):  # an image that there is not is left open
        rows = graph.node(op_type, rows, graph.constant(limit, rows.kind))
    size = [desc.pooled_size.height, desc.pooled_size.width]
    found = graph.node(row.op_type, x, rows, pooled_shape=size, spatial_scale=desc.spatial_scale)
    graph.output("output_tensor", found)


def _places(desc: Any, spatial: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The places of an image's elements in its windows, a row for each element of one, -1 in the padding."""
    counts = [
        (size + start + end - (dilation * (window - 1) + 1)) // stride + 1
        for size, start, end, dilation, window, stride in zip(
            spatial,
            desc.start_padding,
            desc.end_padding,
            desc.dilations,
            desc.window_sizes,
            desc.strides,
            strict=True,
        )
    ]
    found = np.zeros((math.prod(desc.window_sizes), math.prod(counts)), np.int64)
    for row, offsets in enumerate(product(*map(range, desc.window_sizes))):
        lines = [
            np.arange(count) * stride + offset * dilation - start
            for count, stride, offset, dilation, start in zip(
                counts, desc.strides, offsets, desc.dilations, desc.start_padding, strict=True
            )
        ]
        grid = np.meshgrid(*lines, indexing="ij")
        inside = np.all([(line >= 0) & (line < size) for line, size in zip(grid, spatial, strict=True)], 0)
        flat = np.ravel_multi_index(
            tuple(np.clip(line, 0, size - 1) for line, size in zip(grid, spatial, strict=True)), spatial
        )
        found[row] = np.where(inside, flat, -1).ravel()
    return found


def unfolded(graph: FormGraph, desc: Any) -> None:
    """Every element is gathered from its image, or from one more that is 0."""
    count, channels, *spatial = desc.input_tensor.sizes
    x = graph.mover("input_tensor", "Concat", sizes=(count, channels, math.prod(spatial)))
    zeros = graph.node("Expand", graph.constant(0, x.kind), graph.constant([count, channels, 1]))
    image = graph.node("Concat", x, zeros, axis=2)
    places = graph.constant(_places(desc, tuple(spatial)) % (math.prod(spatial) + 1))
    graph.moved("output_tensor", graph.node("Gather", image, places, axis=2))


def folded(graph: FormGraph, desc: Any) -> None:
    spatial = list(desc.output_tensor.sizes[2:])
    attributes: dict[str, Any] = {
        "dilations": list(desc.dilations),
        "strides": list(desc.strides),
        "pads": [*desc.start_padding, *desc.end_padding],
    }
    block = graph.constant(list(desc.window_sizes))
    found = graph.node("Col2Im", graph.number("input_tensor"), graph.constant(spatial), block, **attributes)
    graph.output("output_tensor", found)


FORMS = {
    **dict.fromkeys(("AVERAGE_POOLING", "AVERAGE_POOLING1", "LP_POOLING", "LP_POOLING1"), pooled),
    **dict.fromkeys(("MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"), greatest),
    "AVERAGE_POOLING_GRAD": average_gradient,
    "MAX_POOLING_GRAD": greatest_gradient,
    "CONVOLUTION": convolved,
    "ROI_POOLING": regions,
    "FOLD": folded,
    "UNFOLD": unfolded,
}
