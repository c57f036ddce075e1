"""Descriptors of FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.structures import FillValue
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder, Sizes
from dml_conformance.strategies.builders._scalars import any_number
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D


class ConstantBuilder(ElementWiseBuilder[D]):
    """FILL_VALUE_CONSTANT, of one number."""

    shares_layouts = False
    longest_axis = MAX_ELEMENTS

    def edges(self, ctx: Context) -> Iterator[D]:
        """Every dimension count, and long axes of every type."""
        yield from self.of_every_rank(ctx)
        for data_type in ctx.data_types:
            for length in LONG_AXES:
                yield self._build(ctx.but(data_types=(data_type,)), (1,) * (ctx.ranks[0] - 1) + (length,))

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        return {"value_data_type": int(types[DATA]), **self.numbers(ctx, types[DATA])}

    def numbers(self, ctx: Context, data_type: DataType) -> Mapping[str, int | float]:
        return {"value": any_number(ctx, data_type)}


class SequenceBuilder(ConstantBuilder[FillValue]):
    """FILL_VALUE_SEQUENCE, of a start and a step."""

    def numbers(self, ctx: Context, data_type: DataType) -> Mapping[str, int | float]:
        """Small ones, so that many elements are exact; an unsigned type goes up or down past its ends."""
        start, step = ctx.chooser.integer(-60, 60), ctx.chooser.integer(-3, 3)
        if data_type.limits is None:
            return {"value_start": start / 4, "value_delta": step / 8}
        low, high = data_type.limits
        if low < 0:
            return {"value_start": max(low, min(start, high)), "value_delta": step}
        return {"value_start": start % (high + 1), "value_delta": step % (high + 1)}


BUILDERS = {
    "FILL_VALUE_CONSTANT": ConstantBuilder("FILL_VALUE_CONSTANT"),
    "FILL_VALUE_SEQUENCE": SequenceBuilder("FILL_VALUE_SEQUENCE"),
}
