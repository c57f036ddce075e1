"""Comparing an output with what is expected: bit for bit, except where the specification leaves an element open."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reports.records import Difference
from spec.datatypes import DataType
from strategies.values import NUMPY_TYPE

SHOWN = 8
OPEN = "any element of the input"

Elements = npt.NDArray[np.unsignedinteger]


class Comparison(NamedTuple):
    """What differs: how many elements, and the first of them in row-major order."""

    wrong: int
    shown: tuple[Difference, ...]


EQUAL = Comparison(0, ())


def compare(
    actual: Elements,
    expected: Elements,
    data_type: DataType,
    is_open: npt.NDArray[np.bool_] | None = None,
    allowed: Elements | None = None,
) -> Comparison:
    """Compare bits.

    Args:
        actual: the output's elements as unsigned integers, in the output's sizes.
        expected: the same, as they should be.
        data_type: how to show them.
        is_open: True where the specification leaves the value open; None = nowhere.
        allowed: values that an open element may have.
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
    first = np.argwhere(wrong)[:SHOWN]
    return Comparison(
        count, tuple(_difference(tuple(map(int, where)), actual, expected, is_open, data_type) for where in first)
    )


def _difference(
    where: tuple[int, ...], actual: Elements, expected: Elements, is_open: Any, data_type: DataType
) -> Difference:
    found = actual[where]
    if is_open is not None and is_open[where]:
        return Difference(where, OPEN, "", shown_value(found, data_type), shown_bits(found, data_type))
    wanted = expected[where]
    return Difference(
        where,
        shown_value(wanted, data_type),
        shown_bits(wanted, data_type),
        shown_value(found, data_type),
        shown_bits(found, data_type),
    )


def shown_bits(bits: Any, data_type: DataType) -> str:
    """`0x7fc00000`, as wide as the type."""
    return f"0x{int(bits):0{data_type.size * 2}x}"


def shown_value(bits: Any, data_type: DataType) -> str:
    """The element as a number in its own type, `nan` and `-0.0` included."""
    value = np.asarray(bits).reshape(1).view(NUMPY_TYPE[data_type])[0]
    return repr(value.item())
