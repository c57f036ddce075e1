"""Descriptors of ELEMENT_WISE_CLIP, _CLIP1, _THRESHOLD, _CLIP_GRAD and _CLIP_GRAD1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.structures import ElementWiseClip, ElementWiseClipGrad
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder, Sizes
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit

FLOATS = (
    (0.0, 6.0),
    (-1.0, 1.0),
    (float32(-0.1), float32(0.3)),
    (-math.inf, 0.75),
    (-2.5, math.inf),
    (2.0, -2.0),
    (float32(1e-7), float32(1e5)),
    (math.nan, 1.0),
    (-1.0, math.nan),
)
# As FLOAT members; an integer type has them without their fraction, or does not reach them.
SIGNED = ((-2.75, 3.5), (0.0, 6.0), (-100.0, -3.0), (-1.0, 100.0), (3.0, -3.0))
UNSIGNED = ((0.75, 5.5), (0.0, 6.0), (3.0, 100.0), (100.0, 200.0), (6.0, 3.0))


def limits(data_type: DataType) -> Sequence[tuple[float, float]]:
    """Min and Max of FLOAT members: ends of the type, some inside of it and out of order, and in the end one beyond."""
    if data_type.limits is None:
        return FLOATS
    least, most = data_type.limits
    unit = 2 ** max(most.bit_length() - 24, 0)  # FLOAT has 24 bits
    inside = float(most // 4 * 3 // unit * unit)
    return (*(SIGNED if least else UNSIGNED), (float(least), inside), (inside, float(2 * inside)))


def limits_of_type(data_type: DataType) -> Sequence[tuple[float, float]]:
    """Min and Max in the tensors' type, wide ones that are no FLOAT among them."""
    if data_type.limits is None:
        return FLOATS
    least, most = data_type.limits
    narrow = ((int(low), int(high)) for low, high in (SIGNED if least else UNSIGNED))
    narrow = (pair for pair in narrow if least <= min(pair) and max(pair) <= most)  # four bits hold not all
    return (*narrow, (least, most - 1), (least + 1, most // 3), (most // 5, most), (most, least))


class ClipBuilder(ElementWiseBuilder[ElementWiseClip | ElementWiseClipGrad]):
    """One of them.

    Args:
        name: the operator's.
        every: what its limits may be, for a data type.
    """

    def __init__(self, name: str, every: Any = limits) -> None:
        super().__init__(name)
        self._limits = every
        self._names = self._attributes.keys() & {"min", "max", "min_max_data_type"}
        for attribute in self._names:  # they go together
            del self._attributes[attribute]

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        others, data_type = super().chosen(ctx, types, sizes), types[DATA]
        return {**others, **self._of(data_type, ctx.chooser.choice(self._limits(data_type)))}

    def of_sizes(self, ctx: Context, sizes: Sizes) -> ElementWiseClip | ElementWiseClipGrad:
        """With limits far apart: of an element that is held to one it does not show where it came from."""
        desc = super().of_sizes(ctx, sizes)
        data_type = desc.input_tensor.data_type
        return edit(desc, **self._of(data_type, max(self._limits(data_type), key=lambda pair: pair[1] - pair[0])))

    def edges(self, ctx: Context) -> Iterator[ElementWiseClip | ElementWiseClipGrad]:
        """Besides, every data type with all limits."""
        yield from super().edges(ctx)
        sizes = (1,) * (ctx.ranks[0] - 1) + (300,)
        for data_type in ctx.data_types:
            plain = ctx.but(data_types=(data_type,), layout="packed")
            for pair in self._limits(data_type):
                unscaled = {"scale_bias": None} if "scale_bias" in self._attributes else {}
                yield edit(self._build(plain, sizes), **unscaled, **self._of(data_type, pair))

    def _of(self, data_type: DataType, pair: tuple[float, float]) -> Mapping[str, Any]:
        low, high = pair
        every = {"min": low, "max": high, "min_max_data_type": int(data_type)}
        return {name: value for name, value in every.items() if name in self._names}


BUILDERS = {
    "ELEMENT_WISE_CLIP": ClipBuilder("ELEMENT_WISE_CLIP"),
    "ELEMENT_WISE_THRESHOLD": ClipBuilder("ELEMENT_WISE_THRESHOLD"),
    "ELEMENT_WISE_CLIP1": ClipBuilder("ELEMENT_WISE_CLIP1", limits_of_type),
    "ELEMENT_WISE_CLIP_GRAD": ClipBuilder("ELEMENT_WISE_CLIP_GRAD"),
    "ELEMENT_WISE_CLIP_GRAD1": ClipBuilder("ELEMENT_WISE_CLIP_GRAD1", limits_of_type),
}
