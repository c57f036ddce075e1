"""ARGMIN and ARGMAX: where the least or largest of several elements lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, Array, Arrays, Compute, as_bits
from dml_conformance.backends.reference.operators._order import unordered
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.expectation import Expectation, in_order
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import ArgReduce, Reduce

INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING


def arg_reduce(find: Callable[..., Array], desc: ArgReduce | Reduce, arrays: Arrays) -> dict[str, Expectation]:
    """The index of the extreme element among those along Axes, in row-major order; of equal ones the first or last.

    Args:
        find: gives the first extreme of integers along an axis.
        desc: the descriptor.
        arrays: the input.
    """
    axes, data_type = sorted(set(desc.axes)), desc.input_tensor.data_type
    kept = [d for d in range(arrays["input_tensor"].ndim) if d not in axes]
    source = arrays["input_tensor"].transpose(*kept, *axes)
    count = prod(source.shape[len(kept) :])
    sequences = source.reshape(*source.shape[: len(kept)], count)
    keys = in_order(sequences, data_type)
    if getattr(desc, "axis_direction", INCREASING) == INCREASING:
        index = find(keys, -1)
    else:
        index = count - 1 - find(keys[..., ::-1], -1)
    wide = [axis for axis in desc.axes if desc.input_tensor.sizes[axis] > 1]
    free = np.full(index.shape, wide != sorted(set(wide)))  # no page says how the elements along such axes are counted
    found = unordered(sequences, data_type, -1) if count > 1 else None
    if found is not None:
        free |= np.take_along_axis(found.whole | found.tiny, index[..., None], -1)[..., 0]
    numbers = as_bits(index.astype(NUMBERS[desc.output_tensor.data_type]), desc.output_tensor)
    return {"output_tensor": Expectation(numbers, free=free.reshape(numbers.shape) if free.any() else None)}


OPERATORS: dict[str, Compute] = {"ARGMIN": partial(arg_reduce, np.argmin), "ARGMAX": partial(arg_reduce, np.argmax)}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CutRows(lambda desc: desc.axes))
