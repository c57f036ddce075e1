"""Which descriptors the reference accepts: its own reading of the tables and sizes, from the operators' pages.

This is a second set of books beside `spec/`, kept in another form on purpose: types by width instead of by name, sizes
by their own functions, one reason instead of all. Where the pages leave a descriptor's fate open, the reference takes
what it can compute (leading sizes above 1 are ignored) and refuses what it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from typing import Any, NamedTuple

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.spec.datatypes import ELEMENT_SIZE, DataType, TensorFlag, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc

Sizes = tuple[int, ...]

FOUR, UP_TO_EIGHT = range(4, 5), range(1, 9)
MOST_ELEMENTS = 2**32 - 1
# Places spanned by an output whose strides interleave; beyond it they are not marked one by one.
MOST_INTERLEAVED = 2**27


class TypeTableRow(NamedTuple):
    """One table of a page: what holds from a level on.

    Attributes:
        since: the level.
        ranks: dimension counts of every tensor. None exceeds the general maximum (5 below 3_0, 8 from there on).
        integer_bytes: width of the widest integer data, 0 for none; narrower ones are in, signed or not.
        float_bytes: width of the widest floating-point data.
        wide_indices: whether indices may be of any 32-bit or 64-bit integer type, or of UINT32 only.
    """

    since: Level
    ranks: range
    integer_bytes: int
    float_bytes: int
    wide_indices: bool = False


class TypesAndRanks(NamedTuple):
    """A row, spelled out for look-ups."""

    ranks: range
    data: frozenset[DataType]
    indices: frozenset[DataType]


class Rejection(Exception):
    """A descriptor is not valid; the message says why."""


def validate(desc: OperatorDesc, level: Level) -> Answer:
    """Decide on a descriptor.

    Args:
        desc: any descriptor; its tensors may be None.
        level: the feature level asked for.

    Returns:
        Whether the operator would be created, and if not the first reason found.

    Raises:
        Unsupported: an operator that the reference does not know.
    """
    if desc.operator not in OPERATORS:
        raise Unsupported(f"the reference has no operator {desc.operator}")
    try:
        _check(desc, level)
    except Rejection as rejected:
        return Answer(False, str(rejected))
    return Answer(True)


def _check(desc: Any, level: Level) -> None:
    operator, support = OPERATORS[desc.operator], _support(desc.operator, level)
    if support is None:
        raise Rejection(f"level {level} is below {operator.rows[0].since}, which introduced {desc.operator}")
    for name in operator.tensors:
        tensor = getattr(desc, name)
        if tensor is None:
            raise Rejection(f"{name} is missing")
        _check_tensor(name, tensor, support)
    source, output = desc.input_tensor, desc.output_tensor
    for name in operator.tensors:
        if len(getattr(desc, name).sizes) != len(source.sizes):
            raise Rejection(f"{name} and input_tensor have different dimension counts")
    if output.data_type != source.data_type:
        raise Rejection(f"{output.data_type.name} output of {source.data_type.name} input")
    sizes = operator.output_sizes(desc)
    if output.sizes != sizes:
        raise Rejection(f"output_tensor has sizes {output.sizes} where {sizes} are computed")


@cache
def _support(name: str, level: Level) -> TypesAndRanks | None:
    row = next((row for row in reversed(OPERATORS[name].rows) if row.since <= level), None)
    if row is None:
        return None
    integers = frozenset(kind for kind, width in ELEMENT_SIZE.items() if width and not kind.is_float)
    data = {kind for kind in integers if kind.size <= row.integer_bytes}
    data |= {kind for kind in DataType if kind.is_float and kind.size <= row.float_bytes}
    wide = frozenset(kind for kind in integers if kind.size >= 4)
    return TypesAndRanks(row.ranks, frozenset(data), wide if row.wide_indices else frozenset({DataType.UINT32}))


def _check_tensor(name: str, tensor: TensorDesc, support: TypesAndRanks) -> None:
    """A tensor on its own; `name` tells its role, which decides on types, flags and overlap."""
    sizes, is_output = tensor.sizes, name == "output_tensor"
    if tensor.type != TensorType.BUFFER:
        raise Rejection(f"{name} is not a buffer tensor")
    if tensor.data_type not in (support.indices if name == "indices_tensor" else support.data):
        raise Rejection(f"{name} cannot be {tensor.data_type.name} at this level")
    if tensor.flags not in ((TensorFlag.NONE,) if is_output else (TensorFlag.NONE, TensorFlag.OWNED_BY_DML)):
        raise Rejection(f"{name} cannot have flags {tensor.flags:#x}")
    if len(sizes) not in support.ranks:
        raise Rejection(f"{name} cannot have {len(sizes)} dimensions at this level")
    strides = tensor.strides
    if strides is not None and len(strides) != len(sizes):
        raise Rejection(f"{name} has {len(strides)} strides for {len(sizes)} dimensions")
    if min(sizes) < 1:
        raise Rejection(f"{name} has sizes {sizes}; none can be below 1")
    elements = prod(sizes)
    if elements > MOST_ELEMENTS:
        raise Rejection(f"{name} has {elements} elements, more than {MOST_ELEMENTS}")
    places = elements if strides is None else 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    width = ELEMENT_SIZE[tensor.data_type]
    needed = (places * width + 3) // 4 * 4
    if tensor.total_tensor_size_in_bytes < needed:
        raise Rejection(f"{name} has {tensor.total_tensor_size_in_bytes} bytes and needs {needed}")
    alignment = tensor.guaranteed_base_offset_alignment
    if alignment and (alignment < width or alignment.bit_count() > 1):
        raise Rejection(f"{name} cannot be aligned to {alignment} bytes")
    if is_output and strides is not None and shares_memory(sizes, strides):
        raise Rejection(f"elements of {name} share memory")


def shares_memory(sizes: Sizes, strides: Sizes) -> bool:
    """Whether two elements of a tensor have the same place, or there are too many places to tell.

    Args:
        sizes: at least 1 each.
        strides: in elements, as many.
    """
    dimensions = sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1)
    reach = 0
    for stride, size in dimensions:
        if stride <= reach:
            break
        reach += stride * (size - 1)
    else:
        return False  # each dimension steps over all that the smaller strides reach
    if sum(stride * (size - 1) for stride, size in dimensions) >= MOST_INTERLEAVED:
        return True
    taken = 1  # bit k is set where place k is taken
    for stride, size in dimensions:
        # `size` copies of what is taken, each a stride further, doubled along the binary digits of `size`.
        single, copies = taken, 1
        for digit in f"{size:b}"[1:]:
            further = taken << copies * stride
            if taken & further:
                return True
            taken, copies = taken | further, 2 * copies
            if digit == "1":
                further = single << copies * stride
                if taken & further:
                    return True
                taken, copies = taken | further, copies + 1
    return False


def _gather_sizes(desc: Any) -> Sizes:
    source, indices = _indexed(desc)
    rank, axis, meaningful = len(source), desc.axis, desc.index_dimensions
    if not 0 <= meaningful <= rank:
        raise Rejection(f"index_dimensions {meaningful} of {rank}")
    _check_axis(axis, rank)
    sizes = list(source)
    sizes[axis : axis + 1] = indices[rank - meaningful :]
    while len(sizes) > rank:
        if sizes.pop(0) != 1:
            raise Rejection(f"the output needs more than {rank} dimensions")
    return (1,) * (rank - len(sizes)) + tuple(sizes)


def _gather_elements_sizes(desc: Any) -> Sizes:
    source, indices = _indexed(desc)
    _check_axis(desc.axis, len(source))
    along_axis = list(source)
    along_axis[desc.axis] = indices[desc.axis]
    if indices != tuple(along_axis):
        raise Rejection(f"indices of sizes {indices} differ from the input's {source} off axis {desc.axis}")
    return indices


def _gather_nd_sizes(desc: Any) -> Sizes:
    return _gather_block_sizes(desc, 0)


def _gather_nd1_sizes(desc: Any) -> Sizes:
    return _gather_block_sizes(desc, desc.batch_dimension_count)


def _gather_block_sizes(desc: Any, batches: int) -> Sizes:
    source, indices = _indexed(desc)
    rank = len(source)
    of_source, of_indices = desc.input_dimension_count, desc.indices_dimension_count
    if not (1 <= of_source <= rank and 1 <= of_indices <= rank):
        raise Rejection(f"input_dimension_count {of_source} or indices_dimension_count {of_indices} of {rank}")
    if not 0 <= batches < min(of_source, of_indices):
        raise Rejection(f"batch_dimension_count {batches}, with {of_source} and {of_indices} meaningful dimensions")
    source, indices = source[-of_source:], indices[-of_indices:]
    *over, coordinates = indices
    if source[:batches] != indices[:batches]:
        raise Rejection(f"batches of sizes {source[:batches]} in the input and {indices[:batches]} in the indices")
    if coordinates > of_source - batches:
        raise Rejection(f"tuples of {coordinates} coordinates for {of_source - batches} dimensions")
    sizes = (*over, *source[batches + coordinates :])
    if len(sizes) > rank:
        raise Rejection(f"the output needs more than {rank} dimensions")
    return (1,) * (rank - len(sizes)) + sizes


def _tile_sizes(desc: Any) -> Sizes:
    source, repeats = desc.input_tensor.sizes, desc.repeats
    if len(repeats) != len(source) or min(repeats) < 1:
        raise Rejection(f"repeats {repeats} for {len(source)} dimensions")
    return tuple(size * repeat for size, repeat in zip(source, repeats, strict=True))


def _indexed(desc: Any) -> tuple[Sizes, Sizes]:
    return desc.input_tensor.sizes, desc.indices_tensor.sizes


def _check_axis(axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise Rejection(f"axis {axis} of {rank}")


class OperatorDecisions(NamedTuple):
    """One operator in these books: its tables, oldest first, its tensors, and the sizes that its output has.

    `output_sizes` is called with tensors that are valid on their own and of one dimension count. It raises Rejection
    where the attributes or sizes allow no output.
    """

    rows: tuple[TypeTableRow, ...]
    tensors: tuple[str, ...]
    output_sizes: Callable[[Any], Sizes]


_INDEXING_TENSORS = ("input_tensor", "indices_tensor", "output_tensor")
_FROM_3_0 = (
    TypeTableRow(Level.L3_0, UP_TO_EIGHT, 4, 4, wide_indices=True),
    TypeTableRow(Level.L4_1, UP_TO_EIGHT, 8, 8, wide_indices=True),
)
_FROM_2_1 = (TypeTableRow(Level.L2_1, FOUR, 4, 4), *_FROM_3_0)

OPERATORS: Mapping[str, OperatorDecisions] = {
    "GATHER": OperatorDecisions((TypeTableRow(Level.L1_0, FOUR, 0, 4), *_FROM_2_1), _INDEXING_TENSORS, _gather_sizes),
    "TILE": OperatorDecisions(
        (
            TypeTableRow(Level.L1_0, FOUR, 0, 4),
            TypeTableRow(Level.L2_1, FOUR, 4, 4),
            TypeTableRow(Level.L3_1, UP_TO_EIGHT, 4, 4),
            TypeTableRow(Level.L4_1, UP_TO_EIGHT, 8, 4),
        ),
        ("input_tensor", "output_tensor"),
        _tile_sizes,
    ),
    "GATHER_ELEMENTS": OperatorDecisions(_FROM_2_1, _INDEXING_TENSORS, _gather_elements_sizes),
    "GATHER_ND": OperatorDecisions(_FROM_2_1, _INDEXING_TENSORS, _gather_nd_sizes),
    "GATHER_ND1": OperatorDecisions(_FROM_3_0, _INDEXING_TENSORS, _gather_nd1_sizes),
}
