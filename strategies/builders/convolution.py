"""Descriptors of CONVOLUTION."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.operators._windows import FIRST, Window
from dml_conformance.strategies.builders import Builder, matrix
from dml_conformance.strategies.builders._fused import (
    chosen_activation,
    every_activation,
)
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


class ConvolutionBuilder(Builder):
    """CONVOLUTION."""

    _desc: Any = descriptor_classes()["CONVOLUTION"]

    def __init__(self) -> None:
        self.violations = {
            "window-fits": self.break_window_fits,
            "forward-output-padding": self.break_forward_output_padding,
        }

    def build(self, ctx: Context) -> Any:
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
        desc = self._build(ctx, data_type, batch, Channels(*channels), shown, windows, direction)
        return desc if rank >= FIRST else _of_one_dimension(desc)

    def plain(self, ctx: Context) -> Any:
        sizes = (3, 4, 2)[: ctx.ranks[-1] - FIRST]
        return self._build(ctx, ctx.data_types[0], 1, Channels(), sizes, (PLAIN,) * len(sizes), FORWARD)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Any:
        """With windows of one element, a group for each channel, and neither bias nor activation."""
        if len(sizes) not in ctx.ranks:
            raise Impossible
        batch, channels, *shown = sizes
        windows = (PLAIN,) * len(shown)
        desc = self._build(
            ctx.but(layout="packed"), ctx.data_types[0], batch, Channels(channels), shown, windows, FORWARD
        )
        return edit(desc, bias_tensor=None, fused_activation=None)

    def large(self, ctx: Context, size: int) -> Any:
        """Windows of 3 x 3 elements of 4 channels, for as many."""
        rows, columns = matrix(size // 4, ctx.data_types[0].size)
        windows = (Window(3, 1, 1, 1, 1),) * 2
        plain = ctx.but(layout="packed")
        desc = self._build(plain, ctx.data_types[0], 1, Channels(1, 4, 4), (rows, columns), windows, FORWARD)
        return edit(desc, fused_activation=None)

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Windows in both directions and modes, groups, every activation."""
        choice, types = ctx.chooser.choice, ctx.data_types
        for rank in ctx.ranks:
            for n, (shown, windows) in enumerate(edges_of(rank - FIRST)):
                for direction in (FORWARD, BACKWARD):
                    every = tuple(map(_written, windows, (n % 3,) * 3)) if direction == BACKWARD else windows
                    sizes = tuple(min(size, 9) for size in shown) if direction == BACKWARD else shown
                    yield self._build(ctx, choice(types), 1, Channels(1, 2, 2), sizes, every, direction, n % 2)
            two = ((3,) * (rank - FIRST), (Window(2, 1, 1, 0, 1),) * (rank - FIRST))
            for channels, direction in product(((3, 1, 1), (3, 1, 2), (2, 3, 2), (1, 40, 3)), (FORWARD, BACKWARD)):
                yield self._build(ctx, choice(types), 2, Channels(*channels), *two, direction)
        for activation in every_activation(ctx.level):
            desc = self._build(ctx, choice(types), 1, Channels(1, 3, 2), *two, choice((FORWARD, BACKWARD)))
            yield edit(desc, fused_activation=activation)

    def break_window_fits(self, ctx: Context) -> Any:
        """A padding that takes away all that windows cover, or a filter larger than the padded input."""
        desc = self.build(ctx)
        d = ctx.chooser.integer(0, len(desc.strides) - 1)
        if desc.direction == BACKWARD:
            size = desc.output_tensor.sizes[FIRST + d] - desc.output_padding[d]
            return with_entry(ctx, desc, "end_padding", desc.end_padding[d] + size, d)
        padded = desc.input_tensor.sizes[FIRST + d] + desc.start_padding[d] + desc.end_padding[d]
        return resize_at(with_entry(ctx, desc, "dilations", 1, d), "filter_tensor", FIRST + d, padded + 1)

    def break_forward_output_padding(self, ctx: Context) -> Any:
        desc = self.plain(ctx)
        d = ctx.chooser.integer(0, len(desc.strides) - 1)
        size = desc.output_tensor.sizes[FIRST + d]
        return resize_at(with_entry(ctx, desc, "output_padding", 1, d), "output_tensor", FIRST + d, size + 1)

    def _build(
        self,
        ctx: Context,
        data_type: DataType,
        batch: int,
        channels: Channels,
        shown: Any,
        windows: tuple[Window, ...],
        direction: int,
        mode: int | None = None,
    ) -> Any:
        """An input of these spatial sizes; bias, mode and activation are chosen."""
        ctx.chooser.section()
        backward = direction == BACKWARD
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


def _of_one_dimension(desc: Any) -> Any:
    """The descriptor with tensors of a single dimension, which no level has."""
    for key in ("input_tensor", "filter_tensor", "bias_tensor", "output_tensor"):
        desc = resize(desc, key, (2,)) if getattr(desc, key) is not None else desc
    return desc


def _written(window: Window, added: int) -> Window:
    """One that is written to: its padding takes away no more than it reaches over, so that some is left."""
    room = window.reach - 1
    before = min(window.before, room)
    return window._replace(before=before, behind=min(window.behind, room - before), added=added)


BUILDERS = {"CONVOLUTION": ConvolutionBuilder()}
