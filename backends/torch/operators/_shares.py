"""Divisions by a count, rounded once: by a number on the host CUDA multiplies with its rounded reciprocal."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch import Tensor


def share(total: Tensor, count: int) -> Tensor:
    """A total divided by a count."""
    return total / total.new_full((), count)


def mean_along(numbers: Tensor, axes: Sequence[int]) -> Tensor:
    """The mean along axes, which are kept with size 1; of no axes the numbers themselves, where torch takes all."""
    if not axes:
        return numbers.clone()
    return share(numbers.sum(list(axes), keepdim=True), prod(numbers.shape[axis] for axis in axes))
