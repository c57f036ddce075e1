"""How fast a backend is: each operator with each data type on large tensors, beside the device's own copy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from backends.base import Backend, Timed
from conformance.budget import Budget
from conformance.judge import Judge
from conformance.memory import bind_input, bind_output
from reports.records import Throughput
from spec.case import Case, Recipe
from spec.levels import Level
from spec.registry import operator as operator_named
from spec.registry import spec_of
from spec.tensor import TensorDesc
from strategies import values
from strategies.builders import builder
from strategies.chooser import SeededChooser
from strategies.context import Context


def measure(judge: Judge, operators: Sequence[str], levels: Sequence[Level], budget: Budget) -> Iterator[Throughput]:
    """A row for each operator and data type at the highest level asked for and claimed.

    Only what the backend accepts, claims and executes without error is timed: speed of the others means nothing.
    """
    capabilities = judge.capabilities
    claimed = [level for level in levels if level in capabilities.levels]
    if not claimed or not capabilities.executes:
        return
    level = max(claimed)
    size = budget.throughput_bytes(capabilities)
    for operator in operators:
        spec = operator_named(operator)
        if level < spec.introduced_in or operator not in capabilities.operators:
            continue
        ctx = Context.at(SeededChooser(0), spec, level)
        for data_type in ctx.data_types:
            desc = builder(operator).large(ctx.but(data_types=(data_type,)), size)
            data = {
                field.attribute: Recipe(
                    values.IN_RANGE if spec.index and field.attribute == spec.index.indices else values.RANDOM_BITS, 1
                )
                for field in spec.input_fields
            }
            case = Case.of(desc, level, data, rule=f"{operator}.values")
            seconds = _time_case(judge.backend, case, budget.repeats)
            if seconds:
                useful = useful_bytes(case)
                copy = _copy_bytes_per_second(judge.backend, useful, budget.repeats)
                yield Throughput(operator, data_type.name, _shape(case), useful, tuple(seconds), copy)


def useful_bytes(case: Case) -> int:
    """Each input element read once, each index once, each output element written once."""
    spec = spec_of(case.desc)
    tensors: list[TensorDesc] = [getattr(case.desc, field.attribute) for field in spec.tensor_fields]
    return sum(tensor.element_count * tensor.data_type.size for tensor in tensors)


def _copy_bytes_per_second(backend: Backend, moved: int, repeats: int) -> float:
    """Bytes read plus bytes written a second, in a copy that reads and writes `moved` bytes together.

    As many bytes as the operator moves, so that caches help both alike, and right after it, so that a busy machine
    slows both alike.
    """
    size = max(moved // 2, 1)
    return 2 * size / _median(_time_copy(backend, size, repeats))


def _time_case(backend: Backend, case: Case, repeats: int) -> list[float]:
    spec = spec_of(case.desc)
    content = values.materialize(case)
    inputs = {name: bind_input(getattr(case.desc, name), data).binding for name, data in content.items()}
    outputs = {
        field.attribute: bind_output(getattr(case.desc, field.attribute)).binding for field in spec.output_fields
    }
    try:
        if not backend.validate(case.desc, case.level).accepted:
            return []
        if isinstance(backend, Timed):
            return backend.time_execution(case.desc, case.level, inputs, outputs, repeats)
        seconds = []
        for _ in range(repeats + 1):
            started = time.perf_counter()
            backend.execute(case.desc, case.level, inputs, outputs)
            seconds.append(time.perf_counter() - started)
        return seconds[1:]  # the first one warms up
    except Exception:  # not claimed, or broken, which the cases have shown
        return []


def _time_copy(backend: Backend, size: int, repeats: int) -> list[float]:
    if isinstance(backend, Timed):
        return backend.time_copy(size, repeats)
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def _median(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


def _shape(case: Case) -> str:
    spec = spec_of(case.desc)
    return " ".join(
        f"{field.name.removesuffix('Tensor')}{{{','.join(map(str, getattr(case.desc, field.attribute).sizes))}}}"
        for field in spec.tensor_fields
    )
