"""Descriptors of CONVOLUTION, and of convolutions of integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators._windows import FIRST, Window
from dml_conformance.spec.operators.convolution import INTEGER, LINEAR, is_backward
from dml_conformance.spec.structures import Convolution
from dml_conformance.strategies.builders import Builder, matrix, plainest
from dml_conformance.strategies.builders._fused import chosen_activation, every_activation
from dml_conformance.strategies.builders._quantization import chosen_ranks
from dml_conformance.strategies.builders._windows import (
    PLAIN,
    chosen_image,
    chosen_windows,
    edges_of,
    entries_of,
    with_entry,
)
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize, resize_at
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]
FORWARD, BACKWARD = 0, 1


class Channels(NamedTuple):
    """Groups, and the channels of each that come in and go out."""

    groups: int = 1
    given: int = 1
    made: int = 1


# One and several of each, in one group and in several.
CHANNELS = (Channels(3, 1, 1), Channels(3, 1, 2), Channels(2, 3, 2), Channels(1, 40, 3))


class Geometry(NamedTuple):
    """What is convolved: so many inputs of these channels and spatial sizes, with what slides along these."""

    batch: int
    channels: Channels
    shown: Sequence[int]
    windows: tuple[Window, ...]


class PlainBuilder(Builder[Convolution]):
    """What convolutions have in common: plain ones, without anything that is optional."""

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Convolution:
        """With windows of one element, and a group for each channel."""
        if len(sizes) not in ctx.ranks or len(sizes) <= FIRST:
            raise Impossible
        batch, channels, *shown = sizes
        return self._plain(ctx, Geometry(batch, Channels(channels), shown, (PLAIN,) * len(shown)))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Convolution]:
        """An input and an output that large, and a filter."""
        yield from super().huge(ctx, sizes)
        made, given = sizes
        shown = (1,) * (ctx.ranks[-1] - FIRST)
        yield self._plain(ctx, Geometry(1, Channels(1, given, made), shown, (PLAIN,) * len(shown)))

    def break_window_fits(self, ctx: Context) -> Convolution:
        """A padding that takes away all that windows cover, or a filter larger than the padded input."""
        desc = self.build(ctx)
        d = ctx.chooser.integer(0, len(desc.strides) - 1)
        if desc.operator == "CONVOLUTION" and is_backward(desc):
            size = desc.output_tensor.sizes[FIRST + d] - desc.output_padding[d]
            return with_entry(ctx, desc, "end_padding", desc.end_padding[d] + size, d)
        padded = desc.input_tensor.sizes[FIRST + d] + desc.start_padding[d] + desc.end_padding[d]
        return resize_at(with_entry(ctx, desc, "dilations", 1, d), "filter_tensor", FIRST + d, padded + 1)

    def _plain(self, ctx: Context, geometry: Geometry) -> Convolution:
        raise NotImplementedError


class ConvolutionBuilder(PlainBuilder):
    """CONVOLUTION."""

    def build(self, ctx: Context) -> Convolution:
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        windows = chosen_windows(ctx, max(rank - FIRST, 0))
        direction = chooser.choice((FORWARD, BACKWARD))
        if direction == BACKWARD:
            windows = tuple(_written(window, chooser.integer(0, 2)) for window in windows)
        batch, *channels = chooser.several(1, 2, 4)
        if ctx.spread:
            channels[2] = 2
        shown = chooser.several(1, 4, len(windows)) if direction == BACKWARD else chosen_image(ctx, windows)
        data_type = chooser.choice(ctx.data_types)
        desc = self._build(ctx, data_type, Geometry(batch, Channels(*channels), shown, windows), direction)
        return desc if rank >= FIRST else _of_one_dimension(desc)

    def plain(self, ctx: Context) -> Convolution:
        sizes = (3, 4, 2)[: ctx.ranks[-1] - FIRST]
        return self._build(ctx, ctx.data_types[0], Geometry(1, Channels(), sizes, (PLAIN,) * len(sizes)), FORWARD)

    def large(self, ctx: Context, size: int) -> Convolution:
        """Windows of 3 x 3 elements of 4 channels, for as many."""
        rows, columns = matrix(size // 4, ctx.data_types[0].size)
        geometry = Geometry(1, Channels(1, 4, 4), (rows, columns), (Window(3, 1, 1, 1, 1),) * 2)
        desc = self._build(ctx.but(layout="packed"), ctx.data_types[0], geometry, FORWARD)
        return edit(desc, fused_activation=None)

    def edges(self, ctx: Context) -> Iterator[Convolution]:
        """Windows in both directions and modes, groups, every activation."""
        choice, types = ctx.chooser.choice, ctx.data_types
        for rank in ctx.ranks:
            for n, (shown, windows) in enumerate(edges_of(rank - FIRST)):
                for direction in (FORWARD, BACKWARD):
                    every = tuple(map(_written, windows, (n % 3,) * 3)) if direction == BACKWARD else windows
                    sizes = tuple(min(size, 9) for size in shown) if direction == BACKWARD else shown
                    geometry = Geometry(1, Channels(1, 2, 2), sizes, every)
                    yield self._build(ctx, choice(types), geometry, direction, n % 2)
            two = ((3,) * (rank - FIRST), (Window(2, 1, 1, 0, 1),) * (rank - FIRST))
            for channels, direction in product(CHANNELS, (FORWARD, BACKWARD)):
                yield self._build(ctx, choice(types), Geometry(2, channels, *two), direction)
        for activation in every_activation(ctx.level):
            geometry = Geometry(1, Channels(1, 3, 2), *two)
            desc = self._build(ctx, choice(types), geometry, choice((FORWARD, BACKWARD)))
            yield edit(desc, fused_activation=activation)

    def break_forward_output_padding(self, ctx: Context) -> Convolution:
        desc = self.plain(ctx)
        d = ctx.chooser.integer(0, len(desc.strides) - 1)
        size = desc.output_tensor.sizes[FIRST + d]
        return resize_at(with_entry(ctx, desc, "output_padding", 1, d), "output_tensor", FIRST + d, size + 1)

    def _plain(self, ctx: Context, geometry: Geometry) -> Convolution:
        desc = self._build(ctx.but(layout="packed"), ctx.data_types[0], geometry, FORWARD)
        return edit(desc, bias_tensor=None, fused_activation=None)

    def _build(
        self, ctx: Context, data_type: DataType, geometry: Geometry, direction: int, mode: int | None = None
    ) -> Convolution:
        """Bias and activation are chosen, and so is the mode where it is None."""
        ctx.chooser.section()
        (batch, channels, shown, windows), backward = geometry, direction == BACKWARD
        every = list(zip(windows, shown, strict=True))
        output = [window.covered(size) if backward else window.count(size) for window, size in every]
        ends = (channels.given, channels.made) if backward else (channels.made, channels.given)
        sizes, strides, dilations, before, behind, added = entries_of(windows)
        made = channels.groups * channels.made
        filters, source, result = (
            tensor(ctx, data_type, (*leading, *spatial), output=is_output)
            for leading, spatial, is_output in (
                ((channels.groups * ends[0], ends[1]), sizes, False),
                ((batch, channels.groups * channels.given), shown, False),
                ((batch, made), output, True),
            )
        )
        bias = tensor(ctx, data_type, (1, made, *(1,) * len(windows)))
        chosen = bias if ctx.complete or ctx.chooser.choice((True, False)) else None
        mode = ctx.chooser.choice((1, 0)) if mode is None else mode
        arrays = (strides, dilations, before, behind, added, channels.groups, chosen_activation(ctx))
        return self._desc(source, filters, chosen, result, mode, direction, *arrays)


# Layers of networks, smaller along the image than these have it: the first one of ResNet, a depthwise and a pointwise
# one of MobileNet, one of two groups of ShuffleNet.
LAYERS = (
    Geometry(1, Channels(1, 3, 8), (21, 21), (Window(7, 2, 1, 3, 3),) * 2),
    Geometry(1, Channels(24, 1, 1), (9, 9), (Window(3, 2, 1, 0, 1),) * 2),
    Geometry(1, Channels(1, 96, 24), (5, 5), (PLAIN,) * 2),
    Geometry(1, Channels(2, 24, 12), (4, 4), (Window(3, 1, 1, 1, 1),) * 2),
)


class IntegerConvolutionBuilder(PlainBuilder):
    """A convolution of integers."""

    def build(self, ctx: Context) -> Convolution:
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        windows = chosen_windows(ctx, max(rank - FIRST, 0))
        batch, *channels = chooser.several(1, 2, 4)
        if ctx.spread:
            channels[2] = 2
        desc = self._build(ctx, Geometry(batch, Channels(*channels), chosen_image(ctx, windows), windows))
        return desc if rank >= FIRST else _of_one_dimension(desc)

    def large(self, ctx: Context, size: int) -> Convolution:
        """Windows of 3 x 3 elements of 4 channels, for as many, of as many elements as 2 bytes have."""
        rows, columns = matrix(size // 4, 2)
        return self._plain(ctx, Geometry(1, Channels(1, 4, 4), (rows, columns), (Window(3, 1, 1, 1, 1),) * 2))

    def edges(self, ctx: Context) -> Iterator[Convolution]:
        """Windows, groups, scales and zero points for all and for each channel, there and not; sequences; layers."""
        for rank in ctx.ranks:
            for shown, windows in edges_of(rank - FIRST):
                yield self._build(ctx, Geometry(1, Channels(1, 2, 2), shown, windows))
            two = ((3,) * (rank - FIRST), (Window(2, 1, 1, 1, 1),) * (rank - FIRST))
            for channels in CHANNELS:
                yield self._build(ctx, Geometry(2, channels, *two))
            for is_each, is_given in product((False, True), (False, True)):
                yield self._build(ctx, Geometry(1, Channels(2, 2, 2), *two), is_each=is_each, is_given=is_given)
        for shown in ((2,), (7,)):
            yield self._plain(ctx, Geometry(1, Channels(1, 2, 3), shown, (Window(1, 3, 3, 1, 2),)))
        for layer in LAYERS:
            yield self._build(ctx.but(layout="packed"), layer, is_each=True, is_given=True)

    def _plain(self, ctx: Context, geometry: Geometry) -> Convolution:
        return self._build(plainest(ctx), geometry, is_each=False, is_given=False)

    def _build(
        self, ctx: Context, geometry: Geometry, *, is_each: bool | None = None, is_given: bool | None = None
    ) -> Convolution:
        """Whether scale and zero point of the filter are for each channel, and whether what is optional is given, each
        of it alone, is chosen where it is None."""
        chooser, (batch, channels, shown, windows) = ctx.chooser, geometry
        chooser.section()
        counts = [window.count(size) for window, size in zip(windows, shown, strict=True)]
        sizes, strides, dilations, before, behind, _ = entries_of(windows)
        made = channels.groups * channels.made
        whole = {
            "InputTensor": (batch, channels.groups * channels.given, *shown),
            "FilterTensor": (made, channels.given, *sizes),
            "BiasTensor": (1, made, *(1,) * len(windows)),
            "OutputTensor": (batch, made, *counts),
        }
        types = {group: chooser.choice(every) for group, every in ctx.types.items()}
        ranks = dict(chosen_ranks(ctx, self._spec))
        if "FilterScaleTensor" in ranks:  # whose dimensions the zero point has as well, though no rule asks for it
            ranks["FilterZeroPointTensor"] = ranks["FilterScaleTensor"]
        is_each = chooser.choice((False, True)) if is_each is None else is_each
        tensors: dict[str, Any] = {}
        for field in self._spec.tensor_fields:
            is_there = ctx.complete or (chooser.integer(0, 3) < 3 if is_given is None else is_given)
            if field.optional and not is_there:
                tensors[field.attribute] = None
                continue
            of_each = (1, made if is_each and field.name.startswith("Filter") else 1, 1, 1)
            of_sizes = whole.get(field.name) or of_each[: ranks[field.name]]
            tensors[field.attribute] = tensor(ctx, types[self._spec.group(field)], of_sizes, output=field.is_output)
        arrays = {"strides": strides, "dilations": dilations, "start_padding": before, "end_padding": behind}
        return self._desc(**tensors, **arrays, group_count=channels.groups)


def _of_one_dimension(desc: Convolution) -> Convolution:
    """The descriptor with tensors of a single dimension, which no level has."""
    for key in ("input_tensor", "filter_tensor", "bias_tensor", "output_tensor"):
        desc = resize(desc, key, (2,)) if getattr(desc, key, None) is not None else desc
    return desc


def _written(window: Window, added: int) -> Window:
    """One that is written to: its padding takes away no more than it reaches over, so that some is left."""
    room = window.reach - 1
    before = min(window.before, room)
    return window._replace(before=before, behind=min(window.behind, room - before), added=added)


BUILDERS = {
    "CONVOLUTION": ConvolutionBuilder("CONVOLUTION"),
    INTEGER: IntegerConvolutionBuilder(INTEGER),
    LINEAR: IntegerConvolutionBuilder(LINEAR),
}
