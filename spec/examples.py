"""The worked examples of the pages: as printed, and as corrected where an erratum says so.

Three kinds of figures stand on the pages. An `Example` is an operator at work: descriptor, inputs and output. An
`Illustration` shows on a list of sizes which dimensions a count selects. A `Layout` of the strides guide shows where
a tensor's elements stand in memory.

Source: the operators' pages and the strides guide; `spec/data/README.md` has the addresses and the licence.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import INDICES, OperatorDesc, OperatorSpec, inputs
from dml_conformance.spec.registry import operator
from dml_conformance.spec.sources import Source, read_data

Value = int | float


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worked example.

    Attributes:
        id: `GATHER/3`: the operator and the page's own number; 0 for a figure within the text.
        title: in our own words.
        desc: the descriptor's fields as printed; a tensor without DataType where the page prints none.
        values: elements as printed, nested, by tensor name.
        corrections: what the errata change, by the field's path (`OutputTensor.DataType`).
        unprinted: fields that the page leaves out though the operator has them, with the value that fits.
        minimum_level: label of the lowest level whose tables allow it; None where types are not printed.
        errata: ids of the errata that it shows.
    """

    id: str
    title: str
    desc: dict[str, Any]
    values: dict[str, list[Any]] = {}
    corrections: dict[str, Any] = {}
    unprinted: dict[str, Any] = {}
    minimum_level: str | None = None
    errata: tuple[str, ...] = ()

    @property
    def operator(self) -> str:
        return self.id.partition("/")[0]

    @property
    def spec(self) -> OperatorSpec:
        return operator(self.operator)

    @property
    def source(self) -> Source:
        return Source(self.spec.source.page, f"example {self.id.partition('/')[2]}")

    @property
    def level(self) -> Level | None:
        """The lowest level whose tables allow the example; None where types are not printed."""
        return None if self.minimum_level is None else Level.parse(self.minimum_level)

    @property
    def printed(self) -> OperatorDesc | None:
        """The descriptor as printed; None where types are not, or where no descriptor holds what is."""
        try:
            return None if self.minimum_level is None else self._read(self.desc)
        except FormError:
            return None

    @property
    def corrected(self) -> OperatorDesc | None:
        """The descriptor with the corrections of its errata; None where types are not printed."""
        return None if self.minimum_level is None else self._read(self._corrected_fields())

    def with_types(self, data: DataType = DataType.FLOAT32, indices: DataType = DataType.UINT32) -> OperatorDesc:
        """The corrected descriptor with these types where none is printed, for what does not depend on types.

        A tensor that has neither by the newest table gets the first type that it has there.
        """
        fields = {**self._corrected_fields(), **copy.deepcopy(self.unprinted)}
        newest = self.spec.table_at(HIGHEST) or {}
        for field in self.spec.tensor_fields:
            wanted = indices if self.spec.group(field) == INDICES else data
            allowed = newest[field.name].data_types
            data_type = wanted if wanted in allowed else min(allowed, default=wanted)
            described = fields.get(field.name)
            for tensor in described if isinstance(described, list) else [described]:
                if tensor is not None:
                    tensor.setdefault("DataType", data_type.name)
        return desc_from_json({"type": self.spec.dml_name, "desc": fields}, self.id)

    def elements(self, tensor: str) -> tuple[Value, ...]:
        """The printed elements of a tensor (`InputTensor`), row-major.

        Raises:
            KeyError: the page prints no values for it.
        """
        return tuple(flattened(self.values[tensor]))

    def case(self, level: Level) -> Case:
        """The corrected example as a case at a level, its inputs as explicit values.

        Raises:
            ValueError: the page prints no types, or the level is below the example's lowest.
        """
        desc, lowest = self.corrected, self.level
        if desc is None or lowest is None:
            raise ValueError(f"example {self.id} is printed without types; there is no case to make of it")
        if level < lowest:
            raise ValueError(f"example {self.id} is valid from level {lowest} on, not at {level}")
        data = {slot.key: Recipe("explicit", values=self.elements(slot.name)) for slot in inputs(desc)}
        return Case.of(desc, level, data, rule=f"{self.operator}.values", origin=f"example {self.id}")

    def _read(self, fields: Mapping[str, Any]) -> OperatorDesc:
        return desc_from_json({"type": self.spec.dml_name, "desc": {**fields, **self.unprinted}}, self.id)

    def _corrected_fields(self) -> dict[str, Any]:
        fields = copy.deepcopy(self.desc)
        for path, value in self.corrections.items():
            *parents, name = path.split(".")
            owner = fields
            for parent in parents:
                owner = owner[parent]
            owner[name] = value
        return fields


class Illustration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes on a page that show which dimensions a count selects.

    Attributes:
        id: `GATHER_ND/indices-dimension-count`: the operator, and the field whose text it stands in.
        tensor: name of the tensor.
        sizes: as printed.
        dimension_count: the attribute that says how many of the last dimensions count.
        batch_dimension_count: how many of those are batches.
        meaningful: the sizes that count by the page, batches left out.
        batches: the batch sizes by the page.
    """

    id: str
    tensor: str
    sizes: tuple[int, ...]
    dimension_count: int
    meaningful: tuple[int, ...]
    batch_dimension_count: int = 0
    batches: tuple[int, ...] = ()

    @property
    def operator(self) -> str:
        return self.id.partition("/")[0]


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes and strides of the strides guide and, where it shows them, the memory and the elements read from it.

    Attributes:
        id: `strides/padded`.
        sizes: elements in each dimension.
        strides: in elements.
        packed: whether the guide gives the strides as those of a row-major tensor without padding.
        memory: one letter an element, from the buffer's start; "" where the guide shows none.
        reads: the tensor's elements, row-major.
    """

    id: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    packed: bool = False
    memory: str = ""
    reads: str = ""


class _Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    examples: tuple[Example, ...]
    illustrations: tuple[Illustration, ...]
    layouts: tuple[Layout, ...]


@cache
def _figures() -> _Figures:
    return read_data("examples", _Figures)


@cache
def examples() -> dict[str, Example]:
    """The worked examples by id, operator by operator."""
    return {example.id: example for example in _figures().examples}


@cache
def illustrations() -> dict[str, Illustration]:
    """The illustrations by id."""
    return {illustration.id: illustration for illustration in _figures().illustrations}


@cache
def layouts() -> dict[str, Layout]:
    """The stride layouts by id."""
    return {layout.id: layout for layout in _figures().layouts}


def nesting(values: Any) -> tuple[int, ...] | None:
    """The sizes of nested lists; None where they are ragged."""
    if not isinstance(values, list):
        return ()
    inner = {nesting(value) for value in values}
    only = inner.pop() if len(inner) == 1 else None
    return None if only is None else (len(values), *only)


def flattened(values: Any) -> Iterator[Any]:
    """The elements of nested lists, row-major."""
    if isinstance(values, list):
        for value in values:
            yield from flattened(value)
    else:
        yield values
