"""LP_NORMALIZATION, held against norms of plain numbers, and against onnxruntime's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.lp_normalization import NAME
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc


def of(values: Any, *, axis: int = 3, epsilon: float = 0.0, p: int = 2) -> Run:
    values = np.asarray(values, np.float32)
    tensor = TensorDesc.of(DataType.FLOAT32, values.shape)
    return with_values(operator(NAME).desc(tensor, tensor, axis, epsilon, p), HIGHEST, input_tensor=values)


def ends(run: Run) -> tuple[Any, Any, Any]:
    within = run.expected["output_tensor"].within
    assert within is not None
    data_type = run.desc.output_tensor.data_type
    low, high = (numbers(part, data_type).astype(float) for part in (within.low, within.high))
    return low, high, np.zeros(low.shape, bool) if within.nan is None else within.nan


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = 0
    for run in small_runs(NAME, 90):
        x, desc, (low, high, _) = elements(run)["input_tensor"], run.desc, ends(run)
        digits = 2.0**-10 if desc.input_tensor.data_type is DataType.FLOAT16 else 2.0**-23
        for c in list(slow.walk(x.shape))[:12]:
            row = [float(x[(*c[: desc.axis], n, *c[desc.axis + 1 :])]) for n in range(x.shape[desc.axis])]
            if not all(abs(e) < 1e4 for e in row) or max(map(abs, row)) < 1e-2:
                continue
            norm = math.hypot(*row) if desc.p == 2 else math.fsum(map(abs, row))
            y = float(x[c]) / (norm + desc.epsilon)
            unit = digits * abs(y) + 6e-8
            assert low[c] - unit <= y <= high[c] + unit
            least = math.hypot(norm, math.sqrt(desc.epsilon)) if desc.p == 2 else norm
            least = min(max(norm, desc.epsilon), least, norm + desc.epsilon)
            assert high[c] - low[c] <= 8 * unit + abs(float(x[c])) * abs(
                1 / least - 1 / max(norm + desc.epsilon, math.hypot(norm, math.sqrt(desc.epsilon)))
            )
            seen += 1
    assert seen > 200


@pytest.mark.parametrize(("p", "least", "most"), [(2, 5.0, 6.0), (1, 7.0, 8.0)])
def test_epsilon_is_added_or_a_least_or_under_the_root(p: int, least: float, most: float) -> None:
    """Of 3 and -4 with Epsilon 1: 5 + 1, max(5, 1) and sqrt(25 + 1); 7 + 1 and max(7, 1)."""
    low, high, _ = ends(of([[[[3, -4]]]], epsilon=1.0, p=p))
    assert low.reshape(-1) == pytest.approx([3 / most, -4 / least])
    assert high.reshape(-1) == pytest.approx([3 / least, -4 / most])


def test_zeros_stay_zeros_and_may_be_no_numbers_without_epsilon() -> None:
    for epsilon, is_open in ((0.0, True), (0.5, False)):
        low, high, nan = ends(of([[[[0, 0]], [[0, 2]]]], epsilon=epsilon))
        assert (low[0, 0] == 0).all()
        assert (high[0, 0] == 0).all()
        assert nan.reshape(-1).tolist() == [is_open, is_open, False, False]
        assert_conforms(TorchBackend("cpu"), of([[[[0, 0]], [[0, 2]]]], epsilon=epsilon))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_onnx_normalizes_alike(axis: int, p: int) -> None:
    """Without an Epsilon, and rows of zeros stay zeros."""
    x = np.random.default_rng(3).normal(0, 2, (3, 4, 2, 5)).astype(np.float32)
    x[:, :, 0, 0] = 0
    run = of(x, axis=axis, p=p)
    (found,) = computed("LpNormalization", elements(run), axis=axis, p=p)
    low, high, _ = ends(run)
    assert (low <= found).all()
    assert (found <= high).all()
