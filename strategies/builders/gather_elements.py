"""Descriptors of GATHER_ELEMENTS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, Builder, four, matrix, plainest
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


class GatherElementsBuilder(Builder):
    """GATHER_ELEMENTS."""

    _desc: Any = descriptor_classes()["GATHER_ELEMENTS"]

    def build(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, rank, ctx.chooser.integer(0, rank - 1))

    def edges(self, ctx: Context) -> Iterator[Any]:
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, rank, axis)
        for axis in range(4):
            desc = resize(self._build(plainest(ctx), 4, axis), "input_tensor", (2, 2, 2, 2))
            yield with_fitting_output(resize(desc, "indices_tensor", (2, 2, 2, 2)))
        for length in LONG_AXES:
            rank = ctx.ranks[0]
            desc = self._build(ctx.but(layout="packed"), rank, rank - 1)
            desc = resize(desc, "input_tensor", (1,) * (rank - 1) + (length,))
            yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 1) + (40,)))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        rank = ctx.ranks[-1]
        desc = self._build(ctx.but(layout="packed"), rank, rank - 2)
        ones = (1,) * (rank - 2)
        desc = resize(desc, "input_tensor", (*ones, *sizes))
        yield with_fitting_output(resize(desc, "indices_tensor", (*ones, 3, sizes[1])))

    def large(self, ctx: Context, size: int) -> Any:
        """Every element by an index of its own, along the last axis."""
        data_type, index_type = ctx.data_types[0], ctx.index_types[0]
        sizes_ = four(*matrix(size, data_type.size))
        data = TensorDesc.of(data_type, sizes_)
        return self._desc(data, TensorDesc.of(index_type, sizes_), data, 3)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        return self._along(ctx, sizes, place, FAR_INDICES)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        before, count, after = sizes
        return self._along(ctx, (before, SHORT_AXIS, after), 1, count)

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """Axis + 1 starts again at 0."""
        yield edit(self._along(ctx, (2, 3, 5), 2, 4), axis=UINT32_MAX)

    def _along(self, ctx: Context, sizes: tuple[int, ...], place: int, count: int) -> Any:
        """So many elements along one dimension of an input of three."""
        data_type, index_type = ctx.data_types[0], ctx.index_types[0]
        source = TensorDesc.of(data_type, four(*sizes))
        indices = TensorDesc.of(index_type, four(*sizes[:place], count, *sizes[place + 1 :]))
        return with_fitting_output(self._desc(source, indices, TensorDesc(data_type, ()), 1 + place))

    def _build(self, ctx: Context, rank: int, axis: int) -> Any:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        least = 2 if ctx.spread else 1
        along_axis = chooser.integer(least, 6)
        input_sizes = sizes(ctx, rank, least)
        index_sizes = (*input_sizes[:axis], along_axis, *input_sizes[axis + 1 :])
        chooser.section()
        return self._desc(
            tensor(ctx, data_type, input_sizes),
            tensor(ctx, index_type, index_sizes),
            tensor(ctx, data_type, index_sizes, output=True),
            axis,
        )


BUILDERS = {"GATHER_ELEMENTS": GatherElementsBuilder()}
