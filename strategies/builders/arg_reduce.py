"""Descriptors of ARGMIN and ARGMAX."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.tensor import MAX_ELEMENTS, TensorDesc
from dml_conformance.strategies.builders import LONG_AXES, leading_ones
from dml_conformance.strategies.builders._indexing import AlongBuilder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor

INDEX_GROUP = "OutputTensor"
INCREASING, DECREASING = (int(value) for value in enumeration("DML_AXIS_DIRECTION"))


class ArgReduceBuilder(AlongBuilder):
    """ARGMIN or ARGMAX.

    Args:
        operator: its name.
    """

    def __init__(self, operator: str) -> None:
        self._desc: Any = descriptor_classes()[operator]

    def build(self, ctx: Context) -> Any:
        """Any axes, in ascending order: no page says what another order means."""
        rank = ctx.chooser.choice(ctx.ranks)
        chosen = ctx.chooser.integer(1, 2**rank - 1)
        axes = tuple(d for d in range(rank) if chosen >> d & 1)
        if ctx.spread and len(axes) == rank:
            axes = axes[1:]
        return self._build(ctx, rank, axes)

    def along(self, ctx: Context, sizes: tuple[int, ...], axis: int) -> Any:
        return self._along(ctx, sizes, (axis,))

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Every pair of neighbouring axes, all and none, both directions; long axes."""
        for rank in ctx.ranks:
            for axes in {(), tuple(range(rank)), *combinations(range(rank), min(2, rank))}:
                yield self._build(ctx, rank, axes)
        for length in LONG_AXES:
            for direction in (INCREASING, DECREASING):
                yield self._along(ctx, (1,) * (ctx.ranks[0] - 1) + (length,), (ctx.ranks[0] - 1,), direction)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """The indices of one of two, or of one where there is no room for more."""
        *_, before, count, after = leading_ones(ctx, *sizes)
        choices = 2 if 2 * before * count * after <= MAX_ELEMENTS else 1
        return self._along(ctx, (choices, before, count, after), (0,))

    def _along(self, ctx: Context, sizes: tuple[int, ...], axes: tuple[int, ...], direction: int = INCREASING) -> Any:
        output = TensorDesc.of(ctx.types[INDEX_GROUP][0], _reduced(sizes, axes))
        return self._desc(TensorDesc.of(ctx.data_types[0], sizes), output, axes, direction)

    def _build(self, ctx: Context, rank: int, axes: tuple[int, ...]) -> Any:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.types[INDEX_GROUP])
        direction = chooser.choice((INCREASING, DECREASING))
        input_sizes = sizes(ctx, rank, 2 if ctx.spread else 1)
        chooser.section()
        output = tensor(ctx, index_type, _reduced(input_sizes, axes), output=True)
        return self._desc(tensor(ctx, data_type, input_sizes), output, axes, direction)


def _reduced(sizes: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if d in axes else size for d, size in enumerate(sizes)])


BUILDERS = {name: ArgReduceBuilder(name) for name in ("ARGMIN", "ARGMAX")}
