"""Descriptors of ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operator
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import described, edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor


class CopyBuilder(Builder):
    """One of these operators; all its tensors have the same sizes."""

    def __init__(self, name: str) -> None:
        self._spec = operator(name)
        self.violations = {"output-sizes": self.break_sizes}

    def build(self, ctx: Context) -> Any:
        return self._build(ctx, sizes(ctx, ctx.chooser.choice(ctx.ranks), 2 if ctx.spread else 1))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        plain = ctx.but(layout="packed", types={group: types[:1] for group, types in ctx.types.items()})
        return self._build(plain, sizes)

    def edges(self, ctx: Context) -> Iterator[Any]:
        for rank in ctx.ranks:
            yield self.build(ctx.of_rank(rank, rank))
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            yield self._build(ctx, (*ones, length))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        """With ScaleBias, where there is one, too: that is arithmetic, and decided on only."""
        for desc in super().huge(ctx, sizes):
            yield desc
            if hasattr(desc, "scale_bias"):
                yield edit(desc, scale_bias=ScaleBias(2.0, 1.0))

    def break_sizes(self, ctx: Context) -> Any:
        """A tensor whose sizes are not those of the others."""
        desc = self.build(ctx)
        key = ctx.chooser.variant([slot.key for slot in slots(desc)])
        found = described(desc, key).sizes
        d = ctx.chooser.variant(range(len(found)))
        other = ctx.chooser.variant([n for n in (found[d] + 1, found[d] - 1, 1) if n > 0 and n != found[d]])
        return resize_at(desc, key, d, other)

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        types = {group: ctx.chooser.choice(types) for group, types in ctx.types.items()}
        tensors = {
            field.attribute: tensor(ctx, types[self._spec.group(field)], sizes, output=field.is_output)
            for field in self._spec.tensor_fields
        }
        rest = {field.attribute: None for field in self._spec.fields if not field.is_tensor}
        return self._spec.desc(**tensors, **rest)


BUILDERS = {name: CopyBuilder(name) for name in ("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY", "ELEMENT_WISE_IF")}
