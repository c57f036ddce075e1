"""What the tests of families need: cases, made by hand or built, what is expected of them, and a backend's outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from types import EllipsisType
from typing import Any

import numpy as np
import slow_reference as slow
from msgspec.structs import replace

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.reference.layout import as_numbers, bits
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import inputs, outputs, tensor_at
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies import values
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import execution_rules, make_case
from dml_conformance.strategies.chooser import SeededChooser

LEAST_NORMAL = {DataType.FLOAT16: 2.0**-14, DataType.FLOAT32: 2.0**-126}
# An element of an output: the key of its tensor, its coordinates, its value, and how much an end of what is right may
# lie on the wrong side of that, and how far the ends may be apart.
Element = tuple[str, slow.Coordinates, Any, float, float]


class Run:
    """A valid case with memory for its inputs."""

    def __init__(self, case: Case, bindings: Mapping[str, Binding]) -> None:
        self.case, self.bindings = case, bindings

    @property
    def desc(self) -> Any:
        return self.case.desc

    @property
    def patterns(self) -> set[str]:
        """The names of what its inputs are filled with."""
        return {recipe.pattern for recipe in (self.case.data or {}).values()}

    def memory(self, key: str) -> slow.Memory:
        """An input's tensor and its bytes."""
        return slow.Memory(bytes(self.bindings[key].view), tensor(self.desc, key))

    @cached_property
    def arrays(self) -> dict[str, Any]:
        """The inputs by slot, as numbers in the tensors' sizes."""
        found = {}
        for slot in inputs(self.desc):
            memory, kind = self.memory(slot.key), kind_of(slot.tensor.data_type.unpacked)
            flat = [np.frombuffer(memory.element(place), kind)[0] for place in slow.walk(slot.tensor.sizes)]
            found[slot.key] = np.array(flat, kind).reshape(slot.tensor.sizes)
        return found

    def bits(self, key: str) -> Any:
        """An input's elements as whole numbers."""
        array = self.arrays[key]
        return array.view(f"u{array.itemsize}")

    @cached_property
    def expected(self) -> Mapping[str, Expectation]:
        return expected_output(self.desc, self.bindings)

    def ends(self, key: str = "", tolerance: Tolerance = DIRECTML) -> tuple[Any, Any, Any]:
        """Of each element of an output, of the first one unless it is named, the least and the greatest number that is
        right, and whether a NaN is."""
        slot = next(slot for slot in outputs(self.desc) if key in ("", slot.key))
        found = expected_output(self.desc, self.bindings, tolerance)[slot.key]
        low = high = found.values
        nan = np.zeros(low.shape, bool)
        if found.within is not None:
            low, high = (np.where(found.intervals, end, found.values) for end in found.within[:2])
            nan = nan if found.within.nan is None else found.within.nan
        is_open = nan & False if found.free is None else found.free
        ends = (numbers(end, slot.tensor.data_type) for end in (low, high))
        if not slot.tensor.data_type.is_float:
            return *ends, is_open
        with np.errstate(invalid="ignore"):
            low, high = (end.astype(float) for end in ends)
        return np.where(is_open, -np.inf, low), np.where(is_open, np.inf, high), nan | is_open

    def holds(self, result: Any, key: str = "", tolerance: Tolerance = DIRECTML) -> Any:
        """Which elements of a result are right; a single number stands for every element."""
        slot = next(slot for slot in outputs(self.desc) if key in ("", slot.key))
        kind = kind_of(slot.tensor.data_type)
        found = np.array(np.broadcast_to(np.asarray(result, kind), slot.tensor.sizes))
        expected = expected_output(self.desc, self.bindings, tolerance)[slot.key]
        return is_right(expected, found.view(f"u{kind.itemsize}"), slot.tensor.data_type)


def tensor(desc: Any, key: str) -> Any:
    return tensor_at(desc, key)


