"""Descriptors of AVERAGE_POOLING1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.operators._windows import FIRST, Window
from dml_conformance.strategies.builders import Builder, matrix
from dml_conformance.strategies.builders._windows import (
    PLAIN,
    chosen_image,
    chosen_windows,
    edges_of,
    entries_of,
)
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]


class AveragePoolingBuilder(Builder):
    """AVERAGE_POOLING1."""

    _desc: Any = descriptor_classes()["AVERAGE_POOLING1"]

    def build(self, ctx: Context) -> Any:
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        windows = chosen_windows(ctx, max(rank - FIRST, 0))
        batch, channels = chooser.integer(1, 2), chooser.integer(2 if ctx.spread else 1, 3)
        shown = (batch, channels, *chosen_image(ctx, windows))
        return self._build(ctx, chooser.choice(ctx.data_types), shown[:rank], windows)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Any:
        """With windows of one element."""
        if len(sizes) not in ctx.ranks:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], sizes)

    def large(self, ctx: Context, size: int) -> Any:
        """Windows of 3 x 3 elements, next to each other."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        windows = (Window(3, 1, 1, 1, 1),) * 2
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (1, 1, rows, columns), windows)

    def edges(self, ctx: Context) -> Iterator[Any]:
        """All of them with the padding counted, and without."""
        for rank in ctx.ranks:
            for shown, windows in edges_of(rank - FIRST):
                for is_counted in (False, True):
                    data_type = ctx.chooser.choice(ctx.data_types)
                    yield self._build(ctx, data_type, (1, 2, *shown), windows, is_counted)

    def _build(
        self,
        ctx: Context,
        data_type: DataType,
        shown: Sizes,
        windows: tuple[Window, ...] | None = None,
        is_counted: bool | None = None,
    ) -> Any:
        """An image of these sizes; windows of one element, and whether the padding counts, where it is not given."""
        ctx.chooser.section()
        windows = (PLAIN,) * (len(shown) - FIRST) if windows is None else windows
        sizes, strides, dilations, before, behind, _ = entries_of(windows)
        output = (*shown[:FIRST], *(window.count(size) for size, window in zip(shown[FIRST:], windows, strict=True)))
        tensors = tensor(ctx, data_type, shown), tensor(ctx, data_type, output, output=True)
        is_counted = ctx.chooser.choice((False, True)) if is_counted is None else is_counted
        return self._desc(*tensors, strides, sizes, before, behind, dilations, is_counted)


BUILDERS = {"AVERAGE_POOLING1": AveragePoolingBuilder()}
