"""What the kernels need to know of tensors: dimensions that can be taken as one, and the widest words to move."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

WIDEST = 16  # bytes, the most that a thread reads or writes at once
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Extent(NamedTuple):
    """A dimension, or several as one: `size` places, `step` elements apart."""

    size: int
    step: int


def collapsed(sizes: Sequence[int], steps: Sequence[int]) -> list[Extent]:
    """The fewest dimensions, from the outermost, that reach the same elements in the same order; none of size 1."""
    runs: list[Extent] = []
    for size, step in zip(sizes, steps, strict=True):
        if size == 1:
            continue
        if runs and runs[-1].step == size * step:
            runs[-1] = Extent(runs[-1].size * size, step)
        else:
            runs.append(Extent(size, step))
    return runs


def single(sizes: Sequence[int], steps: Sequence[int]) -> Extent | None:
    """All dimensions as one; None where they cannot be. With a single element the step is 0."""
    runs = collapsed(sizes, steps)
    return None if len(runs) > 1 else runs[0] if runs else Extent(1, 0)


def packed(sizes: Sequence[int], steps: Sequence[int]) -> int | None:
    """How many elements the dimensions have, if they lie in order without a gap; else None."""
    run = single(sizes, steps)
    return run.size if run is not None and (run.size == 1 or run.step == 1) else None


def widest(elements: Iterable[int], tensors: Sequence[Tensor]) -> int:
    """Bytes of the widest unit that can be moved: a power of 2 up to `WIDEST`, at least an element.

    Args:
        elements: lengths and steps that have to be whole numbers of units, in elements.
        tensors: whose first elements have to stand at multiples of a unit.
    """
    size = tensors[0].itemsize
    starts = (number for tensor in tensors for number in (tensor.data_ptr(), tensor.storage_offset() * size))
    return math.gcd(WIDEST, *(count * size for count in elements), *starts)


def pointer(tensor: Tensor, unit: int) -> Tensor:
    """A tensor of one word of a unit (of 8 bytes, where a unit is two), at the first element: for its address."""
    word = _WORDS[min(unit, 8)]
    if word.itemsize == tensor.itemsize:
        return tensor
    return tensor.as_strided((word.itemsize // tensor.itemsize,), (1,)).view(word)


def words(unit: int) -> int:
    """How many words a unit is."""
    return max(unit // 8, 1)


def power_of_2(number: int) -> int:
    """The least power of 2 that is not below a number of at least 1."""
    return 1 << (number - 1).bit_length()
