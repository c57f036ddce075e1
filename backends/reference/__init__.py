"""The reference backend: what the specification says, computed with NumPy on the host.

`operators` has one function an operator, `decisions` says which descriptors are valid, `layout` and `movement` are the
memory underneath. `expected_output` is what the judge compares other backends with, and `LargeResult` the same part by
part.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from time import perf_counter

import numpy as np

from dml_conformance.backends.base import Answer, Binding, Capabilities, Unsupported
from dml_conformance.backends.reference import decisions, layout
from dml_conformance.backends.reference.operators import OPERATORS, OUTPUT, Result, compute_into, expected_output
from dml_conformance.backends.reference.parts import LargeResult
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.rules import Category

__all__ = ["LargeResult", "ReferenceBackend", "Result", "expected_output"]


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
        """All operators that it has, at every level; it enforces every category of rules."""
        return Capabilities(
            name="reference",
            device=f"host processor ({platform.machine()})",
            versions={"numpy": np.__version__, "python": platform.python_version()},
            levels=tuple(Level),
            operators=tuple(OPERATORS),
            enforces=frozenset(Category),
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """Decide on a descriptor; see `decisions.validate`."""
        return decisions.validate(desc, level)

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        """Run the operator once; every byte of the output that is no element keeps its value.

        Raises:
            Unsupported: an operator that the reference does not know.
            TypeError, ValueError: a tensor does not lie inside its bound range.
        """
        if desc.operator not in OPERATORS:
            raise Unsupported(f"the reference has no operator {desc.operator}")
        compute_into(layout.bits(outputs[OUTPUT], getattr(desc, OUTPUT)), desc, inputs)

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
