"""Unsigned numbers, for which torch has few kernels: as int64 and back."""

from __future__ import annotations

import torch
from torch import Tensor

_TOP_BIT = -(2**63)
_BITS = {torch.uint16: torch.int16, torch.uint32: torch.int32}


def widen(numbers: Tensor) -> Tensor:
    """Whole numbers as int64, in the same order: none is lost, and those of uint64 have their top bit flipped."""
    if numbers.dtype is torch.uint64:
        return numbers.view(torch.int64) ^ _TOP_BIT
    if numbers.dtype in _BITS:
        bits = numbers.view(_BITS[numbers.dtype])
        return bits.to(torch.int64).bitwise_and_(2 ** (8 * bits.itemsize) - 1)
    return numbers.to(torch.int64)


def narrow(wide: Tensor, dtype: torch.dtype) -> Tensor:
    """What `widen` has made, as numbers of their type again; of others the low bits are kept."""
    if dtype is torch.uint64:
        return (wide ^ _TOP_BIT).view(dtype)
    if dtype in _BITS:
        return wide.to(_BITS[dtype]).view(dtype)
    return wide.to(dtype)
