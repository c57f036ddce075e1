"""Descriptors of DYNAMIC_QUANTIZE_LINEAR."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dml_conformance.spec.operator import Field
from dml_conformance.spec.operators.dynamic_quantize import NAME
from dml_conformance.spec.structures import DynamicQuantize
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES, four
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder, Sizes
from dml_conformance.strategies.context import Context, Impossible

MOST = 2**25  # elements of a range that cases are executed with


class DynamicQuantizeBuilder(ElementWiseBuilder[DynamicQuantize]):
    shares_layouts = False

    def vast(self, ctx: Context, sizes: Sizes) -> DynamicQuantize:
        """Of so many elements, all of which the range is of, that they are none too many to compute it."""
        if MOST < prod(sizes) <= MAX_ELEMENTS:
            raise Impossible
        return super().vast(ctx, sizes)

    def edges(self, ctx: Context) -> Iterator[DynamicQuantize]:
        """Every dimension count, single elements, long axes, and BERT's hidden states of a few tokens, in all types."""
        yield from self.of_every_rank(ctx)
        for quantized in ctx.types["quantized"]:
            for data_type in ctx.data_types:
                plain = ctx.but(data_types=(data_type,), layout="packed").of_types("quantized", (quantized,))
                for length in (1, 2, *LONG_AXES):
                    yield self._build(plain, (1,) * (ctx.ranks[0] - 1) + (length,))
                yield self._build(plain, four(5, 768))

    def sizes_of(self, field: Field, sizes: Sizes) -> Sizes:
        """One scale and one zero point."""
        return sizes if field.name in ("InputTensor", "OutputTensor") else (1,) * len(sizes)


BUILDERS = {NAME: DynamicQuantizeBuilder(NAME)}
