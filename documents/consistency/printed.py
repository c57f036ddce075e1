"""What the pages print as formulas and ranges, word for word, the wrong ones included.

Nothing but `spec check` uses this: it holds each against the worked examples. What the rules follow stands in
`spec.operators`. The grammar is that of `check.formulas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec

from dml_conformance.documents.check.formulas import Environment, Formula, allowed, formula_in_code, number_of
from dml_conformance.documents.check.identifiers import take_apart
from dml_conformance.documents.read.model import Interval
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.sources import read_data

Sizes = tuple[int, ...]


class PrintedFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What the page on one operator prints.

    Attributes:
        sizes: the formula for OutputTensor.Sizes.
        ranges: by the end of a finding's id, what is bounded (a field, or a number made of fields), and its interval.
        relevant_dimensions: how many dimensions of the output count, by `OriginalRank`; the page has them not exceed
            its DimensionCount. "" where the page has nothing of the kind.
    """

    sizes: str
    ranges: dict[str, tuple[str, str]]
    relevant_dimensions: str = ""

    @cached_property
    def formula(self) -> Formula:
        formula = formula_in_code(self.sizes)
        assert formula is not None, self.sizes
        return formula

    def interval(self, name: str) -> Interval:
        """The interval of a range."""
        (interval,) = take_apart(self.ranges[name][1]).intervals
        return interval


@cache
def printed_facts() -> dict[str, PrintedFacts]:
    """By operator; one without an entry prints nothing of the kind."""
    return read_data("printed", dict[str, PrintedFacts])


def printed_sizes(desc: Any) -> Sizes:
    """The sizes that the formula on its page gives a descriptor's tensor.

    Raises:
        KeyError: the page prints none.
        NoValue: the formula has no value on the descriptor.
    """
    facts = printed_facts()[desc.operator]
    environment = Environment.of(desc)
    return facts.formula.sizes(environment, len(environment.sizes[facts.formula.target]))


class BoundedValue(NamedTuple):
    """A value of a descriptor and the range that the page prints for it."""

    name: str
    value: int
    allowed: range


def printed_ranges(desc: Any) -> Iterator[BoundedValue]:
    """The values of a descriptor that the page on its operator bounds; of an array each."""
    environment, arrays = Environment.of(desc), {field.name for field in desc.fields if field.count_field}
    facts = printed_facts().get(desc.operator, PrintedFacts("", {}))
    for name, (of, _) in facts.ranges.items():
        values = environment.elements(of) if of in arrays else (number_of(of)[0](environment),)
        for value in values:
            yield BoundedValue(name, value, allowed(facts.interval(name), environment))


_ELEMENT_SIZE = {
    "FLOAT32": 4, "UINT32": 4, "INT32": 4, "FLOAT16": 2, "UINT16": 2, "INT16": 2,
    "UINT8": 1, "INT8": 1, "FLOAT64": 8, "UINT64": 8, "INT64": 8,
}  # fmt: skip


def calc_buffer_tensor_size(data_type: DataType, sizes: Sizes, strides: Sizes | None) -> int:
    """dml-helper-functions, DMLCalcBufferTensorSize: bytes, with the widths of the C++ variables.

    The index of the last element is a UINT, so it wraps at 32 bits (TENSOR-3); types that the code does not list
    give 0 (TENSOR-4).
    """
    element_size = _ELEMENT_SIZE.get(data_type.name, 0)
    if element_size == 0:
        return 0
    if strides is None:
        elements = 1
        for size in sizes:
            elements = elements * size % 2**64
    else:
        last = 0
        for size, stride in zip(sizes, strides, strict=True):
            last = (last + (size - 1) * stride) % 2**32
        elements = last + 1
    return (elements * element_size + 3) % 2**64 & ~3
