"""Descriptors of GATHER_ND and GATHER_ND1: the same shape, with and without batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.operators._gather_nd import unpadded_sizes
from dml_conformance.spec.operators.gather_nd1 import GatherNd1Desc
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, four, matrix
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


def build_nd(ctx: Context, desc_type: type[OperatorDesc], shape: Shape, *, tuple_size: int = 0) -> Any:
    """A valid descriptor of this shape; a `tuple_size` other than the shape's breaks what has to fit."""
    chooser = ctx.chooser
    data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
    least = 2 if ctx.spread else 1
    meaningful = sizes(ctx, shape.n, least)
    input_sizes = (1,) * (shape.rank - shape.n) + meaningful
    free = shape.q - 1 - shape.b
    index_sizes = (
        (1,) * (shape.rank - shape.q) + meaningful[: shape.b] + sizes(ctx, free, least) + (tuple_size or shape.t,)
    )
    output_sizes = index_sizes[shape.rank - shape.q : -1] + meaningful[shape.b + index_sizes[-1] :]
    output_sizes = (1,) * (shape.rank - len(output_sizes)) + output_sizes
    chooser.section()
    tensors = (
        tensor(ctx, data_type, input_sizes),
        tensor(ctx, index_type, index_sizes),
        tensor(ctx, data_type, output_sizes, output=True),
    )
    if desc_type is GatherNd1Desc:
        return GatherNd1Desc(*tensors, shape.n, shape.q, shape.b)
    return desc_type(*tensors, shape.n, shape.q)


def nd_edges(ctx: Context, desc_type: type[OperatorDesc], *, batches: bool) -> Iterator[Any]:
    """Counts at both ends of their ranges, and long axes."""
    for rank in ctx.ranks:
        for n in sorted({1, max(rank - 1, 1), rank}):
            for q in sorted({1, max(rank - 1, 1), rank}):
                yield build_nd(ctx, desc_type, Shape(ctx, batches=batches, rank=rank, n=n, q=q))
        whole = Shape(ctx, batches=False, rank=rank, n=rank, q=1)
        yield build_nd(ctx, desc_type, whole, tuple_size=rank)
    if 4 in ctx.ranks:  # where tuples have one coordinate, the output takes exactly as many dimensions as there are
        yield build_nd(ctx, desc_type, Shape(ctx, batches=False, rank=4, n=3, q=3))
    plain, rank = ctx.but(layout="packed"), ctx.ranks[-1]
    for length in LONG_AXES:
        desc = build_nd(plain, desc_type, Shape(plain, batches=False, rank=rank, n=1, q=2))
        desc = resize(desc, "input_tensor", (1,) * (rank - 1) + (length,))
        yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 2) + (40, 1)))


def nd_huge(ctx: Context, desc_type: type[OperatorDesc], sizes: tuple[int, int]) -> Iterator[Any]:
    """An input of these sizes, indexed along the first of them."""
    plain, rank = ctx.but(layout="packed"), ctx.ranks[-1]
    desc = build_nd(plain, desc_type, Shape(plain, batches=False, rank=rank, n=2, q=2))
    desc = resize(desc, "input_tensor", (1,) * (rank - 2) + sizes)
    yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 2) + (3, 1)))


