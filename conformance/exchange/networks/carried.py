"""What each value of a chain of layers may be: enclosures that are carried from layer to layer.

An input of a layer has ends beside its value. A formula takes the numbers of tensors by `Evaluation.of`, and only moves
them before, so they are known there by their bits: an element gets the hull of all elements of the same value, which
encloses more than it has to and never less. What moves numbers or is monotone is computed at the ends themselves.
Anything else that is computed of what is not known exactly may be anything, as whole numbers are that are rounded to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import Binding, Bytes
from dml_conformance.backends.reference import Expectation, expected_output
from dml_conformance.backends.reference.enclosure import Enclosure, widening
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, put
from dml_conformance.conformance.exchange.networks.chains import ALIGNMENT, Chain, ChainStep, as_memory
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import inputs, outputs
from dml_conformance.spec.tensor import TensorDesc

# What moves numbers, or rises with each of them, where its results are not rounded.
MONOTONE = {
    *("ELEMENT_WISE_IDENTITY", "SLICE1", "SPLIT", "JOIN", "GATHER", "MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"),
    *("ACTIVATION_RELU", "CAST"),
}
ENCLOSED = (DataType.FLOAT32, DataType.FLOAT16)  # types whose numbers are taken as enclosures


class Carried(NamedTuple):
    """The packed memory of a value, and that of the least and of the greatest it may be."""

    value: Bytes
    low: Bytes
    high: Bytes

    @classmethod
    def exact(cls, array: Any) -> Carried:
        """Of a value that is known."""
        memory = as_memory(array)
        return cls(memory, memory, memory)

    @property
    def is_exact(self) -> bool:
        return self.low is self.high

    def numbers(self, data_type: str) -> tuple[Any, Any, Any]:
        """The value, the least and the greatest as FLOAT64, of elements that NumPy calls so."""
        value, low, high = (part.view(data_type).astype(np.float64) for part in self)
        return value, low, high


def carried_through(
    chain: Chain, known: Mapping[str, Any] | None = None, tolerance: Tolerance = DIRECTML
) -> Iterator[tuple[ChainStep, str, Carried]]:
    """Execute a chain on the reference; gives each value that comes of a step with what it may be.

    Args:
        chain: the network.
        known: values that are given, by name; the steps after one that gives such a value read this.
        tolerance: the bounds that results of arithmetic are held to.
    """
    values = {name: Carried.exact(memory) for name, memory in chain.memory().items()}
    values |= {name: Carried.exact(array) for name, array in (known or {}).items()}
    for step, case in zip(chain.steps, chain.cases_at(HIGHEST), strict=True):
        read = {slot: values[name] for slot, name in step.inputs.items()}
        found = executed(case, read, tolerance)
        for slot, name in step.outputs.items():
            values.setdefault(name, found[slot])
            yield step, name, found[slot]


def executed(case: Case, read: Mapping[str, Carried], tolerance: Tolerance = DIRECTML) -> dict[str, Carried]:
    """What a layer leaves in each output, of what it reads, by slot."""
    desc = case.desc

    def expected(place: int) -> Mapping[str, Expectation]:
        bound = {slot: Binding(carried[place], 0, len(carried[place])) for slot, carried in read.items()}
        return expected_output(desc, bound, tolerance)

    types = {slot.key: slot.tensor.data_type for slot in inputs(desc)}
    uncertain = {slot: carried for slot, carried in read.items() if not carried.is_exact}
    with widening(_Hulls.of([(types[slot], carried) for slot, carried in uncertain.items()]).around):
        results = expected(0)
    is_monotone = case.operator in MONOTONE
    ends = [expected(place) for place in (1, 2)] if uncertain and is_monotone else [results, results]
    is_enclosed = all(types[slot] in ENCLOSED for slot in uncertain)
    found = {}
    for slot in outputs(desc):
        result, anything = results[slot.key], _anything(slot.tensor.data_type)
        low, high = (end[slot.key].values for end in ends)
        if result.within is not None and is_enclosed:
            where, nan = True if result.within.where is None else result.within.where, result.within.nan
            low, high = np.where(where, result.within.low, low), np.where(where, result.within.high, high)
            if nan is not None:
                low, high = np.where(nan, anything[0], low), np.where(nan, anything[1], high)
        elif uncertain and not is_monotone:
            low, high = (np.full_like(result.values, end) for end in anything)
        parts = (_memory(slot.tensor, each) for each in (result.values, low, high))
        found[slot.key] = Carried(*parts)
    return found


def _anything(data_type: DataType) -> Bits:
    """Bits of the least and the greatest number of a type."""
    number = NUMBERS[data_type]
    limits = (-np.inf, np.inf) if data_type.is_float else (np.iinfo(number).min, np.iinfo(number).max)
    return np.array(limits, number).view(UNSIGNED[number.itemsize])


def _memory(tensor: TensorDesc, elements: Bits) -> Bytes:
    memory = np.zeros(-(-tensor.total_tensor_size_in_bytes // ALIGNMENT) * ALIGNMENT, np.uint8)
    put(Binding(memory, 0, len(memory)), tensor, elements)
    return memory


class _Hulls(NamedTuple):
    """By type and the bits of a value, ascending, the least and the greatest that its elements may be."""

    tables: Mapping[str, tuple[Any, Any, Any]]

    @classmethod
    def of(cls, every: Sequence[tuple[DataType, Carried]]) -> _Hulls:
        """Of the numbers of these types that are carried."""
        tables = {}
        for data_type in ENCLOSED:
            number = NUMBERS[data_type]
            parts = [carried for of, carried in every if of is data_type]
            if not parts:
                continue
            value, *ends = (np.concatenate([carried[place].view(number) for carried in parts]) for place in range(3))
            values, places = np.unique(value.view(UNSIGNED[number.itemsize]), return_inverse=True)
            low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
            np.minimum.at(low, places, ends[0].astype(np.float64))
            np.maximum.at(high, places, ends[1].astype(np.float64))
            tables[number.name] = values, low, high
        return cls(tables)

    def around(self, found: Enclosure, numbers: Any) -> Enclosure:
        """The enclosure of numbers that may be others."""
        if numbers.dtype.name not in self.tables:
            return found
        values, lows, highs = self.tables[numbers.dtype.name]
        wanted = np.ascontiguousarray(numbers).view(values.dtype).reshape(numbers.shape)
        places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        is_known = values[places] == wanted
        low = np.where(is_known, np.minimum(lows[places], found.low), found.low)
        high = np.where(is_known, np.maximum(highs[places], found.high), found.high)
        return Enclosure(found.evaluation, found.value, low, high, found.maybe_nan)
