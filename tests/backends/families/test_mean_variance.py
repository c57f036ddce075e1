"""MEAN_VARIANCE_NORMALIZATION and its successors, held against sums over coordinates, and against onnxruntime's."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Profile
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.mean_variance import NAME, NEWEST, OLDEST
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

NORMALIZATION = operator(NAME)
KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}


def element(run: Run, key: str, c: slow.Coordinates) -> float:
    """Of a tensor whose sizes of 1 are broadcast."""
    memory = run.memory(key)
    place = tuple(min(at, size - 1) for at, size in zip(c, memory.tensor.sizes, strict=True))
    return float(np.frombuffer(memory.element(place), KINDS[memory.tensor.data_type])[0])


def slow_normalization(run: Run, c: slow.Coordinates) -> tuple[float, float]:
    """The element, and what a relative error of the mean and the variance may come to; of a variance that FLOAT16 has
    not, anything.
    """
    desc = run.desc
    axes = desc.axes if hasattr(desc, "axes") else range(1 if desc.cross_channel else 2, 4)
    has_mean = getattr(desc, "use_mean", True)
    is_divided = desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance
    every = product(*(range(n) if d in axes else (c[d],) for d, n in enumerate(desc.input_tensor.sizes)))
    row = [element(run, "input_tensor", place) for place in every]
    scale = element(run, "scale_tensor", c) if desc.scale_tensor else 1.0
    bias = element(run, "bias_tensor", c) if desc.bias_tensor else 0.0
    if not all(math.isfinite(x) and abs(x) < 1e4 for x in (*row, scale, bias)):
        return math.nan, 0.0
    mean = math.fsum(row) / len(row) if has_mean else 0.0
    variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
    root = math.sqrt(variance + desc.epsilon) if is_divided else 1.0
    if variance < 1e-3 * max(map(abs, row)) ** 2 or root < 1e-3:
        return math.nan, 0.0
    is_beyond = desc.input_tensor.data_type is DataType.FLOAT16 and variance > 6e4
    size = math.inf if is_beyond else max(map(abs, row))
    return scale * (element(run, "input_tensor", c) - mean) / root + bias, abs(scale) * size / root + abs(bias)


@pytest.mark.parametrize("name", [OLDEST, NAME, NEWEST])
def test_what_is_expected_lies_around_the_slow_reference(name: str) -> None:
    seen = 0
    for run in small_runs(name, 120):
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
            if getattr(run.desc, "use_mean", True) or not run.desc.use_variance:
                assert high[n] - low[n] <= 4 * unit + 5e-2 * size + 1e-30
            seen += 1
    assert seen > 200


def of(row: Any, kind: Any = np.float32, level: Level = HIGHEST, **members: Any) -> Run:
    values = np.array(row, kind)
    tensor = TensorDesc.of(DataType[values.dtype.name.upper()], (1, 1, 1, values.size))
    given = {"axes": (3,), "epsilon": 0.0, "fused_activation": None}
    if "use_mean" not in members:
        given["normalize_variance"] = True
    tensors = {"input_tensor": tensor, "scale_tensor": None, "bias_tensor": None, "output_tensor": tensor}
    described = operator(NEWEST if "use_mean" in members else NAME).desc
    return with_values(described(**{**tensors, **given, **members}), level, input_tensor=values)


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


def one_row(name: str, row: Any, **members: Any) -> Run:
    """Of FLOAT16, by an operator of any of the three."""
    values = np.array(row, np.float16).reshape(1, 1, 1, -1)
    tensor = TensorDesc.of(DataType.FLOAT16, values.shape)
    given = {"cross_channel": False, "axes": (3,), "use_mean": True, "epsilon": 0.0, "fused_activation": None}
    given |= {"use_variance": True, "normalize_variance": True, "scale_tensor": None, "bias_tensor": None, **members}
    given |= {"input_tensor": tensor, "output_tensor": tensor}
    desc = operator(name).desc
    return with_values(
        desc(**{field.attribute: given[field.attribute] for field in desc.fields}), HIGHEST, input_tensor=values
    )


def right(run: Run, row: Any, profile: Profile = DIRECTML) -> list[bool]:
    """Whether each element may be this number of FLOAT16."""
    found = np.array(row, np.float16).reshape(run.desc.output_tensor.sizes).view(np.uint16)
    expected = expected_output(run.desc, run.bindings, profile)["output_tensor"]
    return is_right(expected, found, DataType.FLOAT16).ravel().tolist()


@pytest.mark.parametrize("name", [OLDEST, NAME, NEWEST])
def test_a_float16_mean_is_rounded_unless_that_is_to_be_precise(name: str) -> None:
    """Of 1024, 1024 and 1025 it is 1024, and the variance 1 / 3 around that."""
    row = [1024.0, 1024.0, 1025.0]
    run = one_row(name, row, normalize_variance=False, use_variance=False)
    for found, is_lax, is_exact in (([0.0, 0.0, 1.0], True, False), ([-1 / 3, -1 / 3, 2 / 3], True, True)):
        assert right(run, found) == [is_lax] * 3
        assert right(run, found, PRECISE) == [is_exact] * 3
    assert right(run, [-1.0, -1.0, 0.0]) == [False, False, False]
    run = one_row(name, row)
    for found, is_exact in (([0.0, 0.0, 3**0.5], False), ([-(0.5**0.5), -(0.5**0.5), 2**0.5], True)):
        assert right(run, found) == [True] * 3
        assert right(run, found, PRECISE) == [is_exact] * 3
    run = one_row(name, np.array([-2.0, 1.0, 2.0]) * 2.0**-24)  # of a mean of 1 / 3, which becomes 0
    found = np.array([-2.0, 1.0, 2.0]) / 3**0.5
    assert right(run, found) == [True] * 3
    assert right(run, found, PRECISE) == [False] * 3


@pytest.mark.parametrize("name", [OLDEST, NAME, NEWEST])
def test_a_float16_variance_is_rounded_unless_that_is_to_be_precise(name: str) -> None:
    """To 16 or 17 units where it is 16.8; to the largest number or infinity where it is 90000."""
    for size, others, wrong in ((0.001, (1.0242, 0.9937), (1.04, 0.98)), (300.0, (300 / 65504**0.5, 0.0), (1.18,))):
        run = one_row(name, [-size, size])
        assert right(run, [-1.0, 1.0]) == right(run, [-1.0, 1.0], PRECISE) == [True, True]
        for found in others:
            assert right(run, [-found, found]) == [True, True]
            assert right(run, [-found, found], PRECISE) == [False, False]
        for found in wrong:
            assert right(run, [-found, found]) == [False, False]


def test_other_formulas_are_found_in_float16() -> None:
    row = np.random.default_rng(1).uniform(-3, 3, 5).astype(np.float16).astype(float)
    run, away, variance = one_row(NAME, row, epsilon=0.5), row - row.mean(), row.var()
    assert all(right(run, away / np.sqrt(variance + 0.5)))
    for divisor in ((variance * 5 / 4 + 0.5) ** 0.5, variance**0.5 + 0.5, variance**0.5, variance + 0.5, 1.0):
        assert not any(right(run, away / divisor))
    for middle in (0.0, row[1:].sum() / 5):
        assert not any(right(run, (row - middle) / np.sqrt(variance + 0.5)))


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


@pytest.mark.parametrize(("is_cross", "right"), [(False, [-1.0, 1.0, -1.0, 1.0]), (True, [-2.0, -1.0, 1.0, 2.0])])
def test_an_image_is_taken_alone_or_with_all_its_channels(is_cross: bool, right: list[float]) -> None:
    values = np.array([0, 2, 6, 8], np.float32) if not is_cross else np.array([2, 3, 5, 6], np.float32)
    tensor = TensorDesc.of(DataType.FLOAT32, (1, 2, 1, 2))
    desc = operator(OLDEST).desc(tensor, None, None, tensor, is_cross, False, 0.0, None)
    run = with_values(desc, HIGHEST, input_tensor=values)
    low, high = ends(run)
    assert low == pytest.approx(right, rel=2.0**-20)
    assert high == pytest.approx(right, rel=2.0**-20)
    assert_conforms(TorchBackend("cpu"), run)


def test_without_a_mean_the_variance_is_around_0_or_around_the_mean() -> None:
    """Of 3 and 5: a root of (9 + 25) / 2, or of 1, and what is between."""
    low, high = ends(of([3.0, 5.0], use_mean=False, use_variance=True))
    assert low == pytest.approx([3 / 17**0.5, 5 / 17**0.5], rel=1e-5)
    assert high == pytest.approx([3.0, 5.0], rel=1e-5)
    low, high = ends(of([3.0, 5.0], use_mean=False, use_variance=False))
    assert low.tolist() == high.tolist() == [3.0, 5.0]
    low, high = ends(of([3.0, 5.0], use_mean=True, use_variance=True))
    assert low == pytest.approx([-1.0, 1.0], rel=1e-5)
    assert high == pytest.approx([-1.0, 1.0], rel=1e-5)


@pytest.mark.parametrize("has_mean", [True, False])
def test_onnx_normalizes_layers_alike(has_mean: bool) -> None:
    """Along the last axes alone, and without a mean by the root mean square; the scale has the sizes of these axes."""
    drawn = np.random.default_rng(11)
    x, scale, bias = (drawn.normal(1, 2, sizes).astype(np.float32) for sizes in ((2, 3, 4, 5), (5,), (5,)))
    full, row = (TensorDesc.of(DataType.FLOAT32, sizes) for sizes in (x.shape, (1, 1, 1, 5)))
    desc = operator(NEWEST).desc(full, row, row if has_mean else None, full, (3,), has_mean, True, 0.25, None)
    arrays = {"input_tensor": x, "scale_tensor": scale, **({"bias_tensor": bias} if has_mean else {})}
    run = with_values(desc, HIGHEST, **arrays)
    name = "LayerNormalization" if has_mean else "SimplifiedLayerNormalization"
    given = {key: array.reshape(-1) if key != "input_tensor" else array for key, array in elements(run).items()}
    (found,) = computed(name, given, axis=-1, epsilon=0.25)
    low, high = ends(run)
    assert (low <= found.reshape(-1)).all()
    assert (found.reshape(-1) <= high).all()


@pytest.mark.parametrize("is_cross", [True, False])
def test_onnx_normalizes_images_alike(is_cross: bool) -> None:
    """Without scale and bias, and of one Epsilon alone, which is nothing beside such variances."""
    x = np.random.default_rng(13).normal(1, 2, (2, 3, 4, 5)).astype(np.float32)
    tensor = TensorDesc.of(DataType.FLOAT32, x.shape)
    desc = operator(OLDEST).desc(tensor, None, None, tensor, is_cross, True, 0.0, None)
    run = with_values(desc, HIGHEST, input_tensor=x)
    (found,) = computed("MeanVarianceNormalization", elements(run), axes=[1, 2, 3] if is_cross else [2, 3])
    low, high = ends(run)
    assert (low <= found.reshape(-1)).all()
    assert (found.reshape(-1) <= high).all()
