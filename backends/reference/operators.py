"""What each operator computes: one function an operator, to be read as its definition.

A function gets the descriptor, the input tensors as arrays (elements as bit patterns, indices as numbers) and `out`,
the output tensor to fill. It returns which elements of `out` the specification leaves open, because an index out of
range names them, or None where there is none. Source: the operators' pages, with the corrected sizes of GATHER_ND and
GATHER_ND1 (errata GATHER_ND-1, GATHER_ND1-1).

To add an operator: write its function, name it in `OPERATORS`, and give `decisions` its table and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.backends.reference.layout import Bits, Integers
from dml_conformance.backends.reference.movement import Mask, positions, repeat, take_blocks, take_elements, take_slices
from dml_conformance.spec.operator import OperatorDesc

OUTPUT = "output_tensor"

Box = tuple[slice, ...]  # coordinates along each dimension of a tensor


class Result(NamedTuple):
    """What an output tensor has to hold.

    Attributes:
        values: the elements' bit patterns, as unsigned integers of their width, in OutputTensor's sizes.
        open: the same shape; True where the specification leaves the value open: some element of the input tensor's
            memory (`values` has one). None where it leaves nothing open.
    """

    values: Bits
    open: Mask | None

    def parts(self) -> Iterator[tuple[Box, Result]]:
        """All of it, as a single part."""
        yield tuple(slice(0, size) for size in self.values.shape), self

    def at(self, coordinates: tuple[int, ...]) -> tuple[int, bool]:
        """An element's bit pattern, and whether it is left open."""
        return int(self.values[coordinates]), self.open is not None and bool(self.open[coordinates])


def gather(desc: Any, source: Bits, indices: Integers, out: Bits) -> Mask | None:
    """output[before..., i..., after...] = input[before..., indices[i...], after...], right-aligned.

    `i` runs over the last IndexDimensions dimensions of the indices. An output of too many dimensions loses leading
    ones, one of too few gains them.
    """
    places, outside = positions(last_dimensions(indices, desc.index_dimensions), source.shape[desc.axis])
    before, after = source.shape[: desc.axis], source.shape[desc.axis + 1 :]
    aligned = out.reshape(before + places.shape + after)
    take_slices(source, desc.axis, places, aligned)
    if outside is None:
        return None
    outside = outside.reshape(outside.shape + (1,) * len(after))
    return np.broadcast_to(outside, aligned.shape).reshape(out.shape)


def gather_elements(desc: Any, source: Bits, indices: Integers, out: Bits) -> Mask | None:
    """output[..., i, ...] = input[..., indices[..., i, ...], ...]; i is the coordinate along Axis."""
    places, outside = positions(indices, source.shape[desc.axis])
    take_elements(source, desc.axis, places, out)
    return outside


def gather_nd(desc: Any, source: Bits, indices: Integers, out: Bits) -> Mask | None:
    """output[i..., rest...] = input[indices[i..., :]..., rest...]: each tuple of indices names a block."""
    return _gather_blocks(desc, 0, source, indices, out)


def gather_nd1(desc: Any, source: Bits, indices: Integers, out: Bits) -> Mask | None:
    """output[b..., i..., rest...] = input[b..., indices[b..., i..., :]..., rest...]; b runs over the batches."""
    return _gather_blocks(desc, desc.batch_dimension_count, source, indices, out)


def tile(desc: Any, source: Bits, out: Bits) -> None:
    """output[c...] = input[c[d] % InputTensor.Sizes[d] for each d]."""
    repeat(source, desc.repeats, out)


def _gather_blocks(desc: Any, batches: int, source: Bits, indices: Integers, out: Bits) -> Mask | None:
    source = last_dimensions(source, desc.input_dimension_count)
    indices = last_dimensions(indices, desc.indices_dimension_count)
    places: list[Integers] = []
    outside: Mask | None = None
    for coordinate in range(indices.shape[-1]):
        place, wrong = positions(indices[..., coordinate], source.shape[batches + coordinate])
        places.append(place)
        if wrong is not None:
            outside = wrong if outside is None else outside | wrong
    rest = source.shape[batches + len(places) :]
    aligned = out.reshape(indices.shape[:-1] + rest)
    take_blocks(source, batches, places, aligned)
    if outside is None:
        return None
    outside = np.reshape(outside, indices.shape[:-1] + (1,) * len(rest))
    return np.broadcast_to(outside, aligned.shape).reshape(out.shape)


def last_dimensions(array: Any, count: int) -> Any:
    """The last `count` dimensions; of the leading ones, which have size 1, the first element."""
    return array[(0,) * (array.ndim - count) + (...,)]


class OperatorFunction(NamedTuple):
    """One entry of the registry.

    Attributes:
        compute: the operator's function.
        inputs: its input tensors in the order of the function's arguments, and how each is read.
    """

    compute: Callable[..., Mask | None]
    inputs: Mapping[str, Callable[..., Any]]


_INDEXING = {"input_tensor": layout.bits, "indices_tensor": layout.indices}

OPERATORS: Mapping[str, OperatorFunction] = {
    "GATHER": OperatorFunction(gather, _INDEXING),
    "TILE": OperatorFunction(tile, {"input_tensor": layout.bits}),
    "GATHER_ELEMENTS": OperatorFunction(gather_elements, _INDEXING),
    "GATHER_ND": OperatorFunction(gather_nd, _INDEXING),
    "GATHER_ND1": OperatorFunction(gather_nd1, _INDEXING),
}


def compute_into(out: Bits, desc: OperatorDesc, inputs: Mapping[str, Binding]) -> Mask | None:
    """Fill `out`, of OutputTensor's sizes and any strides; returns which elements are left open, None for none."""
    operator = OPERATORS[desc.operator]
    tensors = [read(inputs[name], getattr(desc, name)) for name, read in operator.inputs.items()]
    return operator.compute(desc, *tensors, out)


def expected_output(desc: OperatorDesc, inputs: Mapping[str, Binding]) -> dict[str, Result]:
    """What the specification expects of one execution.

    Args:
        desc: a descriptor that `decisions.validate` accepts.
        inputs: the bound input tensors by Python attribute name; they are not written to.

    Returns:
        A `Result` for each output tensor, by Python attribute name.

    Raises:
        KeyError: an operator that is not in `OPERATORS`, or an input that is missing.
        TypeError, ValueError: an input does not lie inside its bound range.
    """
    tensor = getattr(desc, OUTPUT)
    out = np.empty(tensor.sizes, layout.UNSIGNED[tensor.data_type.size])
    return {OUTPUT: Result(out, compute_into(out, desc, inputs))}
