"""The reference backend: what the specification says, computed with NumPy on the host.

`operators` has what each operator computes, `layout` and `movement` are the memory underneath. Decisions are those of
the specification itself, and no evidence for it. `expected_output` is what the judge compares other backends with, and
`LargeExpectation` the same part by part.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from itertools import product
from threading import local
from time import perf_counter

import numpy as np

from dml_conformance.backends.base import Answer, Binding, Bindings, Capabilities
from dml_conformance.backends.reference.layout import Arrays, bits, put
from dml_conformance.backends.reference.operators import compute_of, cut_of
from dml_conformance.backends.reference.parts import (
    MOST_KEPT,
    LargeExpectation,
    as_expectation,
    cut_elementwise,
    expected_of_memory,
)
from dml_conformance.spec import registry
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorDesc, inputs, outputs, slots, tensor_at
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome, decide

__all__ = [
    "Expectation",
    "LargeExpectation",
    "ReferenceBackend",
    "expected_in_turns",
    "expected_output",
    "expected_parts",
]

# Bytes in which large inputs that begin again do so, and those by which it is seen.
MOST_BYTES_OF_A_TURN = 2**16
SEEN_AGAIN = 64
MOST_AT_ONCE = 2**20  # elements of an output; of more the arithmetic takes much more memory than the results
MOST_BYTES_REMEMBERED = 2**18  # of all tensors of the case that was expected last


def expected_output(desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance = DIRECTML) -> dict[str, Expectation]:
    """What the specification expects of one execution.

    Args:
        desc: a descriptor that is valid.
        bindings: the bound input tensors by slot; they are not written to.
        tolerance: which bounds hold for results of arithmetic.

    Returns:
        An `Expectation` for each output slot.

    Raises:
        KeyError: an operator that DirectML has not, or an input that is missing.
        TypeError, ValueError: an input does not lie inside its bound range.
    """
    arrays, compute = _arrays(desc, bindings), compute_of(desc.operator)
    if cut_of(desc.operator) is cut_elementwise:
        (slot,) = outputs(desc)
        if (once := expected_of_memory(desc, slot, arrays, compute, tolerance)) is not None:
            return {slot.key: once}
    if cut_of(desc.operator) is not None and max(slot.tensor.element_count for slot in outputs(desc)) > MOST_AT_ONCE:
        every = expected_parts(desc, bindings, tolerance)
        return {key: each if isinstance(each, Expectation) else each.joined() for key, each in every.items()}
    found = compute(desc, arrays)
    return {slot.key: as_expectation(found[slot.key], desc, slot.tensor, tolerance) for slot in outputs(desc)}


def expected_parts(
    desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance = DIRECTML, period: int = 0
) -> Mapping[str, Expectation | LargeExpectation]:
    """The same, computed part by part where the operator can be cut: anew each time, unless its inputs begin again
    after so many elements."""
    cut = cut_of(desc.operator)
    if cut is None:
        return expected_output(desc, bindings, tolerance)
    arrays, compute = _arrays(desc, bindings), compute_of(desc.operator)
    cuts = cut if isinstance(cut, Mapping) else dict.fromkeys((slot.key for slot in outputs(desc)), cut)
    small = [slot for slot in outputs(desc) if slot.key not in cuts]
    found = compute(desc, arrays) if small else {}
    return {slot.key: as_expectation(found[slot.key], desc, slot.tensor, tolerance) for slot in small} | {
        key: LargeExpectation(desc, slot, arrays, cuts[key], compute, tolerance, period)
        for slot in outputs(desc)
        if (key := slot.key) in cuts
    }


def expected_in_turns(
    desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance, period: int
) -> Mapping[str, Expectation | LargeExpectation]:
    """The same, computed once of the turns in which the inputs begin again after so many elements; of the whole where
    an output does not follow them."""
    if period:
        found = expected_parts(desc, bindings, tolerance, period)
        if all(isinstance(each, Expectation) or each.repeats for each in found.values()):
            return found
    if sum(slot.tensor.total_tensor_size_in_bytes for slot in slots(desc)) > MOST_BYTES_REMEMBERED:
        return expected_output(desc, bindings, tolerance)
    return _LATEST.expected(desc, bindings, tolerance)


class _Latest(local):
    """What was expected last: a small case is executed several times, and by the reference itself too."""

    desc: OperatorDesc | None = None
    tolerance: Tolerance | None = None
    read: Mapping[str, bytes] = {}
    found: Mapping[str, Expectation] = {}

    def expected(self, desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance) -> Mapping[str, Expectation]:
        """Those of the same descriptor, an object and no equal one, as 0.0 equals -0.0, and of the same bytes."""
        read = {key: bound.view.tobytes() for key, bound in bindings.items()}
        if self.desc is not desc or self.tolerance is not tolerance or self.read != read:
            own = {key: Binding(np.frombuffer(part, np.uint8), 0, len(part)) for key, part in read.items()}
            self.found = expected_output(desc, own, tolerance)
            self.desc, self.tolerance, self.read = desc, tolerance, read
        return self.found


_LATEST = _Latest()


def _period(desc: OperatorDesc, bindings: Bindings) -> int:
    """After how many elements the largest input begins again, as far as its first bytes tell; 0 for never."""
    largest = max(inputs(desc), key=lambda slot: slot.tensor.element_count, default=None)
    if largest is None or largest.tensor.element_count < MOST_KEPT:
        return 0
    first = bindings[largest.key].view[:MOST_BYTES_OF_A_TURN].tobytes()
    place, rest = divmod(max(0, first.find(first[:SEEN_AGAIN], 1)), largest.tensor.data_type.size)
    return 0 if rest else place


def _arrays(desc: OperatorDesc, bindings: Bindings) -> Arrays:
    return {slot.key: bits(bindings[slot.key], slot.tensor) for slot in inputs(desc)}


class ReferenceBackend:
    """The reference as a backend like any other; implements `backends.base.Backend` and `Timed`.

    Args:
        device: must be empty: the reference runs on the host only.

    Raises:
        ValueError: a device is named.
    """

    def __init__(self, device: str = "") -> None:
        if device:
            raise ValueError(f"the reference backend takes no device, found {device!r}")

    def capabilities(self) -> Capabilities:
        """All operators that it computes, at every level; it enforces every category of rules."""
        return Capabilities(
            name="reference",
            device=f"host processor ({platform.machine()})",
            versions={"numpy": np.__version__, "python": platform.python_version()},
            levels=tuple(Level),
            operators=tuple(registry.operators()),
            enforces=frozenset(Category),
            paths={"decisions": "those of the specification itself, and no evidence for them"},
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """Decide as the specification does. What it leaves open is accepted where the outputs have the sizes that
        follow from the rest, so that there is something to compute."""
        decision = decide(desc, level)
        if decision.outcome is Outcome.ACCEPT:
            return Answer(True)
        if decision.outcome is Outcome.UNSPECIFIED and _is_computable(desc):
            return Answer(True)
        broken = decision.violations[0]
        return Answer(False, f"{broken.where}: {broken.rule.statement}" if broken.where else broken.rule.statement)

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        """Run the operator once; every byte of an output that is no element keeps its value.

        Raises:
            KeyError: an operator that DirectML has not.
            TypeError, ValueError: a tensor does not lie inside its bound range.
        """
        period = _period(desc, inputs)
        pairs = product(inputs.values(), outputs.values()) if period else ()
        if any(np.may_share_memory(read.view, written.view) for read, written in pairs):
            period = 0  # what is written in one turn would be read in the next
        for key, expected in expected_in_turns(desc, inputs, DIRECTML, period).items():
            tensor = tensor_at(desc, key)
            assert tensor is not None
            elements = bits(outputs[key], tensor)
            for box, part in expected.parts():
                elements[box] = part.values
            if tensor.data_type.shares_bytes:
                put(outputs[key], tensor, elements)

    def time_execution(
        self,
        desc: OperatorDesc,
        level: Level,
        inputs: Mapping[str, Binding],
        outputs: Mapping[str, Binding],
        repeats: int,
    ) -> list[float]:
        """Seconds of each of `repeats` runs on the host's clock, after one that does not count."""
        self.execute(desc, level, inputs, outputs)
        seconds = []
        for _ in range(repeats):
            _LATEST.desc = None  # what is timed is computed
            start = perf_counter()
            self.execute(desc, level, inputs, outputs)
            seconds.append(perf_counter() - start)
        return seconds

    def time_copy(self, size: int, repeats: int) -> list[float]:
        """Seconds of each of `repeats` copies of `size` bytes in host memory, after one that does not count."""
        source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
        np.copyto(target, source)
        seconds = []
        for _ in range(repeats):
            start = perf_counter()
            np.copyto(target, source)
            seconds.append(perf_counter() - start)
        return seconds


def _is_computable(desc: OperatorDesc) -> bool:
    """Whether the outputs have the sizes that follow from the inputs and attributes."""
    shapes = spec_of(desc).shapes(desc)
    return not isinstance(shapes, Misfit) and all(slot.tensor.sizes == shapes[slot.key] for slot in outputs(desc))
