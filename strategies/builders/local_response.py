"""Descriptors of LOCAL_RESPONSE_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION_GRAD."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from dml_conformance.spec.operators.local_response import FORWARD, GRADIENT
from dml_conformance.spec.structures import LocalResponse, LocalResponseGrad
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder, matrix, plainest
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import sizes

Sizes = tuple[int, ...]
# Regions of one element, odd and even ones, and such as reach beyond any tensor that is executed.
LOCAL_SIZES = (3, 1, 2, 4, 5)
BEYOND = (100, 2**31, UINT32_MAX)
# Alpha, Beta and Bias: as recommended, then such that the squares matter, that the power is a plain one, and none.
PARAMETERS = (
    (float32(1e-4), 0.75, 1.0),
    (1.0, 0.75, 2.0),
    (0.5, 0.5, 0.25),
    (2.0, 1.0, 1.0),
    (0.25, 2.0, 1.0),
    (1.0, -0.5, 1.0),
    (0.0, 0.75, 2.0),
    (1.0, 0.0, 1.0),
)
# Channels, LocalSize and parameters of networks: AlexNet, GoogLeNet and ZFNet.
NETWORKS = (
    (96, 5, (float32(1e-4), 0.75, 2.0)),
    (64, 5, (float32(1e-4), 0.75, 1.0)),
    (96, 3, (float32(5e-5), 0.75, 1.0)),
)
LARGE_CHANNELS = 16


class LocalResponseBuilder(Builder[LocalResponse | LocalResponseGrad]):
    """The normalization or its gradient."""

    def build(self, ctx: Context) -> LocalResponse | LocalResponseGrad:
        chooser = ctx.chooser
        is_cross, local_size = chooser.choice((True, False)), chooser.choice(LOCAL_SIZES)
        parameters, rank = chooser.choice(PARAMETERS), chooser.choice(ctx.ranks)
        return self.alike(ctx, sizes(ctx, rank, ctx.least), is_cross, local_size, *parameters)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> LocalResponse | LocalResponseGrad:
        if len(sizes) not in ctx.ranks:
            raise Impossible
        return self._plain(ctx, sizes, is_cross=True)

    def large(self, ctx: Context, size: int) -> LocalResponse | LocalResponseGrad:
        """Some channels, of which each has as many rows."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self._plain(ctx, (1, LARGE_CHANNELS, max(rows // LARGE_CHANNELS, 1), columns), is_cross=True)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> LocalResponse | LocalResponseGrad:
        if prod(sizes) > MOST_TOGETHER:
            raise Impossible
        return self._plain(ctx, (1, *sizes), is_cross=place == 0)

    def vast(self, ctx: Context, sizes: Sizes) -> LocalResponse | LocalResponseGrad:
        """A batch of images of one channel."""
        if sizes[2] > MOST_TOGETHER:
            raise Impossible
        return self._plain(ctx, (sizes[0], 1, *sizes[1:]), is_cross=True)

    def edges(self, ctx: Context) -> Iterator[LocalResponse | LocalResponseGrad]:
        """Every region and all parameters, across channels and within them; what networks have; long rows."""
        packed = ctx.but(layout="packed")
        for is_cross, local_size in product((True, False), (*LOCAL_SIZES, *BEYOND)):
            yield self.alike(packed, (2, 6, 3, 5), is_cross, local_size, *PARAMETERS[1])
        for is_cross, parameters in product((True, False), PARAMETERS):
            yield self.alike(packed, (1, 5, 4, 4), is_cross, LOCAL_SIZES[0], *parameters)
        for channels, local_size, parameters in NETWORKS:
            yield self.alike(packed, (1, channels, 4, 4), True, local_size, *parameters)
        for length in LONG_AXES[:1]:
            yield self.alike(packed, (1, 2, 1, length), False, LOCAL_SIZES[0], *PARAMETERS[1])
            yield self.alike(packed, (1, length, 1, 2), True, LOCAL_SIZES[0], *PARAMETERS[1])

    def _plain(self, ctx: Context, found: Sizes, is_cross: bool) -> LocalResponse | LocalResponseGrad:
        return self.alike(plainest(ctx), found, is_cross, LOCAL_SIZES[0], *PARAMETERS[1])


BUILDERS = {name: LocalResponseBuilder(name) for name in (FORWARD, GRADIENT)}
