"""What the builders of indexing operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dml_conformance.spec.operator import OperatorDesc, inputs
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit

D = TypeVar("D", bound=OperatorDesc)


def break_axis_range(ctx: Context, build_on_last_axis: Callable[[Context], D]) -> D:
    """An Axis at or above the dimension count, where the sizes fit the last axis: an Axis cut short would pass."""
    desc = build_on_last_axis(ctx)
    rank = len(inputs(desc)[0].tensor.sizes)
    return edit(desc, axis=ctx.chooser.variant((rank, rank + 1, 2**31, UINT32_MAX)))
