"""What the builders of poolings share: windows over an image, of whatever each of them becomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators._windows import FIRST, Window
from dml_conformance.strategies.builders import Builder, matrix
from dml_conformance.strategies.builders._windows import PLAIN, chosen_image, chosen_windows, edges_of, entries_of
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]
Windows = tuple[Window, ...]
# Layers of networks, with fewer channels and smaller images: their spatial sizes, and what slides along both.
LAYERS: tuple[tuple[int, Window], ...] = (
    (17, Window(3, 2, 1, 1, 1)),  # ResNet: 3 x 3, every other one
    (15, Window(3, 2, 1, 0, 0)),  # AlexNet and SqueezeNet: without padding, what is left at the end is dropped
    (16, Window(2, 2, 1, 0, 0)),  # VGG: side by side
    (9, Window(3, 1, 1, 1, 1)),  # Inception: as many windows as elements
    (7, Window(7, 1, 1, 0, 0)),  # the last one of most: all of it
    (13, Window(5, 1, 1, 2, 2)),  # SPPF of YOLO
)


class PoolingBuilder(Builder[D]):
    """One such operator, whose windows have gaps if it has Dilations.

    Attributes:
        ways: what the members after the arrays may be, where that changes what becomes of windows.
    """

    ways: Sequence[Any] = (None,)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._has_gaps = any(field.name == "Dilations" for field in self._spec.desc.fields)

    def build(self, ctx: Context) -> D:
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        windows = self._of_operator(chosen_windows(ctx, max(rank - FIRST, 0)))
        batch, channels = chooser.integer(1, 2), chooser.integer(ctx.least, 3)
        shown = (batch, channels, *chosen_image(ctx, windows))
        return self._build(ctx, chooser.choice(ctx.data_types), shown[:rank], windows)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> D:
        """With windows of one element."""
        if len(sizes) not in ctx.ranks:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], sizes)

    def large(self, ctx: Context, size: int) -> D:
        """Windows of 2 x 2 elements that overlap, as many as there are elements."""
        rows, columns = matrix(size, max(ctx.data_types[0].size, 2))  # indices have up to 8 bytes
        windows, way = (Window(2, 1, 1, 0, 1),) * 2, self.ways[-1]
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (1, 1, rows, columns), windows, way)

    def edges(self, ctx: Context) -> Iterator[D]:
        """All of them in every way that there is, and those of networks."""
        for rank in ctx.ranks:
            for shown, windows in edges_of(rank - FIRST):
                for way in self.ways:
                    data_type = ctx.chooser.choice(ctx.data_types)
                    yield self._build(ctx, data_type, (1, 2, *shown), self._of_operator(windows), way)
        for size, window in LAYERS if 4 in ctx.ranks else ():
            yield self._build(ctx, ctx.chooser.choice(ctx.data_types), (1, 3, size, size), (window, window))

    def rest(self, ctx: Context, way: Any) -> tuple[Any, ...]:
        """The members after the arrays; one way of those above, or any."""
        return ()

    def tensors(self, ctx: Context, data_type: DataType, shown: Sizes, pooled: Sizes) -> tuple[Any, ...]:
        """The tensors, of an image and of what has an element for each window."""
        return tensor(ctx, data_type, shown), tensor(ctx, data_type, pooled, output=True)

    def _of_operator(self, windows: Windows) -> Windows:
        """Windows as the operator can have them."""
        return windows if self._has_gaps else tuple(window._replace(dilation=1) for window in windows)

    def _build(
        self, ctx: Context, data_type: DataType, shown: Sizes, windows: Windows | None = None, way: Any = None
    ) -> D:
        """An image of these sizes; windows of one element where none are given."""
        ctx.chooser.section()
        windows = (PLAIN,) * (len(shown) - FIRST) if windows is None else windows
        sizes, strides, dilations, before, behind, _ = entries_of(windows)
        pooled = (*shown[:FIRST], *(window.count(size) for size, window in zip(shown[FIRST:], windows, strict=True)))
        arrays = (strides, sizes, before, behind, *((dilations,) if self._has_gaps else ()))
        return self._desc(*self.tensors(ctx, data_type, shown, pooled), *arrays, *self.rest(ctx, way))
