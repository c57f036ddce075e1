"""Descriptors of REDUCE."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.operators.reduce import FUNCTION, PLACES, REDUCE
from dml_conformance.spec.structures import Reduce
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._indexing import ReductionBuilder, Sizes, reduced
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import with_data_type
from dml_conformance.strategies.tensors import sizes, tensor

Types = tuple[DataType, DataType]  # of input and output
# SUM first, for shrinking, then the others.
FUNCTIONS = (FUNCTION.SUM, *(function for function in enumeration("DML_REDUCE_FUNCTION") if function != FUNCTION.SUM))


class ReduceBuilder(ReductionBuilder[Reduce]):
    def build(self, ctx: Context) -> Reduce:
        """Any function that takes one of the types."""
        rank, axes = self.chosen_axes(ctx)
        every = {function: pairs for function in FUNCTIONS if (pairs := _types(ctx, function))}
        function = ctx.chooser.choice(tuple(every) or FUNCTIONS)
        return self._build(ctx, function, sizes(ctx, rank, ctx.least), axes)

    def edges(self, ctx: Context) -> Iterator[Reduce]:
        """Every function with every type, along each axis, all and none, and along long ones."""
        packed = ctx.but(layout="packed")
        for function in FUNCTIONS:
            for types in _types(ctx, function):
                yield self._build(packed, function, (2, 3, 5, 4), (1, 3), types)
            rank = ctx.ranks[-1]
            found = ((2, 3) * 4)[:rank]
            for axes in ((), tuple(range(rank)), *((d,) for d in range(rank))):
                yield self._build(packed, function, found, axes)
            for length in LONG_AXES:
                yield self._build(packed, function, (1, 1, 2, length), (3,))

    def break_data_types(self, ctx: Context) -> Reduce:
        """A type that other functions take, or none does, of both tensors; of a place another type alone."""
        function = ctx.chooser.variant(FUNCTIONS)
        table = REDUCE.table_at(ctx.level, function.name) or {}
        key = "OutputTensor" if function in PLACES and ctx.chooser.variant(("input", "place")) == "place" else ""
        row = table[key or "InputTensor"].data_types
        wrong = ctx.chooser.variant([data_type for data_type in SIMPLEST_FIRST if data_type not in row])
        of, to = _types(ctx, function)[0]
        types = (of, wrong) if key else (wrong, to if function in PLACES else wrong)
        return self._build(ctx, function, sizes(ctx, ctx.ranks[-1]), (0,), types)

    def break_same_data_type(self, ctx: Context) -> Reduce:
        function = ctx.chooser.variant([function for function in FUNCTIONS if function not in PLACES])
        of, *others = [pair[0] for pair in _types(ctx, function)]
        desc = self._build(ctx, function, sizes(ctx, ctx.ranks[-1]), (0,), (of, of))
        return with_data_type(desc, "output_tensor", ctx.chooser.variant(others))

    def along_axes(self, ctx: Context, sizes: Sizes, axes: Sizes) -> Reduce:
        """A sum of whole numbers where that takes the type, else an extreme."""
        ctx = ctx.but(layout="packed")
        functions = [function for function in (FUNCTION.SUM, FUNCTION.MAX, FUNCTION.ARGMAX) if _types(ctx, function)]
        if not functions:
            raise Impossible
        return self._build(ctx, functions[0], sizes, axes)

    def _build(self, ctx: Context, function: Any, found: Sizes, axes: Sizes, types: Types | None = None) -> Reduce:
        of, to = types or ctx.chooser.choice(_types(ctx, function) or (ctx.types[DATA][:1] * 2,))
        ctx.chooser.section()
        output = tensor(ctx, to, reduced(found, axes), output=True)
        return self._desc(int(function), tensor(ctx, of, found), output, axes)


def _types(ctx: Context, function: Any) -> tuple[Types, ...]:
    """The types of input and output that a function takes, of those to choose from."""
    return _types_at(ctx.level, function, ctx.types[DATA], ctx.types["OutputTensor"])


@cache
def _types_at(level: Level, function: Any, of: tuple[DataType, ...], to: tuple[DataType, ...]) -> tuple[Types, ...]:
    table = REDUCE.table_at(max(level, REDUCE.introduced_in), function.name) or {}
    inputs = [t for t in of if t in table["InputTensor"].data_types]
    outputs = [t for t in to if t in table["OutputTensor"].data_types]
    if function in PLACES:
        return tuple((of, to) for of in inputs for to in outputs)
    return tuple((data_type, data_type) for data_type in inputs if data_type in outputs)


BUILDERS = {"REDUCE": ReduceBuilder("REDUCE")}
