"""What the builders of operators that work along an axis share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dml_conformance.spec.operator import OperatorDesc, inputs
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit

D = TypeVar("D", bound=OperatorDesc)


def break_axis_range(ctx: Context, build_on_last_axis: Callable[[Context], D]) -> D:
    """An Axis at or above the dimension count, where the sizes fit the last axis: an Axis cut short would pass."""
    desc = build_on_last_axis(ctx)
    rank = len(inputs(desc)[0].tensor.sizes)
    return edit(desc, axis=ctx.chooser.variant((rank, rank + 1, 2**31, UINT32_MAX)))


def last_wide(sizes: Sequence[int]) -> int:
    """The last dimension of more than one element; raises Impossible where there is none."""
    found = [d for d, size in enumerate(sizes) if size > 1]
    if not found:
        raise Impossible
    return found[-1]
