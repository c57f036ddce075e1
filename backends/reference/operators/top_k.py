"""TOP_K and TOP_K1: the largest or smallest elements of each sequence, in order, and where they were."""

from __future__ import annotations

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Arrays, Compute
from dml_conformance.backends.reference.operators._order import unordered
from dml_conformance.backends.reference.parts import CutRows, Cuts
from dml_conformance.spec.expectation import Expectation, in_order
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import TopK

COUNTED = 64  # elements: NumPy sorts those of a byte or two by counting their values, for which fewer are too few


def top_k(desc: TopK, arrays: Arrays) -> dict[str, Expectation]:
    """The K largest of each sequence along Axis, or the smallest; of equal ones those of lower index come first."""
    source, axis, data_type = arrays["input_tensor"], desc.axis, desc.input_tensor.data_type
    keys = in_order(source, data_type)
    if getattr(desc, "axis_direction", None) != enumeration("DML_AXIS_DIRECTION").INCREASING:
        keys = ~keys  # the same in the opposite order
    if keys.itemsize < np.int32().itemsize and keys.shape[axis] < COUNTED:
        keys = keys.astype(np.int32)
    index = keys.argsort(axis, kind="stable")[(slice(None),) * axis + (slice(desc.k),)]
    values = np.take_along_axis(source, index, axis)
    found = unordered(source, data_type, axis)
    free = None if found is None else np.take_along_axis(found.whole | found.tiny, index, axis)
    numbers = index.astype(NUMBERS[desc.output_index_tensor.data_type])
    return {
        "output_value_tensor": Expectation(values, free=free),
        "output_index_tensor": Expectation(numbers.view(UNSIGNED[numbers.itemsize]), free=free),
    }


OPERATORS: dict[str, Compute] = {"TOP_K": top_k, "TOP_K1": top_k}
CUTS: dict[str, Cuts] = dict.fromkeys(
    OPERATORS, dict.fromkeys(("output_value_tensor", "output_index_tensor"), CutRows(lambda desc: (desc.axis,)))
)
