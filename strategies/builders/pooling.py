"""Descriptors of MAX_POOLING and LP_POOLING in all versions, and of MAX_POOLING_GRAD."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import Pooling, PoolingGrad
from dml_conformance.strategies.builders._pooling import PoolingBuilder, Sizes
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import tensor


class IndexedPoolingBuilder(PoolingBuilder[Pooling | PoolingGrad]):
    """With the indices three times in four."""

    def tensors(self, ctx: Context, data_type: DataType, shown: Sizes, pooled: Sizes) -> tuple[Any, ...]:
        index_type = ctx.chooser.choice(ctx.index_types)
        is_given = ctx.complete or ctx.chooser.integer(0, 3) < 3
        indices = tensor(ctx, index_type, pooled, output=True) if is_given else None
        return (*super().tensors(ctx, data_type, shown, pooled), indices)


class LpPoolingBuilder(PoolingBuilder[Pooling | PoolingGrad]):
    """Mostly with the powers that networks have."""

    ways = (1, 2, 3, 4)

    def rest(self, ctx: Context, way: Any) -> tuple[Any, ...]:
        return (ctx.chooser.choice((2, 1, 2, 3, 4, 6)) if way is None else way,)


class MaxPoolingGradBuilder(PoolingBuilder[Pooling | PoolingGrad]):
    """The gradient, which has one for each window, and an output like the image."""

    def tensors(self, ctx: Context, data_type: DataType, shown: Sizes, pooled: Sizes) -> tuple[Any, ...]:
        given = tensor(ctx, data_type, shown), tensor(ctx, data_type, pooled)
        return (*given, tensor(ctx, data_type, shown, output=True))


BUILDERS = {
    "MAX_POOLING": PoolingBuilder("MAX_POOLING"),
    "MAX_POOLING1": IndexedPoolingBuilder("MAX_POOLING1"),
    "MAX_POOLING2": IndexedPoolingBuilder("MAX_POOLING2"),
    "LP_POOLING": LpPoolingBuilder("LP_POOLING"),
    "LP_POOLING1": LpPoolingBuilder("LP_POOLING1"),
    "MAX_POOLING_GRAD": MaxPoolingGradBuilder("MAX_POOLING_GRAD"),
}
