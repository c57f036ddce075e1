"""How fast a backend is: each operator with each data type, small and large, beside the device's own copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from backends.base import Backend, Binding, Bytes, Execution
from conformance.budget import Budget
from conformance.judge import Judge
from conformance.timing import time_copy, time_execution
from reports.records import Caches, Throughput
from spec.case import Case
from spec.datatypes import DataType
from spec.levels import Level
from spec.registry import operator as operator_named
from spec.registry import spec_of
from spec.tensor import TensorDesc
from strategies.builders import builder
from strategies.chooser import SeededChooser
from strategies.context import Context
from strategies.values import UNSIGNED_OF_SIZE, buffer_size


def measure(judge: Judge, operators: Sequence[str], levels: Sequence[Level], budget: Budget) -> Iterator[Throughput]:
    """A row for each operator, data type, size and state of the caches, at the highest level asked for and claimed.

    Caches are warm; a backend that can empty them (`TimedCold`) is timed with cold ones too. Only what the backend
    accepts, claims and executes without error is timed: speed of the others means nothing.
    """
    capabilities = judge.capabilities
    claimed = [level for level in levels if level in capabilities.levels]
    if not claimed or not capabilities.executes:
        return
    level = max(claimed)
    sizes, states = budget.throughput_sizes(capabilities), _states(judge.backend)
    for operator in operators:
        spec = operator_named(operator)
        if level < spec.introduced_in or operator not in capabilities.operators:
            continue
        ctx = Context.at(SeededChooser(0), spec, level)
        for data_type, size in product(ctx.data_types, sizes):
            desc = builder(operator).large(ctx.but(data_types=(data_type,)), size)
            case = Case.of(desc, level, rule=f"{operator}.values")
            yield from _rows(judge.backend, case, data_type, size, states, budget.repeats)


def _rows(
    backend: Backend, case: Case, data_type: DataType, size: int, states: Sequence[Caches], repeats: int
) -> Iterator[Throughput]:
    """A case timed in each state of the caches; its tensors are let go of with the last."""
    useful, execution = useful_bytes(case), _bound(case)
    for caches in states:
        seconds = _time_case(backend, execution, repeats, caches)
        copy = _copy_bytes_per_second(backend, useful, repeats, caches) if seconds else 0.0
        if copy:
            operator, shape = case.desc.operator, _shape(case)
            yield Throughput(operator, data_type.name, shape, useful, tuple(seconds), copy, size, caches)


def useful_bytes(case: Case) -> int:
    """Each input element read once, each index once, each output element written once."""
    spec = spec_of(case.desc)
    tensors: list[TensorDesc] = [getattr(case.desc, field.attribute) for field in spec.tensor_fields]
    return sum(tensor.element_count * tensor.data_type.size for tensor in tensors)


def _states(backend: Backend) -> list[Caches]:
    """The states of the caches that the backend can be timed with."""
    try:
        time_copy(backend, 1, 1, cold=True)
    except Exception:  # it cannot, or not on this device
        return [Caches.WARM]
    return list(Caches)


def _copy_bytes_per_second(backend: Backend, moved: int, repeats: int, caches: Caches) -> float:
    """Bytes read plus bytes written a second, in a copy that reads and writes `moved` bytes together.

    As many bytes as the operator moves, so that caches help both alike, and right after it, so that a busy machine
    slows both alike. 0 where the copy fails.
    """
    size = max(moved // 2, 1)
    try:
        return 2 * size / _median(time_copy(backend, size, repeats, cold=caches is Caches.COLD))
    except Exception:  # the process that it was to be made in is lost, say
        return 0.0


def _bound(case: Case) -> Execution:
    """The case with its tensors in memory, without guards. Nobody needs to make the same data again, so it is made in a
    quicker way than a case's own."""
    spec, random = spec_of(case.desc), np.random.Generator(np.random.SFC64(0))
    inputs = {}
    for field in spec.input_fields:
        tensor: TensorDesc = getattr(case.desc, field.attribute)
        if spec.index is not None and field.attribute == spec.index.indices:
            content = _random_indices(random, tensor, spec.index.limits(case.desc))
        else:
            content = _random_bytes(random, tensor)
        inputs[field.attribute] = Binding(content, 0, len(content))
    outputs = {}
    for field in spec.output_fields:
        size = buffer_size(getattr(case.desc, field.attribute))
        outputs[field.attribute] = Binding(np.empty(size, np.uint8), 0, size)
    return Execution(case.desc, case.level, inputs, outputs)


def _random_bytes(random: np.random.Generator, tensor: TensorDesc) -> Bytes:
    size = buffer_size(tensor)
    return random.integers(0, 2**64 - 1, -(-size // 8), np.uint64, endpoint=True).view(np.uint8)[:size]


def _random_indices(random: np.random.Generator, tensor: TensorDesc, limits: Sequence[int]) -> Bytes:
    """Indices in range; `limits` as for `strategies.values.fill`."""
    assert tensor.strides is None
    number = UNSIGNED_OF_SIZE[tensor.data_type.size]
    content = np.zeros(buffer_size(tensor), np.uint8)
    indices = np.ndarray(tensor.sizes, number, content)
    for place, limit in enumerate(limits):
        part = indices[..., place :: len(limits)]
        part[...] = random.integers(0, limit, part.shape, number)
    return content


def _time_case(backend: Backend, execution: Execution, repeats: int, caches: Caches) -> list[float]:
    try:
        if not backend.validate(execution.desc, execution.level).accepted:
            return []
        return time_execution(backend, execution, repeats, cold=caches is Caches.COLD)
    except Exception:  # not claimed, or broken, which the cases have shown
        return []


def _median(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


def _shape(case: Case) -> str:
    spec = spec_of(case.desc)
    return " ".join(
        f"{field.name.removesuffix('Tensor')}{{{','.join(map(str, getattr(case.desc, field.attribute).sizes))}}}"
        for field in spec.tensor_fields
    )
