"""What an output holds that is too large to be held twice: part by part, in row-major order.

A part is a box of coordinates. An operator's own function computes it, from inputs that are cut to what the box needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.lib.stride_tricks import as_strided

from dml_conformance.backends.reference.enclosure import Enclosure
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Slot, with_tensors
from dml_conformance.spec.expectation import PART_ELEMENTS, Bits, Box, Expectation, Within, box_of, boxes, split
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc

# Elements of which it is kept what is right, where inputs repeat, so that it is computed once of each.
MOST_KEPT = 2**21
LEAST_TURNS = 8  # that an output is made of, where its inputs' period is short enough for that
# Bytes of parts that are known without arithmetic, and kept: they are asked for before a case and after it.
MOST_KEPT_BYTES = 2**27
MOST_READ = 2**15  # elements of an input for a box of a sample, where fewer can be looked at

Spans = Sequence[slice]
# From a descriptor, the spans of a box of its output and its inputs: the descriptor and the inputs of an operator whose
# output is that box alone. The output gets the box's sizes after that.
Cut = Callable[[Any, Spans, Arrays], tuple[Any, Arrays]]
Cuts = Cut | Mapping[str, Cut]  # of all outputs; or of some by key, beside which the others are small


class LargeExpectation:
    """What is right of an output tensor, computed part by part each time that it is asked for, unless it is kept.

    Args:
        desc: a descriptor that is valid.
        output: the tensor.
        arrays: the input tensors by slot; they must stay as they are.
        cut: of the operator.
        compute: of the operator.
        tolerance: which bounds hold for results of arithmetic.
        period: elements after which those of the inputs may begin again; 0 for none. It is looked whether they do.

    Attributes:
        repeats: whether they do, so that parts are kept and not computed anew.
    """

    def __init__(
        self,
        desc: OperatorDesc,
        output: Slot,
        arrays: Arrays,
        cut: Cut,
        compute: Compute,
        tolerance: Tolerance,
        period: int = 0,
    ) -> None:
        self._tolerance = tolerance
        self._desc = desc
        self._output = output
        self._arrays = arrays
        self._cut = cut
        self._compute = compute
        self._rows: Sequence[int] = []  # along which axes elements are taken together that are more than one
        self._statistics: RowStatistics | None = None  # where a row is more than a part
        if isinstance(cut, CutRows):
            axes, sizes = cut.axes(desc), output.tensor.sizes
            self._rows = [axis for axis in axes if sizes[axis] > 1]
            is_long = prod(sizes[min(self._rows, default=len(sizes)) :]) > PART_ELEMENTS
            if is_long and cut.statistics is not None and len(set(axes)) == len(axes):  # of one named twice are none
                self._cut, self._statistics = cut.cut, cut.statistics
        self._latest_rows: tuple[Box, tuple[Enclosure, ...]] | None = None
        self._kept: dict[tuple[tuple[int, int], ...], Expectation] = {}
        self._room = MOST_KEPT_BYTES
        self._latest: tuple[Box, Expectation] | None = None  # several boxes may be cut out of what is taken together
        self._axis, _ = split(output.tensor.sizes, self._most())
        most = min(self._most(), prod(output.tensor.sizes) // LEAST_TURNS)
        may_repeat = 0 < period < output.tensor.sizes[self._axis]
        self._turn = period * max(1, most // self._elements(period)) if may_repeat else 0
        self.repeats = may_repeat and self._is_periodic(period)

    def parts(self) -> Iterator[tuple[Box, Expectation]]:
        """The boxes of at most `PART_ELEMENTS` elements, unless those that are taken together are more, and what is
        right of each."""
        return ((box, self._first_of(box) if self.repeats else self._part(box)) for box in self._boxes())

    def joined(self) -> Expectation:
        """What is right of all of it, in the memory of the results alone."""
        parts = ((box, self._first_of(box) if self.repeats else self.cut(box)) for box in self._boxes())
        return joined(self._output.tensor.sizes, parts)

    def at(self, coordinates: tuple[int, ...]) -> Expectation:
        """What is right of one element, as a tensor of it alone."""
        return self.cut(tuple(slice(place, place + 1) for place in coordinates))

    def cut(self, box: Box) -> Expectation:
        """What is right of some elements alone."""
        if self._statistics is not None:
            return self._part_of_rows(box, self._statistics)
        key, axes, whole = self._output.key, self._together(), self.whole(box)
        if self._latest is None or self._latest[0] != whole:
            self._latest = None  # before as much is made again
            tensor = msgspec.structs.replace(self._output.tensor, sizes=tuple(span.stop - span.start for span in whole))
            desc, arrays = self._cut(self._desc, whole, self._arrays)
            desc = with_tensors(desc, {key: tensor})
            self._latest = whole, as_expectation(self._compute(desc, arrays)[key], desc, tensor, self._tolerance)
        _, found = self._latest
        return (
            found.cut(tuple(span if axis in axes else slice(None) for axis, span in enumerate(box))) if axes else found
        )

    def _part_of_rows(self, box: Box, statistics: RowStatistics) -> Expectation:
        """What is right of a part of rows, of which all is looked at once."""
        rows = self.whole(box)
        if self._latest_rows is None or self._latest_rows[0] != rows:
            desc, arrays = self._cut(self._desc, rows, self._arrays)
            self._latest_rows = rows, statistics.of_rows(desc, arrays, self._tolerance)
        tensor = msgspec.structs.replace(self._output.tensor, sizes=tuple(span.stop - span.start for span in box))
        desc, arrays = self._cut(with_tensors(self._desc, {self._output.key: tensor}), box, self._arrays)
        found = statistics.elements(desc, arrays, self._latest_rows[1], self._tolerance)
        return as_expectation(found, desc, tensor, self._tolerance)

    def sampled_elements(self, most: int) -> int:
        """Elements of a box of a sample: so many, or fewer where each needs many of an input's.

        Those that are taken together anyway need as many however few are looked at.
        """
        if self._rows:
            return most
        few, many = (self._read_by(count) for count in (1, most))
        read = max((many[key] - few[key] for key in many), default=0)  # some need all of an input for each element
        return max(most * MOST_READ // max(read, MOST_READ), 1)

    def _read_by(self, most: int) -> dict[str, int]:
        """Elements of each input that a box of at most so many needs."""
        _, arrays = self._cut(self._desc, box_of(self._output.tensor.sizes, most, 0), self._arrays)
        return {key: array.size for key, array in arrays.items()}

    def whole(self, box: Box) -> Box:
        """All elements that are taken together with those of a box."""
        sizes = self._output.tensor.sizes
        return tuple(slice(0, sizes[axis]) if axis in self._rows else span for axis, span in enumerate(box))

    def _boxes(self) -> Iterator[Box]:
        return boxes(self._output.tensor.sizes, self._most(), self._turn if self.repeats else 0)

    def _part(self, box: Box) -> Expectation:
        """What is right of a box, which is kept where no interval is, as long as there is room."""
        key = _ends(box)
        if key not in self._kept:
            found = self.cut(box)
            size = sum(part.nbytes for part in (found.values, found.one_of, found.free) if part is not None)
            if found.within is not None or size > self._room:
                return found
            self._kept[key] = found
            self._room -= size
        return self._kept[key]

    def _first_of(self, box: Box) -> Expectation:
        """What is right of a box in the first turn of the inputs, and so of that which lies there in another turn."""
        start = box[self._axis].start % self._turn
        along = slice(start, start + box[self._axis].stop - box[self._axis].start)
        first = (*box[: self._axis], along, *box[self._axis + 1 :])
        key = _ends(first)
        if key not in self._kept:
            self._kept[key] = self.cut(first)
        return self._kept[key]

    def _is_periodic(self, period: int) -> bool:
        """Whether boxes so far apart along the axis that parts follow each other on have equal inputs, of which there
        are few enough to keep what is right."""
        sizes, axis = self._output.tensor.sizes, self._axis
        count = sizes[axis] - period
        if axis in self._together() or count <= 0 or prod(sizes) // sizes[axis] * self._turn > MOST_KEPT:
            return False
        whole = [slice(0, size) for size in sizes]
        (desc, here), (other, there) = (
            self._cut(self._desc, (*whole[:axis], slice(start, start + count), *whole[axis + 1 :]), self._arrays)
            for start in (0, period)
        )
        return desc == other and all(_are_equal(here[key], there[key]) for key in here)

    def _elements(self, steps: int) -> int:
        """Elements of a box of so many steps along the axis that parts follow each other on, or of an input's part."""
        sizes, axis = self._output.tensor.sizes, self._axis
        box = [slice(0, 1)] * axis + [slice(0, steps)] + [slice(0, size) for size in sizes[axis + 1 :]]
        _, arrays = self._cut(self._desc, box, self._arrays)
        return max(steps * prod(sizes[axis + 1 :]), *(array.size for array in arrays.values()))

    def _most(self) -> int:
        """Elements of a part."""
        sizes = self._output.tensor.sizes
        return max(PART_ELEMENTS, prod(sizes[min(self._together(), default=len(sizes)) :]))

    def _together(self) -> Sequence[int]:
        """Along which axes the elements of a part are taken together."""
        return [] if self._statistics is not None else self._rows


