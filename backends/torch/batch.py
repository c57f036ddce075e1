"""Many small cases at once: their elements are addressed together, so that the number of launches does not depend on
the number of cases.

Every operator with a walk takes each element of its output from one place of its input. Where that is follows from the
output's coordinates and, through an index tensor, from what stands there:

    source = sum of (coordinate[d] modulo wrap[d]) * source_stride[d] over the output's dimensions
           + sum of index(coordinate, j) * stride[j] over the coordinates j that the index tensor holds

A `_Walk` has these numbers for one descriptor. Those of a batch are columns of one table, which travels to the device
behind the cases' own memory, in the same copy; there about a hundred launches, however many cases there are, turn the
table into addresses and move all elements. Cases too large for that, and those of an operator that has no walk here,
run by their operator's own function, in the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dml_conformance.backends.base import Binding, Bindings, Bytes, Execution, OutOfMemory
from dml_conformance.backends.torch.memory import BITS, Resources, StagedCopy, strided_view, viewed
from dml_conformance.backends.torch.views import batch_dimensions
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.structures import Gather, GatherElements, GatherNd, Tile
from dml_conformance.spec.tensor import TensorDesc, packed_strides

# Of an output that is moved together with others. A larger one is worth a launch of its own, and on the CPU, where a
# launch is a call, the arithmetic of addresses soon costs more than the call.
MOST_ELEMENTS = {"cpu": 192, "cuda": 4096}
MOST_TOGETHER = 2**20  # elements addressed at once: each needs some 300 bytes for the while
DIMENSIONS = 8
LOW_WORD = 2**32 - 1
_UNSIGNED_INDICES = (DataType.UINT32, DataType.UINT64)


class _Walk(NamedTuple):
    """Where the elements of one output come from. All strides are in elements, all lists as long as the output's rank.

    Attributes:
        source: strides in the input along the output's dimensions.
        through: strides in the index tensor along the same.
        wraps: what the output's coordinates are taken modulo of, for the source.
        coordinates: for each index that an element has, the size of the dimension that it addresses, and its stride.
        step: in the index tensor, from one of these indices to the next.
    """

    source: Sequence[int]
    through: Sequence[int]
    wraps: Sequence[int]
    coordinates: Sequence[tuple[int, int]] = ()
    step: int = 0


def _gather(desc: Gather) -> _Walk:
    """The output's dimensions are, from the last one: those after Axis, the indices' own, those before Axis."""
    rank, axis, count = len(desc.output_tensor.sizes), desc.axis, desc.index_dimensions
    strides, along = _strides(desc.input_tensor), _strides(desc.indices_tensor)
    source, index = [0] * rank, [0] * rank
    source[axis + 1 :] = strides[axis + 1 :]
    # Of size 1 is what would stand before the first dimension.
    for back in range(min(count, axis + 1)):
        index[axis - back] = along[-1 - back]
    for back in range(min(axis, axis + 1 - count)):
        source[axis - count - back] = strides[axis - 1 - back]
    return _Walk(source, index, desc.output_tensor.sizes, [(desc.input_tensor.sizes[axis], strides[axis])])


def _gather_elements(desc: GatherElements) -> _Walk:
    strides = list(_strides(desc.input_tensor))
    stride, strides[desc.axis] = strides[desc.axis], 0
    coordinates = [(desc.input_tensor.sizes[desc.axis], stride)]
    return _Walk(strides, _strides(desc.indices_tensor), desc.output_tensor.sizes, coordinates)


def _gather_nd(desc: GatherNd) -> _Walk:
    """The output's dimensions are, after leading ones: the grid of tuples, which starts with the batches, and the rest
    of the input's."""
    rank, batch = len(desc.output_tensor.sizes), batch_dimensions(desc)
    skipped, outer = rank - desc.input_dimension_count, rank - desc.indices_dimension_count
    sizes, strides = desc.input_tensor.sizes[skipped:], _strides(desc.input_tensor)[skipped:]
    along = _strides(desc.indices_tensor)[outer:]
    addressed = batch + desc.indices_tensor.sizes[-1]
    rest = len(sizes) - addressed
    grid = rank - rest - (len(along) - 1)
    source, index = [0] * rank, [0] * rank
    index[grid : rank - rest] = along[:-1]
    source[grid : grid + batch] = strides[:batch]
    source[rank - rest :] = strides[addressed:]
    coordinates = list(zip(sizes[batch:addressed], strides[batch:addressed], strict=True))
    return _Walk(source, index, desc.output_tensor.sizes, coordinates, along[-1])


