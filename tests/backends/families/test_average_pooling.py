"""AVERAGE_POOLING1, with its page's formula in fractions, one element of one window after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

POOLING: Any = descriptor_classes()["AVERAGE_POOLING1"]
TYPES = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}


def window(run: Run, c: slow.Coordinates) -> list[float | None]:
    """What the window of an output element sees; None in the padding."""
    desc, memory, found = run.desc, run.memory("input_tensor"), []
    for w in product(*map(range, desc.window_size)):
        at = tuple(c[2 + d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w)))
        inside = all(0 <= place < size for place, size in zip(at, desc.input_tensor.sizes[2:], strict=True))
        element = memory.element((*c[:2], *at)) if inside else b""
        found.append(float(np.frombuffer(element, TYPES[desc.input_tensor.data_type])[0]) if inside else None)
    return found


def test_means_lie_around_the_pages_formula() -> None:
    seen = 0
    for run in small_runs("AVERAGE_POOLING1", 40):
        expected, data_type = run.expected["output_tensor"].within, run.desc.output_tensor.data_type
        assert expected is not None
        low, high = (numbers(part, data_type).astype(float) for part in (expected.low, expected.high))
        for c in slow.walk(run.desc.output_tensor.sizes):
            elements = [x or 0.0 for x in window(run, c) if x is not None or run.desc.include_padding]
            if not elements:
                assert expected.nan is not None
                assert expected.nan[c]
                assert low[c] == high[c] == 0.0
            elif all(map(math.isfinite, elements)):
                mean = sum(map(Fraction, elements)) / len(elements)
                size = sum(abs(Fraction(x)) for x in elements) / len(elements)
                ulp = np.spacing(np.array(float(mean)).astype(TYPES[data_type])).astype(float)
                slack = float(size) * len(elements) * 2.0**-23 + 1.5 * abs(ulp)
                slack += 2.0**-124 * math.prod(run.desc.window_size)  # of subnormal numbers taken for zero
                if np.isfinite(slack) and size * len(elements) < 2**126:
                    assert float(mean) - slack <= low[c] <= high[c] <= float(mean) + slack, (run.desc, c)
                    assert low[c] - abs(ulp) <= float(mean) <= high[c] + abs(ulp), (run.desc, c)
                    seen += 1
    assert seen > 200


def pooled(values: Any, sizes: tuple[int, ...], *arrays: tuple[int, ...], is_counted: bool) -> Any:
    """The means; `arrays` are strides, window, paddings before and behind, dilations."""
    values = np.asarray(values, np.float32)
    tensors = (TensorDesc.of(DataType.FLOAT32, n) for n in (values.shape, sizes))
    run = with_values(POOLING(*tensors, *arrays, is_counted), HIGHEST, input_tensor=values)
    assert_conforms(TorchBackend("cpu"), run)
    return run.expected["output_tensor"]


@pytest.mark.parametrize(("is_counted", "first"), [(False, 3.0), (True, 1.5)])
def test_padding_counts_where_it_is_included(is_counted: bool, first: float) -> None:
    """Of [3, 5, 7, 9] by twos, one element of padding before them."""
    arrays = ((1, 2), (1, 2), (0, 1), (0, 0), (1, 1))
    found = pooled([[[[3, 5, 7, 9]]]], (1, 1, 1, 2), *arrays, is_counted=is_counted)
    assert found.values.view(np.float32).reshape(-1).tolist() == [first, 6.0]


def test_a_window_in_the_padding_has_no_average_or_0() -> None:
    found = pooled([[[[3]]]], (1, 1, 1, 2), (1, 1), (1, 1), (0, 1), (0, 0), (1, 1), is_counted=False)
    assert found.within.nan.reshape(-1).tolist() == [True, False]
    assert found.values.view(np.float32).reshape(-1).tolist() == [0.0, 3.0]
    found = pooled([[[[3]]]], (1, 1, 1, 2), (1, 1), (1, 1), (0, 1), (0, 0), (1, 1), is_counted=True)
    assert found.within.nan is None


def test_sums_are_not_taken_in_float16() -> None:
    """Of 65,504 and 65,504 the sum is beyond FLOAT16, and the mean is not."""
    values = np.full((1, 1, 1, 2), 65504, np.float16)
    tensors = (TensorDesc.of(DataType.FLOAT16, n) for n in (values.shape, (1, 1, 1, 1)))
    desc = POOLING(*tensors, (1, 1), (1, 2), (0, 0), (0, 0), (1, 1), False)
    found = with_values(desc, HIGHEST, input_tensor=values).expected["output_tensor"]
    assert found.values.view(np.float16).tolist() == [[[[65504.0]]]]
    assert np.isfinite(found.within.high.view(np.float16)).all()  # type: ignore[union-attr]
