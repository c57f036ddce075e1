"""Sizes and memory layouts of single tensors, valid by construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spec.datatypes import DataType, TensorFlag
from spec.tensor import TensorDesc, minimum_size_in_bytes, packed_strides
from strategies.chooser import Chooser
from strategies.context import Context

ELEMENT_BUDGET = 48
WIDE_BUDGET = 400  # crosses the widths of vector units and work groups


def sizer(ctx: Context, least: int = 1, *, wide: bool = True) -> Callable[[], int]:
    """Gives sizes of at least `least`, one a call, whose product stays small; one in eight gives wide ones too."""
    integer = ctx.chooser.integer
    most, budget = (130, WIDE_BUDGET) if wide and integer(0, 7) == 7 else (5, ELEMENT_BUDGET)

    def next_size() -> int:
        nonlocal budget
        # Decided whatever room is left, so that a size can shrink alone, without moving the decisions after it.
        room = max(least, min(most, budget)) - least + 1
        size = least + integer(0, most - least) % room
        budget //= size
        return size

    return next_size


def sizes(ctx: Context, count: int, least: int = 1, *, wide: bool = True) -> tuple[int, ...]:
    """`count` sizes of one tensor; see `sizer`."""
    next_size = sizer(ctx, least, wide=wide)
    return tuple(next_size() for _ in range(count))


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
_EXTRA_BYTES = (0, 0, 0, 0, 0, 4, 64, 1)
_ALIGNMENTS = (0, 0, 0, 0, 16, 32, 256, 4096)


def tensor(ctx: Context, data_type: DataType, sizes: Sequence[int], *, output: bool = False) -> TensorDesc:
    """A valid tensor of these sizes in some memory layout.

    Layout, surplus bytes, alignment and flags come out of one number: few draws keep Hypothesis fast, and 0 is the
    plain tensor.
    """
    if ctx.layout == "packed":
        return TensorDesc.of(data_type, sizes)
    choice = ctx.chooser.integer(0, 16 * 8 * 8 * 8 - 1)
    layouts = _OUTPUT_LAYOUTS if output else _INPUT_LAYOUTS
    kind = layouts[8 + choice % 8] if ctx.layout == "strided" else layouts[choice % 16]
    strides = strides_of_kind(ctx.chooser, kind, sizes)
    extra = _EXTRA_BYTES[choice // 16 % 8]
    alignment = _ALIGNMENTS[choice // 128 % 8]
    owned = choice // 1024 == 7 and not output
    total = minimum_size_in_bytes(data_type, sizes, strides) + extra
    flags = TensorFlag.OWNED_BY_DML if owned else TensorFlag.NONE
    return TensorDesc(data_type, tuple(sizes), strides, total, flags, alignment)


def strides_of_kind(chooser: Chooser, kind: str, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Strides of one kind: packed (None), explicit, apart, padded, permuted, both, broadcast, window."""
    count = len(sizes)
    match kind:
        case "packed":
            return None
        case "explicit":
            return packed_strides(sizes)
        case "apart":  # no element next to another, along no dimension
            factor = chooser.integer(2, 4)
            return tuple(factor * stride for stride in packed_strides(sizes))
        case "padded":
            return _strides(sizes, range(count), chooser.integer(1, 4))
        case "permuted":
            return _strides(sizes, _permutation(chooser, count), 0)
        case "both":
            return _strides(sizes, _permutation(chooser, count), chooser.integer(1, 4))
        case "broadcast":
            wide = [d for d, size in enumerate(sizes) if size > 1] or [0]
            chosen = chooser.integer(1, max(2 ** len(wide) - 2, 1))  # some, and not all if there are several
            repeated = {d for n, d in enumerate(wide) if chosen >> n & 1}
            kept = [1 if d in repeated else size for d, size in enumerate(sizes)]
            return tuple(0 if d in repeated else stride for d, stride in enumerate(packed_strides(kept)))
        case "window":  # neighbours share all but one element, as in a sliding window
            return (1,) * count
    raise AssertionError(kind)


def _strides(sizes: Sequence[int], order: Sequence[int], padding: int) -> tuple[int, ...]:
    """Strides for dimensions laid out in `order` (outermost first), `padding` elements after each."""
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step = step * sizes[d] + padding
    return tuple(strides)


def _permutation(chooser: Chooser, count: int) -> list[int]:
    """Any order of the dimensions, from one number; 0 is the plain one."""
    factorial = 1
    for n in range(2, count + 1):
        factorial *= n
    code = chooser.integer(0, factorial - 1)
    rest, order = list(range(count)), []
    for n in range(count, 0, -1):
        factorial //= n
        position, code = divmod(code, factorial)
        order.append(rest.pop(position))
    return order


def layout_kind(tensor: TensorDesc) -> str:
    """What a tensor's layout is called in reports: packed, padded, permuted, broadcast or overlapping."""
    if tensor.strides is None:
        return "packed"
    dims = [(stride, size) for stride, size in zip(tensor.strides, tensor.sizes, strict=True) if size > 1]
    if any(stride == 0 for stride, _ in dims):
        return "broadcast"
    step, padded = 1, False
    for stride, size in sorted(dims):
        if stride < step:
            return "overlapping"
        padded = padded or stride > step
        step = stride * size
    if [stride for stride, _ in dims] != sorted((stride for stride, _ in dims), reverse=True):
        return "permuted"
    return "padded" if padded else "packed"
