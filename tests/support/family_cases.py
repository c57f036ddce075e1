"""What the tests of a family need: built cases with memory, outputs of a backend, and where they are not right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import slow_reference as slow

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import expected_output, expected_parts
from dml_conformance.backends.reference.layout import as_numbers, bits
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs, outputs, tensor_at
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies import values
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import execution_rules, make_case
from dml_conformance.strategies.chooser import SeededChooser


class Run(NamedTuple):
    """A valid case with memory for its inputs."""

    case: Case
    bindings: Mapping[str, Binding]

    @property
    def desc(self) -> Any:
        return self.case.desc

    def memory(self, key: str) -> slow.Memory:
        """An input's tensor and its bytes."""
        return slow.Memory(bytes(self.bindings[key].view), tensor(self.desc, key))

    @property
    def expected(self) -> Mapping[str, Expectation]:
        return expected_output(self.desc, self.bindings)

    def parts(self, key: str) -> Expectation:
        """What is expected of an output, put together from single elements."""
        whole, parts = self.expected[key], expected_parts(self.desc, self.bindings)[key]
        found = [parts.at(coordinates) for coordinates in slow.walk(whole.values.shape)]
        return Expectation(
            np.array([part.values.item() for part in found], whole.values.dtype).reshape(whole.values.shape),
            free=np.array([part.free is not None and part.free.item() for part in found]).reshape(whole.values.shape),
        )


def tensor(desc: Any, key: str) -> Any:
    return tensor_at(desc, key)


def run_of(case: Case) -> Run:
    contents = values.materialize(case)
    return Run(case, {key: Binding(content, 0, content.size) for key, content in contents.items()})


def with_values(desc: Any, level: Level, **arrays: Any) -> Run:
    """A case whose inputs, all packed, hold these elements."""
    found = {}
    for slot in inputs(desc):
        content = np.frombuffer(np.asarray(arrays[slot.key]).tobytes(), np.uint8)
        padded = np.zeros(values.buffer_size(slot.tensor), np.uint8)
        padded[: content.size] = content
        found[slot.key] = Binding(padded, 0, padded.size)
    return Run(Case.of(desc, level), found)


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


def assert_conforms(backend: Backend, run: Run) -> None:
    """The backend accepts a case, and gives what is expected of it."""
    assert backend.validate(run.desc, run.case.level).accepted, run.desc
    found = executed(backend, run)
    for slot in outputs(run.desc):
        expected = run.expected[slot.key]
        memory = bits(run.bindings[expected.memory], tensor(run.desc, expected.memory)) if expected.memory else ()
        assert is_right(expected, found[slot.key], slot.tensor.data_type, memory).all(), run.desc
