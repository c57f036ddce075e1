"""Indices taken for something else than they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from strength.mutants.base import GATHERS, Bindings, Mutant, index_numbers, limits, plants, with_indices


class WrongIndices(Mutant, abstract=True):
    families = GATHERS
    rules = ("values",)

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        return with_indices(desc, inputs, self.taken(desc, index_numbers(desc, inputs)))

    def taken(self, desc: Any, numbers: Any) -> Any:
        """What it takes the indices for."""
        raise NotImplementedError


@plants("taken", WrongIndices, families=(), indexes=True, since="3_0", rules=("negative-indices",))
def NegativeIndexOutOfRange(desc: Any, numbers: Any) -> Any:
    """Clamps a negative index to 0 instead of counting from the end."""
    return np.maximum(numbers, 0)


@plants("taken", WrongIndices, since="3_0", rules=("negative-indices",))
def NegativeIndexOneOff(desc: Any, numbers: Any) -> Any:
    """Takes -1 for the last element but one."""
    return np.where(numbers < 0, (numbers - 1) % limits(desc), numbers)


@plants("taken", WrongIndices, families=(), indexes=True)
def LastIndexClamped(desc: Any, numbers: Any) -> Any:
    """Takes the last index of a dimension for one too many."""
    return np.where(numbers == limits(desc) - 1, np.maximum(numbers - 1, 0), numbers)


@plants("taken", WrongIndices, since="3_0", rules=("negative-indices",))
def Int64IndexReadAsLow32Bits(desc: Any, numbers: Any) -> Any:
    """Reads the low half of a 64-bit index, unsigned: fine until it is negative."""
    return numbers & 0xFFFF_FFFF if desc.indices_tensor.data_type.size == 8 else numbers


@plants("taken", WrongIndices, since="3_0")
def Int64IndicesReadAs32BitElements(desc: Any, numbers: Any) -> Any:
    """Walks a 64-bit index tensor in steps of 4 bytes."""
    if desc.indices_tensor.data_type.size != 8:
        return numbers
    halves = np.ascontiguousarray(numbers).view(np.int32).reshape(-1)
    return np.resize(halves, numbers.shape).astype(np.int64)


@plants("taken", WrongIndices)
def IndexTruncatedTo16Bits(desc: Any, numbers: Any) -> Any:
    return np.where(numbers >= 0, numbers & 0xFFFF, numbers)


@plants("taken", WrongIndices)
def IndexTruncatedTo8Bits(desc: Any, numbers: Any) -> Any:
    return np.where(numbers >= 0, numbers & 0xFF, numbers)


@plants("computed", has=("input_dimension_count",), families=GATHERS, rules=("values",))
def TupleReversed(desc: Any, inputs: Bindings) -> Any:
    """Takes the coordinates of a tuple from the last dimension to the first."""
    return with_indices(desc, inputs, index_numbers(desc, inputs)[..., ::-1] % limits(desc))


@plants("taken", WrongIndices, families=(), indexes=True)
def ZeroTakenForNegative(desc: Any, numbers: Any) -> Any:
    """Counts from the end from 0 on, not from -1."""
    return np.where(numbers == 0, limits(desc) - 1, numbers)


@plants("taken", WrongIndices)
def FirstCoordinateForAll(desc: Any, numbers: Any) -> Any:
    """Reads the first index of each row for all of it."""
    return np.broadcast_to(numbers[..., :1], numbers.shape) % limits(desc)
