"""Descriptors of DYNAMIC_QUANTIZE_LINEAR."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from dml_conformance.spec.operators.dynamic_quantize import DYNAMIC_QUANTIZE_LINEAR
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES, Builder, four, plainest
from dml_conformance.strategies.builders._element_wise import LONGEST_AXIS
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import sizes, tensor

MOST = 2**25  # elements of a range that cases are executed with


class DynamicQuantizeBuilder(Builder):
    longest_axis = LONGEST_AXIS

    def build(self, ctx: Context) -> Any:
        return self._build(ctx, sizes(ctx, ctx.chooser.choice(ctx.ranks), 2 if ctx.spread else 1))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._build(plainest(ctx), sizes)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """Of so many elements, all of which the range is of, that they are none too many to compute it."""
        if MOST < prod(sizes) <= MAX_ELEMENTS:
            raise Impossible
        return super().vast(ctx, sizes)

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Every dimension count, single elements, long axes, and BERT's hidden states of a few tokens, in all types."""
        for rank in ctx.ranks:
            yield self.build(ctx.of_rank(rank, rank))
        ones = (1,) * (ctx.ranks[0] - 1)
        for quantized in ctx.types["quantized"]:
            for data_type in ctx.data_types:
                plain = ctx.but(data_types=(data_type,), layout="packed").of_types("quantized", (quantized,))
                for length in (1, 2, *LONG_AXES):
                    yield self._build(plain, (*ones, length))
                yield self._build(plain, four(5, 768))

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        data_type, quantized = (ctx.chooser.choice(types) for types in (ctx.data_types, ctx.types["quantized"]))
        one = (1,) * len(sizes)
        return DYNAMIC_QUANTIZE_LINEAR.desc(
            tensor(ctx, data_type, sizes),
            tensor(ctx, quantized, sizes, output=True),
            tensor(ctx, ctx.types["OutputScaleTensor"][0], one, output=True),
            tensor(ctx, quantized, one, output=True),
        )


BUILDERS = {"DYNAMIC_QUANTIZE_LINEAR": DynamicQuantizeBuilder()}
