"""Descriptors of operators whose tensors all have the same sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import SCALE_BIAS, EnumKind, ScaleBias
from dml_conformance.spec.operator import Field
from dml_conformance.strategies.builders import LONG_AXES, Builder, plainest
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D, edit
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]
LONGEST_AXIS = 2**20
# What ScaleBias is tried with; without it mostly, so that all of a function's own arguments are met.
SCALES = (None, None, ScaleBias(1.0, 0.0), ScaleBias(-0.75, 0.5), ScaleBias(3.0, -1.25))


class ElementWiseBuilder(Builder[D]):
    """One such operator. An attribute with enumerators has any of them, ScaleBias and others what they are given.

    Args:
        name: the operator's.
        attributes: what an attribute is to be tried with.
    """

    shares_layouts = True
    longest_axis = LONGEST_AXIS

    def __init__(self, name: str, **attributes: Sequence[Any]) -> None:
        super().__init__(name)
        fields = [field for field in self._spec.fields if not field.is_tensor]
        self._attributes: dict[str, Sequence[Any]] = {field.attribute: (None,) for field in fields}
        for field in fields:
            if isinstance(field.kind, EnumKind):
                self._attributes[field.attribute] = tuple(map(int, field.kind.enum))
            elif field.kind.name == SCALE_BIAS.name:
                self._attributes[field.attribute] = SCALES
        self._attributes |= attributes

    def build(self, ctx: Context) -> D:
        return self._build(ctx, sizes(ctx, ctx.chooser.choice(ctx.ranks), ctx.least))

    def of_sizes(self, ctx: Context, sizes: Sizes) -> D:
        desc = self._build(plainest(ctx), sizes)
        # Without ScaleBias all of a function's arguments are met as they are.
        return edit(desc, scale_bias=None) if "scale_bias" in self._attributes else desc

    def edges(self, ctx: Context) -> Iterator[D]:
        """Every dimension count, long axes, and everything that an attribute is tried with."""
        yield from self.of_every_rank(ctx)
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            yield self._build(ctx, (*ones, length))
        for attribute, every in self._attributes.items():
            for one in every if len(every) > 1 else ():
                yield edit(self._build(ctx, (*ones, LONG_AXES[0])), **{attribute: one})

    def types(self, ctx: Context) -> Mapping[str, DataType]:
        """The data type of each group."""
        return {group: ctx.chooser.choice(types) for group, types in ctx.types.items()}

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        """The attributes of tensors of these types and sizes."""
        return {attribute: ctx.chooser.choice(every) for attribute, every in self._attributes.items()}

    def is_given(self, ctx: Context, field: Field) -> bool:
        """Whether a tensor is there."""
        return True

    def sizes_of(self, field: Field, sizes: Sizes) -> Sizes:
        """Those of a tensor where the first one has these."""
        return sizes

    def _build(self, ctx: Context, sizes: Sizes) -> D:
        types = self.types(ctx)
        tensors = {
            field.attribute: tensor(
                ctx, types[self._spec.group(field)], self.sizes_of(field, sizes), output=field.is_output
            )
            if self.is_given(ctx, field)
            else None
            for field in self._spec.tensor_fields
        }
        return self._desc(**tensors, **self.chosen(ctx, types, sizes))
