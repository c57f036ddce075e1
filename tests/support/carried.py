"""Networks executed as the chain of their layers, with what each value may be: enclosures carried from layer to layer.

An input of a layer has ends beside its value. A formula takes the numbers of tensors by `Evaluation.of`, and only moves
them before, so they are known there by their bits: an element gets the hull of all elements of the same value, which
encloses more than it has to and never less. What moves numbers or is monotone is computed at the ends themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.layout import bits
from dml_conformance.conformance.exchange.onnx.layers import Layers, LayerStep
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import inputs, outputs

ALIGNMENT = 4  # bytes that the size of a tensor is a multiple of
# What moves numbers, or rises with each of them, where its results are not rounded.
MONOTONE = {
    *("ELEMENT_WISE_IDENTITY", "SLICE1", "SPLIT", "JOIN", "GATHER", "MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"),
    *("ACTIVATION_RELU", "CAST"),
}


class Carried(NamedTuple):
    """The packed memory of a value, and that of the least and of the greatest it may be."""

    value: Any
    low: Any
    high: Any

    @classmethod
    def exact(cls, array: Any) -> Carried:
        """Of a value that is known."""
        memory = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        memory = np.concatenate([memory, np.zeros(-len(memory) % ALIGNMENT, np.uint8)])
        return cls(memory, memory, memory)

    @property
    def is_exact(self) -> bool:
        return self.low is self.high

    def numbers(self, like: Any) -> tuple[Any, Any, Any]:
        """The value, the least and the greatest, as an array such as one at hand."""
        value, low, high = (part[: like.nbytes].view(like.dtype).reshape(like.shape) for part in self)
        return value, low, high


def chained(
    layers: Layers, given: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterator[tuple[LayerStep, str, Carried]]:
    """Execute a network step by step; gives each value that comes of a step with what it may be.

    Args:
        layers: of the network.
        given: its inputs.
        known: what a runtime made of its values; the steps after one that gives such a value read the runtime's.
    """
    values = {name: Carried.exact(array) for name, array in {**layers.constants, **given}.items()}
    for step, case in layers.steps:
        read = {each.slot: values[layers.aliases.get(each.value, each.value)] for each in step.inputs}
        for name, found in _executed(step, case, read).items():
            values[name] = Carried.exact(known[name]) if name in known else found
            yield step, name, found


def _executed(step: LayerStep, case: Case, read: Mapping[str, Carried]) -> dict[str, Carried]:
    """What a step leaves in each value that it writes."""
    desc, slots = case.desc, {slot.key: slot.tensor for slot in inputs(case.desc)}

    def at(place: int) -> dict[str, Binding]:
        return {key: Binding(carried[place], 0, len(carried[place])) for key, carried in read.items()}

    with _knowing([carried for key, carried in read.items() if slots[key].data_type is DataType.FLOAT32]):
        expected = expected_output(desc, at(0))
    is_exact = all(carried.is_exact for carried in read.values())
    ends = [expected] * 2 if is_exact else [expected_output(desc, at(place)) for place in (1, 2)]
    tensors, found = {slot.key: slot.tensor for slot in outputs(desc)}, {}
    for binding in step.outputs:
        tensor, result = tensors[binding.slot], expected[binding.slot]
        low, high = (each[binding.slot].values for each in ends)
        within = result.within
        if within is not None:
            assert within.nan is None or not within.nan.any(), f"{step.node}: may be no number"
            where = True if within.where is None else within.where
            low, high = np.where(where, within.low, low), np.where(where, within.high, high)
        elif not is_exact:
            assert case.operator in MONOTONE, f"{case.operator} may not be computed at the ends of what it reads"
        parts = []
        for array in (result.values, low, high):
            memory = np.zeros(-(-tensor.total_tensor_size_in_bytes // ALIGNMENT) * ALIGNMENT, np.uint8)
            bits(Binding(memory, 0, len(memory)), tensor)[...] = array
            parts.append(memory)
        found[binding.value] = Carried(*parts)
    return found


@contextmanager
def _knowing(every: list[Carried]) -> Iterator[None]:
    """While numbers of tensors are taken with the ends that are carried for them."""
    table = _Ends.of([carried for carried in every if not carried.is_exact])
    original = Evaluation.of

    def of(self: Evaluation, numbers: Any) -> Enclosure:
        found = original(self, numbers)
        return found if numbers.dtype != np.float32 else table.around(found, numbers)

    Evaluation.of = of  # type: ignore[method-assign]
    try:
        yield
    finally:
        Evaluation.of = original  # type: ignore[method-assign]


class _Ends(NamedTuple):
    """By the bits of a value, ascending, the least and the greatest that its elements may be."""

    values: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, every: list[Carried]) -> _Ends:
        none = np.zeros(0, "<f4")
        joined = [np.concatenate([none, *(carried[place].view("<f4") for carried in every)]) for place in range(3)]
        values, places = np.unique(joined[0].view("<u4"), return_inverse=True)
        low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
        np.minimum.at(low, places, joined[1].astype(np.float64))
        np.maximum.at(high, places, joined[2].astype(np.float64))
        return cls(values, low, high)

    def around(self, found: Enclosure, numbers: Any) -> Enclosure:
        if not len(self.values):
            return found
        wanted = np.ascontiguousarray(numbers).view("<u4").reshape(numbers.shape)
        places = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        is_known = self.values[places] == wanted
        low = np.where(is_known, np.minimum(self.low[places], found.low), found.low)
        high = np.where(is_known, np.maximum(self.high[places], found.high), found.high)
        return Enclosure(found.evaluation, found.value, low, high, found.maybe_nan)
