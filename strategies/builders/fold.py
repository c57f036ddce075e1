"""Descriptors of UNFOLD and FOLD."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.operators.fold import ARRAYS, image
from dml_conformance.strategies.builders import Builder, matrix
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import edit, resize, resize_at
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]
Steps = tuple[int, int, int, int, int]  # of one dimension: window, stride, dilation, padding before and behind

PLAIN: Steps = (1, 1, 1, 0, 0)


class FoldBuilder(Builder):
    """UNFOLD or FOLD.

    Args:
        name: of the operator.
    """

    def __init__(self, name: str) -> None:
        self._desc: Any = descriptor_classes()[name]
        self._is_fold = name == "FOLD"
        self._blocks = "input_tensor" if self._is_fold else "output_tensor"
        self.violations = {
            "unnamed-data-types": self.break_unnamed_data_types,
            "blocks-dimension-count": self.break_blocks_dimension_count,
            "array-counts": self.break_array_counts,
            "above-0": self.break_above_0,
            "dilations": self.break_dilations,
            "window-fits": self.break_window_fits,
        }
        if self._is_fold:
            self.violations["output-sizes"] = self.break_output_sizes

    def build(self, ctx: Context) -> Any:
        """Whatever the window is, the image is large enough for some of them."""
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        spatial = max(rank - 2, 0)
        batch, channels = chooser.integer(1, 2), chooser.integer(2 if ctx.spread else 1, 3)
        steps = tuple(self._steps(ctx, spatial) for _ in range(spatial))
        more = chooser.several(0, 3 if spatial < 3 else 1, spatial)
        shown = tuple(max(_reach(step) + room - step[3] - step[4], 1) for step, room in zip(steps, more, strict=True))
        return self._build(ctx, chooser.choice(ctx.data_types), (batch, channels, *shown)[:rank], steps)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Any:
        """With windows of one element, so that the blocks are the image again; of FOLD these are the blocks' sizes."""
        rank = len(sizes)
        if rank not in ctx.ranks or rank < 3:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], sizes, (PLAIN,) * (rank - 2))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        yield self.of_sizes(ctx, (1, *sizes))

    def large(self, ctx: Context, size: int) -> Any:
        """A row, in windows of 4 that overlap by half."""
        rows, columns = matrix(size // 2, ctx.data_types[0].size)
        steps: Steps = (4, 2, 1, 0, 0)
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (1, rows, columns), (steps,))

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Windows of one element and of all, strides beyond the window, gaps, padding on one side alone."""
        every: tuple[tuple[int, Steps], ...] = (
            (1, (1, 1, 1, 0, 0)),
            (5, (5, 1, 1, 0, 0)),
            (7, (2, 3, 1, 0, 0)),
            (7, (3, 2, 1, 0, 0)),
            (7, (3, 1, 2, 0, 0)),
            (7, (2, 2, 5, 1, 2)),
            (3, (2, 1, 1, 4, 0)),
            (3, (2, 1, 1, 0, 4)),
            (1, (3, 1, 1, 1, 1)),
            (300, (3, 2, 1, 1, 0)),
        )
        for size, steps in every:
            yield self._build(ctx, ctx.chooser.choice(ctx.data_types), (1, 2, size), (steps,))
            if 4 in ctx.ranks:
                yield self._build(ctx, ctx.chooser.choice(ctx.data_types), (2, 1, 3, size), ((2, 1, 1, 0, 1), steps))

    def break_unnamed_data_types(self, ctx: Context) -> Any:
        """Another type of either tensor or of both."""
        desc = self.build(ctx)
        keys = ctx.chooser.variant((("input_tensor", "output_tensor"), ("input_tensor",), ("output_tensor",)))
        data_type = ctx.chooser.choice(SIMPLEST_FIRST[1:9])
        changed = {key: tensor(ctx.but(layout="packed"), data_type, getattr(desc, key).sizes) for key in keys}
        return edit(desc, **changed)

    def break_blocks_dimension_count(self, ctx: Context) -> Any:
        """Leading ones, up to the image's count or by one."""
        desc = self.build(ctx.of_rank(4))
        found, count = getattr(desc, self._blocks).sizes, len(image(desc).sizes)
        return resize(desc, self._blocks, (1,) * (ctx.chooser.variant((count, 4)) - 3) + found)

    def break_array_counts(self, ctx: Context) -> Any:
        """An entry too many or too few in all arrays, or none."""
        desc = self.build(ctx)
        change = ctx.chooser.variant(("more", "fewer", "none"))
        entries = dict(zip(ARRAYS.values(), PLAIN, strict=True))
        if change == "more":
            return edit(desc, **{name: (*getattr(desc, name), entry) for name, entry in entries.items()})
        return edit(desc, **{name: () if change == "none" else getattr(desc, name)[1:] for name in entries})

    def break_above_0(self, ctx: Context) -> Any:
        desc = self.build(ctx)
        return self._with(ctx, desc, ctx.chooser.variant(("window_sizes", "strides")), 0)

    def break_dilations(self, ctx: Context) -> Any:
        """In windows of one element, where it changes nothing."""
        desc = self._build(ctx, ctx.data_types[0], (1, 2, 3, 4)[: ctx.of_rank(3, 4).ranks[-1]], None)
        return self._with(ctx, desc, "dilations", 0)

    def break_window_fits(self, ctx: Context) -> Any:
        """A dimension of the image smaller than the window, by one or more."""
        desc = self.build(ctx.but(spread=True))
        d = ctx.chooser.integer(0, len(desc.strides) - 1)
        size = image(desc).sizes[2 + d]
        return self._with(ctx, desc, "window_sizes", size + desc.start_padding[d] + desc.end_padding[d] + 1, d)

    def break_output_sizes(self, ctx: Context) -> Any:
        """Another batch or channel; spatial sizes of the output may be others in earnest."""
        desc = self.build(ctx)
        d = ctx.chooser.variant((0, 1))
        return resize_at(desc, "output_tensor", d, desc.output_tensor.sizes[d] + 1)

    def _with(self, ctx: Context, desc: Any, name: str, entry: int, d: int | None = None) -> Any:
        entries = getattr(desc, name)
        d = ctx.chooser.integer(0, len(entries) - 1) if d is None else d
        return edit(desc, **{name: (*entries[:d], entry, *entries[d + 1 :])})

    def _steps(self, ctx: Context, spatial: int) -> Steps:
        most = 3 if spatial < 3 else 2
        window, stride, dilation = ctx.chooser.several(1, most, 3)
        before, behind = ctx.chooser.several(0, 2 if spatial < 3 else 1, 2)
        return window, stride, dilation, before, behind

    def _build(self, ctx: Context, data_type: DataType, shown: Sizes, steps: tuple[Steps, ...] | None) -> Any:
        """An image of these sizes and its blocks; without steps, of windows of one element."""
        ctx.chooser.section()
        steps = (PLAIN,) * (len(shown) - 2) if steps is None else steps
        window, stride, dilation, before, behind = zip(*steps, strict=True) if steps else ((),) * 5
        counts = [
            (size + step[3] + step[4] - _reach(step)) // step[1] + 1
            for size, step in zip(shown[2:], steps, strict=True)
        ]
        blocks = (shown[0], shown[1] * prod(window), prod(counts)) if len(shown) > 2 else shown
        source, output = (blocks, shown) if self._is_fold else (shown, blocks)
        tensors = tensor(ctx, data_type, source), tensor(ctx, data_type, output, output=True)
        return self._desc(*tensors, window, stride, dilation, before, behind)


def _reach(steps: Steps) -> int:
    """Elements from the first to the last one of a window."""
    window, _, dilation, _, _ = steps
    return dilation * (window - 1) + 1


BUILDERS = {name: FoldBuilder(name) for name in ("FOLD", "UNFOLD")}
