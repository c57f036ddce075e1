"""Exceptions, and answers that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.spec.levels import Level
from strength.mutants.base import EXECUTED, Mutant, WrongDecision, tensors
from strength.mutants.indices import WrongIndices


class ValidateRaises(WrongDecision):
    """Throws instead of answering no."""

    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if not answer.accepted:
            raise ValueError(answer.reason)
        return answer


class ValidateReturnsNone(WrongDecision):
    """Answers no by saying nothing."""

    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        return answer if answer.accepted else None  # type: ignore[return-value]


class ValidateReturnsBool(WrongDecision):
    """Answers with a bare truth value."""

    rules = ("values",)

    def validate(self, desc: Any, level: Level) -> Answer:
        return super().validate(desc, level).accepted  # type: ignore[return-value]


class ExecuteRaises(Mutant):
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        raise RuntimeError("device lost")


class OutOfRangeIndexRaises(WrongIndices):
    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        if found.open is not None:
            raise IndexError("index out of range")
        return found.values


class RaisesOnStrides(Mutant):
    """Has no kernel for tensors with strides, and accepts them all the same."""

    rules = ("EXECUTION.strides",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        if any(tensor.strides is not None for _, tensor in tensors(desc)):
            raise NotImplementedError("strides")
        return super().computed(desc, inputs)


class RaisesOnManyElements(Mutant):
    """Runs out of scratch memory after 256 elements."""

    rules = EXECUTED

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        if desc.output_tensor.element_count > 256:
            raise MemoryError("scratch")
        return super().computed(desc, inputs)


class DividesByTheStrideOfTheFirstDimension(Mutant):
    """Divides by a stride that may be 0."""

    rules = ("EXECUTION.strides",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        if 0 in desc.input_tensor.effective_strides[:1]:
            raise ZeroDivisionError("integer division by zero")
        return super().computed(desc, inputs)
