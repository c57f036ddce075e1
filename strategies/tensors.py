"""Sizes and memory layouts of single tensors, valid by construction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import factorial, prod
from operator import mul

from dml_conformance.spec.datatypes import ELEMENT_BITS, DataType, TensorFlag
from dml_conformance.spec.tensor import TensorDesc, elements_overlap, packed_strides
from dml_conformance.strategies.context import Context

ELEMENT_BUDGET = 48
WIDE_BUDGET = 400  # crosses the widths of vector units and work groups


def sizes(ctx: Context, count: int, least: int = 1, *, wide: bool = True) -> tuple[int, ...]:
    """`count` sizes of at least `least` whose product stays small; one in eight tensors may have wide ones."""
    chooser = ctx.chooser
    chooser.section()
    most, budget = (130, WIDE_BUDGET) if wide and chooser.integer(0, 7) == 7 else (5, ELEMENT_BUDGET)
    # Decided whatever room is left, so that a size can shrink alone, without moving the decisions after it.
    decided = chooser.several(least, most, count)
    if prod(decided) <= budget:
        return tuple(decided)
    found = []
    for size in decided:
        if size > budget:
            size = least + (size - least) % (max(budget - least, 0) + 1)
        budget //= size
        found.append(size)
    return tuple(found)


# How often each layout occurs out of 16; the simplest first, for shrinking.
_INPUT_LAYOUTS = ("packed",) * 8 + (
    "explicit",
    "apart",
    "padded",
    "permuted",
    "permuted",
    "broadcast",
    "both",
    "window",
)
_OUTPUT_LAYOUTS = ("packed",) * 8 + ("explicit", "apart", "padded", "padded", "permuted", "permuted", "both", "both")
_STRIDED_INPUT_LAYOUTS, _STRIDED_OUTPUT_LAYOUTS = _INPUT_LAYOUTS[8:] * 2, _OUTPUT_LAYOUTS[8:] * 2
_EXTRA_BYTES = (0, 0, 0, 0, 0, 4, 64, 1)
_ALIGNMENTS = (0, 0, 0, 0, 16, 32, 256, 4096)
_NONE, _OWNED = int(TensorFlag.NONE), int(TensorFlag.OWNED_BY_DML)
_FLAGS = (_NONE, _NONE, _NONE, _OWNED)
# Bytes beyond the least, alignment and flags, together: 256 of them, the plain ones first.
_REST = tuple((extra, alignment, flags) for flags in _FLAGS for alignment in _ALIGNMENTS for extra in _EXTRA_BYTES)
# Strides are one of so many of a kind: permutations of up to 8 dimensions, with 1 to 4 elements of padding. It is a
# multiple of the numbers of permutations of fewer, so each comes as often as any other.
STRIDE_CODES = 4 * 40_320
_TENSOR_CODES = STRIDE_CODES * 16 * 256


def tensor(ctx: Context, data_type: DataType, sizes: tuple[int, ...], *, output: bool = False) -> TensorDesc:
    """A valid tensor of these sizes in some memory layout.

    Layout, strides, surplus bytes, alignment and flags come out of one number below 2^30: one decision is faster than
    five, what is decided next stays in its place when this shrinks, and 0 is the plain tensor.
    """
    if ctx.layout == "packed":
        return TensorDesc.of(data_type, sizes)
    code = ctx.chooser.code(_TENSOR_CODES)
    if ctx.layout == "any":
        layouts = _OUTPUT_LAYOUTS if output else _INPUT_LAYOUTS
    else:
        layouts = _STRIDED_OUTPUT_LAYOUTS if output else _STRIDED_INPUT_LAYOUTS
    kind = layouts[code >> 8 & 15]
    strides = None if kind == "packed" else strides_of_kind(kind, sizes, code >> 12)
    extra, alignment, flags = _REST[code & 255]
    # Sum((size - 1) * stride) + 1, as `spec.tensor.span_in_elements` has it, in the fewest steps.
    span = prod(sizes) if strides is None else sum(map(mul, sizes, strides)) - sum(strides) + 1
    total = ((span * ELEMENT_BITS[data_type] + 7 >> 3) + 3 & ~3) + extra
    return TensorDesc(data_type, sizes, strides, total, _NONE if output else flags, alignment)


def strides_of_kind(kind: str, sizes: Sequence[int], code: int) -> tuple[int, ...] | None:
    """Strides of one kind: packed (None), explicit, apart, padded, permuted, both, broadcast, window, interleaved.

    Args:
        kind: one of these.
        sizes: of the tensor.
        code: from 0 to `STRIDE_CODES` - 1; picks one of all strides of the kind.
    """
    count = len(sizes)
    match kind:
        case "packed":
            return None
        case "explicit":
            return packed_strides(sizes)
        case "apart":  # no element next to another, along no dimension
            factor = 2 + code % 3
            return tuple([factor * stride for stride in packed_strides(sizes)])
        case "padded":
            return _strides(sizes, range(count), 1 + code % 4)
        case "permuted":
            return _strides(sizes, _permutation(code // 4 % factorial(count), count), 0)
        case "both":
            return _strides(sizes, _permutation(code // 4 % factorial(count), count), 1 + code % 4)
        case "broadcast":
            return _broadcast_strides(sizes, code)
        case "window":  # neighbours share all but one element, as in a sliding window
            return (1,) * count
        case "interleaved":
            return _interleaved_strides(sizes)
    raise AssertionError(kind)


def _strides(sizes: Sequence[int], order: Sequence[int], padding: int) -> tuple[int, ...]:
    """Strides for dimensions laid out in `order` (outermost first), `padding` elements after each."""
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step = step * sizes[d] + padding
    return tuple(strides)


def _broadcast_strides(sizes: Sequence[int], code: int) -> tuple[int, ...]:
    """A stride of 0 over some of the sizes above 1, and not over all if there are several; the rest is packed."""
    wide = [d for d, size in enumerate(sizes) if size > 1] or [0]
    repeated = 1 + code % max(2 ** len(wide) - 2, 1)  # a bit for each of the wide ones
    strides, step = [1] * len(sizes), 1
    for d in reversed(wide):
        if repeated & 1:
            strides[d] = 0
        else:
            strides[d] = step
            step *= sizes[d]
        repeated >>= 1
    return tuple(strides)


def has_strides_of_kind(kind: str, sizes: Sequence[int]) -> bool:
    """Whether a tensor is large enough for what is special about a kind of strides."""
    wide = sorted(size for size in sizes if size > 1)
    return len(wide) >= _LEAST_WIDE.get(kind, 0) and (kind != "interleaved" or wide[-1] > 2)


_LEAST_WIDE = {"permuted": 2, "interleaved": 2}  # dimensions of more than one element


def broadcast_along(dimension: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """A stride of 0 along one dimension, the rest packed."""
    rest = (*sizes[:dimension], 1, *sizes[dimension + 1 :])
    return tuple([0 if d == dimension else stride for d, stride in enumerate(packed_strides(rest))])


def _interleaved_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """No dimension steps over all of the next, and yet no two elements share memory.

    Of two dimensions of m and n elements, n above 2, with strides m + 1 and m, the first takes fewer than m steps, and
    only m of them would make up for steps of the second. The other dimensions step over both. Where there are no such
    two dimensions, the strides are those of the kind `apart`.
    """
    if not has_strides_of_kind("interleaved", sizes):
        return tuple([2 * stride for stride in packed_strides(sizes)])
    by_size = sorted((d for d, size in enumerate(sizes) if size > 1), key=lambda d: sizes[d])
    short, long = by_size[-2:]
    strides = [1] * len(sizes)
    strides[short], strides[long] = sizes[short] + 1, sizes[short]
    step = (sizes[short] - 1) * strides[short] + (sizes[long] - 1) * strides[long] + 1
    for d in by_size[:-2]:
        strides[d] = step
        step *= sizes[d]
    return tuple(strides)


@lru_cache(maxsize=1024)
def _permutation(code: int, count: int) -> tuple[int, ...]:
    """Any order of the dimensions; 0 is the plain one."""
    rest, order = list(range(count)), []
    for n in range(count, 0, -1):
        position, code = divmod(code, factorial(n - 1))
        order.append(rest.pop(position))
    return tuple(order)


def layout_kind(tensor: TensorDesc) -> str:
    """What a tensor's layout is called in reports: packed, padded, permuted, interleaved, broadcast or overlapping."""
    if tensor.strides is None:
        return "packed"
    dims = [(stride, size) for stride, size in zip(tensor.strides, tensor.sizes, strict=True) if size > 1]
    if any(stride == 0 for stride, _ in dims):
        return "broadcast"
    step, padded = 1, False
    for stride, size in sorted(dims):
        if stride < step:
            is_apart = elements_overlap(tensor.sizes, tensor.strides) is False
            return "interleaved" if is_apart else "overlapping"
        padded = padded or stride > step
        step = stride * size
    if [stride for stride, _ in dims] != sorted((stride for stride, _ in dims), reverse=True):
        return "permuted"
    return "padded" if padded else "packed"
