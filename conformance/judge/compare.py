"""Comparing an output with what is expected: bit for bit, except where the specification leaves an element open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.reports.records import Difference
from dml_conformance.spec.datatypes import DataType
from dml_conformance.strategies.values import NUMPY_TYPE

# Differing elements that are recorded: all of a small output, so that it can be drawn whole; of a larger one the first.
SMALL_OUTPUT = 256
RECORDED = 64
OPEN = "any element of the input"

Elements = npt.NDArray[np.unsignedinteger]


class OutputComparison(NamedTuple):
    """What differs: how many elements, and the first of them in row-major order."""

    wrong: int
    shown: tuple[Difference, ...]

    def and_then(self, other: OutputComparison) -> OutputComparison:
        """This, and what differs behind it in the same output."""
        if not self.wrong or not other.wrong:
            return other if other.wrong else self
        return OutputComparison(self.wrong + other.wrong, (self.shown + other.shown)[:RECORDED])


EQUAL = OutputComparison(0, ())


def compare(
    actual: Elements,
    expected: Elements,
    data_type: DataType,
    is_open: npt.NDArray[np.bool_] | None = None,
    allowed: Elements | None = None,
    start: Sequence[int] = (),
) -> OutputComparison:
    """Compare bits.

    Args:
        actual: the output's elements as unsigned integers, in the output's sizes.
        expected: the same, as they should be.
        data_type: how to show them.
        is_open: True where the specification leaves the value open; None = nowhere.
        allowed: values that an open element may have.
        start: coordinates of the first element, where these are part of an output; () = they are all of it.
    """
    if is_open is None and actual.tobytes() == expected.tobytes():
        return EQUAL
    wrong = actual != expected
    if is_open is not None:
        assert allowed is not None
        wrong &= ~is_open
        wrong[is_open] = ~np.isin(actual[is_open], allowed)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return EQUAL
    places = np.flatnonzero(wrong)[: SMALL_OUTPUT if wrong.size <= SMALL_OUTPUT else RECORDED]
    index = np.unravel_index(places, wrong.shape)
    begins = start or (0,) * wrong.ndim
    coordinates = zip(*((along + begin).tolist() for along, begin in zip(index, begins, strict=True)), strict=True)
    found, wanted = shown(actual[index], data_type), shown(expected[index], data_type)
    if is_open is not None:
        wanted = [(OPEN, "") if free else known for free, known in zip(is_open[index].tolist(), wanted, strict=True)]
    return OutputComparison(
        count, tuple(Difference(at, *want, *got) for at, want, got in zip(coordinates, wanted, found, strict=True))
    )


def shown(elements: Elements, data_type: DataType) -> list[tuple[str, str]]:
    """Elements as numbers in their own type, `nan` and `-0.0` included, and their bits as `shown_bits` shows them."""
    digits = data_type.size * 2  # all at once: a NumPy scalar for each element takes ten times as long
    values = np.ascontiguousarray(elements).view(NUMPY_TYPE[data_type]).tolist()
    return [(repr(value), f"0x{bits:0{digits}x}") for value, bits in zip(values, elements.tolist(), strict=True)]


def shown_bits(bits: Any, data_type: DataType) -> str:
    """`0x7fc00000`, as wide as the type."""
    return f"0x{int(bits):0{data_type.size * 2}x}"
