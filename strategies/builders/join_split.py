"""Descriptors of JOIN and SPLIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import JoinSplit
from dml_conformance.strategies.builders import LONG_AXES, Builder, four, leading_ones, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import resize_at
from dml_conformance.strategies.tensors import sizes, tensor

MOST_PARTS = 5
MANY_PARTS = 67


class JoinSplitBuilder(Builder[JoinSplit]):
    """JOIN and SPLIT: a whole, and the sizes along Axis of its parts."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_join = name == "JOIN"

    def build(self, ctx: Context, *, least: int = 1) -> JoinSplit:
        """Of at least so many parts."""
        chooser = ctx.chooser
        rank, data_type = chooser.choice(ctx.ranks), chooser.choice(ctx.data_types)
        part = sizes(ctx, rank, ctx.least, wide=False)
        axis = chooser.integer(0, rank - 1)
        count = chooser.integer(least, MOST_PARTS)
        lengths = (part[axis], *chooser.several(1, 3, count - 1))
        chooser.section()
        return self._of_parts(ctx, data_type, part, axis, lengths)

    def _of_parts(
        self, ctx: Context, data_type: DataType, part: tuple[int, ...], axis: int, lengths: Sequence[int]
    ) -> JoinSplit:
        def of_length(length: int) -> tuple[int, ...]:
            return (*part[:axis], length, *part[axis + 1 :])

        parts = tuple(tensor(ctx, data_type, of_length(length), output=not self._is_join) for length in lengths)
        whole = tensor(ctx, data_type, of_length(sum(lengths)), output=self._is_join)
        return self._desc(parts, whole, axis) if self._is_join else self._desc(whole, parts, axis)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> JoinSplit:
        """A single part, which is the whole."""
        return self._of_parts(ctx.but(layout="packed"), ctx.data_types[0], sizes, len(sizes) - 1, sizes[-1:])

    def edges(self, ctx: Context) -> Iterator[JoinSplit]:
        """Every axis, one part and many; long ones before and behind short ones."""
        for rank in ctx.ranks:
            for axis in range(rank):
                for lengths in ((1,), (2,), (1, 1), (3, 1, 2)):
                    yield self._of_parts(ctx, ctx.chooser.choice(ctx.data_types), (2,) * rank, axis, lengths)
        rank = ctx.ranks[0]
        yield self._of_parts(ctx, ctx.chooser.choice(ctx.data_types), (1,) * rank, rank - 1, (1,) * MANY_PARTS)
        for length in LONG_AXES:
            for lengths in ((length, 2), (2, length)):
                yield self._of_parts(ctx, ctx.chooser.choice(ctx.data_types), (1,) * rank, rank - 1, lengths)

    def large(self, ctx: Context, size: int) -> JoinSplit:
        """Two halves, row by row."""
        data_type = ctx.data_types[0]
        rows, columns = matrix(size, data_type.size)
        part = leading_ones(ctx, rows, columns)
        return self._of_parts(ctx.but(layout="packed"), data_type, part, len(part) - 1, (columns // 2,) * 2)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> JoinSplit:
        """A long part between two short ones."""
        part = leading_ones(ctx, *sizes)
        axis = len(part) - 3 + place
        return self._of_parts(ctx.but(layout="packed"), ctx.data_types[0], part, axis, (2, part[axis], 1))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> JoinSplit:
        """A part of a few elements before one of many."""
        part = leading_ones(ctx, *sizes)
        axis = max(range(len(part)), key=part.__getitem__)
        lengths = (1, part[axis] - 1)
        return self._of_parts(ctx.but(layout="packed"), ctx.data_types[0], part, axis, lengths)

    def wrapping(self, ctx: Context) -> Iterator[JoinSplit]:
        """The parts come to 2^32 elements more than the whole has."""
        for axis in range(1, 4):
            desc = self._of_parts(ctx.but(layout="packed"), ctx.data_types[0], four(1), axis, (2**31, 2**31, 2))
            yield resize_at(desc, "output_tensor" if self._is_join else "input_tensor", axis, 2)

    def break_input_sizes(self, ctx: Context) -> JoinSplit:
        """One of several inputs is longer or shorter along another axis."""
        desc = self.build(ctx.of_rank(2), least=2)
        assert desc.operator == "JOIN"
        rank = len(desc.output_tensor.sizes)
        axis = (desc.axis + ctx.chooser.integer(1, rank - 1)) % rank
        size = desc.output_tensor.sizes[axis]
        place = ctx.chooser.variant((0, len(desc.input_tensors) - 1))
        other = ctx.chooser.variant((size + 1, size - 1 or size + 2))
        return resize_at(desc, f"input_tensors[{place}]", axis, other)


BUILDERS = {name: JoinSplitBuilder(name) for name in ("JOIN", "SPLIT")}
