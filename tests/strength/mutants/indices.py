"""Indices taken for something else than they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from strength.mutants.base import GATHERS, Bindings, Mutant, fault, index_numbers, limits, plants, with_indices


class WrongIndices(Mutant, abstract=True):
    families = GATHERS
    rules = ("values",)

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        return with_indices(desc, inputs, self.taken(desc, index_numbers(desc, inputs)))

    def taken(self, desc: Any, numbers: Any) -> Any:
        """What it takes the indices for."""
        raise NotImplementedError


@plants("taken", WrongIndices, families=(), indexes=True, since="3_0", rules=("negative-indices",))
def NegativeIndexOutOfRange(numbers: Any) -> Any:
    """Clamps a negative index to 0 instead of counting from the end."""
    return np.maximum(numbers, 0)


plants("taken", WrongIndices).each(
    NegativeIndexOneOff=fault(
        lambda desc, numbers: np.where(numbers < 0, (numbers - 1) % limits(desc), numbers),
        "Takes -1 for the last element but one.",
        since="3_0",
        rules=("negative-indices",),
    ),
    LastIndexClamped=fault(
        lambda desc, numbers: np.where(numbers == limits(desc) - 1, np.maximum(numbers - 1, 0), numbers),
        "Takes the last index of a dimension for one too many.",
        families=(),
        indexes=True,
    ),
    Int64IndexReadAsLow32Bits=fault(
        lambda desc, numbers: numbers & 0xFFFF_FFFF if desc.indices_tensor.data_type.size == 8 else numbers,
        "Reads the low half of a 64-bit index, unsigned: fine until it is negative.",
        since="3_0",
        rules=("negative-indices",),
    ),
)


@plants("taken", WrongIndices, since="3_0")
def Int64IndicesReadAs32BitElements(desc: Any, numbers: Any) -> Any:
    """Walks a 64-bit index tensor in steps of 4 bytes."""
    if desc.indices_tensor.data_type.size != 8:
        return numbers
    halves = np.ascontiguousarray(numbers).view(np.int32).reshape(-1)
    return np.resize(halves, numbers.shape).astype(np.int64)


plants("taken", WrongIndices).each(
    IndexTruncatedTo16Bits=lambda numbers: np.where(numbers >= 0, numbers & 0xFFFF, numbers),
    IndexTruncatedTo8Bits=lambda numbers: np.where(numbers >= 0, numbers & 0xFF, numbers),
)


@plants("computed", has=("input_dimension_count",), families=GATHERS, rules=("values",))
def TupleReversed(desc: Any, inputs: Bindings) -> Any:
    """Takes the coordinates of a tuple from the last dimension to the first."""
    return with_indices(desc, inputs, index_numbers(desc, inputs)[..., ::-1] % limits(desc))


plants("taken", WrongIndices).each(
    ZeroTakenForNegative=fault(
        lambda desc, numbers: np.where(numbers == 0, limits(desc) - 1, numbers),
        "Counts from the end from 0 on, not from -1.",
        families=(),
        indexes=True,
    ),
    FirstCoordinateForAll=fault(
        lambda desc, numbers: np.broadcast_to(numbers[..., :1], numbers.shape) % limits(desc),
        "Reads the first index of each row for all of it.",
    ),
)
