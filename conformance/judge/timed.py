"""The memory of a case that is timed: poisoned and guarded as any other, of large outputs a sample is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from dml_conformance.backends.base import Backend, Bytes, Execution
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.reference import expected_output, expected_parts
from dml_conformance.backends.reference.operators import cut_of
from dml_conformance.backends.reference.parts import LargeExpectation
from dml_conformance.backends.timing import time_execution
from dml_conformance.conformance.judge.memory import BOX, CaseMemory, Expected, OutputMemory, Sample, allowed_elements
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.case import Case, Placement
from dml_conformance.spec.expectation import Box, box_of
from dml_conformance.spec.operator import Slot, outputs

MOST_BOXES = 8
# Elements that are computed at most to look at a box of them, where they are taken together or no part can be alone.
MOST_WHOLE = 2**18
LEAST_POISON = 16  # bytes of an output that cannot be what they were before unless nothing was written
NOTHING = Sample(())


class TimedMemory:
    """The memory of a case that is timed, and what is right in it.

    Args:
        case: it.
        placement: how its tensors are bound.
        contents: of its inputs, by slot.
        tolerance: the bounds that results of arithmetic are held to.

    Attributes:
        read: the inputs, by slot.
        written: the outputs; empty before the first run.
        expected: what is right of the outputs; no box where only the whole could be computed, and that takes too long.
    """

    def __init__(self, case: Case, placement: Placement, contents: Mapping[str, Bytes], tolerance: Tolerance) -> None:
        self._case = case
        self._memory = CaseMemory(case.desc, placement)
        self.read = self._memory.put_inputs(contents)
        self._sources = {key: each.binding for key, each in self.read.items()}
        self.written: dict[str, OutputMemory] = {}
        self._is_poisoned = False
        self.expected = self._expected(tolerance)

    def run(self, backend: Backend, repeats: int, *, cold: bool = False) -> list[float]:
        """Seconds of each of `repeats` runs; raises as `time_execution`. `fetch` brings what the last one left."""
        desc, level = self._case.desc, self._case.level
        if not self._is_poisoned:
            for slot in outputs(desc):
                self.written[slot.key] = self._memory.poison(
                    slot, self.expected[slot.key], allowed=lambda part: allowed_elements(part, desc, self._sources)
                )
        self._is_poisoned = isinstance(backend, IsolatedBackend)  # which works on a copy
        targets = {key: each.binding for key, each in self.written.items()}
        return time_execution(backend, Execution(desc, level, self._sources, targets), repeats, cold=cold)

    def fetch(self, backend: Backend) -> None:
        """Have the outputs hold what the last run left.

        Raises:
            StrayWrite: something was written beside the resources.
        """
        self._is_poisoned = False
        if isinstance(backend, IsolatedBackend):
            backend.fetch_timed()

    def is_untouched(self, slot: Slot) -> bool:
        """Whether an output of which nothing is known holds what it held before the runs.

        What a few bytes held may be right by chance.
        """
        found, expected = self.written[slot.key], self.expected[slot.key]
        if expected is not NOTHING or found.poison is None or found.poison.nbytes < LEAST_POISON:
            return False
        return bool(np.array_equal(found.elements, found.poison))

    def _expected(self, tolerance: Tolerance) -> dict[str, Expected]:
        desc = self._case.desc
        elements = {slot.key: slot.tensor.element_count for slot in outputs(desc)}
        if max(elements.values()) <= MOST_BOXES * BOX:
            return {**expected_output(desc, self._sources, tolerance)}
        if max(elements.values()) > MOST_WHOLE and cut_of(desc.operator) is None:
            return dict.fromkeys(elements, NOTHING)
        whole = expected_parts(desc, self._sources, tolerance)
        found: dict[str, Expected] = {}
        for slot in outputs(desc):
            parts, sizes = whole[slot.key], slot.tensor.sizes
            if isinstance(parts, LargeExpectation) and _elements(parts.whole(box_of(sizes, BOX, 0))) > MOST_WHOLE:
                found[slot.key] = NOTHING
            else:
                found[slot.key] = Sample.drawn(parts, sizes, MOST_BOXES)
        return found


def _elements(box: Box) -> int:
    return prod(span.stop - span.start for span in box)
