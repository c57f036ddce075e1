"""What is kept between calls, and what depends on when a call comes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import ACCEPTANCE
from strength.mutants.base import EXECUTED, GATHERS, Bindings, Mutant, WrongDecision, main_output, tensors


class ReturnsThePreviousOutput(Mutant):
    """On every 31st call, what the call before it computed."""

    rules = EXECUTED
    _calls = 0
    _previous: Any = np.zeros(1, np.uint8)

    def altered(self, desc: Any, values: Any) -> Any:
        self._calls += 1
        previous, self._previous = self._previous, values
        return np.resize(previous, values.shape).astype(values.dtype) if self._calls % 31 == 0 else values


class WrongNowAndThen(Mutant):
    """Flips a bit of one output in fifty."""

    rules = EXECUTED

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random(0)

    def altered(self, desc: Any, values: Any) -> Any:
        return values ^ values.dtype.type(1) if self._random.random() < 0.02 else values


class CachesAxisBySizes(Mutant):
    """Compiles an operator once for its tensors' sizes, and keeps the axis of the first use."""

    families, has = GATHERS, ("axis",)
    rules = EXECUTED

    def __init__(self) -> None:
        super().__init__()
        self._axes: dict[Any, int] = {}

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        axis = self._axes.setdefault(tuple(tensor.sizes for _, tensor in tensors(desc)), desc.axis)
        return super().computed(replace(desc, axis=axis), inputs)


class KeepsTheFirstDecision(WrongDecision):
    """Decides once for the tensors' sizes and types, and gives the same answer ever after."""

    rules = (ACCEPTANCE, "TENSOR.total-size", "TENSOR.flags")

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[Any, Answer] = {}

    def validate(self, desc: Any, level: Level) -> Answer:
        seen = tuple((name, tensor.data_type, tensor.sizes) for name, tensor in tensors(desc))
        return self._answers.setdefault(seen, super().validate(desc, level))


class KeepsTheFirstInputs(Mutant):
    """Uploads the inputs when it meets a descriptor for the first time, and computes from that copy ever after."""

    rules, reads = EXECUTED, True

    def __init__(self) -> None:
        super().__init__()
        self._inputs: dict[Any, dict[str, Binding]] = {}

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        copies = {name: binding._replace(buffer=binding.buffer.copy()) for name, binding in inputs.items()}
        return super().computed(desc, self._inputs.setdefault(desc, copies))


class KeepsScratchOfTheCallBefore(Mutant):
    """Gathers the bits in scratch memory that it does not clear between calls of the same sizes."""

    rules = EXECUTED
    _scratch: Any = np.zeros(0, np.uint8)

    def altered(self, desc: Any, values: Any) -> Any:
        if self._scratch.shape == values.shape and self._scratch.dtype == values.dtype:
            values = values | self._scratch
        self._scratch = values.copy()
        return values


class DoesNotRepeatItself(Mutant):
    """Takes a call that is the same as the one before for done."""

    rules = EXECUTED
    _done: Any = None

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        call = desc, {name: binding.view.tobytes() for name, binding in inputs.items()}
        if call != self._done:
            super().execute(desc, level, inputs, outputs)
        self._done = call


class SecondThreadComesLate(Mutant):
    """Has two threads write half of the output each, and now and then does not wait for the second."""

    rules = ("values", "negative-indices", "out-of-range-indices", "EXECUTION.strides")
    _calls = 0

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        self._calls += 1
        if self._calls % 7:
            super().written(desc, values, output)
            return
        target = layout.bits(output, main_output(desc).tensor)
        kept, half = target.copy(), values.size // 2
        is_second = np.arange(values.size).reshape(values.shape) >= half
        target[...] = np.where(is_second, kept, values)
