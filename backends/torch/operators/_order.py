"""What the operators that compare elements share."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators._numbers import widen

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def comparable(numbers: Tensor) -> Tensor:
    """Numbers of a type that torch can compare, in the same order."""
    return widen(numbers) if numbers.dtype in UNSIGNED else numbers


def bits(numbers: Tensor) -> Tensor:
    """The elements as signed integers of their width."""
    return numbers.view(_BITS[numbers.itemsize])


def as_index(places: Tensor, size: int) -> Tensor:
    """Places as integers of so many bytes."""
    return places.to(_BITS[size])
