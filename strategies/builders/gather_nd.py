"""Descriptors of GATHER_ND and GATHER_ND1: the same shape, with and without batches."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.gather_nd import batch_dimension_count, unpadded_sizes
from dml_conformance.spec.structures import WithInputDimensionCount
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, Builder, four, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize, resize_at, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


class Shape:
    """The counts of one GATHER_ND(1), all in range.

    With n meaningful input dimensions, q of the indices, b batches and t coordinates a tuple, the output needs
    q - 1 + n - b - t dimensions, at most `rank`.
    """

    __slots__ = ("b", "n", "q", "rank", "t")

    def __init__(self, ctx: Context, *, batches: bool, rank: int = 0, n: int = 0, q: int = 0, least_batch: int = 0):
        integer = ctx.chooser.integer
        self.rank = rank or ctx.chooser.choice(ctx.ranks)
        self.n = n or integer(1 + least_batch, self.rank)
        most_batch = min(self.n, q) - 1 if q else self.n - 1
        self.b = integer(least_batch, most_batch) if batches else 0
        if q:
            self.q = q
            least_t = max(1, q - 1 + self.n - self.b - self.rank)
            self.t = integer(least_t, self.n - self.b)
        else:
            self.t = integer(1, self.n - self.b)
            most = min(self.rank, self.rank + 1 - (self.n - self.b - self.t))
            # Two dimensions of indices beside the tuple's make an output of more than one element.
            least = max(self.b + 1, min(2, most)) if ctx.spread else self.b + 1
            self.q = integer(least, most)


class TupleBuilder(Builder[WithInputDimensionCount]):
    """GATHER_ND, or GATHER_ND1, which has batches."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._batches: bool = "batch_dimension_count" in self._spec.desc.__struct_fields__

    def build(self, ctx: Context) -> WithInputDimensionCount:
        ctx = ctx.of_rank(2) if ctx.spread else ctx
        return self._of_shape(ctx, Shape(ctx, batches=self._batches))

    def edges(self, ctx: Context) -> Iterator[WithInputDimensionCount]:
        """Counts at both ends of their ranges, and long axes."""
        for rank in ctx.ranks:
            for n in sorted({1, max(rank - 1, 1), rank}):
                for q in sorted({1, max(rank - 1, 1), rank}):
                    yield self._of_shape(ctx, Shape(ctx, batches=self._batches, rank=rank, n=n, q=q))
            whole = Shape(ctx, batches=False, rank=rank, n=rank, q=1)
            yield self._of_shape(ctx, whole, tuple_size=rank)
        if 4 in ctx.ranks:  # where tuples have one coordinate, the output takes as many dimensions as there are
            yield self._of_shape(ctx, Shape(ctx, batches=False, rank=4, n=3, q=3))
        plain, rank = ctx.but(layout="packed"), ctx.ranks[-1]
        for length in LONG_AXES:
            desc = self._of_shape(plain, Shape(plain, batches=False, rank=rank, n=1, q=2))
            yield self._resized(desc, (1,) * (rank - 1) + (length,), 40)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[WithInputDimensionCount]:
        """An input of these sizes, indexed along the first of them."""
        plain, rank = ctx.but(layout="packed"), ctx.ranks[-1]
        desc = self._of_shape(plain, Shape(plain, batches=False, rank=rank, n=2, q=2))
        yield self._resized(desc, (1,) * (rank - 2) + sizes, 3)

    def large(self, ctx: Context, size: int) -> WithInputDimensionCount:
        """Rows of 1 KiB of a stack of matrices, each addressed by a pair of indices."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        blocks = 16
        per_block = max(rows // blocks, 1)
        return self._meaningful(ctx, (blocks, per_block, columns), (blocks * per_block, 2), 0)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> WithInputDimensionCount:
        """Every element by a tuple; what there are batches of comes first, where the long dimension is another one."""
        batches = 1 if place and self._batches else 0
        return self._meaningful(ctx, sizes, (*sizes[:batches], FAR_INDICES, 3 - batches), batches)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> WithInputDimensionCount:
        """Rows by tuples of one; the first dimension is one of batches, or of indices where there are none."""
        before, count, after = sizes
        source = (before, SHORT_AXIS, after) if self._batches else (SHORT_AXIS, after)
        return self._meaningful(ctx, source, (before, count, 1), int(self._batches))

    def wrapping(self, ctx: Context) -> Iterator[WithInputDimensionCount]:
        """Counts and the size of a tuple together start again at 0."""
        desc = self._meaningful(ctx, (2, 3, 5), (4, 2), 0)
        for attribute in desc.__struct_fields__:
            if attribute.endswith("_dimension_count"):
                yield from (edit(desc, **{attribute: UINT32_MAX - less}) for less in range(2))

    def _counted(self, tensors: tuple[TensorDesc, ...], *counts: int) -> WithInputDimensionCount:
        """With these counts, of the input, the indices and batches."""
        return self._desc(*tensors, *(counts if self._batches else counts[:2]))

    def _of_shape(self, ctx: Context, shape: Shape, *, tuple_size: int = 0) -> WithInputDimensionCount:
        """A valid descriptor of this shape; a `tuple_size` other than the shape's breaks what has to fit."""
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        meaningful = sizes(ctx, shape.n, ctx.least)
        input_sizes = (1,) * (shape.rank - shape.n) + meaningful
        grid = meaningful[: shape.b] + self._grid(sizes(ctx, shape.q - 1 - shape.b, ctx.least), meaningful[: shape.t])
        index_sizes = (1,) * (shape.rank - shape.q) + grid + (tuple_size or shape.t,)
        block_sizes = grid + meaningful[shape.b + index_sizes[-1] :]
        block_sizes = (1,) * (shape.rank - len(block_sizes)) + block_sizes
        chooser.section()
        tensors = (
            tensor(ctx, data_type, input_sizes),
            tensor(ctx, index_type, index_sizes),
            *self._other_tensors(ctx, data_type, input_sizes, block_sizes),
        )
        return self._counted(tensors, shape.n, shape.q, shape.b)

    def _grid(self, grid: tuple[int, ...], addressed: tuple[int, ...]) -> tuple[int, ...]:
        """Sizes that the tuples are arranged in, which address dimensions of these sizes."""
        return grid

    def _other_tensors(
        self, ctx: Context, data_type: DataType, input_sizes: tuple[int, ...], block_sizes: tuple[int, ...]
    ) -> tuple[TensorDesc, ...]:
        """The tensors after input and indices; `block_sizes` are those of all blocks that the tuples address."""
        return (tensor(ctx, data_type, block_sizes, output=True),)

    def _fit(self, desc: WithInputDimensionCount) -> WithInputDimensionCount:
        """The descriptor with the sizes that its input and indices give."""
        return with_fitting_output(desc)

    def _resized(self, desc: WithInputDimensionCount, sizes: tuple[int, ...], count: int) -> WithInputDimensionCount:
        """With an input of these sizes, and so many tuples of one coordinate."""
        desc = resize(desc, "input_tensor", sizes)
        return self._fit(resize(desc, "indices_tensor", (1,) * (len(sizes) - 2) + (count, 1)))

    def _meaningful(
        self, ctx: Context, sizes: tuple[int, ...], index_sizes: tuple[int, ...], batches: int
    ) -> WithInputDimensionCount:
        """Packed tensors of these sizes after leading ones."""
        data_type, index_type = ctx.data_types[0], ctx.index_types[0]
        tensors = (
            TensorDesc.of(data_type, four(*sizes)),
            TensorDesc.of(index_type, four(*index_sizes)),
            *self._other_tensors(ctx.but(layout="packed"), data_type, (), ()),
        )
        return self._fit(self._counted(tensors, len(sizes), len(index_sizes), batches))

    def break_output_rank(self, ctx: Context) -> WithInputDimensionCount:
        """As many dimensions of indices as there are, and a tuple that leaves two of the input over."""
        rank = ctx.chooser.choice(ctx.of_rank(3).ranks)
        desc = self._of_shape(ctx, Shape(ctx, batches=False, rank=rank, n=rank, q=rank))
        desc = resize_at(desc, "indices_tensor", rank - 1, ctx.chooser.integer(1, rank - 2))
        return resize(desc, "output_tensor", unpadded_sizes(desc)[-rank:])

    def break_batch_sizes(self, ctx: Context) -> WithInputDimensionCount:
        desc = self._of_shape(ctx, Shape(ctx.of_rank(2), batches=True, least_batch=1))
        batch = ctx.chooser.integer(0, batch_dimension_count(desc) - 1)
        position = len(desc.indices_tensor.sizes) - desc.indices_dimension_count + batch
        size = desc.indices_tensor.sizes[position]
        return with_fitting_output(resize_at(desc, "indices_tensor", position, size + ctx.chooser.integer(1, 3)))


BUILDERS = {name: TupleBuilder(name) for name in ("GATHER_ND", "GATHER_ND1")}