def kind_of(data_type: DataType) -> np.dtype[Any]:
    return np.dtype(data_type.name.lower())


def unit(value: Any, data_type: DataType) -> float:
    """The distance of the next number of a type."""
    with np.errstate(over="ignore"):
        return float(np.spacing(np.abs(np.asarray(float(value)).astype(kind_of(data_type)))))


def nearest(real: Fraction, most: Fraction, zero: int, data_type: DataType) -> tuple[int, int, int]:
    """The integer that a real number becomes, and how far apart they may be where it may be off by a part of `most`;
    as `Element` has it."""
    ends = [round(real + way * abs(most) * Fraction(2) ** -19) + zero for way in (-1, 0, 1)]
    least, value, largest = (min(max(end, data_type.limits[0]), data_type.limits[1]) for end in ends)  # type: ignore[index]
    return value, 0, largest - least


def run_of(case: Case) -> Run:
    contents = values.materialize(case)
    return Run(case, {key: Binding(content, 0, content.size) for key, content in contents.items()})


def with_values(desc: Any, level: Level = HIGHEST, **arrays: Any) -> Run:
    """A case whose inputs, all packed, hold these elements."""
    found = {}
    for slot in inputs(desc):
        content = np.frombuffer(np.asarray(arrays[slot.key]).tobytes(), np.uint8)
        padded = np.zeros(values.buffer_size(slot.tensor), np.uint8)
        padded[: content.size] = content
        found[slot.key] = Binding(padded, 0, padded.size)
    return Run(Case.of(desc, level), found)


def described(operator: str, kind: Any = np.float32, **given: Any) -> Any:
    """A descriptor of packed tensors, by its members.

    Args:
        operator: its name.
        kind: of the elements of tensors that have none of their own.
        given: the members, those of tensors without `_tensor`: an array, a list of numbers, or a tuple of sizes. An
            output has the sizes and the type of the first tensor unless it is given, a scalar the type of that too;
            what may be missing is.
    """
    members: dict[str, Any] = {}
    first = None
    for field in operators()[operator].fields:
        name = field.attribute.removesuffix("_tensor")
        value = given.pop(name, first if field.is_output and not field.optional else None)
        if field.is_tensor and field.attribute.endswith("s"):
            value = tuple(described_tensor(each, kind) for each in value)
        elif field.is_tensor and value is not None:
            value = described_tensor(value, kind)
        elif value is None and name.endswith("_data_type"):
            value = int((first or given["output"]).data_type)
        assert value is not None or field.optional or field.is_tensor, name
        members[field.attribute] = value
        if field.is_tensor and value:
            first = first or (value[0] if isinstance(value, tuple) else value)
    assert not given
    return operators()[operator].desc(**members)


def described_tensor(value: Any, kind: Any) -> TensorDesc:
    if isinstance(value, TensorDesc):
        return value
    if isinstance(value, tuple):
        return TensorDesc.of(DataType[np.dtype(kind).name.upper()], value)
    array = np.asarray(value) if isinstance(value, np.ndarray) else np.array(value, kind)
    return TensorDesc.of(DataType[array.dtype.name.upper()], array.shape)


def example(operator: str, kind: Any = np.float32, **given: Any) -> Run:
    """A case of a descriptor whose inputs are given as arrays or lists, see `described`."""
    desc = described(operator, kind, **given)
    arrays = {}
    for slot in inputs(desc):
        name, _, place = slot.key.removesuffix("]").partition("[")
        value = given[name][int(place)] if place else given[name.removesuffix("_tensor")]
        arrays[slot.key] = np.asarray(value, kind_of(slot.tensor.data_type))
    return with_values(desc, **arrays)


def without_activation(run: Run) -> Run:
    """The case without the activation that is fused, if one is."""
    if getattr(run.desc, "fused_activation", None) is None:
        return run
    return Run(replace(run.case, desc=replace(run.desc, fused_activation=None)), run.bindings)