def _tile(desc: Tile) -> _Walk:
    sizes = desc.input_tensor.sizes
    return _Walk(_strides(desc.input_tensor), [0] * len(sizes), sizes)


_WALKS: Mapping[str, Callable[[Any], _Walk]] = {
    "GATHER": _gather,
    "GATHER_ELEMENTS": _gather_elements,
    "GATHER_ND": _gather_nd,
    "GATHER_ND1": _gather_nd,
    "TILE": _tile,
}


def _strides(tensor: TensorDesc) -> Sequence[int]:
    return packed_strides(tensor.sizes) if tensor.strides is None else tensor.strides


# The table's rows: of a case, then of each dimension, then of each index that an element has.
_FIRST, _TARGET, _SOURCE, _INDEX = range(4)  # number of the first element; where each of the tensors starts
_COUNT, _PAIRS = 4, 5  # elements, and elements times the indices that each has
_FIRST_PAIR, _FIRST_AGAIN, _INDICES, _STEP, _WIDE, _UNSIGNED = range(6, 12)
_DIMENSIONS_AT, _OF_DIMENSION = 12, 5  # size; strides of target, source, index; wrap
_INDICES_AT, _OF_INDEX = _DIMENSIONS_AT + _OF_DIMENSION * DIMENSIONS, 2  # size that it addresses, stride
_FLAT_DIMENSION, _NO_INDEX = (1, 0, 0, 0, 1), (1, 0)


class _CopyEntry(NamedTuple):
    """One case: its column in the table, the size of its elements in bytes, and how many there are."""

    column: list[int]
    size: int
    elements: int


