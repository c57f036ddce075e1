"""Descriptors of UNFOLD and FOLD."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators._windows import Window
from dml_conformance.spec.operators.fold import image
from dml_conformance.spec.structures import Fold
from dml_conformance.strategies.builders import Builder, matrix
from dml_conformance.strategies.builders._windows import EDGES, PLAIN, chosen_image, chosen_windows, entries_of
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import edit, resize
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]


class FoldBuilder(Builder[Fold]):
    """UNFOLD or FOLD."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_fold = name == "FOLD"
        self._blocks = "input_tensor" if self._is_fold else "output_tensor"

    def build(self, ctx: Context) -> Fold:
        """Whatever the window is, the image is large enough for some of them."""
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        batch, channels = chooser.integer(1, 2), chooser.integer(ctx.least, 3)
        windows = chosen_windows(ctx, max(rank - 2, 0))
        shown = (batch, channels, *chosen_image(ctx, windows))
        return self._build(ctx, chooser.choice(ctx.data_types), shown[:rank], windows)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Fold:
        """With windows of one element, so that the blocks are the image again; of FOLD these are the blocks' sizes."""
        if len(sizes) not in ctx.ranks or len(sizes) < 3:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], sizes)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Fold]:
        yield self.of_sizes(ctx, (1, *sizes))

    def large(self, ctx: Context, size: int) -> Fold:
        """A row, in windows of 4 that overlap by half."""
        rows, columns = matrix(size // 2, ctx.data_types[0].size)
        windows = (Window(4, 2, 1, 0, 0),)
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (1, rows, columns), windows)

    def edges(self, ctx: Context) -> Iterator[Fold]:
        """Along one dimension, and along two."""
        for size, window in EDGES:
            yield self._build(ctx, ctx.chooser.choice(ctx.data_types), (1, 2, size), (window,))
            if 4 in ctx.ranks:
                both = (Window(2, 1, 1, 0, 1), window)
                yield self._build(ctx, ctx.chooser.choice(ctx.data_types), (2, 1, 3, size), both)

    def break_unnamed_data_types(self, ctx: Context) -> Fold:
        """Another type of either tensor or of both."""
        desc = self.build(ctx)
        keys = ctx.chooser.variant((("input_tensor", "output_tensor"), ("input_tensor",), ("output_tensor",)))
        data_type = ctx.chooser.choice(SIMPLEST_FIRST[1:9])
        changed = {key: tensor(ctx.but(layout="packed"), data_type, getattr(desc, key).sizes) for key in keys}
        return edit(desc, **changed)

    def break_blocks_dimension_count(self, ctx: Context) -> Fold:
        """Leading ones, up to the image's count or by one."""
        desc = self.build(ctx.of_rank(4))
        found, count = getattr(desc, self._blocks).sizes, len(image(desc).sizes)
        return resize(desc, self._blocks, (1,) * (ctx.chooser.variant((count, 4)) - 3) + found)

    def _build(
        self, ctx: Context, data_type: DataType, shown: Sizes, windows: tuple[Window, ...] | None = None
    ) -> Fold:
        """An image of these sizes and its blocks; of windows of one element where none are given."""
        ctx.chooser.section()
        windows = (PLAIN,) * (len(shown) - 2) if windows is None else windows
        sizes, strides, dilations, before, behind, _ = entries_of(windows)
        counts = [window.count(size) for size, window in zip(shown[2:], windows, strict=True)]
        blocks = (shown[0], shown[1] * prod(sizes), prod(counts)) if len(shown) > 2 else shown
        source, output = (blocks, shown) if self._is_fold else (shown, blocks)
        tensors = tensor(ctx, data_type, source), tensor(ctx, data_type, output, output=True)
        return self._desc(*tensors, sizes, strides, dilations, before, behind)


BUILDERS = {name: FoldBuilder(name) for name in ("FOLD", "UNFOLD")}
