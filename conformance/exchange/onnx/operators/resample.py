"""Images of other sizes: Resize in all its versions, and Upsample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dml_conformance.conformance.exchange.onnx.mapping import maps
from dml_conformance.conformance.exchange.onnx.node import (
    LEAST_RANK,
    Mapped,
    ModelNode,
    NotMapped,
    Sizes,
    from_first,
    integers,
    operation,
    view,
)
from dml_conformance.spec.field_kinds import FLOAT32_MAX, Size2d


class ResizedAxis(NamedTuple):
    """How coordinates of the output become those of the input along a dimension: (x - of_output) / scale - of_input."""

    scale: float
    of_input: float
    of_output: float

    def coordinates(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return (np.arange(count, dtype=np.float64) - self.of_output) / self.scale - self.of_input


def _scales(node: ModelNode, sizes: Sizes, made: Sizes) -> list[float]:
    """The scale of each dimension, as the node has it or as the sizes give it."""
    ratios = [new / old for new, old in zip(made, sizes, strict=True)]
    if node.op_type == "Upsample" and node.version < 9:
        return [float(scale) for scale in node.attribute("scales")]
    at = 1 if node.op_type == "Upsample" or node.version < 11 else 2
    given = node.optional(at)
    axes = [from_first(axis, len(sizes)) for axis in node.attribute("axes") or range(len(sizes))]
    if given is not None and 0 not in given.sizes:
        scales = [1.0] * len(sizes)
        for axis, scale in zip(axes, given.known().ravel(), strict=True):
            scales[axis] = float(scale)
        return scales
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    wanted = node.optional(3)
    if policy == "stretch" or wanted is None:
        return ratios
    asked = [size / sizes[axis] for size, axis in zip(integers(wanted), axes, strict=True)]
    one = min(asked) if policy == "not_larger" else max(asked)
    return [one if d in axes else 1.0 for d in range(len(sizes))]


def _along(mode: str, scale: float, size: int, made: int) -> ResizedAxis:
    """A dimension by its coordinate transformation."""
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and made > 1):
        return ResizedAxis(scale, 0.5, -0.5)
    if mode == "pytorch_half_pixel":
        return ResizedAxis(FLOAT32_MAX, 0.0, 0.0)
    if mode == "align_corners":
        is_one = size <= 1 or made <= 1
        return ResizedAxis(FLOAT32_MAX if is_one else (made - 1) / (size - 1), 0.0, 0.0)
    if mode == "asymmetric":
        return ResizedAxis(scale, 0.0, 0.0)
    if mode == "tf_half_pixel_for_nn":
        return ResizedAxis(scale, 0.0, -0.5)
    raise NotMapped(f"coordinate_transformation_mode {mode} is none of DirectML's")


@maps("Resize Upsample", "RESAMPLE3 RESAMPLE2 RESAMPLE1 RESAMPLE UPSAMPLE_2D")
def resize(node: ModelNode) -> Mapped:
    """In the newest version that the level has, with offsets for the coordinates of ONNX."""
    sizes, made = node.input(0).sizes, node.result.sizes
    is_old = node.op_type == "Upsample" or node.version < 11
    kind = node.attribute("mode", "nearest")
    modes = {"nearest": "NEAREST_NEIGHBOR", "linear": "LINEAR"}
    if kind not in modes:
        raise NotMapped(f"mode {kind} is none of DirectML's")
    if node.attribute("exclude_outside", 0):
        raise NotMapped("exclude_outside weighs anew what lies inside, and DirectML repeats the edge")
    transformation = "asymmetric" if is_old else node.attribute("coordinate_transformation_mode", "half_pixel")
    nearest = "floor" if is_old else node.attribute("nearest_mode", "round_prefer_floor")
    scales = _scales(node, sizes, made)
    every = [_along(transformation, *each) for each in zip(scales, sizes, made, strict=True)]
    antialias = bool(node.attribute("antialias", 0))
    name = node.newest("RESAMPLE3", "RESAMPLE2", "RESAMPLE1", "RESAMPLE", "UPSAMPLE_2D")
    if antialias and name != "RESAMPLE3":
        raise NotMapped("antialias is what RESAMPLE3 has, which comes with level 6_4")
    is_whole = all(scale == int(scale) for scale in scales) and len(sizes) == LEAST_RANK and scales[:2] == [1, 1]
    if (
        name == "UPSAMPLE_2D"
        and kind == "nearest"
        and nearest == "floor"
        and transformation == "asymmetric"
        and is_whole
    ):
        yield operation(
            name,
            input_tensor=view(node.input(0)),
            output_tensor=view(node.result),
            scale_size=Size2d(int(scales[3]), int(scales[2])),
            interpolation_mode=modes[kind],
        )
        return
    if name in ("UPSAMPLE_2D", "RESAMPLE"):
        raise NotMapped("its coordinates are what RESAMPLE1 has, which comes with level 2_1")
    fields: dict[str, Any] = {}
    shift = 0.0
    if name != "RESAMPLE1":
        # Coordinates are rounded up or down as they are; half a pixel makes that the nearest.
        direction, shift = {
            "round_prefer_floor": ("INCREASING", 0.5),
            "round_prefer_ceil": ("DECREASING", -0.5),
            "floor": ("DECREASING", 0.0),
            "ceil": ("INCREASING", 0.0),
        }[nearest]
        fields["rounding_direction"] = direction
    elif kind == "nearest":
        shift = _shift_of_nearest(nearest, every, made)
    if name == "RESAMPLE3":
        fields["antialiased"] = antialias
    shift = shift if kind == "nearest" else 0.0
    rank = max(len(sizes), LEAST_RANK)
    yield operation(
        name,
        input_tensor=view(node.input(0)),
        output_tensor=view(node.result),
        interpolation_mode=modes[kind],
        scales=(*(1.0,) * (rank - len(every)), *(along.scale for along in every)),
        input_pixel_offsets=(*(0.5 + shift,) * (rank - len(every)), *(along.of_input + shift for along in every)),
        output_pixel_offsets=(*(-0.5,) * (rank - len(every)), *(along.of_output for along in every)),
        **fields,
    )


def _shift_of_nearest(nearest: str, every: list[ResizedAxis], made: Sizes) -> float:
    """What is taken away before RESAMPLE1 rounds to the nearest, halves up; others only where nothing lies on half."""
    coordinates = np.concatenate([along.coordinates(count) for along, count in zip(every, made, strict=True)])
    if nearest == "floor":
        return 0.5
    if nearest == "ceil" and not (coordinates % 1 == 0).any():
        return -0.5
    if nearest == "round_prefer_ceil" or (nearest == "round_prefer_floor" and not (coordinates % 1 == 0.5).any()):
        return 0.0
    raise NotMapped(f"nearest_mode {nearest} is what RESAMPLE2 has, which comes with level 5_1")
