"""Descriptors of AVERAGE_POOLING, AVERAGE_POOLING1, QUANTIZED_LINEAR_AVERAGE_POOLING and of the gradient."""

from __future__ import annotations

from math import prod
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.operators.average_pooling import QUANTIZED, per_channel, quantization
from dml_conformance.spec.structures import (
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
    AveragePoolingGrad,
)
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders._pooling import PoolingBuilder, Sizes
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D, resize
from dml_conformance.strategies.tensors import tensor

MOST_POOLED = 2**25  # elements


class AveragePoolingBuilder(PoolingBuilder[D]):
    """With the padding counted, or without."""

    ways = (False, True)

    def rest(self, ctx: Context, way: Any) -> tuple[Any, ...]:
        return (ctx.chooser.choice(self.ways) if way is None else way,)


class AveragePoolingGradBuilder(AveragePoolingBuilder[AveragePoolingGrad]):
    """The gradient, whose output is the image."""

    def tensors(self, ctx: Context, data_type: DataType, shown: Sizes, pooled: Sizes) -> tuple[Any, ...]:
        return tensor(ctx, data_type, pooled), tensor(ctx, data_type, shown, output=True)


class QuantizedAveragePoolingBuilder(AveragePoolingBuilder[DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC]):
    """With scales for all or by channel, one time in four without a zero point."""

    def vast(self, ctx: Context, sizes: Sizes) -> DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC:
        """Of so many elements that their means are none too many to compute."""
        if MOST_POOLED < prod(sizes) <= MAX_ELEMENTS:
            raise Impossible
        return super().vast(ctx, sizes)

    def tensors(self, ctx: Context, data_type: DataType, shown: Sizes, pooled: Sizes) -> tuple[Any, ...]:
        output_type = ctx.chooser.choice(ctx.types["quantized"])
        (scale_type,) = ctx.types["scales"]
        of_input = self._quantization(ctx, scale_type, data_type, shown)
        of_output = self._quantization(ctx, scale_type, output_type, shown)
        return tensor(ctx, data_type, shown), *of_input, *of_output, tensor(ctx, output_type, pooled, output=True)

    def _quantization(self, ctx: Context, scale_type: DataType, data_type: DataType, shown: Sizes) -> tuple[Any, Any]:
        chooser, by_channel = ctx.chooser, (1, *shown[1:2], *(1,) * (len(shown) - 2))
        counts = sorted(ctx.table["InputScaleTensor"].dimension_counts)
        sizes = by_channel if chooser.integer(0, 1) else (1,) * chooser.choice(counts)
        is_given = ctx.complete or chooser.integer(0, 3) < 3
        return tensor(ctx, scale_type, sizes), tensor(ctx, data_type, sizes) if is_given else None

    def break_quantization_sizes(self, ctx: Context) -> DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC:
        """One channel more or less, or as many numbers along another dimension."""
        desc = self.build(ctx.but(complete=True, spread=True))
        wanted = per_channel(desc)
        channels = wanted[1]
        wrong = ctx.chooser.variant(((1, channels + 1), (1, channels - 1 or 3), (channels, 1), (1, 1)))
        last = channels if wrong == (1, 1) else 1
        return self._resized(desc, ctx.chooser.variant((0, 1)), (*wrong, *wanted[2:-1], last))

    def break_quantization_dimension_count(self, ctx: Context) -> DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC:
        """A vector, or channels with a dimension more or less."""
        desc = self.build(ctx.but(complete=True, spread=True))
        wanted = per_channel(desc)
        other = (*wanted, 1) if len(wanted) == 4 else wanted[:-1]
        return self._resized(desc, ctx.chooser.variant((0, 1)), ctx.chooser.variant((wanted[1:2], other)))

    def _resized(self, desc: D, place: int, sizes: Sizes) -> D:
        """With other sizes of the scale and zero point of the input, or of the output."""
        for name, _ in quantization(desc)[2 * place : 2 * place + 2]:
            desc = resize(desc, attribute_of(name), sizes)
        return desc

    def break_zero_point_sizes(self, ctx: Context) -> DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC:
        """One zero point beside scales by channel, the other way round, or one of other dimensions."""
        desc = self.build(ctx.but(complete=True, spread=True))
        one, by_channel = (1,) * len(desc.input_tensor.sizes), per_channel(desc)
        place = ctx.chooser.variant((0, 1))
        scale, zero_point = ctx.chooser.variant(((by_channel, one), (one, by_channel), (one, (1,))))
        (name, _), (other, _) = quantization(desc)[2 * place : 2 * place + 2]
        return resize(resize(desc, attribute_of(name), scale), attribute_of(other), zero_point)


BUILDERS = {
    QUANTIZED: QuantizedAveragePoolingBuilder(QUANTIZED),
    "AVERAGE_POOLING": AveragePoolingBuilder("AVERAGE_POOLING"),
    "AVERAGE_POOLING1": AveragePoolingBuilder("AVERAGE_POOLING1"),
    "AVERAGE_POOLING_GRAD": AveragePoolingGradBuilder("AVERAGE_POOLING_GRAD"),
}
