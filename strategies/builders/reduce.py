"""Descriptors of REDUCE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.operators.reduce import FUNCTION, PLACES, REDUCE
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES, leading_ones
from dml_conformance.strategies.builders._indexing import AlongBuilder
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import with_data_type
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]
# SUM first, for shrinking, then the others.
FUNCTIONS = (FUNCTION.SUM, *(function for function in enumeration("DML_REDUCE_FUNCTION") if function != FUNCTION.SUM))


class ReduceBuilder(AlongBuilder):
    def build(self, ctx: Context) -> Any:
        """Any function that takes one of the types; axes in ascending order."""
        rank = ctx.chooser.choice(ctx.ranks)
        chosen = ctx.chooser.integer(1, 2**rank - 1)
        axes = tuple(d for d in range(rank) if chosen >> d & 1)
        if ctx.spread and len(axes) == rank:
            axes = axes[1:]
        every = {function: pairs for function in FUNCTIONS if (pairs := _types(ctx, function))}
        function = ctx.chooser.choice(tuple(every) or FUNCTIONS)
        return self._build(ctx, function, sizes(ctx, rank, 2 if ctx.spread else 1), axes)

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> Any:
        return self._plain(ctx, sizes, (axis,))

    def vast(self, ctx: Context, sizes: Sizes) -> Any:
        """Of one of two, or of one where there is no room for more."""
        *_, before, count, after = leading_ones(ctx, *sizes)
        choices = 2 if 2 * before * count * after <= MAX_ELEMENTS else 1
        return self._plain(ctx, (choices, before, count, after), (0,))

    def edges(self, ctx: Context) -> Iterator[Any]:
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

    def break_data_types(self, ctx: Context) -> Any:
        """A type that other functions take, or none does, of both tensors; of a place another type alone."""
        function = ctx.chooser.variant(FUNCTIONS)
        table = REDUCE.table_at(ctx.level, function.name) or {}
        key = "OutputTensor" if function in PLACES and ctx.chooser.variant(("input", "place")) == "place" else ""
        row = table[key or "InputTensor"].data_types
        wrong = ctx.chooser.variant([data_type for data_type in SIMPLEST_FIRST if data_type not in row])
        of, to = _types(ctx, function)[0]
        types = (of, wrong) if key else (wrong, to if function in PLACES else wrong)
        return self._build(ctx, function, sizes(ctx, ctx.ranks[-1]), (0,), types)

    def break_same_data_type(self, ctx: Context) -> Any:
        function = ctx.chooser.variant([function for function in FUNCTIONS if function not in PLACES])
        of, *others = [pair[0] for pair in _types(ctx, function)]
        desc = self._build(ctx, function, sizes(ctx, ctx.ranks[-1]), (0,), (of, of))
        return with_data_type(desc, "output_tensor", ctx.chooser.variant(others))

    def _plain(self, ctx: Context, sizes: Sizes, axes: Sizes) -> Any:
        """A sum of whole numbers where that takes the type, else an extreme."""
        ctx = ctx.but(layout="packed")
        functions = [function for function in (FUNCTION.SUM, FUNCTION.MAX, FUNCTION.ARGMAX) if _types(ctx, function)]
        if not functions:
            raise Impossible
        return self._build(ctx, functions[0], sizes, axes)

    def _build(
        self,
        ctx: Context,
        function: Any,
        found: Sizes,
        axes: Sizes,
        types: tuple[DataType, DataType] | None = None,
    ) -> Any:
        of, to = types or ctx.chooser.choice(_types(ctx, function) or (ctx.types[DATA][:1] * 2,))
        ctx.chooser.section()
        reduced = tuple(1 if d in axes else size for d, size in enumerate(found))
        output = tensor(ctx, to, reduced, output=True)
        return REDUCE.desc(int(function), tensor(ctx, of, found), output, axes)


def _types(ctx: Context, function: Any) -> tuple[tuple[DataType, DataType], ...]:
    """The types of input and output that a function takes, of those to choose from."""
    table = REDUCE.table_at(max(ctx.level, REDUCE.introduced_in), function.name) or {}
    inputs = [t for t in ctx.types[DATA] if t in table["InputTensor"].data_types]
    outputs = [t for t in ctx.types["OutputTensor"] if t in table["OutputTensor"].data_types]
    if function in PLACES:
        return tuple((of, to) for of in inputs for to in outputs)
    return tuple((data_type, data_type) for data_type in inputs if data_type in outputs)


BUILDERS = {"REDUCE": ReduceBuilder()}
