"""MEAN_VARIANCE_NORMALIZATION1, held against sums over coordinates."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.mean_variance import NORMALIZATION
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}


def element(run: Run, key: str, c: slow.Coordinates) -> float:
    """Of a tensor whose sizes of 1 are broadcast."""
    memory = run.memory(key)
    place = tuple(min(at, size - 1) for at, size in zip(c, memory.tensor.sizes, strict=True))
    return float(np.frombuffer(memory.element(place), KINDS[memory.tensor.data_type])[0])


def slow_normalization(run: Run, c: slow.Coordinates) -> tuple[float, float]:
    """The element, and how much of it a relative error of the mean and the variance comes to."""
    desc = run.desc
    every = product(*(range(n) if d in desc.axes else (c[d],) for d, n in enumerate(desc.input_tensor.sizes)))
    row = [element(run, "input_tensor", place) for place in every]
    scale = element(run, "scale_tensor", c) if desc.scale_tensor else 1.0
    bias = element(run, "bias_tensor", c) if desc.bias_tensor else 0.0
    if not all(math.isfinite(x) and abs(x) < 1e4 for x in (*row, scale, bias)):
        return math.nan, 0.0
    mean = math.fsum(row) / len(row)
    variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
    root = math.sqrt(variance + desc.epsilon) if desc.normalize_variance else 1.0
    if variance < 1e-3 * max(map(abs, row)) ** 2 or root < 1e-3:
        return math.nan, 0.0
    size = max(map(abs, row))
    return scale * (element(run, "input_tensor", c) - mean) / root + bias, abs(scale) * size / root + abs(bias)


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = 0
    for run in small_runs("MEAN_VARIANCE_NORMALIZATION1", 120):
        if run.desc.fused_activation is not None:
            continue
        data_type, expected = run.desc.output_tensor.data_type, run.expected["output_tensor"]
        assert expected.within is not None
        low, high = (
            numbers(part, data_type).astype(float).reshape(-1) for part in (expected.within.low, expected.within.high)
        )
        kind = np.finfo(KINDS[data_type])
        for n, c in list(enumerate(slow.walk(run.desc.output_tensor.sizes)))[:30]:
            y, size = slow_normalization(run, c)
            if not abs(y) < 6e4:
                continue
            unit = float(kind.eps) * abs(y) + float(kind.smallest_subnormal)
            assert low[n] - unit <= y <= high[n] + unit
            assert high[n] - low[n] <= 4 * unit + 5e-2 * size + 1e-30
            seen += 1
    assert seen > 200


def of(row: Any, kind: Any = np.float32, level: Level = HIGHEST, **members: Any) -> Run:
    values = np.array(row, kind)
    tensor = TensorDesc.of(DataType[values.dtype.name.upper()], (1, 1, 1, values.size))
    given = {"axes": (3,), "normalize_variance": True, "epsilon": 0.0, "fused_activation": None}
    tensors = {"input_tensor": tensor, "scale_tensor": None, "bias_tensor": None, "output_tensor": tensor}
    return with_values(NORMALIZATION.desc(**{**tensors, **given, **members}), level, input_tensor=values)


def ends(run: Run) -> tuple[Any, Any]:
    within = run.expected["output_tensor"].within
    assert within is not None
    data_type = run.desc.output_tensor.data_type
    return tuple(numbers(part, data_type).astype(float).reshape(-1) for part in (within.low, within.high))  # type: ignore[return-value]


def test_epsilon_is_inside_the_root_and_the_variance_that_of_all() -> None:
    low, high = ends(of([-1.0, 1.0, 3.0, 5.0], epsilon=4.0))  # a variance of 5 and a root of 3
    right = np.array([-1.0, -1 / 3, 1 / 3, 1.0])
    assert (low <= right + 1e-7).all()
    assert (high >= right - 1e-7).all()
    assert (high - low < 1e-5).all()
    low, high = ends(of([-1.0, 1.0, 3.0, 5.0], normalize_variance=False))
    right = np.array([-3.0, -1.0, 1.0, 3.0])
    assert (low <= right).all()
    assert (high >= right).all()
    assert (high - low < 2e-6).all()


def test_rows_without_variance_and_with_what_is_special() -> None:
    for row in ([2.0, 2.0, 2.0], [1.0, math.inf, 0.0], [math.nan, 1.0], [65504.0, -65504.0, 1.0]):
        for kind in (np.float32, np.float16):
            for epsilon in (0.0, 1.0):
                assert_conforms(TorchBackend("cpu"), of(row, kind, epsilon=epsilon))


def test_scale_and_bias_have_rules_by_level() -> None:
    full, one = (TensorDesc.of(DataType.FLOAT32, (1, channels, 2, 2)) for channels in (3, 1))
    first = {}
    for name, scale, bias in (("both", full, full), ("scale alone", full, None), ("one channel", one, full)):
        desc = NORMALIZATION.desc(full, scale, bias, full, (2, 3), True, 0.5, None)
        first[name] = next(level for level in Level if not decide(desc, level).violations)
    assert first == {"both": Level.L2_1, "scale alone": Level.L5_2, "one channel": Level.L4_0}