def _entry(execution: Execution) -> _CopyEntry:
    desc: Any = execution.desc
    output: TensorDesc = desc.output_tensor
    walk = _WALKS[desc.operator](desc)
    size, elements, indices = output.data_type.size, output.element_count, len(walk.coordinates)
    target, source = execution.outputs["output_tensor"].offset, execution.inputs["input_tensor"].offset
    index, width, unsigned = 0, 4, False
    if indices:
        index_type: DataType = desc.indices_tensor.data_type
        index, width = execution.inputs["indices_tensor"].offset, index_type.size
        unsigned = index_type in _UNSIGNED_INDICES
    column = [0, target // size, source // size, index // width, elements, elements * indices]
    column += [0, 0, indices, walk.step, width == 8, unsigned]
    # Along a dimension of size 1 there is one coordinate, 0, which counts for nothing.
    spread = [
        numbers
        for numbers in zip(output.sizes, _strides(output), walk.source, walk.through, walk.wraps, strict=True)
        if numbers[0] > 1
    ]
    column += _FLAT_DIMENSION * (DIMENSIONS - len(spread))
    for numbers in spread:
        column += numbers
    for limit in walk.coordinates:
        column += limit
    column += _NO_INDEX * (DIMENSIONS - indices)
    return _CopyEntry(column, size, elements)


class _Segment(NamedTuple):
    """Elements that are next to each other in a group and of one size in bytes: the first one, and how many."""

    size: int
    first: int
    elements: int


class _CopyGroup(NamedTuple):
    """Cases that are moved together, those without an index tensor last.

    Attributes:
        table: a column for each case.
        elements: of all of them.
        indexed: how many elements have indices; they come first.
        pairs: how many indices they have altogether.
        dimensions: most that an output has, those of size 1 left out.
        segments: one for each size that elements with indices have, and that those without have.
    """

    table: npt.NDArray[np.int64]
    elements: int
    indexed: int
    pairs: int
    dimensions: int
    segments: list[_Segment]

    @classmethod
    def of(cls, entries: list[_CopyEntry]) -> _CopyGroup:
        entries.sort(key=lambda entry: (entry.column[_INDICES] == 0, entry.size))
        table = np.ascontiguousarray(np.array([entry.column for entry in entries], np.int64).T)
        ends, pairs = np.cumsum(table[_COUNT]), np.cumsum(table[_PAIRS])
        table[_FIRST] = table[_FIRST_AGAIN] = ends - table[_COUNT]
        table[_FIRST_PAIR] = pairs - table[_PAIRS]
        segments: list[_Segment] = []
        for (_, size), members in groupby(entries, lambda entry: (entry.column[_INDICES] == 0, entry.size)):
            first = segments[-1].first + segments[-1].elements if segments else 0
            segments.append(_Segment(size, first, sum(entry.elements for entry in members)))
        sizes = table[_DIMENSIONS_AT:_INDICES_AT:_OF_DIMENSION]
        return cls(
            table,
            elements=int(ends[-1]),
            indexed=int(table[_COUNT][table[_INDICES] > 0].sum()),
            pairs=int(pairs[-1]),
            dimensions=int((sizes > 1).any(axis=1).sum()),
            segments=segments,
        )


def _groups(executions: Sequence[Execution]) -> list[_CopyGroup]:
    """Cases in groups of at most MOST_TOGETHER elements, or of one case."""
    groups: list[list[_CopyEntry]] = []
    room = 0
    for execution in executions:
        entry = _entry(execution)
        if not groups or entry.elements > room:
            groups.append([])
            room = MOST_TOGETHER
        groups[-1].append(entry)
        room -= entry.elements
    return [_CopyGroup.of(entries) for entries in groups]


def _move(memory: Tensor, group: _CopyGroup, table: Tensor) -> None:
    """Move the elements of a group.

    Args:
        memory: bytes, of all cases.
        group: on the host.
        table: its table on the device.
    """
    of_case = torch.repeat_interleave(table[_COUNT], output_size=group.elements)
    first, target, source, index = _spread(table, of_case, _FIRST, 4)
    rest = torch.arange(group.elements, device=memory.device) - first
    for dimension in reversed(range(DIMENSIONS - group.dimensions, DIMENSIONS)):
        at = _DIMENSIONS_AT + _OF_DIMENSION * dimension
        size, to_target, to_source, to_index, wrap = _spread(table, of_case, at, _OF_DIMENSION)
        coordinate = rest.remainder(size)
        rest = rest.div(size, rounding_mode="floor")
        target.addcmul_(coordinate, to_target)
        index.addcmul_(coordinate, to_index)
        # Only what has no indices repeats its source.
        coordinate[group.indexed :].remainder_(wrap[group.indexed :])
        source.addcmul_(coordinate, to_source)
    if group.pairs:
        _add_indexed(memory, group, table, source, index)
    for segment in group.segments:
        elements = viewed(memory, BITS[segment.size])
        moved = elements.index_select(0, source.narrow(0, segment.first, segment.elements))
        elements.index_copy_(0, target.narrow(0, segment.first, segment.elements), moved)


def _add_indexed(memory: Tensor, group: _CopyGroup, table: Tensor, source: Tensor, index: Tensor) -> None:
    """Read the indices, and go where they say in the source; each is taken as `in_range` takes it."""
    of_case = torch.repeat_interleave(table[_PAIRS], output_size=group.pairs)
    first_pair, first, indices, step, wide, unsigned = _spread(table, of_case, _FIRST_PAIR, 6)
    pair = torch.arange(group.pairs, device=memory.device) - first_pair
    n = pair.remainder(indices)
    element = pair.div(indices, rounding_mode="floor") + first

    words = viewed(memory, torch.int32)
    word = torch.addcmul(index.index_select(0, element), n, step) << wide
    low = words.index_select(0, word).to(torch.int64)
    high = words.index_select(0, word + wide).to(torch.int64)
    is_unsigned = unsigned.bool()
    unsigned_low = low & LOW_WORD
    value = torch.where(wide.bool(), (high << 32) | unsigned_low, torch.where(is_unsigned, unsigned_low, low))

    rows, columns = table.shape
    at = (n * _OF_INDEX + _INDICES_AT) * columns + of_case
    numbers = table.view(rows * columns)
    size, stride = numbers.index_select(0, at), numbers.index_select(0, at + columns)
    place = torch.where(is_unsigned, value.clamp(min=0).minimum(size - 1), value.remainder(size))
    source.index_add_(0, element, place * stride)


def _spread(table: Tensor, of_case: Tensor, row: int, rows: int) -> tuple[Tensor, ...]:
    """Some rows of the table, with an entry for each element in place of each case."""
    return table.narrow(0, row, rows).index_select(1, of_case).unbind()


Prepare = Callable[[OperatorDesc, Resources, Bindings, Bindings], Callable[[], object]]


class _BatchMemory:
    """The memory of a whole batch, where it is worked on; for a case that runs by itself what its resources are."""

    def __init__(self, memory: Tensor) -> None:
        self._memory = memory
        self._elements: dict[torch.dtype, Tensor] = {}

    def view(self, binding: Binding, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
        elements = self._elements.get(dtype)
        if elements is None:
            elements = self._elements[dtype] = viewed(self._memory, dtype)
        return strided_view(elements, binding.offset, tensor)


def run(executions: Sequence[Execution], device: torch.device, prepare: Prepare) -> None:
    """Execute a batch.

    Args:
        executions: of descriptors that were accepted; all their bindings are in one resource.
        device: on the CPU the resource is worked on where it lies; to another it goes in one copy, and back in one.
        prepare: makes the work of a single case from descriptor, resources, inputs and outputs.

    Raises:
        OutOfMemory: there is not enough memory, on the device or for the way there.
        ValueError: the resource is read-only.
    """
    if not executions:
        return
    resource = next(iter(executions[0].outputs.values())).buffer
    if not resource.flags.writeable:
        raise ValueError("a batch is bound to a resource that is read-only")
    try:
        most = MOST_ELEMENTS[device.type]
        small: list[Execution] = []
        large: list[Execution] = []
        for execution in executions:
            (small if _is_small(execution, most) else large).append(execution)
        groups = _groups(small)
        if device.type == "cpu":
            _run_in(
                torch.from_numpy(resource), groups, [torch.from_numpy(group.table) for group in groups], large, prepare
            )
        else:
            _run_on(device, resource, groups, large, prepare)
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(str(error).partition("\n")[0]) from error


def _is_small(execution: Execution, most: int) -> bool:
    """Whether a case is moved together with others; an operator without a walk never is."""
    desc: Any = execution.desc
    return desc.operator in _WALKS and desc.output_tensor.element_count <= most


def _run_on(
    device: torch.device, resource: Bytes, groups: Sequence[_CopyGroup], large: Sequence[Execution], prepare: Prepare
) -> None:
    """The tables travel behind the resource, so that one copy takes both; the resource alone comes back."""
    copy = StagedCopy([resource, *(group.table.reshape(-1).view(np.uint8) for group in groups)], device)
    first, *others = (copy.memory[place] for place in copy.places)
    tables = [table.view(torch.int64).view(group.table.shape) for table, group in zip(others, groups, strict=True)]
    _run_in(first, groups, tables, large, prepare)
    copy.bring_back([0])


def _run_in(
    memory: Tensor, groups: Sequence[_CopyGroup], tables: Sequence[Tensor], large: Sequence[Execution], prepare: Prepare
) -> None:
    for group, table in zip(groups, tables, strict=True):
        _move(memory, group, table)
    resources = _BatchMemory(memory)
    for desc, _, inputs, outputs in large:
        prepare(desc, resources, inputs, outputs)()
