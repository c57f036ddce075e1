"""Descriptors of ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, Field
from dml_conformance.spec.operators.element_wise_quantize import DEQUANTIZE, QUANTIZE, scale_data_type
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, with_data_type

SCALE = "ScaleTensor"  # the group of the scales' type


class QuantizeBuilder(ElementWiseBuilder):
    """One of the two, from 6_2 on one time in four without zero points."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.violations = {**self.violations, "zero-point": self.break_zero_point}

    def break_zero_point(self, ctx: Context) -> Any:
        return edit(self.build(ctx), zero_point_tensor=None)

    def is_given(self, ctx: Context, field: Field) -> bool:
        may_miss = field.optional and ctx.level >= Level.L6_2 and not ctx.complete
        return not may_miss or ctx.chooser.integer(0, 3) < 3


class QuantizeLinearBuilder(QuantizeBuilder):
    """QUANTIZE_LINEAR, whose scales have the type of what is scaled."""

    def __init__(self) -> None:
        super().__init__(QUANTIZE)
        self.violations = {**self.violations, "scale-data-type": self.break_scale_data_type}

    def types(self, ctx: Context) -> Mapping[str, DataType]:
        found = super().types(ctx)
        pairs = list(product(ctx.types[DATA], ctx.types[SCALE]))
        fitting = [(of, scale) for of, scale in pairs if scale is scale_data_type(of)]
        if not fitting and found[SCALE] in ctx.table[SCALE].data_types:
            fitting = [(of, scale_data_type(of)) for of in ctx.types[DATA]]
        data_type, scale = ctx.chooser.choice(fitting or pairs)
        return {**found, DATA: data_type, SCALE: scale}

    def break_scale_data_type(self, ctx: Context) -> Any:
        desc = self.build(ctx)
        others = [data_type for data_type in ctx.types[SCALE] if data_type is not desc.scale_tensor.data_type]
        if not others:
            raise Impossible
        return with_data_type(desc, "scale_tensor", ctx.chooser.variant(others))


BUILDERS = {QUANTIZE: QuantizeLinearBuilder(), DEQUANTIZE: QuantizeBuilder(DEQUANTIZE)}
