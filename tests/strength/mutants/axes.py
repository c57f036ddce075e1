"""The axis that an operator works along."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference import layout
from strength.mutants.base import GATHERS, Bindings, Mutant, WrongDecision, fault, index_numbers, plants, rank


class WrongAxis(Mutant, abstract=True):
    families, has = GATHERS, ("axis",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        source = layout.bits(inputs["input_tensor"], desc.input_tensor)
        axis = self.taken(desc) % source.ndim
        places = index_numbers(desc, inputs) % source.shape[axis]
        sizes = desc.output_tensor.sizes
        if hasattr(desc, "index_dimensions"):  # slices are gathered; else elements are
            meaningful = places[(0,) * (places.ndim - desc.index_dimensions) + (...,)]
            return np.resize(np.take(source, meaningful, axis), sizes)
        coordinates = [c % size for c, size in zip(np.indices(sizes), source.shape, strict=True)]
        coordinates[axis] = places
        return source[tuple(coordinates)]

    def taken(self, desc: Any) -> int:
        """The axis that it works along."""
        raise NotImplementedError


@plants("taken", WrongAxis)
def AxisOffByOne(desc: Any) -> int:
    """Works along the dimension after the axis."""
    return int(desc.axis) + 1


plants("taken", WrongAxis).each(
    AxisCountedFromTheEnd=fault(lambda desc: rank(desc) - 1 - int(desc.axis), "Takes 0 for the last dimension."),
    AxisWithoutLeadingOnes=fault(
        lambda desc: int(desc.axis) + next((d for d, size in enumerate(desc.input_tensor.sizes) if size > 1), 0),
        "Counts axes from the first dimension that is larger than 1.",
    ),
)


@plants("seen", WrongDecision, has=("axis",), families=GATHERS, rules=("axis-range",))
def AcceptsAxisEqualToRank(desc: Any) -> Any:
    is_off_by_one = desc.input_tensor is not None and desc.axis == rank(desc)
    return replace(desc, axis=desc.axis - 1) if is_off_by_one else desc


@plants("seen", WrongDecision, has=("axis",), families=GATHERS, rules=("axis-range",))
def AcceptsNegativeAxis(desc: Any) -> Any:
    """Takes an Axis of 2^32 - 1 for -1, the last dimension."""
    is_minus_one = desc.input_tensor is not None and desc.axis == 2**32 - 1
    return replace(desc, axis=rank(desc) - 1) if is_minus_one else desc
