"""Descriptors of PADDING and PADDING1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import cycle
from math import prod
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import FLOAT32_MAX, enumerations
from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import Padding
from dml_conformance.strategies.builders import LONG_AXES, Builder, four, leading_ones, matrix
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, put, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

MODES = enumerations()["DML_PADDING_MODE"]
MODE: Any = MODES.enum
MOST_PADDED = 251  # elements along a dimension that are padded where the output is vast
# What constants are made of: of integers those that their types have, of floats those that FLOAT16 has, too.
VALUES = (0.0, 1.0, -1.0, 9.0, 0.5, -2.75, 100.5, 1.0e4, -65504.0, math.inf, -math.inf, 2.0**-14)

Pads = Sequence[tuple[int, int]]


class PaddingBuilder(Builder[Padding]):
    """PADDING and PADDING1."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._states_type = name == "PADDING1"

    def build(self, ctx: Context) -> Padding:
        """One or two dimensions are padded."""
        chooser = ctx.chooser
        rank, data_type = chooser.choice(ctx.ranks), chooser.choice(ctx.data_types)
        inner = sizes(ctx, rank, ctx.least, wide=False)
        mode = chooser.choice(_modes(ctx.level))
        pads = [(0, 0)] * rank
        for _ in range(2):
            d = chooser.integer(0, rank - 1)
            before, behind = chooser.several(0, 7 if prod(inner) < 64 else 2, 2)
            if mode != MODE.REFLECTION or inner[d] > 1:
                pads[d] = before, behind
        chooser.section()
        return self._of_pads(ctx, data_type, inner, pads, mode, self._value(ctx, data_type))

    def _value(self, ctx: Context, data_type: DataType) -> float | int:
        limits = data_type.limits
        if limits is None:
            return ctx.chooser.choice(VALUES)
        if self._states_type:
            return ctx.chooser.choice((0, 1, *limits))
        return ctx.chooser.choice([value for value in VALUES if limits[0] <= value <= limits[1]])

    def _of_pads(
        self,
        ctx: Context,
        data_type: DataType,
        inner: tuple[int, ...],
        pads: Pads,
        mode: int,
        value: float | int = 0,
    ) -> Padding:
        outer = tuple(before + size + behind for size, (before, behind) in zip(inner, pads, strict=True))
        tensors = tensor(ctx, data_type, inner), tensor(ctx, data_type, outer, output=True)
        padding = (int(data_type), value) if self._states_type else (float(value),)
        starts, ends = (tuple(pad[n] for pad in pads) for n in range(2))
        return self._desc(*tensors, int(mode), *padding, starts, ends)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Padding:
        """Nothing is added."""
        return self._of_pads(ctx.but(layout="packed"), ctx.data_types[0], sizes, [(0, 0)] * len(sizes), MODE.EDGE)

    def edges(self, ctx: Context) -> Iterator[Padding]:
        """Every mode along every dimension, and by more than the input has; every constant of every type."""
        choice, types = ctx.chooser.choice, ctx.data_types
        turn = cycle(((1, 0), (0, 2), (8, 7)))
        for rank in ctx.ranks:
            for mode in _modes(ctx.level):
                for d in range(rank):
                    inner = tuple(3 if d == place else 2 for place in range(rank))
                    pad = next(turn)
                    pads = [pad if d == place else (0, 0) for place in range(rank)]
                    yield self._of_pads(ctx, choice(types), inner, pads, mode, 5)
                several = min(rank, 4)
                pads = [(0, 0)] * (rank - several) + [(1, 2)] * several
                yield self._of_pads(ctx, choice(types), (2,) * rank, pads, mode, 7)
        ones = (1,) * (ctx.ranks[0] - 1)
        for data_type in types:
            for value in self._constants(data_type):
                yield self._of_pads(ctx, data_type, (*ones, 3), [*((0, 0) for _ in ones), (2, 1)], MODE.CONSTANT, value)
        for length in LONG_AXES:
            for mode in _modes(ctx.level):
                yield self._of_pads(ctx, choice(types), (*ones, length), [*((0, 0) for _ in ones), (9, 8)], mode, 3)
                yield self._of_pads(ctx, choice(types), (*ones, 7), [*((0, 0) for _ in ones), (length, 2)], mode, 3)

    def _constants(self, data_type: DataType) -> tuple[float | int, ...]:
        """At the ends of a type's range; of PADDING also what the type does not have."""
        if not self._states_type:
            fractions = map(float32, (10.6, -0.75, 1.0e-7, 127.9))
            return (*fractions, 255.5, 65520.0, 2.0**31, -(2.0**63), FLOAT32_MAX, -math.inf, math.nan)
        return data_type.limits or (float32(0.1), math.nan, -math.inf)

    def large(self, ctx: Context, size: int) -> Padding:
        """A matrix with four columns more at each end of a row."""
        data_type = ctx.data_types[0]
        rows, columns = matrix(size, data_type.size)
        inner = leading_ones(ctx, rows, columns)
        pads = [*((0, 0) for _ in inner[1:]), (4, 4)]
        return self._of_pads(ctx.but(layout="packed"), data_type, inner, pads, MODE.REFLECTION)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Padding:
        """The edges once more."""
        inner = leading_ones(ctx, *sizes)
        pads = [(2, 3) if d == len(inner) - 3 + place else (0, 0) for d in range(len(inner))]
        return self._of_pads(ctx.but(layout="packed"), ctx.data_types[0], inner, pads, MODE.EDGE)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Padding:
        """A small input, mirrored over and over."""
        outer = leading_ones(ctx, *sizes)
        inner = tuple(min(size, MOST_PADDED) for size in outer)
        pads = [
            ((size - least) // 2, size - least - (size - least) // 2) for size, least in zip(outer, inner, strict=True)
        ]
        return self._of_pads(ctx.but(layout="packed"), ctx.data_types[0], inner, pads, MODE.REFLECTION)

    def wrapping(self, ctx: Context) -> Iterator[Padding]:
        """The paddings come to 2^32 elements more than the output has."""
        plain = ctx.but(layout="packed")
        for d in range(1, 4):
            desc = self._of_pads(plain, ctx.data_types[0], four(3, 3, 3), [(0, 0)] * 4, MODE.CONSTANT)
            for start, end in ((2**31, 2**31), (2**32 - 2, 3), (1, 2**32 - 1)):
                none = (0,) * 4
                padded = edit(desc, start_padding=put(none, d, start), end_padding=put(none, d, end))
                yield resize_at(padded, "output_tensor", d, (3 + start + end) % 2**32)

    def break_reflection_of_one(self, ctx: Context) -> Padding:
        rank = ctx.chooser.choice(ctx.ranks)
        inner = list(sizes(ctx, rank, wide=False))
        d = ctx.chooser.integer(0, rank - 1)
        inner[d] = 1
        pads = [ctx.chooser.variant(((1, 0), (0, 1), (3, 2))) if d == at else (0, 0) for at in range(rank)]
        return self._of_pads(ctx, ctx.chooser.choice(ctx.data_types), tuple(inner), pads, MODE.REFLECTION)


def _modes(level: Level) -> list[int]:
    """The modes that a level has."""
    return [int(mode) for mode in MODE if MODES.levels[mode] <= level]


BUILDERS = {name: PaddingBuilder(name) for name in ("PADDING", "PADDING1")}
