"""What the builders of operators share whose DimensionCount counts arrays."""

from __future__ import annotations

from typing import TypeVar

from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit

D = TypeVar("D", bound=OperatorDesc)


def break_array_lengths(ctx: Context, desc: D, **more: int) -> D:
    """All arrays, which have one count, longer or shorter by one, or empty.

    Args:
        ctx: decides.
        desc: a valid one.
        more: by attribute, what a longer array has in addition.
    """
    kind = ctx.chooser.variant(("one more in front", "one more behind", "one less", "empty"))
    changed = {}
    for attribute, value in more.items():
        array = getattr(desc, attribute)
        changed[attribute] = {
            "one more in front": (value, *array),
            "one more behind": (*array, value),
            "one less": array[1:],
            "empty": (),
        }[kind]
    return edit(desc, **changed)
