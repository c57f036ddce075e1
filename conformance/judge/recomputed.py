"""What the outputs of a case hold where they are right, computed from the case alone; nothing is executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dml_conformance.backends.base import Bytes
from dml_conformance.backends.reference import Expectation, LargeExpectation
from dml_conformance.conformance.judge.judge import Pending, WrittenCase, case_memory, expected_results
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Mask
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.validator import Reading
from dml_conformance.strategies.values import materialize

Results = Mapping[str, Expectation | LargeExpectation]


def recomputed_results(pending: Pending, contents: dict[str, Bytes], tolerance: Tolerance) -> Results:
    """What is right of the outputs of a case, by slot; `contents` are those of its inputs."""
    read = case_memory(pending.case, pending.placement).put_inputs(contents)
    return expected_results(pending, {key: memory.binding for key, memory in read.items()}, tolerance)


def right_digest(case: Case, results: Results, look: Callable[[Expectation, DataType], None] = lambda *_: None) -> str:
    """The digest of outputs that are right; `look` is given each of their parts."""

    def elements() -> Iterator[tuple[Bits, Mask | None]]:
        for slot in outputs(case.desc):
            for _, part in results[slot.key].parts():
                look(part, slot.tensor.data_type)
                yield part.values, part.open

    return output_digest(elements())


def recomputed_digest(content: dict[str, Any], reading: Reading, tolerance: Tolerance) -> str:
    """The digest of outputs that are right of a small case that is executed.

    Args:
        content: the case, as its record has it.
        reading: what counts as the specification.
        tolerance: the bounds that results of arithmetic are held to.
    """
    case = Case.from_json(content).read(reading)
    written, placement = WrittenCase.of(case)
    pending = Pending(case, case.rule, "accept", 0.0, 0, placement, written)
    return right_digest(case, recomputed_results(pending, materialize(case), tolerance))
