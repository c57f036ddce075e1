"""`DML_BUFFER_TENSOR_DESC`: one tensor's type, sizes, memory layout, and the arithmetic on them.

Everything here is exact integer arithmetic on the described sizes; nothing touches memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as each_of
from math import prod

import msgspec

from dml_conformance.spec.datatypes import ELEMENT_BITS, DataType, TensorFlag, TensorType

MAX_ELEMENTS = 2**32 - 1
UINT32_MAX = 2**32 - 1
UINT64_MAX = 2**64 - 1
FAR = 2**25  # bytes without an element, from which on what lies before and behind them is taken for itself


class TensorDesc(msgspec.Struct, frozen=True):
    """One tensor as the API describes it.

    Attributes:
        data_type: type of the elements.
        sizes: elements in each dimension; its length is DimensionCount.
        strides: elements (not bytes) from one coordinate to the next, a dimension each; None = packed, row-major.
        total_tensor_size_in_bytes: bytes of the buffer that the tensor lives in, padding included.
        flags: `DML_TENSOR_FLAGS` as a bit field.
        guaranteed_base_offset_alignment: bytes; 0 = no promise.
        type: `DML_TENSOR_TYPE`; anything but BUFFER is invalid.
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    total_tensor_size_in_bytes: int = 0
    flags: int = TensorFlag.NONE
    guaranteed_base_offset_alignment: int = 0
    type: TensorType = TensorType.BUFFER

    @classmethod
    def of(
        cls,
        data_type: DataType,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        flags: int = TensorFlag.NONE,
        alignment: int = 0,
    ) -> TensorDesc:
        """A tensor whose TotalTensorSizeInBytes is the documented minimum."""
        sizes = tuple(sizes)
        strides = None if strides is None else tuple(strides)
        total = minimum_size_in_bytes(data_type, sizes, strides)
        return cls(data_type, sizes, strides, total, flags, alignment)

    @property
    def dimension_count(self) -> int:
        return len(self.sizes)

    @property
    def element_count(self) -> int:
        """Product of the sizes: logical elements, also where a stride of 0 makes them share memory."""
        return product(self.sizes)

    @property
    def effective_strides(self) -> tuple[int, ...]:
        """The strides that hold, in elements: those given, or the packed ones."""
        return packed_strides(self.sizes) if self.strides is None else self.strides


def braces(sizes: Sequence[int]) -> str:
    """Sizes as the pages print them: `{1,4,6}`."""
    return "{" + ",".join(map(str, sizes)) + "}"


def from_first_above_one(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes without their leading ones."""
    first = next((d for d, size in enumerate(sizes) if size > 1), len(sizes))
    return tuple(sizes[first:])


def product(values: Sequence[int]) -> int:
    return prod(values)


def packed_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides without padding, in elements (dml-strides)."""
    strides = [1] * len(sizes)
    for d in range(len(sizes) - 2, -1, -1):
        strides[d] = strides[d + 1] * sizes[d + 1]
    return tuple(strides)


def span_in_elements(sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """Elements from the first to the last one addressed, both included; sizes must be at least 1."""
    if strides is None:
        return product(sizes)
    last = 0
    for size, stride in zip(sizes, strides, strict=True):
        last += (size - 1) * stride
    return last + 1


def implied_size_in_bytes(data_type: DataType, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """Bytes up to the end of the last element addressed, before rounding (dml-helper-functions)."""
    return (span_in_elements(sizes, strides) * ELEMENT_BITS[data_type] + 7) // 8


def minimum_size_in_bytes(data_type: DataType, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """The smallest legal TotalTensorSizeInBytes: the implied size rounded up to 4 bytes (dml-helper-functions).

    Unlike the published helper this does not wrap at 32 bits (erratum TENSOR-3).
    """
    return (implied_size_in_bytes(data_type, sizes, strides) + 3) & ~3


def clusters(tensor: TensorDesc) -> list[slice]:
    """The bytes of a tensor's buffer that have its elements, in parts that lie far apart; all of it where none do."""
    dims, span = _far_dimensions(tensor)
    if not dims:
        return [slice(0, tensor.total_tensor_size_in_bytes)]
    width, strides = tensor.data_type.size, tensor.effective_strides
    places = each_of(*(range(0, tensor.sizes[d] * strides[d], strides[d]) for d in dims))
    starts = [sum(place) * width for place in places]
    return [slice(start, start + span * width) for start in starts]


def without_gaps(tensor: TensorDesc) -> TensorDesc:
    """The tensor with its clusters one behind the other, in the same order."""
    dims, span = _far_dimensions(tensor)
    strides = list(tensor.effective_strides)
    for d in reversed(dims):
        strides[d], span = span, span * tensor.sizes[d]
    return TensorDesc.of(tensor.data_type, tensor.sizes, strides) if dims else tensor


def _far_dimensions(tensor: TensorDesc) -> tuple[list[int], int]:
    """Along which dimensions a step leads over `FAR` bytes or more that have no element, the longest step first, and
    how many elements the other dimensions span. Elements that share bytes do not lie far apart."""
    if tensor.total_tensor_size_in_bytes < FAR:
        return [], tensor.element_count
    strides = tensor.effective_strides
    width = 0 if tensor.data_type.shares_bytes else tensor.data_type.size
    far, near, span = list[int](), 1, 1  # elements that are spanned by those near each other, and by all
    for d in sorted((d for d, size in enumerate(tensor.sizes) if size > 1), key=strides.__getitem__):
        if far and strides[d] < span:
            return [], span  # those of one step lie between those of another
        if far or (strides[d] - span) * width >= FAR:
            far.insert(0, d)
        span += (tensor.sizes[d] - 1) * strides[d]
        near = near if far else span
    return far, near


def elements_overlap(sizes: Sequence[int], strides: Sequence[int], *, max_nodes: int = 20_000) -> bool | None:
    """Whether two different coordinates address the same element.

    Two coordinates meet exactly when their difference d, with |d[i]| < sizes[i] and not all zero, has
    sum(d[i] * strides[i]) == 0. The dimensions are taken by falling stride; what the smaller strides can
    still reach bounds the candidates of each, so ordinary layouts need one candidate a dimension.

    Returns:
        True or False, or None where the search was given up after `max_nodes` candidates.
    """
    dims = sorted(((stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1), reverse=True)
    reach_after = [0] * (len(dims) + 1)
    for i in range(len(dims) - 1, -1, -1):
        reach_after[i] = reach_after[i + 1] + (dims[i][1] - 1) * dims[i][0]
    if all(stride > reach_after[i + 1] for i, (stride, _) in enumerate(dims)):
        return False
    nodes = 0

    def reachable(i: int, target: int, nonzero: bool) -> bool:
        nonlocal nodes
        if i == len(dims):
            return target == 0 and nonzero
        stride, size = dims[i]
        if stride == 0:  # sorted: all that follow are 0 too, and each has more than one coordinate
            return target == 0
        reach = reach_after[i + 1]
        low = max(-((target + reach) // stride), 1 - size)
        high = min((reach - target) // stride, size - 1)
        for d in range(max(low, 0) if not nonzero else low, high + 1):  # the first nonzero d may be taken positive
            nodes += 1
            if nodes > max_nodes:
                raise OverflowError
            if reachable(i + 1, target + d * stride, nonzero or d != 0):
                return True
        return False

    try:
        return reachable(0, 0, False)
    except OverflowError:
        return None
