"""UPSAMPLE_2D, RESAMPLE and its successors, by nearest neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.spec.expectation import Bits, Expectation, Mask
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators.resample import is_nearest, pixel_offsets

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING

# What FLOAT32 may make of a coordinate: a few roundings, each by a unit in the last place of what is rounded.
ROUNDINGS = 8 * 2.0**-23
OVERFLOW = 2.0**100  # of what is rounded; beyond it FLOAT32 may have gone to infinity


def upsample_2d(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[..., y, x] = input[..., y / ScaleSize.Height, x / ScaleSize.Width]."""
    source, scale = arrays["input_tensor"], desc.scale_size
    if not is_nearest(desc):
        return _anything(source, desc)
    return {"output_tensor": Expectation(source.repeat(scale.height, -2).repeat(scale.width, -1))}


def resample(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = input[clamp(round((c[d] - OutputPixelOffsets[d]) / Scales[d] - InputPixelOffsets[d])) for each d].

    Coordinates are rounded to the nearest, halves up, or in RoundingDirection where there is one. An element may be any
    of the input where a coordinate lies so near to where it is rounded the other way that FLOAT32 decides.
    """
    values = arrays["input_tensor"]
    if not is_nearest(desc):
        return _anything(values, desc)
    one_of: Mask = np.zeros((1,) * values.ndim, np.bool_)
    for d, (scale, of_input, of_output) in enumerate(zip(desc.scales, *pixel_offsets(desc), strict=True)):
        size, count = values.shape[d], desc.output_tensor.sizes[d]
        to_left = np.arange(count) - of_output
        coordinates = to_left / scale - of_input
        places = _rounded(desc, coordinates, size)
        error = _error(to_left, scale, of_input)
        is_open = _rounded(desc, coordinates - error, size) != _rounded(desc, coordinates + error, size)
        values = values.take(places, d)
        one_of = one_of | is_open.reshape((-1,) + (1,) * (values.ndim - 1 - d))
    if not one_of.any():
        return {"output_tensor": Expectation(values)}
    return {"output_tensor": Expectation(values, np.broadcast_to(one_of, values.shape), "input_tensor")}


def _rounded(desc: Any, coordinates: Floats, size: int) -> Places:
    """Places along a dimension of `size` elements; of coordinates beyond its ends those at the ends."""
    within = np.clip(coordinates, -1, size)
    direction = getattr(desc, "rounding_direction", None)
    if direction is None:
        rounded = np.floor(within + 0.5)
    else:
        rounded = np.ceil(within) if direction == INCREASING else np.floor(within)
    return np.clip(rounded, 0, size - 1).astype(np.int64)


def _error(to_left: Floats, scale: float, of_input: float) -> Floats:
    """How far a coordinate may be from the exact one in FLOAT32, in whatever order it is computed.

    It is not at all where each step is exact: the scale is a power of two, and all parts of the sum have so few binary
    digits that FLOAT32 has them.
    """
    parts = np.abs(to_left) / scale + abs(of_input) + 0.5
    error = np.where(parts < OVERFLOW, parts * ROUNDINGS, np.inf)
    if np.frexp(scale)[0] != 0.5:
        return error
    is_exact = np.zeros(parts.shape, np.bool_)
    for digits in (1, 10):  # after the point, of 23
        unit = 2.0**-digits
        few = (to_left / scale % unit == 0) & (to_left % unit == 0) & (of_input % unit == 0) & (1 / scale % unit == 0)
        is_exact |= few & (parts < 2.0 ** (22 - digits)) & (np.abs(to_left) < 2.0 ** (22 - digits))
    return np.where(is_exact, 0.0, error)


def _anything(source: Bits, desc: Any) -> dict[str, Expectation]:
    """Nothing is known yet of what linear interpolation gives."""
    sizes = desc.output_tensor.sizes
    return {"output_tensor": Expectation(np.zeros(sizes, source.dtype), free=np.ones(sizes, np.bool_))}


OPERATORS: dict[str, Compute] = {
    "UPSAMPLE_2D": upsample_2d,
    "RESAMPLE": resample,
    "RESAMPLE1": resample,
    "RESAMPLE2": resample,
    "RESAMPLE3": resample,
}
