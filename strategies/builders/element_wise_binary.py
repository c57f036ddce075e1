"""Descriptors of arithmetic on two numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.element_wise_binary import SPECS
from dml_conformance.spec.structures import ElementWiseBinary
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder, Sizes
from dml_conformance.strategies.builders._fused import chosen_activation, every_activation
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit


class Add1Builder(ElementWiseBuilder[ElementWiseBinary]):
    """ADD1, with an activation or without one."""

    def of_sizes(self, ctx: Context, sizes: Sizes) -> ElementWiseBinary:
        return edit(super().of_sizes(ctx, sizes), fused_activation=None)

    def edges(self, ctx: Context) -> Iterator[ElementWiseBinary]:
        """Every activation too."""
        yield from super().edges(ctx)
        for activation in every_activation(ctx.level):
            yield edit(self._build(ctx, (*(1,) * (ctx.ranks[0] - 1), LONG_AXES[0])), fused_activation=activation)

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        return {"fused_activation": chosen_activation(ctx)}


ADD1 = "ELEMENT_WISE_ADD1"
BUILDERS = {spec.name: ElementWiseBuilder[ElementWiseBinary](spec.name) for spec in SPECS} | {ADD1: Add1Builder(ADD1)}
