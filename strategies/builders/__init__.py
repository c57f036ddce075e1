"""One builder an operator, in a module of the operator's name in lower case.

A module defines
    build(ctx) -> descriptor        a valid one, whatever the chooser says
    edges(ctx) -> descriptors       valid ones at the ends of the operator's ranges, small enough to execute
    huge(ctx, sizes) -> descriptors with a tensor of these two sizes and leading ones, to decide on only
    large(ctx, size) -> descriptor  one whose packed output has about `size` bytes, to measure throughput with
    long_axis(ctx, sizes, place) -> descriptor  one that works along one of three dimensions of its input
    vast(ctx, sizes) -> descriptor  one with an output of these three sizes
    wrapping(ctx) -> descriptors    invalid ones that are valid where sums and products are cut to 32 bits
    VIOLATIONS: {rule id: break}    for each rule of its own, break(ctx) -> descriptor that breaks that rule alone

The rules that all operators share are broken in `strategies.violations`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.strategies.context import Context

Violate = Callable[[Context], OperatorDesc]


class Builder(Protocol):
    """What a builder module offers."""

    VIOLATIONS: Mapping[str, Violate]

    def build(self, ctx: Context) -> Any:
        """A valid descriptor for `ctx.level` within the context's choices."""

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Valid descriptors at the ends of the operator's ranges, small enough to execute."""

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        """Descriptors with a tensor of these two sizes, too large to execute; valid up to `LARGEST`."""

    def large(self, ctx: Context, size: int) -> Any:
        """A valid descriptor with packed tensors and an output of about `size` bytes, to measure throughput with."""

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        """A valid descriptor with an input of these three sizes after leading ones, all tensors packed.

        It works along the dimension at `place`, from 0 to 2, by `FAR_INDICES` indices if it has any.
        """

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """A valid descriptor with an output of these three sizes after leading ones, all tensors packed."""

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """Descriptors whose attributes and sizes fit where sums and products are cut to 32 bits, and there alone."""


# 2^32 - 1 elements, the most that a tensor may have, as two sizes.
LARGEST = (65537, 65535)
# One element more.
TOO_LARGE = (65536, 65536)
# Axes longer than an index of 8 and of 16 bits reaches.
LONG_AXES = (300, 70_000)
# Indices along an axis: enough for one that is cut short to find another element somewhere.
FAR_INDICES = 67
# Size of the axis that the indices of a vast output run over.
SHORT_AXIS = 13


def matrix(size: int, element_size: int) -> tuple[int, int]:
    """Rows and columns of about `size` bytes, a row of 1 KiB."""
    columns = 1024 // element_size
    return max(size // 1024, 1), columns


def four(*sizes: int) -> tuple[int, ...]:
    """Sizes with leading ones up to 4 dimensions, which every level allows."""
    return (1,) * (4 - len(sizes)) + sizes


def plainest(ctx: Context) -> Context:
    """The same types and layouts every time: of what an implementation keeps, only attributes tell two apart."""
    return ctx.but(data_types=ctx.data_types[:1], index_types=ctx.index_types[:1], layout="packed")


@cache
def builder(operator: str) -> Builder:
    """The builder module of an operator."""
    return importlib.import_module(f"dml_conformance.strategies.builders.{operator.lower()}")
