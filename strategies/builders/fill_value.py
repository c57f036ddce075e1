"""Descriptors of FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.builders._scalars import any_number
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor


class FillBuilder(Builder):
    """One of the two; the first takes one number, the second a start and a step."""

    def __init__(self, name: str) -> None:
        self._desc: Any = descriptor_classes()[name]
        self._numbers = {"FILL_VALUE_CONSTANT": _constant, "FILL_VALUE_SEQUENCE": _start_and_step}[name]

    def build(self, ctx: Context) -> Any:
        return self._build(ctx, sizes(ctx, ctx.chooser.choice(ctx.ranks), 2 if ctx.spread else 1))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes)

    def edges(self, ctx: Context) -> Iterator[Any]:
        for rank in ctx.ranks:
            yield self.build(ctx.of_rank(rank, rank))
        ones = (1,) * (ctx.ranks[0] - 1)
        for data_type in ctx.data_types:
            for length in LONG_AXES:
                yield self._build(ctx.but(data_types=(data_type,)), (*ones, length))

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        data_type = ctx.chooser.choice(ctx.data_types)
        output = tensor(ctx, data_type, sizes, output=True)
        return self._desc(output, int(data_type), *self._numbers(ctx, data_type))


def _constant(ctx: Context, data_type: DataType) -> tuple[int | float, ...]:
    return (any_number(ctx, data_type),)


def _start_and_step(ctx: Context, data_type: DataType) -> tuple[int | float, ...]:
    """Small ones, so that many elements are exact; an unsigned type goes up or down past its ends."""
    start, step = ctx.chooser.integer(-60, 60), ctx.chooser.integer(-3, 3)
    if data_type.limits is None:
        return start / 4, step / 8
    low, high = data_type.limits
    if low < 0:
        return max(low, min(start, high)), step
    return start % (high + 1), step % (high + 1)


BUILDERS = {name: FillBuilder(name) for name in ("FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE")}
