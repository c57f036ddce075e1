"""Descriptors of ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.structures import ActivationReluGrad
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor


class ReluGradBuilder(Builder[ActivationReluGrad]):
    def build(self, ctx: Context) -> ActivationReluGrad:
        return self._build(ctx, sizes(ctx, ctx.chooser.choice(ctx.ranks), ctx.least))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> ActivationReluGrad:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes)

    def edges(self, ctx: Context) -> Iterator[ActivationReluGrad]:
        yield from self.of_every_rank(ctx)
        for length in LONG_AXES:
            yield self._build(ctx, (1,) * (ctx.ranks[0] - 1) + (length,))

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> ActivationReluGrad:
        data_type = ctx.chooser.choice(ctx.data_types)
        tensors = (tensor(ctx, data_type, sizes, output=is_output) for is_output in (False, False, True))
        return self._desc(*tensors)


BUILDERS = {"ACTIVATION_RELU_GRAD": ReluGradBuilder("ACTIVATION_RELU_GRAD")}
