"""Images in other sizes, and regions of them."""

from __future__ import annotations

import math
from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import named, row_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm

LINEAR = {(0.5, -0.5): "half_pixel", (0.0, 0.0): "asymmetric"}
# By what is added to the input's and the output's coordinate, and by the direction of rounding.
NEAREST = {
    (0.5, -0.5, "INCREASING"): ("half_pixel", "ceil"),
    (0.5, -0.5, "DECREASING"): ("half_pixel", "floor"),
    (1.0, -0.5, "INCREASING"): ("half_pixel", "round_prefer_floor"),
    (0.0, -0.5, "DECREASING"): ("half_pixel", "round_prefer_ceil"),
    (0.0, 0.0, "INCREASING"): ("asymmetric", "ceil"),
    (0.0, 0.0, "DECREASING"): ("asymmetric", "floor"),
    (0.5, 0.0, "INCREASING"): ("asymmetric", "round_prefer_floor"),
    (-0.5, 0.0, "DECREASING"): ("asymmetric", "round_prefer_ceil"),
    (0.5, -0.5, ""): ("half_pixel", "round_prefer_ceil"),
    (0.0, 0.0, ""): ("asymmetric", "round_prefer_ceil"),
}


def resampled(graph: FormGraph, desc: Any) -> None:
    """One node where ONNX has the offsets and the sizes follow from the scales, else one dimension after the other."""
    is_linear = named(desc, "interpolation_mode") == "LINEAR"
    try:
        attributes = _attributes(desc)
    except NoForm:
        if getattr(desc, "antialiased", False) and min(desc.scales) < 1:
            raise
        (_between if is_linear else _nearest)(graph, desc)
        return
    scales = graph.constant(desc.scales, "FLOAT32")
    if is_linear:
        graph.output("output_tensor", graph.node("Resize", graph.input("input_tensor"), None, scales, **attributes))
    else:
        x = graph.mover("input_tensor", "Resize")
        graph.moved("output_tensor", graph.node("Resize", x, None, scales, **attributes))


def _offsets(desc: Any) -> list[tuple[float, float]]:
    """What is added to the coordinates of the input and of the output, by dimension."""
    rank = len(desc.scales)
    of_input = getattr(desc, "input_pixel_offsets", (0.5,) * rank)
    return list(zip(of_input, getattr(desc, "output_pixel_offsets", (-0.5,) * rank), strict=True))


def _direction(desc: Any) -> str:
    return str(named(desc, "rounding_direction")) if hasattr(desc, "rounding_direction") else ""


def _coordinates(graph: FormGraph, desc: Any, d: int, count: int) -> FormValue:
    """Where in the input so many elements of the output are along a dimension."""
    of_input, of_output = _offsets(desc)[d]
    found = graph.cast(
        graph.node("Range", graph.constant(0), graph.constant(count), graph.constant(1)),
        "FLOAT64",
    )
    steps = (("Sub", of_output), ("Div", desc.scales[d]), ("Sub", of_input))
    for op_type, number in steps:
        found = graph.node(op_type, found, graph.constant(number, "FLOAT64"))
    return found


def _clamped(graph: FormGraph, coordinates: FormValue, size: int) -> FormValue:
    least = graph.node("Max", coordinates, graph.constant(0, "FLOAT64"))
    return graph.node("Min", least, graph.constant(size - 1, "FLOAT64"))


def _nearest(graph: FormGraph, desc: Any) -> None:
    x = graph.mover("input_tensor", "Gather")
    for d, (size, count) in enumerate(zip(desc.input_tensor.sizes, desc.output_tensor.sizes, strict=True)):
        x = graph.node("Gather", x, _rounded(graph, desc, d, size, count), axis=d)
    graph.moved("output_tensor", x)


def _rounded(graph: FormGraph, desc: Any, d: int, size: int, count: int) -> FormValue:
    """Which elements of the input the coordinates come to."""
    found = _coordinates(graph, desc, d, count)
    if not _direction(desc):
        found = graph.node("Add", found, graph.constant(0.5, "FLOAT64"))
    found = graph.node("Ceil" if _direction(desc) == "INCREASING" else "Floor", found)
    return graph.cast(_clamped(graph, found, size), "INT64")


def _neighbours(graph: FormGraph, desc: Any, d: int, size: int, count: int) -> tuple[FormValue, FormValue, FormValue]:
    """The elements of the input beside the coordinates, and the weight of the second ones."""
    place = _clamped(graph, _coordinates(graph, desc, d, count), size)
    below = graph.node("Floor", place)
    above = _clamped(graph, graph.node("Add", below, graph.constant(1, "FLOAT64")), size)
    weight = graph.cast(graph.node("Sub", place, below), "FLOAT32")
    rank = len(desc.scales)
    weight = graph.node("Reshape", weight, graph.constant([-1, *[1] * (rank - 1 - d)]))
    return graph.cast(below, "INT64"), graph.cast(above, "INT64"), weight


