"""Descriptors of TOP_K and TOP_K1; K is below the size along Axis, as the page has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import TopK
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, leading_ones
from dml_conformance.strategies.builders._indexing import AlongBuilder, Sizes, shortest_wide
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import put
from dml_conformance.strategies.tensors import sizes, tensor

INDEX_GROUP = "OutputIndexTensor"


class TopKBuilder(AlongBuilder[TopK]):
    """TOP_K, or TOP_K1, which has a direction."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._directions: Sizes = ()
        if "axis_direction" in self._spec.desc.__struct_fields__:
            self._directions = tuple(int(value) for value in enumeration("DML_AXIS_DIRECTION"))

    def build(self, ctx: Context) -> TopK:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, rank, ctx.chooser.integer(0, rank - 1))

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> TopK:
        """Half of the elements along the axis."""
        return self._along(ctx, sizes, axis, max(sizes[axis] // 2, 1))

    def edges(self, ctx: Context) -> Iterator[TopK]:
        """Every axis, the least and the largest K, long axes."""
        plain = ctx.but(layout="packed")
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, rank, axis)
            for k in (1, 5):
                for direction in self._directions or (None,):
                    yield self._along(plain, (1,) * (rank - 1) + (6,), rank - 1, k, direction)
        for length in LONG_AXES:
            for direction in self._directions or (None,):
                rank = ctx.ranks[0]
                yield self._along(plain, (1,) * (rank - 1) + (length,), rank - 1, 40, direction)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[TopK]:
        """Half of each row, and all but one of it."""
        yield from super().huge(ctx, sizes)
        if sizes[1] > 1:
            yield self._along(ctx, (1,) * (ctx.ranks[-1] - 2) + sizes, ctx.ranks[-1] - 1, sizes[1] - 1)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> TopK:
        all_sizes = leading_ones(ctx, *sizes)
        k = max(min(sizes[place] - 1, FAR_INDICES), 1)
        return self._along(ctx, all_sizes, len(all_sizes) - 3 + place, k)

    def vast(self, ctx: Context, sizes: Sizes) -> TopK:
        """All but one of the elements along the shortest dimension, as all of them are put in order."""
        all_sizes = leading_ones(ctx, *sizes)
        axis = shortest_wide(all_sizes)
        k = all_sizes[axis]
        return self._along(ctx, (*all_sizes[:axis], k + 1, *all_sizes[axis + 1 :]), axis, k)

    def _along(self, ctx: Context, sizes: Sizes, axis: int, k: int, direction: int | None = None) -> TopK:
        types = ctx.data_types[0], ctx.types[INDEX_GROUP][0]
        directions = self._directions[-1:] if direction is None else (direction,)
        return self._of(ctx.but(layout="packed"), types, sizes, axis, k, *directions)

    def _build(self, ctx: Context, rank: int, axis: int) -> TopK:
        chooser = ctx.chooser
        types = chooser.choice(ctx.data_types), chooser.choice(ctx.types[INDEX_GROUP])
        others = sizes(ctx, rank - 1, ctx.least)
        k = chooser.integer(ctx.least, 5)
        size = k + chooser.integer(1, 4)
        directions = (chooser.choice(self._directions),) if self._directions else ()
        chooser.section()
        return self._of(ctx, types, (*others[:axis], size, *others[axis:]), axis, k, *directions)

    def _of(self, ctx: Context, types: Sequence[DataType], sizes: Sizes, axis: int, k: int, *directions: int) -> TopK:
        selected = put(sizes, axis, k)
        outputs = (tensor(ctx, data_type, selected, output=True) for data_type in types)
        return self._desc(tensor(ctx, types[0], sizes), *outputs, axis, k, *directions)


BUILDERS = {name: TopKBuilder(name) for name in ("TOP_K", "TOP_K1")}
