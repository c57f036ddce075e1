"""Operators as functions of numbers, and what is known of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dml_conformance.backends.reference.floats import quiet, spacing
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.backends.reference.operators import compute_of, cut_of
from dml_conformance.backends.reference.parts import cut_elementwise, reach_of
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc, inputs, outputs
from dml_conformance.spec.registry import operator, operators
from dml_conformance.strategies.builders import builder, leading_ones
from dml_conformance.strategies.chooser import SimplestChooser
from dml_conformance.strategies.context import Context

TYPES = (DataType.FLOAT32, DataType.FLOAT16)
WIDTH = 64  # of a row whose elements are computed together

# Attributes that make an operator round, where those that come first do not: numbers that FLOAT32 has.
ATTRIBUTES: dict[str, dict[str, float]] = {
    "ACTIVATION_LINEAR": {"alpha": 0.699999988079071, "beta": 0.30000001192092896},
    "ACTIVATION_SHRINK": {"bias": 0.3750399947166443},
    "ELEMENT_WISE_CONSTANT_POW": {"exponent": 1.7000000476837158},
}


class Deviations(NamedTuple):
    """What is known of each result.

    Attributes:
        is_right: whether it lies in its interval.
        is_counted: whether its error counts: it and the exact value are finite, and it says something, see `Within`.
        error: in units in the last place of the exact value; 0 where it does not count.
        used: the part of the way from the exact value to the interval's end, likewise; more than 1 is beyond it.
        value: the nearest number of the type.
        low, high: the ends of the interval, as numbers of the type.
        nan: where a NaN is right.
    """

    is_right: Any
    is_counted: Any
    error: Any
    used: Any
    value: Any
    low: Any
    high: Any
    nan: Any


class Function(NamedTuple):
    """An operator as a function of numbers.

    Attributes:
        name: the operator's.
        desc: makes the descriptor for so many rows and columns.
        leading: which of its inputs is tried binade by binade, and of what type that is.
        found: what it computes.
        is_of_one: whether that is a function of one number.
    """

    name: str
    desc: Callable[[int, int], OperatorDesc]
    leading: tuple[int, DataType]
    found: Formula
    is_of_one: bool

    @quiet
    def judged(self, found: Formula, results: Any, tolerance: Tolerance) -> Deviations:
        """Results of the function of some arguments: arrays, or tensors of torch's on a device."""
        enclosure, data_type = found(tolerance), found.data_type
        xp = enclosure.xp
        value, low, high = enclosure.rounded(data_type)
        exact, nan = enclosure.value, enclosure.nan
        got = xp.astype(results, xp.float64)
        is_right = xp.where(xp.isnan(got), nan, (low <= results) & (results <= high))
        if found.keeps_zero_signs:
            is_zero = (low == 0) & (high == 0) & ~nan
            is_right = is_right & (~is_zero | (xp.signbit(results) == xp.signbit(value)))
        is_counted = xp.isfinite(got) & xp.isfinite(exact)
        if (says := found.counted(enclosure, reach_of(self.name, data_type, tolerance))) is not None:
            is_counted = is_counted & says
        away = abs(got - exact)
        end = xp.where(got > exact, enclosure.high, enclosure.low)
        is_none = (away == 0) | ((got == 0) & (end == 0))  # some functions have no results beyond 0
        used = xp.where(is_none, 0.0, away / abs(end - exact))
        error, used = (xp.where(is_counted, each, 0.0) for each in (away / spacing(xp, exact, data_type), used))
        return Deviations(is_right, is_counted, error, used, value, low, high, nan)


@cache
def function(name: str, data_type: DataType) -> Function | None:
    """An operator as a function with results of a type; None where it is none.

    Its attributes are those that come first, or in `ATTRIBUTES`.
    """
    spec = operator(name)
    needed = [each for each in spec.tensor_fields if not each.optional]
    has_numbers = spec.primitives or cut_of(name) is cut_elementwise
    if not has_numbers or [each.is_output for each in needed].count(True) != 1:
        return None
    ctx = Context.at(SimplestChooser(), spec, HIGHEST)
    for group in {spec.group(each) for each in needed}:
        types = ctx.types[group]  # of integers the narrowest, whose sums FLOAT32 has
        ctx = ctx.of_types(group, (data_type if data_type in types else min(types, key=lambda of: of.size),))

    def desc(rows: int, columns: int) -> OperatorDesc:
        sizes = (rows, columns) if is_element_wise else (rows * columns // WIDTH, WIDTH)
        made: OperatorDesc = builder(name).of_sizes(ctx, leading_ones(ctx, *sizes))
        return msgspec.structs.replace(made, **ATTRIBUTES.get(name, {}))

    is_element_wise = True
    one = desc(1, WIDTH)
    slots, (output,) = list(inputs(one)), outputs(one)
    found = computed(one, [np.zeros(slot.tensor.sizes, NUMBERS[slot.tensor.data_type]) for slot in slots])
    leading = next(((n, of) for n, slot in enumerate(slots) if (of := slot.tensor.data_type) in TYPES), None)
    if found is None or leading is None or output.tensor.data_type is not data_type:
        return None
    if any(slot.tensor.sizes != output.tensor.sizes for slot in slots):
        return None
    is_element_wise = found.is_element_wise
    return Function(name, desc, leading, found, is_element_wise and len(found.arguments) == 1)


def computed(desc: OperatorDesc, arguments: Sequence[Any]) -> Formula | None:
    """What an operator computes of its inputs; None where that is no formula."""
    arrays = {
        slot.key: each.view(UNSIGNED[slot.tensor.data_type.size]).reshape(slot.tensor.sizes)
        for slot, each in zip(inputs(desc), arguments, strict=True)
    }
    (found,) = compute_of(desc.operator)(desc, arrays).values()
    return found if isinstance(found, Formula) else None


def functions() -> list[str]:
    """The operators that are functions of numbers."""
    return [name for name in operators() if any(function(name, data_type) for data_type in TYPES)]
