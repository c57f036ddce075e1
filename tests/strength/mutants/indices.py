"""Indices taken for something else than they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from strength.mutants.base import Mutant, index_numbers, limits, with_indices


class WrongIndices(Mutant, abstract=True):
    has = ("indices_tensor",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        return with_indices(desc, inputs, self.taken(desc, inputs, index_numbers(desc, inputs)))

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        """What it takes the indices for."""
        raise NotImplementedError


class NegativeIndexOutOfRange(WrongIndices):
    """Clamps a negative index to 0 instead of counting from the end."""

    since = "3_0"
    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.maximum(numbers, 0)


class NegativeIndexOneOff(WrongIndices):
    """Takes -1 for the last element but one."""

    since = "3_0"
    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers < 0, (numbers - 1) % limits(desc), numbers)


class LastIndexClamped(WrongIndices):
    """Takes the last index of a dimension for one too many."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers == limits(desc) - 1, np.maximum(numbers - 1, 0), numbers)


class Int64IndexReadAsLow32Bits(WrongIndices):
    """Reads the low half of a 64-bit index, unsigned: fine until it is negative."""

    since = "3_0"
    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return numbers & 0xFFFF_FFFF if desc.indices_tensor.data_type.size == 8 else numbers


class Int64IndicesReadAs32BitElements(WrongIndices):
    """Walks a 64-bit index tensor in steps of 4 bytes."""

    since = "3_0"

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        if desc.indices_tensor.data_type.size != 8:
            return numbers
        halves = np.ascontiguousarray(numbers).view(np.int32).reshape(-1)
        return np.resize(halves, numbers.shape).astype(np.int64)


class IndexTruncatedTo16Bits(WrongIndices):
    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers >= 0, numbers & 0xFFFF, numbers)


class IndexTruncatedTo8Bits(WrongIndices):
    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers >= 0, numbers & 0xFF, numbers)


class TupleReversed(Mutant):
    """Takes the coordinates of a tuple from the last dimension to the first."""

    has = ("input_dimension_count",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        return with_indices(desc, inputs, index_numbers(desc, inputs)[..., ::-1] % limits(desc))


class ZeroTakenForNegative(WrongIndices):
    """Counts from the end from 0 on, not from -1."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers == 0, limits(desc) - 1, numbers)


class FirstCoordinateForAll(WrongIndices):
    """Reads the first index of each row for all of it."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.broadcast_to(numbers[..., :1], numbers.shape) % limits(desc)
