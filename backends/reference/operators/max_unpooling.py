"""MAX_UNPOOLING: elements written to the places that the indices name, zeros everywhere else."""

from __future__ import annotations

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import MaxUnpooling


def max_unpooling(desc: MaxUnpooling, arrays: Arrays) -> dict[str, Expectation]:
    """output = 0; output[indices[c...]] = input[c...], the output taken for one row.

    Where several indices name a place, any of the input will do; an index beyond the output may write anywhere.
    """
    elements = arrays["input_tensor"].reshape(-1)
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type).reshape(-1)
    values = np.zeros(desc.output_tensor.element_count, elements.dtype)
    inside = indices < values.size
    places = indices[inside].astype(np.int64)
    values[places] = elements[inside]
    sizes = desc.output_tensor.sizes
    if not inside.all():
        return {"output_tensor": Expectation(values.reshape(sizes), free=np.ones(sizes, np.bool_))}
    named, times = np.unique(places, return_counts=True)
    if (times == 1).all():
        return {"output_tensor": Expectation(values.reshape(sizes))}
    one_of = np.zeros(values.size, np.bool_)
    one_of[named[times > 1]] = True
    return {"output_tensor": Expectation(values.reshape(sizes), one_of.reshape(sizes), "input_tensor")}


OPERATORS: dict[str, Compute] = {"MAX_UNPOOLING": max_unpooling}
