"""Descriptors of ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, Field
from dml_conformance.spec.operators.element_wise_quantize import DEQUANTIZE, QUANTIZE, scale_data_type
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.context import Context

SCALE = "ScaleTensor"  # the group of the scales' type


class QuantizeBuilder(ElementWiseBuilder):
    """One of the two, from 6_2 on one time in four without zero points."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def is_given(self, ctx: Context, field: Field) -> bool:
        may_miss = field.optional and ctx.level >= Level.L6_2 and not ctx.complete
        return not may_miss or ctx.chooser.integer(0, 3) < 3


class QuantizeLinearBuilder(QuantizeBuilder):
    """QUANTIZE_LINEAR, whose scales have the type of what is scaled."""

    def __init__(self) -> None:
        super().__init__(QUANTIZE)

    def types(self, ctx: Context) -> Mapping[str, DataType]:
        found = super().types(ctx)
        pairs = list(product(ctx.types[DATA], ctx.types[SCALE]))
        fitting = [(of, scale) for of, scale in pairs if scale is scale_data_type(of)]
        if not fitting and found[SCALE] in ctx.table[SCALE].data_types:
            fitting = [(of, scale_data_type(of)) for of in ctx.types[DATA]]
        data_type, scale = ctx.chooser.choice(fitting or pairs)
        return {**found, DATA: data_type, SCALE: scale}


BUILDERS = {QUANTIZE: QuantizeLinearBuilder(), DEQUANTIZE: QuantizeBuilder(DEQUANTIZE)}
