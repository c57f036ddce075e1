"""How valid descriptors are made, and how the rules of an operator's own are broken: a module for each family.

A module of `strategies/builders/` has the name of its family in `spec/operators/` and exports `BUILDERS`, a `Builder`
for each of its operators. The rules that all operators share are broken in `strategies.violations`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Generic

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.registry import families
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D
from dml_conformance.strategies.tensors import tensor


class Builder(Generic[D]):
    """Makes the descriptors of one operator.

    A method `break_output_rank` breaks the rule `output-rank` of the operator's own, and that alone.

    Args:
        name: the operator's.

    Attributes:
        shares_layouts: whether the operators of its family differ in what they make of an element alone, so that one of
            them stands for all where only sizes and addresses matter; see `is_sibling`.
        longest_axis: the most elements along a dimension of cases of long ones; where more take too long, and axes mean
            nothing to the operator, they are left to large outputs.
    """

    shares_layouts: bool = False
    longest_axis: int = MAX_ELEMENTS

    def __init__(self, name: str) -> None:
        self._spec = operator_named(name)
        self._desc: Callable[..., D] = self._spec.desc  # type: ignore[assignment]

    def build(self, ctx: Context) -> D:
        """A valid descriptor for `ctx.level` within the context's choices."""
        raise NotImplementedError

    def whole(self, ctx: Context) -> D:
        """The same with every optional tensor, as each may be the wrong one."""
        return self.build(ctx.but(complete=True))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> D:
        """A valid descriptor with packed tensors, of which the first input, or the output without one, has these sizes.

        Raises:
            Impossible: it cannot have so many dimensions, or such sizes.
        """
        raise Impossible

    def of_tensors(
        self, ctx: Context, types: Mapping[str, DataType], sizes: Mapping[str, tuple[int, ...]], **members: Any
    ) -> D:
        """A descriptor of what there is by attribute: sizes of tensors, which have the types of their groups, and other
        members; tensors without sizes are missing."""
        tensors = {
            field.attribute: tensor(ctx, types[self._spec.group(field)], of, output=field.is_output)
            if (of := sizes.get(field.attribute))
            else None
            for field in self._spec.tensor_fields
        }
        return self._desc(**tensors, **members)

    def alike(self, ctx: Context, sizes: tuple[int, ...], *members: Any) -> D:
        """A descriptor with tensors of one type, all of these sizes, and other members."""
        data_type = ctx.chooser.choice(ctx.data_types)
        ctx.chooser.section()
        tensors = (tensor(ctx, data_type, sizes, output=field.is_output) for field in self._spec.tensor_fields)
        return self._desc(*tensors, *members)

    def of_every_rank(self, ctx: Context) -> Iterator[D]:
        """A valid descriptor of each dimension count."""
        return (self.build(ctx.of_rank(rank, rank)) for rank in ctx.ranks)

    def edges(self, ctx: Context) -> Iterator[D]:
        """Valid descriptors at the ends of the operator's ranges, small enough to execute."""
        return iter(())

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[D]:
        """Descriptors with a tensor of these two sizes, too large to execute; valid up to `LARGEST`."""
        yield self.of_sizes(ctx, (1,) * (ctx.ranks[-1] - 2) + sizes)

    def large(self, ctx: Context, size: int) -> D:
        """A valid descriptor with packed tensors and an output of about `size` bytes, to measure throughput with."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self.of_sizes(ctx, leading_ones(ctx, rows, columns))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> D:
        """A valid descriptor with an input of these three sizes after leading ones, all tensors packed.

        It works along the dimension at `place`, from 0 to 2, by `FAR_INDICES` indices if it has any.

        Raises:
            Impossible: that is longer than `longest_axis`.
        """
        if sizes[place] > self.longest_axis:
            raise Impossible
        return self.of_sizes(ctx, leading_ones(ctx, *sizes))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> D:
        """A valid descriptor with an output of these three sizes after leading ones, all tensors packed."""
        return self.of_sizes(ctx, leading_ones(ctx, *sizes))

    def violations(self) -> dict[str, Callable[[Context], D]]:
        """How rules of the operator's own are broken, by their names with `_` for `-`."""
        classes = reversed(type(self).__mro__)
        names = [name for of in classes for name in vars(of) if name.startswith(BREAK)]
        return {name.removeprefix(BREAK): getattr(self, name) for name in names}

    def wrapping(self, ctx: Context) -> Iterator[D]:
        """Descriptors whose attributes and sizes fit where sums and products are cut to 32 bits, and there alone."""
        return iter(())


BREAK = "break_"
# 2^32 - 1 elements, the most that a tensor may have, as two sizes.
LARGEST = (65537, 65535)
# One element more.
TOO_LARGE = (65536, 65536)
# Axes longer than an index of 8 and of 16 bits reaches.
LONG_AXES = (300, 70_000)
# Elements of a row that a formula takes together: what the sums of more may be costs as much as all other cases.
MOST_TOGETHER = 2**20
# Indices along an axis: enough for one that is cut short to find another element somewhere.
FAR_INDICES = 67
# Size of the axis that the indices of a vast output run over.
SHORT_AXIS = 13


def matrix(size: int, element_size: int) -> tuple[int, int]:
    """Rows and columns of about `size` bytes, a row of 1 KiB."""
    columns = 1024 // element_size
    return max(size // 1024, 1), columns


def last_of(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The last of some sizes, with leading ones where there are too few."""
    return ((1,) * (rank - len(sizes)) + sizes)[-rank:]


def of_rank(ctx: Context, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes with leading ones, or without leading ones, where another count of dimensions is asked for."""
    return last_of(sizes, len(sizes) if len(sizes) in ctx.ranks else ctx.ranks[0])


def leading_ones(ctx: Context, *sizes: int) -> tuple[int, ...]:
    """Sizes with leading ones up to 4 dimensions, or to the least count that there is; raises Impossible if that is
    less than they are."""
    count = 4 if 4 in ctx.ranks else next((rank for rank in ctx.ranks if rank >= len(sizes)), 0)
    if count < len(sizes):
        raise Impossible
    return (1,) * (count - len(sizes)) + sizes


def four(*sizes: int) -> tuple[int, ...]:
    """Sizes with leading ones up to 4 dimensions, which every level allows."""
    return (1,) * (4 - len(sizes)) + sizes


def plainest(ctx: Context) -> Context:
    """The same types and layouts every time: of what an implementation keeps, only attributes tell two apart."""
    return ctx.but(types={group: types[:1] for group, types in ctx.types.items()}, layout="packed")


@cache
def is_sibling(operator: str) -> bool:
    """Whether another operator of its family, the first one, stands for it in cases that take long to execute."""
    family = families()[operator]
    return builder(operator).shares_layouts and operator != next(
        name for name, other in families().items() if other == family and builder(name).shares_layouts
    )


@cache
def builder(operator: str) -> Builder[OperatorDesc]:
    """The builder of an operator.

    Raises:
        KeyError: DirectML has no such operator.
    """
    module = importlib.import_module(f"dml_conformance.strategies.builders.{families()[operator]}")
    found: Builder[OperatorDesc] = module.BUILDERS[operator]
    return found
