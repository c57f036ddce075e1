"""What the builders of operators that work along an axis share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import Builder, leading_ones
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit


def last_wide(sizes: Sequence[int]) -> int:
    """The last dimension of more than one element; raises Impossible where there is none."""
    found = [d for d, size in enumerate(sizes) if size > 1]
    if not found:
        raise Impossible
    return found[-1]


class AlongBuilder(Builder):
    """Of an operator with Axis, or Axes."""

    def along(self, ctx: Context, sizes: tuple[int, ...], axis: int) -> Any:
        """A valid descriptor with packed tensors, the first of these sizes, that works along one axis."""
        raise NotImplementedError

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self.along(ctx, sizes, last_wide(sizes))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        if sizes[place] > self.longest_axis:
            raise Impossible
        every = leading_ones(ctx, *sizes)
        return self.along(ctx, every, len(every) - len(sizes) + place)

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """An axis + 1 starts again at 0."""
        desc = self.along(ctx, (1, 2, 3, 5), 3)
        yield edit(desc, **({"axes": (UINT32_MAX,)} if hasattr(desc, "axes") else {"axis": UINT32_MAX}))
