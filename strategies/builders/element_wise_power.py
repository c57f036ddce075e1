"""Descriptors of ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.structures import ElementWisePower
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context

EXPONENT = "ExponentTensor"  # the group of the exponents' type
EXPONENTS = (2.0, 0.5, 3.0, -1.0, 0.0, 1.0, -0.5, -3.0, 1.75, 7.0, 8.0, -2.0, 0.25, float32(0.1), 33.0, 2049.0)
NOT_FINITE = (math.inf, -math.inf, math.nan)


class PowBuilder(ElementWiseBuilder[ElementWisePower]):
    """POW, whose exponents have a type of their own from 3_0 on."""

    def types(self, ctx: Context) -> Mapping[str, DataType]:
        found = super().types(ctx)
        is_own = ctx.level >= Level.L3_0 or found[EXPONENT] not in ctx.table[EXPONENT].data_types
        return found if is_own else {**found, EXPONENT: found[DATA]}


BUILDERS = {
    "ELEMENT_WISE_POW": PowBuilder("ELEMENT_WISE_POW"),
    "ELEMENT_WISE_CONSTANT_POW": ElementWiseBuilder("ELEMENT_WISE_CONSTANT_POW", exponent=(*EXPONENTS, *NOT_FINITE)),
}