def nd_large(ctx: Context, desc_type: type[OperatorDesc], size: int) -> Any:
    """Rows of 1 KiB of a stack of matrices, each addressed by a pair of indices."""
    rows, columns = matrix(size, ctx.data_types[0].size)
    blocks = 16
    per_block = max(rows // blocks, 1)
    return _meaningful(ctx, desc_type, (blocks, per_block, columns), (blocks * per_block, 2), 0)


def nd_long_axis(ctx: Context, desc_type: type[OperatorDesc], sizes: tuple[int, ...], place: int) -> Any:
    """Every element by a tuple; what there are batches of comes first, where the long dimension is another one."""
    batches = 1 if place and "batch_dimension_count" in desc_type.__struct_fields__ else 0
    return _meaningful(ctx, desc_type, sizes, (*sizes[:batches], FAR_INDICES, 3 - batches), batches)


def nd_vast(ctx: Context, desc_type: type[OperatorDesc], sizes: tuple[int, ...]) -> Any:
    """Rows by tuples of one; the first dimension is one of batches, or of indices where there are none."""
    before, count, after = sizes
    if "batch_dimension_count" in desc_type.__struct_fields__:
        return _meaningful(ctx, desc_type, (before, SHORT_AXIS, after), (before, count, 1), 1)
    return _meaningful(ctx, desc_type, (SHORT_AXIS, after), (before, count, 1), 0)


def nd_wrapping(ctx: Context, desc_type: type[OperatorDesc]) -> Iterator[Any]:
    """Counts and the size of a tuple together start again at 0."""
    desc = _meaningful(ctx, desc_type, (2, 3, 5), (4, 2), 0)
    for attribute in desc.__struct_fields__:
        if attribute.endswith("_dimension_count"):
            yield from (edit(desc, **{attribute: UINT32_MAX - less}) for less in range(2))


def _meaningful(
    ctx: Context, desc_type: type[OperatorDesc], sizes: tuple[int, ...], index_sizes: tuple[int, ...], batches: int
) -> Any:
    """Packed tensors of these sizes after leading ones."""
    data_type, index_type = ctx.data_types[0], ctx.index_types[0]
    counts = {"input_dimension_count": len(sizes), "indices_dimension_count": len(index_sizes)}
    if "batch_dimension_count" in desc_type.__struct_fields__:
        counts["batch_dimension_count"] = batches
    desc: Any = desc_type(
        TensorDesc.of(data_type, four(*sizes)),
        TensorDesc.of(index_type, four(*index_sizes)),
        TensorDesc(data_type, ()),
        **counts,
    )
    return with_fitting_output(desc)


def nd_violations(
    operator: str, desc_type: type[OperatorDesc], *, batches: bool
) -> Mapping[str, Callable[[Context], Any]]:
    """How to break each rule that both operators have."""

    def build(ctx: Context, **fixed: int) -> Any:
        return build_nd(ctx, desc_type, Shape(ctx, batches=batches, **fixed))

    def out_of_count(ctx: Context, attribute: str) -> Any:
        desc = build(ctx)
        rank = len(desc.input_tensor.sizes)
        return edit(desc, **{attribute: ctx.chooser.variant((rank + 1, 0, rank + 2, 2**31, UINT32_MAX))})

    def leading_input_sizes(ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        desc = build(ctx, rank=rank, n=ctx.chooser.integer(1, rank - 1))
        position = ctx.chooser.integer(0, rank - desc.input_dimension_count - 1)
        return resize_at(desc, "input_tensor", position, ctx.chooser.integer(2, 5))

    def leading_index_sizes(ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        desc = build(ctx, rank=rank, q=ctx.chooser.integer(1, rank - 1))
        position = ctx.chooser.integer(0, rank - desc.indices_dimension_count - 1)
        return resize_at(desc, "indices_tensor", position, ctx.chooser.integer(2, 5))

    def tuple_size(ctx: Context) -> Any:
        desc = build(ctx)
        rank = len(desc.input_tensor.sizes)
        size = ctx.chooser.variant((rank + 1, rank + 2, rank + 3))
        return with_fitting_output(resize_at(desc, "indices_tensor", rank - 1, size))

    def tuple_size_meaningful(ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        shape = Shape(ctx, batches=batches, rank=rank, n=ctx.chooser.integer(1, rank - 1))
        return build_nd(ctx, desc_type, shape, tuple_size=ctx.chooser.integer(shape.n - shape.b + 1, rank))

    def output_rank(ctx: Context) -> Any:
        # q = rank and a tuple that leaves two input dimensions over need rank + 1 output dimensions.
        rank = ctx.chooser.choice(ctx.of_rank(3).ranks)
        desc = build(ctx, rank=rank, n=rank, q=rank) if not batches else _without_batches(ctx, rank)
        desc = resize_at(desc, "indices_tensor", rank - 1, ctx.chooser.integer(1, rank - 2))
        return resize(desc, "output_tensor", unpadded_sizes(desc)[-rank:])

    def _without_batches(ctx: Context, rank: int) -> Any:
        shape = Shape(ctx, batches=False, rank=rank, n=rank, q=rank)
        return build_nd(ctx, desc_type, shape)

    return {
        f"{operator}.input-dimension-count": lambda ctx: out_of_count(ctx, "input_dimension_count"),
        f"{operator}.indices-dimension-count": lambda ctx: out_of_count(ctx, "indices_dimension_count"),
        f"{operator}.leading-input-sizes": leading_input_sizes,
        f"{operator}.leading-index-sizes": leading_index_sizes,
        f"{operator}.tuple-size": tuple_size,
        f"{operator}.tuple-size-meaningful": tuple_size_meaningful,
        f"{operator}.output-rank": output_rank,
    }


def batch_violations(desc_type: type[OperatorDesc]) -> Mapping[str, Callable[[Context], Any]]:
    """How to break what BatchDimensionCount adds."""

    def batch_dimension_count(ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        shape = Shape(ctx, batches=True, rank=rank, n=rank, q=rank, least_batch=rank - 1)
        desc = build_nd(ctx, desc_type, shape)  # with as many batches as may be: a count cut short would pass
        return edit(desc, batch_dimension_count=ctx.chooser.variant((rank, rank + 1, 2**31, UINT32_MAX)))

    def batch_dimension_count_meaningful(ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        desc = build_nd(ctx, desc_type, Shape(ctx, batches=True, rank=rank, n=ctx.chooser.integer(1, rank - 1)))
        least = min(desc.input_dimension_count, desc.indices_dimension_count)
        return edit(desc, batch_dimension_count=ctx.chooser.integer(least, rank - 1))

    def batch_sizes(ctx: Context) -> Any:
        desc = build_nd(ctx, desc_type, Shape(ctx.of_rank(2), batches=True, least_batch=1))
        batch = ctx.chooser.integer(0, desc.batch_dimension_count - 1)
        position = len(desc.indices_tensor.sizes) - desc.indices_dimension_count + batch
        size = desc.indices_tensor.sizes[position]
        return with_fitting_output(resize_at(desc, "indices_tensor", position, size + ctx.chooser.integer(1, 3)))

    return {
        "GATHER_ND1.batch-dimension-count": batch_dimension_count,
        "GATHER_ND1.batch-dimension-count-meaningful": batch_dimension_count_meaningful,
        "GATHER_ND1.batch-sizes": batch_sizes,
    }