def _are_equal(one: Bits, other: Bits) -> bool:
    """Whether two arrays are equal; where elements overlap in memory in the same way, that is looked at first."""
    if one.shape == other.shape and one.strides == other.strides and min(one.strides, default=0) >= 0:
        memory, others = _in_memory(one), _in_memory(other)
        if memory.size < one.size and np.array_equal(memory, others):
            return True
    return np.array_equal(one, other)


def _in_memory(array: Bits) -> Bits:
    """Everything that lies in memory from the first element to the last; no step is below 0."""
    count = 1 + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) // array.itemsize
    return as_strided(array, (count,), (array.itemsize,))


def _ends(box: Box) -> tuple[tuple[int, int], ...]:
    return tuple((span.start, span.stop) for span in box)


def expected_of_memory(
    desc: OperatorDesc, output: Slot, arrays: Arrays, compute: Compute, tolerance: Tolerance
) -> Expectation | None:
    """What is right of an output that is computed element by element, computed once of each place in memory.

    None unless the elements of all inputs overlap in the same way, and have half as many places there or fewer.
    """
    shape = output.tensor.sizes
    layouts = {tuple(step // array.itemsize for step in array.strides) for array in arrays.values()}
    if len(layouts) != 1 or any(array.shape != shape for array in arrays.values()):
        return None
    (strides,) = layouts
    memory = {key: _in_memory(array) for key, array in arrays.items()}
    count = max(array.size for array in memory.values())
    if 2 * count > prod(shape):
        return None
    tensor = msgspec.structs.replace(output.tensor, sizes=(count,))
    desc = with_tensors(desc, {output.key: tensor})
    found = as_expectation(compute(desc, memory)[output.key], desc, tensor, tolerance)
    return found.each(lambda part: as_strided(part, shape, [stride * part.strides[0] for stride in strides]))


@quiet  # at once what its functions would each have to say
def as_expectation(found: Any, desc: OperatorDesc, tensor: TensorDesc, tolerance: Tolerance) -> Expectation:
    """What an operator's function returned for an output, under the bounds of a tolerance.

    That is bits, an expectation, or what is evaluated under the tolerance: a formula, or a function of the tolerance
    that gives an enclosure.
    """
    if isinstance(found, Formula):
        found = _in_parts(found, tolerance, reach_of(desc.operator, tensor.data_type, tolerance))
    elif callable(found):
        found = found(tolerance)
    if isinstance(found, Enclosure):
        found = _of_enclosure(found, tensor.data_type)
    if isinstance(found, Expectation):
        return found._replace(values=as_bits(found.values, tensor))
    return Expectation(as_bits(found, tensor))


def _in_parts(formula: Formula, tolerance: Tolerance, reach: float) -> Expectation:
    """What is right of a formula's results, computed part by part where these are many, as that takes less memory."""
    shape = formula.shape
    most = max(PART_ELEMENTS, prod(shape[min(formula.axes, default=len(shape)) :]))
    if prod(shape) <= most or formula.of_every_value() is not None:
        return formula.expectation(tolerance, reach)
    return joined(shape, ((box, formula.cut(box).expectation(tolerance, reach)) for box in boxes(shape, most)))


def _of_enclosure(found: Enclosure, data_type: DataType) -> Expectation:
    """What is right of an output of a type that holds these numbers, part by part likewise."""
    if prod(found.shape) <= PART_ELEMENTS:
        return found.expectation(data_type)
    parts = ((box, found[box].expectation(data_type)) for box in boxes(found.shape, PART_ELEMENTS))
    return joined(found.shape, parts)


def joined(shape: tuple[int, ...], parts: Iterable[tuple[Box, Expectation]]) -> Expectation:
    """What is right of a tensor, of what is right of its parts."""
    found: dict[str, Any] = {}
    memory = ""
    for box, part in parts:
        memory = memory or part.memory
        members = {"values": part.values, "one_of": part.one_of, "free": part.free, "where": part.intervals}
        if part.within is not None:
            members |= {f"within.{name}": array for name, array in part.within._asdict().items() if name != "where"}
        for name, array in members.items():
            if array is not None:
                if name not in found:
                    # Values are of every part, and to fill them takes as long as to move them.
                    make = np.empty if name == "values" else partial(np.full, fill_value=name == "within.counted")
                    found[name] = make(shape, dtype=array.dtype)
                found[name][box] = array
        del part, members, array  # before the next part is made
    within = None
    if (where := found.pop("where", None)) is not None:
        arrays = {name: found.pop(f"within.{name}", None) for name in Within._fields if name != "where"}
        within = Within(**arrays, where=None if where.all() else where)
    return Expectation(**found, memory=memory, within=within)


def reach_of(name: str, data_type: DataType, tolerance: Tolerance) -> float:
    """The largest argument that an operator's bounds lie around the exact value for."""
    return min((PRIMITIVES[each].bound(tolerance, data_type).reach for each in operator(name).primitives), default=inf)


def aligned(spans: Spans, rank: int) -> tuple[slice, ...]:
    """The spans of the last `rank` dimensions; where there are fewer, ones are missing in front."""
    return (*(slice(0, 1),) * (rank - len(spans)), *spans[max(0, len(spans) - rank) :])


def cut_elementwise(desc: OperatorDesc, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Of an operator whose inputs have the output's sizes, or 1 where they are broadcast: the box of each of them."""
    return desc, {
        key: array[tuple(span if size > 1 else slice(0, 1) for span, size in zip(spans, array.shape, strict=True))]
        for key, array in arrays.items()
    }


class RowStatistics(NamedTuple):
    """What an operator computes of rows, after which each of their elements needs no other one.

    Attributes:
        of_rows: from a descriptor, the inputs of whole rows and a tolerance: with size 1 along the rows.
        elements: from a descriptor, the inputs of any elements, what was computed of their rows, and a tolerance.
    """

    of_rows: Callable[[Any, Arrays, Tolerance], tuple[Enclosure, ...]]
    elements: Callable[[Any, Arrays, tuple[Enclosure, ...], Tolerance], Enclosure]


@dataclass(frozen=True)
class CutRows:
    """Of an operator whose output has axes along which all of it is needed for any element.

    Attributes:
        axes: from a descriptor, these axes.
        cut: of the operator, to boxes that have all along them: spans without ends, as inputs may have other sizes.
        statistics: by which a row can be cut that is longer than a part; None where it is computed as a whole.
    """

    axes: Callable[[Any], Sequence[int]]
    cut: Cut = cut_elementwise
    statistics: RowStatistics | None = None

    def __call__(self, desc: OperatorDesc, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
        axes = self.axes(desc)
        return self.cut(desc, [slice(None) if d in axes else span for d, span in enumerate(spans)], arrays)
