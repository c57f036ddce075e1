"""What the reference computes for a descriptor whose inputs are given, for worked examples and errata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.spec.case import Recipe
from dml_conformance.spec.examples import Example, flattened
from dml_conformance.spec.operator import OperatorDesc, OperatorSpec, inputs, outputs
from dml_conformance.strategies.values import NUMPY_TYPE, fill

Reference = Callable[[OperatorDesc, Mapping[str, Binding]], Mapping[str, Any]]


class Computed(NamedTuple):
    """What the reference says of one output tensor.

    Attributes:
        elements: an array of the tensor's sizes and data type.
        open: which of them the specification leaves open, an array of bool; None for none.
        is_bounded: whether every element that is left open has an interval.
    """

    elements: npt.NDArray[Any]
    open: npt.NDArray[np.bool_] | None
    is_bounded: bool

    def printed(self, values: Any) -> npt.NDArray[Any]:
        """Printed elements, nested or not, as an array like that of the computed ones."""
        return np.array([*flattened(values)], self.elements.dtype).reshape(self.elements.shape)

    def leaves_open(self, printed: npt.NDArray[Any], spec: OperatorSpec) -> bool:
        """Whether too little is said to hold printed elements against it.

        A choice between indices is open, or all elements are: unless they have intervals and what stands for these is
        what is printed.
        """
        if self.open is None or (spec.index is None and not np.all(self.open)):
            return False
        return spec.index is not None or not self.is_bounded or self.elements.tobytes() != printed.tobytes()

    def differing(self, printed: npt.NDArray[Any]) -> list[tuple[int, ...]]:
        """The cells in which something else is printed than is computed, but for open ones."""
        unlike = printed != self.elements
        cells = np.argwhere(unlike if self.open is None else unlike & ~self.open)
        return [tuple(map(int, cell)) for cell in cells]


def run_reference(
    desc: OperatorDesc, data: Mapping[str, Recipe], reference: Reference | None = None
) -> dict[str, Computed]:
    """The output tensors of a descriptor by their names, `OutputTensors[1]` for one of an array.

    Args:
        data: a recipe for each input tensor, by slot.
        reference: computes outputs as `backends.reference.expected_output` does, which is taken for None.
    """
    bound = {}
    for slot in inputs(desc):
        buffer = fill(slot.tensor, data[slot.key])
        bound[slot.key] = Binding(buffer, 0, len(buffer))
    results = (reference or expected_output)(desc, bound)
    found = {}
    for slot in outputs(desc):
        result = results[slot.key]
        elements = np.ascontiguousarray(result.values).reshape(-1).view(NUMPY_TYPE[slot.tensor.data_type])
        is_open, within = result.open, result.within
        if is_open is not None and within is not None:  # of an interval of one number nothing is open
            known = (within.low == within.high) & (within.nan is None or ~within.nan)
            is_open = is_open & ~known if result.free is None else is_open & (~known | result.free)
        is_bounded = not any(mask is not None and mask.any() for mask in (result.one_of, result.free))
        left = is_open if is_open is not None and is_open.any() else None
        found[slot.name] = Computed(elements.reshape(slot.tensor.sizes), left, is_bounded)
    return found


def run_example(example: Example, desc: OperatorDesc, reference: Reference | None = None) -> dict[str, Computed]:
    """The output tensors of a descriptor on the elements that an example prints for its inputs, which must be all."""
    data = {slot.key: Recipe("explicit", values=example.elements(slot.name)) for slot in inputs(desc)}
    return run_reference(desc, data, reference)
