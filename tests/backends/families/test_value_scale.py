"""VALUE_SCALE_2D, held against fractions. ONNX no longer has such an operator, so its Mul and Add are asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.value_scale import NAME
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide


def of(values: Any, scale: float, bias: tuple[float, ...]) -> Run:
    values = np.asarray(values)
    tensor = TensorDesc.of(DataType[values.dtype.name.upper()], values.shape)
    return with_values(operator(NAME).desc(tensor, tensor, scale, bias), HIGHEST, input_tensor=values)


def ends(run: Run) -> tuple[Any, Any]:
    within = run.expected["output_tensor"].within
    assert within is not None
    low, high = (numbers(part, run.desc.output_tensor.data_type).astype(float) for part in (within.low, within.high))
    return low, high


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = 0
    for run in small_runs(NAME, 60):
        x, desc, (low, high) = elements(run)["input_tensor"], run.desc, ends(run)
        digits = 2.0**-10 if desc.input_tensor.data_type is DataType.FLOAT16 else 2.0**-23
        for c in list(slow.walk(x.shape))[:12]:
            if not abs(x[c]) < 1e4:
                continue
            product, bias = Fraction(float(x[c])) * Fraction(desc.scale), Fraction(desc.bias[c[1]])
            unit = digits * float(abs(product) + abs(bias)) + 1.2e-7
            assert low[c] - unit <= float(product + bias) <= high[c] + unit
            assert high[c] - low[c] <= 6 * unit
            seen += 1
    assert seen > 200


def test_whole_numbers_are_exact_and_each_channel_has_its_bias() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    run = of(x, 3.0, (1.0, -2.0, 5.0))
    low, high = ends(run)
    right = [[[[3 * x[n, c, h, w] + (1, -2, 5)[c] for w in (0, 1)] for h in (0, 1)] for c in range(3)] for n in (0, 1)]
    assert low.tolist() == high.tolist() == right
    assert_conforms(TorchBackend("cpu"), run)


def test_in_float16_scale_and_bias_may_be_rounded_first() -> None:
    """2049 is no number of FLOAT16: the sum is 2049 + 1 or 2048 + 1, which is rounded in turn."""
    low, high = ends(of(np.ones((1, 1, 1, 1), np.float16), 1.0, (2049.0,)))
    assert (low.item(), high.item()) == (2048.0, 2050.0)


@pytest.mark.parametrize(
    ("channels", "count", "broken"),
    [(3, 3, ()), (1, 1, ()), (2, 2, ("channel-count",)), (1, 3, ("channels",)), (2, 4, ("channel-count", "channels"))],
)
def test_there_are_one_or_three_channels(channels: int, count: int, broken: tuple[str, ...]) -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (1, channels, 2, 2))
    decision = decide(operator(NAME).desc(tensor, tensor, 1.0, (0.0,) * count), HIGHEST)
    assert decision.rules == tuple(f"{NAME}.{name}" for name in broken)


def test_onnx_scales_alike() -> None:
    """By two nodes, which have the scale and the biases as tensors."""
    x = np.random.default_rng(5).normal(0, 9, (2, 3, 4, 5)).astype(np.float32)
    run = of(x, 0.3, (0.1, -7.0, 2.5))
    (product,) = computed("Mul", {"a": x, "b": np.float32(0.3)})
    (found,) = computed("Add", {"a": product, "b": np.array([0.1, -7.0, 2.5], np.float32).reshape(1, 3, 1, 1)})
    low, high = ends(run)
    assert (low <= found).all()
    assert (found <= high).all()
    assert elements(run)["input_tensor"].tolist() == x.tolist()
