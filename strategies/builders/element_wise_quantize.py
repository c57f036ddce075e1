"""Descriptors of ELEMENT_WISE_QUANTIZE_LINEAR, _DEQUANTIZE_LINEAR and _QUANTIZED_LINEAR_ADD."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, Field
from dml_conformance.spec.operators.element_wise_quantize import ADD, DEQUANTIZE, QUANTIZE, scale_data_type
from dml_conformance.spec.structures import ElementWiseQuantize
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D

SCALE = "ScaleTensor"  # the group of the scales' type


class QuantizeBuilder(ElementWiseBuilder[D]):
    """One of the two, from 6_2 on one time in four without zero points."""

    def is_given(self, ctx: Context, field: Field) -> bool:
        may_miss = field.optional and ctx.level >= Level.L6_2 and not ctx.complete
        return not may_miss or ctx.chooser.integer(0, 3) < 3


class QuantizeLinearBuilder(QuantizeBuilder[ElementWiseQuantize]):
    """QUANTIZE_LINEAR, whose scales have the type of what is scaled."""

    def types(self, ctx: Context) -> Mapping[str, DataType]:
        found = super().types(ctx)
        pairs = list(product(ctx.types[DATA], ctx.types[SCALE]))
        fitting = [(of, scale) for of, scale in pairs if scale is scale_data_type(of)]
        if not fitting and found[SCALE] in ctx.table[SCALE].data_types:
            fitting = [(of, scale_data_type(of)) for of in ctx.types[DATA]]
        data_type, scale = ctx.chooser.choice(fitting or pairs)
        return {**found, DATA: data_type, SCALE: scale}


class QuantizedAddBuilder(ElementWiseBuilder[ElementWiseQuantize]):
    """QUANTIZED_LINEAR_ADD; each zero point is missing one time in four."""

    shares_layouts = False
    SINGLE = ("ScaleTensor", "ZeroPointTensor")

    def is_given(self, ctx: Context, field: Field) -> bool:
        return not field.optional or ctx.complete or ctx.chooser.integer(0, 3) < 3

    def sizes_of(self, field: Field, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return (1,) * len(sizes) if field.name.endswith(self.SINGLE) else sizes

    def edges(self, ctx: Context) -> Iterator[ElementWiseQuantize]:
        """Besides, the sum of two branches of ResNet-50, of a few channels, in all types."""
        yield from super().edges(ctx)
        for a, b, output in product(ctx.data_types, repeat=3) if 4 in ctx.ranks else ():
            types = {DATA: (a,), "B": (b,), "Output": (output,)}
            yield self._build(ctx.but(types={**ctx.types, **types}, layout="packed"), (1, 8, 14, 14))


BUILDERS = {
    QUANTIZE: QuantizeLinearBuilder(QUANTIZE),
    DEQUANTIZE: QuantizeBuilder(DEQUANTIZE),
    ADD: QuantizedAddBuilder(ADD),
}
