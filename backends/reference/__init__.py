"""The reference backend: what the specification says, computed with NumPy on the host.

`operators` has what each operator computes, `layout` and `movement` are the memory underneath. Decisions are those of
the specification itself, and no evidence for it. `expected_output` is what the judge compares other backends with, and
`LargeExpectation` the same part by part.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from time import perf_counter

import numpy as np

from dml_conformance.backends.base import Answer, Binding, Bindings, Capabilities, Unsupported
from dml_conformance.backends.reference.layout import Arrays, bits
from dml_conformance.backends.reference.operators import CUTS, OPERATORS
from dml_conformance.backends.reference.parts import (
    LargeExpectation,
    as_expectation,
    cut_elementwise,
    expected_of_memory,
)
from dml_conformance.spec.accuracy import DIRECTML, Profile
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorDesc, inputs, outputs, tensor_at
from dml_conformance.spec.registry import every_operator, spec_of
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome, decide

__all__ = ["Expectation", "LargeExpectation", "ReferenceBackend", "expected_output", "expected_parts"]


def expected_output(desc: OperatorDesc, bindings: Bindings, profile: Profile = DIRECTML) -> dict[str, Expectation]:
    """What the specification expects of one execution.

    Args:
        desc: a descriptor that is valid.
        bindings: the bound input tensors by slot; they are not written to.
        profile: which bounds hold for results of arithmetic.

    Returns:
        An `Expectation` for each output slot.

    Raises:
        KeyError: an operator that is not in `OPERATORS`, or an input that is missing.
        TypeError, ValueError: an input does not lie inside its bound range.
    """
    arrays, compute = _arrays(desc, bindings), OPERATORS[desc.operator]
    if CUTS.get(desc.operator) is cut_elementwise:
        (slot,) = outputs(desc)
        if (once := expected_of_memory(desc, slot, arrays, compute, profile)) is not None:
            return {slot.key: once}
    found = compute(desc, arrays)
    return {slot.key: as_expectation(found[slot.key], desc, slot.tensor, profile) for slot in outputs(desc)}


def expected_parts(
    desc: OperatorDesc, bindings: Bindings, profile: Profile = DIRECTML, period: int = 0
) -> Mapping[str, Expectation | LargeExpectation]:
    """The same, computed part by part where the operator can be cut: anew each time, unless its inputs begin again
    after so many elements."""
    cut = CUTS.get(desc.operator)
    if cut is None:
        return expected_output(desc, bindings, profile)
    arrays, compute = _arrays(desc, bindings), OPERATORS[desc.operator]
    return {slot.key: LargeExpectation(desc, slot, arrays, cut, compute, profile, period) for slot in outputs(desc)}


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
            operators=tuple(name for name in every_operator() if name in OPERATORS),
            enforces=frozenset(Category),
            paths={"decisions": "those of the specification itself, and no evidence for them"},
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """Decide as the specification does. What it leaves open is accepted where the outputs have the sizes that
        follow from the rest, so that there is something to compute.

        Raises:
            Unsupported: an operator that the reference does not know.
        """
        _check_known(desc)
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
            Unsupported: an operator that the reference does not know.
            TypeError, ValueError: a tensor does not lie inside its bound range.
        """
        _check_known(desc)
        for key, expected in expected_output(desc, inputs).items():
            tensor = tensor_at(desc, key)
            assert tensor is not None
            bits(outputs[key], tensor)[...] = expected.values

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


def _check_known(desc: OperatorDesc) -> None:
    if desc.operator not in OPERATORS:
        raise Unsupported(f"the reference has no operator {desc.operator}")


def _is_computable(desc: OperatorDesc) -> bool:
    """Whether the outputs have the sizes that follow from the inputs and attributes."""
    spec = spec_of(desc)
    shapes = spec.shapes(desc) if spec.is_complete else Misfit("", "")
    return not isinstance(shapes, Misfit) and all(slot.tensor.sizes == shapes[slot.key] for slot in outputs(desc))
