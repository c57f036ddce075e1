"""Descriptors of ARGMIN and ARGMAX."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import ArgReduce
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._indexing import ReductionBuilder, Sizes, reduced
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor

INDEX_GROUP = "OutputTensor"
INCREASING, DECREASING = (int(value) for value in enumeration("DML_AXIS_DIRECTION"))


class ArgReduceBuilder(ReductionBuilder[ArgReduce]):
    """ARGMIN or ARGMAX."""

    def build(self, ctx: Context) -> ArgReduce:
        return self._build(ctx, *self.chosen_axes(ctx))

    def edges(self, ctx: Context) -> Iterator[ArgReduce]:
        """Every pair of neighbouring axes, all and none, both directions; long axes."""
        for rank in ctx.ranks:
            for axes in {(), tuple(range(rank)), *combinations(range(rank), min(2, rank))}:
                yield self._build(ctx, rank, axes)
        for length in LONG_AXES:
            for direction in (INCREASING, DECREASING):
                yield self.along_axes(ctx, (1,) * (ctx.ranks[0] - 1) + (length,), (ctx.ranks[0] - 1,), direction)

    def along_axes(self, ctx: Context, sizes: Sizes, axes: Sizes, direction: int = INCREASING) -> ArgReduce:
        output = TensorDesc.of(ctx.types[INDEX_GROUP][0], reduced(sizes, axes))
        return self._desc(TensorDesc.of(ctx.data_types[0], sizes), output, axes, direction)

    def _build(self, ctx: Context, rank: int, axes: Sizes) -> ArgReduce:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.types[INDEX_GROUP])
        direction = chooser.choice((INCREASING, DECREASING))
        input_sizes = sizes(ctx, rank, ctx.least)
        chooser.section()
        output = tensor(ctx, index_type, reduced(input_sizes, axes), output=True)
        return self._desc(tensor(ctx, data_type, input_sizes), output, axes, direction)


BUILDERS = {name: ArgReduceBuilder(name) for name in ("ARGMIN", "ARGMAX")}
