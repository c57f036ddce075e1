"""What builders share whose operators have windows: what slides along dimensions."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.operators._windows import Window
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D, edit, put

PLAIN = Window(1, 1, 1, 0, 0)
# Sizes and what slides over them: windows of one element and of all, strides beyond the window, gaps, padding on one
# side alone, windows in the padding alone.
EDGES: tuple[tuple[int, Window], ...] = (
    (1, PLAIN),
    (5, Window(5, 1, 1, 0, 0)),
    (7, Window(2, 3, 1, 0, 0)),
    (7, Window(3, 2, 1, 0, 0)),
    (7, Window(3, 1, 2, 0, 0)),
    (7, Window(2, 2, 5, 1, 2)),
    (3, Window(2, 1, 1, 4, 0)),
    (3, Window(2, 1, 1, 0, 4)),
    (1, Window(3, 1, 1, 1, 1)),
    (300, Window(3, 2, 1, 1, 0)),
)


def chosen_windows(ctx: Context, spatial: int) -> tuple[Window, ...]:
    """Small ones along so many dimensions, the smaller the more there are."""
    most, padding = (3, 2) if spatial < 3 else (2, 1)
    return tuple(Window(*ctx.chooser.several(1, most, 3), *ctx.chooser.several(0, padding, 2)) for _ in range(spatial))


def chosen_image(ctx: Context, windows: tuple[Window, ...]) -> tuple[int, ...]:
    """Spatial sizes in which there is a window along each dimension, and mostly some more."""
    more = ctx.chooser.several(0, 3 if len(windows) < 3 else 1, len(windows))
    every = zip(windows, more, strict=True)
    return tuple(max(window.reach + room - window.before - window.behind, 1) for window, room in every)


def edges_of(rank: int) -> Iterator[tuple[tuple[int, ...], tuple[Window, ...]]]:
    """Spatial sizes with the windows over them: each of the edges along the last of so many dimensions."""
    beside = (3, Window(2, 1, 1, 0, 1))
    for size, window in EDGES:
        yield (*(beside[0],) * (rank - 1), size), (*(beside[1],) * (rank - 1), window)


def entries_of(windows: tuple[Window, ...]) -> tuple[tuple[int, ...], ...]:
    """The arrays that they make, of sizes, strides, dilations, paddings before and behind, and what is added."""
    return tuple(zip(*windows, strict=True)) if windows else ((),) * len(PLAIN)


def with_entry(ctx: Context, desc: D, name: str, entry: int, d: int | None = None) -> D:
    """The descriptor with one entry of an array changed, that of a dimension or any."""
    entries = getattr(desc, name)
    d = ctx.chooser.integer(0, len(entries) - 1) if d is None else d
    return edit(desc, **{name: put(entries, d, entry)})
