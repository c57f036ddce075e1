"""What an output holds that is too large to be held twice: part by part, in row-major order.

A part is a box of coordinates. An operator's own function computes it, from inputs that are cut to what the box needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec
from numpy.lib.stride_tricks import as_strided

from dml_conformance.backends.reference.arithmetic import Arithmetic, expectation
from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.descriptor import Slot, with_tensors
from dml_conformance.spec.expectation import Box, Expectation
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc

PART_ELEMENTS = 2**20

Spans = Sequence[slice]
# From a descriptor, the spans of a box of its output and its inputs: the descriptor and the inputs of an operator whose
# output is that box alone. The output gets the box's sizes after that.
Cut = Callable[[Any, Spans, Arrays], tuple[Any, Arrays]]


class LargeExpectation:
    """What is right of an output tensor, computed anew each time that it is asked for.

    Args:
        desc: a descriptor that is valid.
        output: the tensor.
        arrays: the input tensors by slot; they must stay as they are.
        cut: of the operator.
        compute: of the operator.
        profile: which bounds hold for results of arithmetic.
    """

    def __init__(
        self, desc: OperatorDesc, output: Slot, arrays: Arrays, cut: Cut, compute: Compute, profile: Profile
    ) -> None:
        self._profile = profile
        self._desc = desc
        self._output = output
        self._arrays = arrays
        self._cut = cut
        self._compute = compute

    def parts(self) -> Iterator[tuple[Box, Expectation]]:
        """The boxes of at most `PART_ELEMENTS` elements, and what is right of each."""
        for box in boxes(self._output.tensor.sizes, PART_ELEMENTS):
            yield box, self._part(box)

    def at(self, coordinates: tuple[int, ...]) -> Expectation:
        """What is right of one element, as a tensor of it alone."""
        return self._part(tuple(slice(place, place + 1) for place in coordinates))

    def _part(self, box: Box) -> Expectation:
        key = self._output.key
        tensor = msgspec.structs.replace(self._output.tensor, sizes=tuple(span.stop - span.start for span in box))
        desc, arrays = self._cut(self._desc, box, self._arrays)
        desc = with_tensors(desc, {key: tensor})
        return as_expectation(self._compute(desc, arrays)[key], desc, tensor, self._profile)


def expected_of_memory(
    desc: OperatorDesc, output: Slot, arrays: Arrays, compute: Compute, profile: Profile
) -> Expectation | None:
    """What is right of an output that is computed element by element, computed once of each place in memory.

    None unless the elements of all inputs overlap in the same way, and have half as many places there or fewer.
    """
    shape = output.tensor.sizes
    layouts = {tuple(step // array.itemsize for step in array.strides) for array in arrays.values()}
    if len(layouts) != 1 or any(array.shape != shape for array in arrays.values()):
        return None
    (strides,) = layouts
    count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if 2 * count > prod(shape):
        return None
    tensor = msgspec.structs.replace(output.tensor, sizes=(count,))
    memory = {key: as_strided(array, (count,), (array.itemsize,)) for key, array in arrays.items()}
    desc = with_tensors(desc, {output.key: tensor})
    found = as_expectation(compute(desc, memory)[output.key], desc, tensor, profile)
    return found.each(lambda part: as_strided(part, shape, [stride * part.strides[0] for stride in strides]))


def as_expectation(found: Any, desc: OperatorDesc, tensor: TensorDesc, profile: Profile) -> Expectation:
    """What an operator's function returned for an output, under the bounds of a profile."""
    if isinstance(found, Arithmetic):
        spec = operator(found.bounds_of or desc.operator)
        bound = profile.bound(spec.bounds, spec.precise, tensor.data_type)
        found = expectation(found, tensor.data_type, bound, profile)
    if isinstance(found, Expectation):
        return found._replace(values=as_bits(found.values, tensor))
    return Expectation(as_bits(found, tensor))


def boxes(sizes: Sequence[int], most: int) -> Iterator[Box]:
    """Boxes that a tensor of these sizes is made of, each of consecutive elements, in order."""
    axis = next(axis for axis in range(len(sizes)) if prod(sizes[axis + 1 :]) <= most)
    step = max(1, most // prod(sizes[axis + 1 :]))
    whole = tuple(slice(0, size) for size in sizes[axis + 1 :])
    for outer in product(*map(range, sizes[:axis])):
        for start in range(0, sizes[axis], step):
            along = slice(start, min(start + step, sizes[axis]))
            yield (*(slice(place, place + 1) for place in outer), along, *whole)


def aligned(spans: Spans, rank: int) -> tuple[slice, ...]:
    """The spans of the last `rank` dimensions; where there are fewer, ones are missing in front."""
    return (*(slice(0, 1),) * (rank - len(spans)), *spans[max(0, len(spans) - rank) :])


def cut_elementwise(desc: Any, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Of an operator whose inputs all have the output's sizes: the box of each of them."""
    return desc, {key: array[tuple(spans)] for key, array in arrays.items()}
