"""What the builders of operators that work along an axis share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dml_conformance.spec.structures import Gather, GatherElements
from dml_conformance.spec.tensor import MAX_ELEMENTS, UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import (
    FAR_INDICES,
    LONG_AXES,
    SHORT_AXIS,
    Builder,
    four,
    leading_ones,
    plainest,
)
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D, edit, resize, with_fitting_output

Sizes = tuple[int, ...]
MOST_ALONG = 2**24  # elements that a result of a case of scale is made of


def wide(sizes: Sequence[int]) -> list[int]:
    """The dimensions of more than one element; raises Impossible where there is none."""
    found = [d for d, size in enumerate(sizes) if size > 1]
    if not found:
        raise Impossible
    return found


def last_wide(sizes: Sequence[int]) -> int:
    """The last one of these."""
    return wide(sizes)[-1]


def shortest_wide(sizes: Sequence[int]) -> int:
    """The shortest one of these."""
    return min(wide(sizes), key=sizes.__getitem__)


def chosen_axes(ctx: Context) -> tuple[int, Sizes]:
    """A dimension count, and some of its axes, in ascending order: no page says what another order means."""
    rank = ctx.chooser.choice(ctx.ranks)
    chosen = ctx.chooser.integer(1, 2**rank - 1)
    return rank, tuple(d for d in range(rank) if chosen >> d & 1)


class AlongBuilder(Builder[D]):
    """Of an operator with Axis, or Axes."""

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> D:
        """A valid descriptor with packed tensors, the first of these sizes, that works along one axis."""
        raise NotImplementedError

    def of_sizes(self, ctx: Context, sizes: Sizes) -> D:
        return self.along(ctx, sizes, last_wide(sizes))

    def vast(self, ctx: Context, sizes: Sizes) -> D:
        """As others of these sizes; where all along the last dimension are too many to compute with, along the
        shortest."""
        found = leading_ones(ctx, *sizes)
        if found[last_wide(found)] <= MOST_ALONG:
            return self.of_sizes(ctx, found)
        return self.along(ctx, found, shortest_wide(found))

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> D:
        if sizes[place] > self.longest_axis:
            raise Impossible
        every = leading_ones(ctx, *sizes)
        return self.along(ctx, every, len(every) - len(sizes) + place)

    def wrapping(self, ctx: Context) -> Iterator[D]:
        """An axis + 1 starts again at 0."""
        desc = self.along(ctx, (1, 2, 3, 5), 3)
        yield edit(desc, **({"axes": (UINT32_MAX,)} if hasattr(desc, "axes") else {"axis": UINT32_MAX}))


class ReductionBuilder(AlongBuilder[D]):
    """Of an operator that makes one element of those along Axes."""

    def along_axes(self, ctx: Context, sizes: Sizes, axes: Sizes) -> D:
        """A valid descriptor with packed tensors, the first of these sizes."""
        raise NotImplementedError

    def chosen_axes(self, ctx: Context) -> tuple[int, Sizes]:
        """A dimension count and axes, not all of them where the output has more than one element."""
        rank, axes = chosen_axes(ctx)
        return rank, axes[1:] if ctx.spread and len(axes) == rank else axes

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> D:
        return self.along_axes(ctx, sizes, (axis,))

    def vast(self, ctx: Context, sizes: Sizes) -> D:
        """Of one of two, or of one where there is no room for more."""
        *_, before, count, after = leading_ones(ctx, *sizes)
        choices = 2 if 2 * before * count * after <= MAX_ELEMENTS else 1
        return self.along_axes(ctx, (choices, before, count, after), (0,))


def reduced(sizes: Sizes, axes: Sizes) -> Sizes:
    """With 1 along some axes."""
    return tuple(1 if d in axes else size for d, size in enumerate(sizes))


class IndicesBuilder(Builder[Gather | GatherElements]):
    """Of an operator that takes elements of an input along Axis by the indices in another tensor.

    Attributes:
        members: those after Axis, of one dimension of indices.
    """

    members: tuple[int, ...] = ()

    def of_axis(self, ctx: Context, rank: int, axis: int) -> Gather | GatherElements:
        """A valid descriptor, of one dimension of indices."""
        raise NotImplementedError

    def index_sizes(self, sizes: Sizes, axis: int, count: int) -> Sizes:
        """Those of so many indices along an axis of an input of these sizes."""
        raise NotImplementedError

    def edges(self, ctx: Context) -> Iterator[Gather | GatherElements]:
        """Two of two elements along every axis; long ones."""
        for axis in range(4):
            yield self._resized(self.of_axis(plainest(ctx), 4, axis), (2, 2, 2, 2), 2)
        rank = ctx.ranks[0]
        for length in LONG_AXES:
            desc = self.of_axis(ctx.but(layout="packed"), rank, rank - 1)
            yield self._resized(desc, (1,) * (rank - 1) + (length,), 40)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Gather | GatherElements]:
        rank = ctx.ranks[-1]
        desc = self.of_axis(ctx.but(layout="packed"), rank, rank - 2)
        yield self._resized(desc, (1,) * (rank - 2) + sizes, 3)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> Gather | GatherElements:
        return self.along(ctx, sizes, place, FAR_INDICES)

    def vast(self, ctx: Context, sizes: Sizes) -> Gather | GatherElements:
        before, count, after = sizes
        return self.along(ctx, (before, SHORT_AXIS, after), 1, count)

    def wrapping(self, ctx: Context) -> Iterator[Gather | GatherElements]:
        """An axis + 1 starts again at 0."""
        yield edit(self.along(ctx, (2, 3, 5), 2, 4), axis=UINT32_MAX)

    def along(self, ctx: Context, sizes: Sizes, place: int, count: int) -> Gather | GatherElements:
        """So many indices along one dimension of an input of three."""
        data_type, axis = ctx.data_types[0], 1 + place
        source = TensorDesc.of(data_type, four(*sizes))
        indices = TensorDesc.of(ctx.index_types[0], self.index_sizes(source.sizes, axis, count))
        return with_fitting_output(self._desc(source, indices, TensorDesc(data_type, ()), axis, *self.members))

    def _resized(self, desc: Gather | GatherElements, sizes: Sizes, count: int) -> Gather | GatherElements:
        """With an input of these sizes, and so many indices."""
        indices = self.index_sizes(sizes, desc.axis, count)
        return with_fitting_output(resize(resize(desc, "input_tensor", sizes), "indices_tensor", indices))