def gradient(graph: FormGraph, desc: Any) -> None:
    """Every element is added to those that it was made of, along one dimension after the other."""
    x = graph.cast(graph.input("input_gradient_tensor"), "FLOAT64")  # where no sum on the way is infinite
    sizes, targets = list(desc.input_gradient_tensor.sizes), desc.output_gradient_tensor.sizes
    one = graph.constant(1, "FLOAT64")
    for d, target in enumerate(targets):
        if named(desc, "interpolation_mode") == "LINEAR":
            first, second, weight = _neighbours(graph, desc, d, target, sizes[d])
            weight = graph.cast(weight, "FLOAT64")
            rest = graph.node("Sub", one, weight)
            parts = [(first, graph.node("Mul", x, rest)), (second, graph.node("Mul", x, weight))]
        else:
            parts = [(_rounded(graph, desc, d, target, sizes[d]), x)]
        line = graph.constant([-1, *[1] * (len(sizes) - 1 - d)])
        shape = graph.constant(sizes)
        sizes[d] = target
        x = graph.node("Expand", graph.constant(0, "FLOAT64"), graph.constant(sizes))
        for places, part in parts:
            spread = graph.node("Expand", graph.node("Reshape", places, line), shape)
            x = graph.node("ScatterElements", x, spread, part, axis=d, reduction="add")
    graph.output("output_gradient_tensor", x)


def _between(graph: FormGraph, desc: Any) -> None:
    x = graph.cast(graph.input("input_tensor"), "FLOAT32")
    for d, (size, count) in enumerate(zip(desc.input_tensor.sizes, desc.output_tensor.sizes, strict=True)):
        below, above, weight = _neighbours(graph, desc, d, size, count)
        first, second = (graph.node("Gather", x, each, axis=d) for each in (below, above))
        rest = graph.node("Sub", graph.constant(1, "FLOAT32"), weight)
        x = graph.node("Add", graph.node("Mul", first, rest), graph.node("Mul", second, weight))
    if not desc.output_tensor.data_type.is_float:
        x = graph.node("Round", x)
    graph.output("output_tensor", x)


def _attributes(desc: Any) -> dict[str, Any]:
    """Those of a node that does the same.

    Raises:
        NoForm: there is none.
    """
    sizes, found, offsets = desc.input_tensor.sizes, desc.output_tensor.sizes, _offsets(desc)
    if any(math.floor(size * scale) != new for size, scale, new in zip(sizes, desc.scales, found, strict=True)):
        raise NoForm("Resize to a size that is not the input's times the scale")
    if any(
        scale == 1 and size > 1 and pair[0] != -pair[1]
        for size, scale, pair in zip(sizes, desc.scales, offsets, strict=True)
    ):
        raise NoForm("Resize that shifts along a dimension which keeps its size")
    pairs = {pair for size, scale, pair in zip(sizes, desc.scales, offsets, strict=True) if size > 1 and scale != 1}
    if len(pairs) > 1:
        raise NoForm("Resize with pixel offsets that differ")
    pair = pairs.pop() if pairs else (0.5, -0.5)
    direction, attributes = _direction(desc), dict[str, Any]()
    if named(desc, "interpolation_mode") == "LINEAR":
        if len(sizes) != 2 and not (len(sizes) == 4 and desc.scales[0] == desc.scales[1] == 1):
            raise NoForm(f"linear Resize of {len(sizes)} dimensions")
        if pair not in LINEAR:
            raise NoForm(f"linear Resize with pixel offsets of {pair[0]:g} and {pair[1]:g}")
        attributes = {"mode": "linear", "coordinate_transformation_mode": LINEAR[pair]}
        if getattr(desc, "antialiased", False):
            attributes["antialias"] = 1
    else:
        if (*pair, direction) not in NEAREST:
            raise NoForm(f"nearest Resize with pixel offsets of {pair[0]:g} and {pair[1]:g}, {direction}")
        mode, nearest = NEAREST[(*pair, direction)]
        attributes = {"mode": "nearest", "coordinate_transformation_mode": mode, "nearest_mode": nearest}
    return attributes


def upsampled(graph: FormGraph, desc: Any) -> None:
    rank, size = len(desc.input_tensor.sizes), desc.scale_size
    scales = graph.constant([*[1] * (rank - 2), size.height, size.width], "FLOAT32")
    attributes = {"coordinate_transformation_mode": "half_pixel"}
    if named(desc, "interpolation_mode") == "LINEAR":
        x = graph.input("input_tensor")
        graph.output("output_tensor", graph.node("Resize", x, None, scales, mode="linear", **attributes))
    else:
        x = graph.mover("input_tensor", "Resize")
        graph.moved("output_tensor", graph.node("Resize", x, None, scales, mode="nearest", **attributes))


def regions(graph: FormGraph, desc: Any) -> None:
    row = row_of(desc)
    if desc.spatial_scale_x != desc.spatial_scale_y:
        raise NoForm("RoiAlign with scales that differ")
    if desc.minimum_samples_per_output != desc.maximum_samples_per_output:
        raise NoForm("RoiAlign with a least and another greatest number of samples")
    if named(desc, "reduction_function") != "AVERAGE":
        raise NoForm("RoiAlign with MAX, which ONNX takes of the weighted elements and not of the samples")
    height, width = desc.output_tensor.sizes[2:]
    found = graph.node(
        "RoiAlign",
        graph.input("input_tensor"),
        graph.input("roi_tensor", sizes=desc.roi_tensor.sizes[-2:]),
        graph.index("batch_indices_tensor", sizes=(desc.batch_indices_tensor.element_count,)),
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=desc.maximum_samples_per_output,
        spatial_scale=desc.spatial_scale_x,
        **row.constants,
    )
    graph.output("output_tensor", found)


FORMS = {
    **dict.fromkeys(("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3"), resampled),
    **dict.fromkeys(("RESAMPLE_GRAD", "RESAMPLE_GRAD1"), gradient),
    "UPSAMPLE_2D": upsampled,
    **dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1"), regions),
}
