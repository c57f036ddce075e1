"""Images in other sizes, and regions of them."""

from __future__ import annotations

import math
from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import named, row_of
from dml_conformance.backends.onnxruntime.graph import Graph, NoForm

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


def resampled(graph: Graph, desc: Any) -> None:
    sizes, found = desc.input_tensor.sizes, desc.output_tensor.sizes
    rank = len(sizes)
    offsets = list(
        zip(
            getattr(desc, "input_pixel_offsets", (0.5,) * rank),
            getattr(desc, "output_pixel_offsets", (-0.5,) * rank),
            strict=True,
        )
    )
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
    direction = named(desc, "rounding_direction") if hasattr(desc, "rounding_direction") else ""
    attributes: dict[str, Any] = {}
    if named(desc, "interpolation_mode") == "LINEAR":
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
    scales = graph.constant(desc.scales, "FLOAT32")
    graph.output("output_tensor", graph.node("Resize", graph.input("input_tensor"), None, scales, **attributes))


def upsampled(graph: Graph, desc: Any) -> None:
    rank, size = len(desc.input_tensor.sizes), desc.scale_size
    scales = graph.constant([*[1] * (rank - 2), size.height, size.width], "FLOAT32")
    mode = "linear" if named(desc, "interpolation_mode") == "LINEAR" else "nearest"
    attributes = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    graph.output("output_tensor", graph.node("Resize", graph.input("input_tensor"), None, scales, **attributes))


def regions(graph: Graph, desc: Any) -> None:
    row = row_of(desc)
    if desc.spatial_scale_x != desc.spatial_scale_y:
        raise NoForm("RoiAlign with scales that differ")
    if desc.minimum_samples_per_output != desc.maximum_samples_per_output:
        raise NoForm("RoiAlign with a least and another greatest number of samples")
    mode = row.attributes["mode"][1].get(named(desc, "reduction_function"))  # type: ignore[union-attr, index]
    if mode is None:
        raise NoForm(f"RoiAlign with {named(desc, 'reduction_function')}")
    height, width = desc.output_tensor.sizes[2:]
    found = graph.node(
        "RoiAlign",
        graph.input("input_tensor"),
        graph.input("roi_tensor", sizes=desc.roi_tensor.sizes[-2:]),
        graph.index("batch_indices_tensor", sizes=(desc.batch_indices_tensor.element_count,)),
        mode=mode,
        output_height=height,
        output_width=width,
        sampling_ratio=desc.maximum_samples_per_output,
        spatial_scale=desc.spatial_scale_x,
        **row.constants,
    )
    graph.output("output_tensor", found)


FORMS = {
    **dict.fromkeys(("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3"), resampled),
    "UPSAMPLE_2D": upsampled,
    **dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1"), regions),
}