def small_runs(operator: str, count: int = 150) -> Iterator[Run]:
    """Cases about its execution rules, at levels in turn, with any layouts, types and data."""
    levels = [level for level in Level if level >= operators()[operator].introduced_in]
    for n in range(count):
        level = levels[n % len(levels)]
        rules = [rule for rule in execution_rules(operator, level) if rule.startswith(operator)]
        yield run_of(make_case(SeededChooser(f"family/{operator}/{n}"), operator, level, rules[n % len(rules)]))


def boundary_runs(operator: str, level: Level) -> Iterator[Run]:
    """The boundary cases that are executed."""
    for case in boundary_cases(operator, level):
        if case.data is not None and case.outcome is Outcome.ACCEPT:
            yield run_of(case)


def count_around(run: Run, elements: Iterable[Element]) -> int:
    """Hold what is expected against the elements of a second computation; returns how many there are."""
    ends: dict[str, Any] = {}
    count = 0
    for key, place, value, slack, width in elements:
        low, high, _ = ends[key] if key in ends else ends.setdefault(key, run.ends(key))
        assert low[place] - slack <= value <= high[place] + slack, (run.desc, key, place)
        assert low[place] == high[place] or high[place] - low[place] <= width, (run.desc, key, place)
        count += 1
    return count


def assert_same(run: Run, key: str, elements: Sequence[int | EllipsisType | None]) -> None:
    """Hold what is expected against bits of a second computation: None stands for what is open, ... for anything."""
    expected = run.expected[key]
    is_open = np.zeros(expected.values.shape, bool) if expected.open is None else expected.open
    if expected.within is not None and expected.intervals is not None:
        is_single = (expected.within.low == expected.within.high) & (expected.within.low == expected.values)
        is_open = is_open & ~(expected.intervals & is_single)
    found = [None if one else int(value) for value, one in zip(expected.values.flat, is_open.flat, strict=True)]
    asked = [... if wanted is ... else value for value, wanted in zip(found, elements, strict=True)]
    assert asked == list(elements), (run.desc, key)


def executed(backend: Backend, run: Run) -> dict[str, Any]:
    """The bits of the outputs of a backend."""
    targets = {}
    for slot in outputs(run.desc):
        content = np.full(values.buffer_size(slot.tensor), 0xA5, np.uint8)
        targets[slot.key] = Binding(content, 0, content.size)
    backend.execute(run.desc, run.case.level, run.bindings, targets)
    return {slot.key: bits(targets[slot.key], slot.tensor) for slot in outputs(run.desc)}


def numbers(found: Any, data_type: DataType) -> Any:
    """Bits as numbers of a type."""
    return as_numbers(np.ascontiguousarray(found), data_type)


def is_right(expected: Expectation, found: Any, data_type: DataType, memory: Any = ()) -> Any:
    """Which elements are as expected; `memory` has the bits of those that an open one may be."""
    right = found == expected.values
    if expected.free is not None:
        right = right | expected.free
    if expected.one_of is not None:
        right = np.where(expected.one_of, np.isin(found, memory), right)
    if expected.within is not None:
        right = np.where(expected.intervals, expected.within.holds(found, data_type), right)
    return right


def assert_conforms(backend: Backend, run: Run, tolerances: Iterable[Tolerance] = (DIRECTML,)) -> None:
    """The backend accepts a case, and gives what is expected of it, under each of the tolerances."""
    assert backend.validate(run.desc, run.case.level).accepted, run.desc
    found = executed(backend, run)
    for tolerance in tolerances:
        of_each = expected_output(run.desc, run.bindings, tolerance)
        for slot in outputs(run.desc):
            expected = of_each[slot.key]
            memory = bits(run.bindings[expected.memory], tensor(run.desc, expected.memory)) if expected.memory else ()
            is_all_right = is_right(expected, found[slot.key], slot.tensor.data_type, memory).all()
            assert is_all_right, (tolerance.name, run.desc)
