"""Exceptions, and answers that are none."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import expected_output
from strength.mutants.base import (
    EXECUTED,
    Bindings,
    WrongDecision,
    compute,
    fault,
    main_output,
    plants,
    source,
    tensors,
)
from strength.mutants.indices import WrongIndices


@plants("answered", WrongDecision, rules=("output-sizes",))
def ValidateRaises(answer: Answer) -> Answer:
    """Throws instead of answering no."""
    if not answer.accepted:
        raise ValueError(answer.reason)
    return answer


plants("answered", WrongDecision).each(
    ValidateReturnsNone=fault(
        lambda answer: answer if answer.accepted else None, "Answers no by saying nothing.", rules=("output-sizes",)
    ),
    ValidateReturnsBool=fault(lambda answer: answer.accepted, "Answers with a bare truth value.", rules=("values",)),
)


@plants("computed", rules=("values",))
def ExecuteRaises() -> Any:
    raise RuntimeError("device lost")


@plants("computed", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexRaises(desc: Any, inputs: Bindings) -> Any:
    found = expected_output(desc, inputs)["output_tensor"]
    if found.open is not None:
        raise IndexError("index out of range")
    return found.values


@plants("computed", rules=("EXECUTION.strides",))
def RaisesOnStrides(desc: Any, inputs: Bindings) -> Any:
    """Has no kernel for tensors with strides, and accepts them all the same."""
    if any(tensor.strides is not None for _, tensor in tensors(desc)):
        raise NotImplementedError("strides")
    return compute(desc, inputs)


@plants("computed", rules=EXECUTED)
def RaisesOnManyElements(desc: Any, inputs: Bindings) -> Any:
    """Runs out of scratch memory after 256 elements."""
    if main_output(desc).tensor.element_count > 256:
        raise MemoryError("scratch")
    return compute(desc, inputs)


@plants("computed", reads=True, rules=("EXECUTION.strides",))
def DividesByTheStrideOfTheFirstDimension(desc: Any, inputs: Bindings) -> Any:
    """Divides by a stride that may be 0."""
    if 0 in source(desc).tensor.effective_strides[:1]:
        raise ZeroDivisionError("integer division by zero")
    return compute(desc, inputs)
