"""Descriptors of SLICE, SLICE1 and SLICE_GRAD."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import INT32_MIN
from dml_conformance.spec.operators.slice import most_copied, sliced
from dml_conformance.spec.structures import DML_SLICE1_OPERATOR_DESC, DML_SLICE_OPERATOR_DESC, SliceGrad
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, Builder, four, leading_ones
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D, edit, put, resize_at
from dml_conformance.strategies.tensors import sizes, tensor


@dataclass(frozen=True)
class _Walk:
    """The elements taken along one dimension: `first + step * n` for n from 0 to `count - 1`."""

    first: int
    count: int
    step: int

    @property
    def window(self) -> tuple[int, int]:
        """Offset and size of the least window that has them."""
        reach = (self.count - 1) * abs(self.step)
        return self.first - (reach if self.step < 0 else 0), reach + 1


def _whole(size: int) -> _Walk:
    return _Walk(0, size, 1)


def _backwards(size: int) -> _Walk:
    return _Walk(size - 1, size, -1)


def _far(size: int) -> _Walk:
    """About `FAR_INDICES` elements of a dimension, the last one among them."""
    step = max(1, (size - 1) // (FAR_INDICES - 1))
    return _Walk((size - 1) % step, 1 + (size - 1) // step, step)


class _SlicesBuilder(Builder[D]):
    """What slices have in common: they are made from the walks along each dimension of the larger tensor.

    Attributes:
        all: the walk through all elements of a dimension.
    """

    all: Callable[[int], _Walk] = staticmethod(_whole)

    def of_walks(self, ctx: Context, data_type: DataType, whole: tuple[int, ...], walks: Sequence[_Walk]) -> D:
        """The descriptor that takes these elements of a tensor of the sizes `whole`."""
        raise NotImplementedError

    def some(self, ctx: Context, size: int, least: int) -> _Walk:
        """Some elements of a dimension, at least so many."""
        count = ctx.chooser.integer(least, size)
        step = ctx.chooser.integer(1, (size - 1) // (count - 1) if count > 1 else size + 1)
        return _Walk(ctx.chooser.integer(0, size - 1 - step * (count - 1)), count, step)

    def build(self, ctx: Context) -> D:
        rank, data_type = ctx.chooser.choice(ctx.ranks), ctx.chooser.choice(ctx.data_types)
        whole = sizes(ctx, rank, ctx.least)
        widest = max(range(rank), key=whole.__getitem__)
        least = [2 if ctx.spread and d == widest else 1 for d in range(rank)]
        walks = [self.some(ctx, size, count) for size, count in zip(whole, least, strict=True)]
        ctx.chooser.section()
        return self.of_walks(ctx, data_type, whole, walks)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> D:
        return self.of_walks(ctx.but(layout="packed"), ctx.data_types[0], sizes, [self.all(size) for size in sizes])

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> D:
        whole = leading_ones(ctx, *sizes)
        walks = [self.all(size) for size in whole]
        walks[place - 3] = _far(whole[place - 3])
        return self.of_walks(ctx.but(layout="packed"), ctx.data_types[0], whole, walks)

    def edges(self, ctx: Context) -> Iterator[D]:
        """In each dimension in turn: its first element, its last one, both, and every second one; long axes."""
        yield from self._in_turn(ctx, _Walk(0, 1, 1), _Walk(4, 1, 1), _Walk(0, 2, 4), _Walk(1, 2, 2))
        for length in LONG_AXES:
            rank = ctx.ranks[0]
            whole = (1,) * (rank - 1) + (length,)
            walks = [_whole(1)] * (rank - 1) + [_far(length)]
            yield self.of_walks(ctx, ctx.chooser.choice(ctx.data_types), whole, walks)

    def _in_turn(self, ctx: Context, *every: _Walk) -> Iterator[D]:
        """Walks along each dimension in turn, of five elements, with all of two along the others."""
        for rank in ctx.ranks:
            for d in range(rank):
                whole = put((2,) * rank, d, 5)
                for walk in every:
                    walks = put(tuple(map(_whole, whole)), d, walk)
                    yield self.of_walks(ctx, ctx.chooser.choice(ctx.data_types), whole, walks)


class SliceBuilder(_SlicesBuilder[DML_SLICE_OPERATOR_DESC]):
    """SLICE."""

    def of_walks(
        self, ctx: Context, data_type: DataType, whole: tuple[int, ...], walks: Sequence[_Walk]
    ) -> DML_SLICE_OPERATOR_DESC:
        taken = tuple(walk.count for walk in walks)
        source, output = tensor(ctx, data_type, whole), tensor(ctx, data_type, taken, output=True)
        offsets, steps = tuple(walk.first for walk in walks), tuple(walk.step for walk in walks)
        return self._desc(source, output, offsets, taken, steps)

    def edges(self, ctx: Context) -> Iterator[DML_SLICE_OPERATOR_DESC]:
        yield from super().edges(ctx)
        one = self.of_sizes(ctx, (1,) * ctx.ranks[0])
        yield edit(one, strides=(UINT32_MAX,) * ctx.ranks[0])  # of one element none is a step away

    def wrapping(self, ctx: Context) -> Iterator[DML_SLICE_OPERATOR_DESC]:
        """The last element is a multiple of 2^32 away, or the first is just before it."""
        desc = self.of_sizes(ctx, four(2, 3, 5))
        for d, stride, offset in (
            (1, 2**32 - 1, 1),
            (2, 2**31, 0),
            (3, 2**30, 0),
            (3, 1, UINT32_MAX),
            (1, 1, UINT32_MAX),
        ):
            yield edit(desc, strides=put(desc.strides, d, stride), offsets=put(desc.offsets, d, offset))

    def break_bounds(self, ctx: Context) -> DML_SLICE_OPERATOR_DESC:
        """One element too far, or far too far."""
        desc = self.build(ctx.but(spread=True))
        d = max(range(len(desc.sizes)), key=desc.sizes.__getitem__)
        steps, room = desc.sizes[d] - 1, desc.input_tensor.sizes[d]
        far = ctx.chooser.variant((0, 1, 2**31))
        if ctx.chooser.variant(("offset", "stride")) == "offset":
            return edit(desc, offsets=put(desc.offsets, d, room - desc.strides[d] * steps + far))
        stride = -(-(room - desc.offsets[d]) // steps)
        return edit(desc, strides=put(desc.strides, d, stride + far))


class WindowBuilder(_SlicesBuilder[DML_SLICE1_OPERATOR_DESC | SliceGrad]):
    """SLICE1 and SLICE_GRAD."""

    all = staticmethod(_backwards)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_gradient = name == "SLICE_GRAD"

    def some(self, ctx: Context, size: int, least: int) -> _Walk:
        walk = super().some(ctx, size, least)
        if ctx.chooser.integer(0, 1):
            return _Walk(walk.first + walk.step * (walk.count - 1), walk.count, -walk.step)
        return walk

    def of_walks(
        self, ctx: Context, data_type: DataType, whole: tuple[int, ...], walks: Sequence[_Walk]
    ) -> DML_SLICE1_OPERATOR_DESC | SliceGrad:
        windows = [walk.window for walk in walks]
        if ctx.layout != "packed":  # the window may be larger than what is copied, where the first element stays
            windows = [self._widened(ctx, *it) for it in zip(windows, walks, whole, strict=True)]
        offsets, lengths = (tuple(window[n] for window in windows) for n in range(2))
        part = tuple(walk.count for walk in walks)
        sources = (part, whole) if self._is_gradient else (whole, part)
        steps = tuple(walk.step for walk in walks)
        first, second = (tensor(ctx, data_type, of, output=bool(n)) for n, of in enumerate(sources))
        return self._desc(first, second, offsets, lengths, steps)

    def _widened(self, ctx: Context, window: tuple[int, int], walk: _Walk, size: int) -> tuple[int, int]:
        """A window with some elements more at the end that the walk goes to."""
        offset, length = window
        if walk.step > 0:
            return offset, length + ctx.chooser.integer(0, size - offset - length)
        more = ctx.chooser.integer(0, offset)
        return offset - more, length + more

    def edges(self, ctx: Context) -> Iterator[DML_SLICE1_OPERATOR_DESC | SliceGrad]:
        yield from super().edges(ctx)
        yield from self._in_turn(ctx, _backwards(5), _Walk(4, 2, -4), _Walk(3, 2, -2))
        one = self.of_sizes(ctx, (1,) * ctx.ranks[0])
        for stride in (2**31 - 1, INT32_MIN + 1, INT32_MIN):  # of one element none is a step away
            yield edit(one, input_window_strides=(stride,) * ctx.ranks[0])

    def wrapping(self, ctx: Context) -> Iterator[DML_SLICE1_OPERATOR_DESC | SliceGrad]:
        """The window ends a little more than 2^32 elements after the first one; so does a walk in it."""
        desc = self.of_sizes(ctx, four(2, 3, 5))
        for stride in (2**30, -(2**30)):
            yield edit(desc, input_window_strides=put(desc.input_window_strides, 3, stride))
        for d in range(1, 4):
            size = desc.input_window_sizes[d]
            yield edit(desc, input_window_offsets=put(desc.input_window_offsets, d, 2**32 - size))
            yield edit(desc, input_window_offsets=put(desc.input_window_offsets, d, 2**32 - 1))

    def break_window_range(self, ctx: Context) -> DML_SLICE1_OPERATOR_DESC | SliceGrad:
        """One element too far, or far too far; by the offset or the size."""
        desc = self.build(ctx)
        d = ctx.chooser.integer(0, len(desc.input_window_sizes) - 1)
        offset, size, room = desc.input_window_offsets[d], desc.input_window_sizes[d], sliced(desc).sizes[d]
        far = 1 + ctx.chooser.variant((0, 1, 2**31))
        if ctx.chooser.variant(("offset", "size")) == "offset":
            return edit(desc, input_window_offsets=put(desc.input_window_offsets, d, room - size + far))
        return edit(desc, input_window_sizes=put(desc.input_window_sizes, d, room - offset + far))

    def break_output_sizes(self, ctx: Context) -> DML_SLICE1_OPERATOR_DESC | SliceGrad:
        """More elements than the window has."""
        desc = self.build(ctx)
        d = ctx.chooser.integer(0, len(desc.input_window_sizes) - 1)
        most = most_copied(desc)[d]
        key = "input_gradient_tensor" if self._is_gradient else "output_tensor"
        return resize_at(desc, key, d, ctx.chooser.variant((most + 1, 2 * most + 1)))

    break_input_sizes = break_output_sizes  # of the gradient


BUILDERS = {
    "SLICE": SliceBuilder("SLICE"),
    "SLICE1": WindowBuilder("SLICE1"),
    "SLICE_GRAD": WindowBuilder("SLICE_GRAD"),
}
