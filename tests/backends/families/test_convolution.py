"""CONVOLUTION, one product after the other: windows that are read, windows that are written to."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
import torch
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from msgspec.structs import replace

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

CONVOLUTION: Any = descriptor_classes()["CONVOLUTION"]
TYPES = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}
TURNED, CROSS = 0, 1
FORWARD, BACKWARD = 0, 1


def terms(run: Run) -> dict[slow.Coordinates, list[float]]:
    """The products that every output element is the sum of, and the bias, by the output's coordinates."""
    desc = run.desc
    kind = TYPES[desc.input_tensor.data_type]

    def number(key: str, at: tuple[int, ...]) -> float:
        return float(np.frombuffer(run.memory(key).element(at), kind)[0])

    found: dict[slow.Coordinates, list[float]] = {c: [] for c in slow.walk(desc.output_tensor.sizes)}
    sizes, filters = desc.input_tensor.sizes, desc.filter_tensor.sizes
    of_group = filters[0] // desc.group_count
    backward = desc.direction == BACKWARD
    shown = sizes if backward else desc.output_tensor.sizes  # what windows are counted by
    for first, second, *w in slow.walk(filters):
        group = first // of_group
        at = tuple(size - 1 - n if desc.mode == TURNED else n for n, size in zip(w, filters[2:], strict=True))
        weight = number("filter_tensor", (first, second, *at))
        for n, *b in product(range(sizes[0]), *map(range, shown[2:])):
            place = tuple(
                b[d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w))
            )
            if backward:
                source, target = (n, first, *b), (n, group * filters[1] + second, *place)
            else:
                source, target = (n, group * filters[1] + second, *place), (n, first, *b)
            if target in found and all(0 <= at < size for at, size in zip(source, sizes, strict=True)):
                found[target].append(number("input_tensor", source) * weight)
    if desc.bias_tensor is not None:
        for c, products in found.items():
            products.append(number("bias_tensor", (0, c[1], *(0,) * (len(c) - 2))))
    return found


def test_sums_lie_around_the_slow_ones() -> None:
    seen = 0
    for run in small_runs("CONVOLUTION", 60):
        desc = run.desc
        if desc.fused_activation is not None:
            run = Run(replace(run.case, desc=replace(desc, fused_activation=None)), run.bindings)
        expected, data_type = run.expected["output_tensor"].within, desc.output_tensor.data_type
        assert expected is not None
        low, high = (numbers(part, data_type).astype(float) for part in (expected.low, expected.high))
        for c, products in terms(run).items():
            size = sum(map(abs, products))
            is_added = any(
                at >= n - more for at, n, more in zip(c[2:], low.shape[2:], desc.output_padding, strict=True)
            )
            if not size < 2.0 ** (14 if data_type is DataType.FLOAT16 else 120) or is_added:
                continue
            exact = math.fsum(products)
            ulp = abs(float(np.spacing(np.array(exact).astype(TYPES[data_type]))))
            slack = 4 * size * (len(products) + 2) * 2.0**-23 + 1.5 * ulp + 2.0**-123 * (len(products) + 1)
            assert low[c] - ulp <= exact <= high[c] + ulp, (desc, c)
            if np.isfinite(low[c]) and np.isfinite(high[c]):
                assert exact - slack <= low[c] <= high[c] <= exact + slack, (desc, c)
                seen += 1
    assert seen > 300


def convolved(
    direction: int,
    mode: int,
    values: Any,
    filters: Any,
    bias: Any,
    sizes: tuple[int, ...],
    arrays: tuple[tuple[int, ...], ...],
    groups: int = 1,
) -> Any:
    """Of FLOAT32 numbers; `arrays` are strides, dilations, paddings before and behind, and those of the output."""
    given = {"input_tensor": values, "filter_tensor": filters} | ({} if bias is None else {"bias_tensor": bias})
    given = {key: np.asarray(array, np.float32) for key, array in given.items()}
    tensors = {key: TensorDesc.of(DataType.FLOAT32, array.shape) for key, array in given.items()}
    desc = CONVOLUTION(
        tensors["input_tensor"],
        tensors["filter_tensor"],
        tensors.get("bias_tensor"),
        TensorDesc.of(DataType.FLOAT32, sizes),
        mode,
        direction,
        *arrays,
        groups,
        None,
    )
    run = with_values(desc, HIGHEST, **given)
    assert_conforms(TorchBackend("cpu"), run)
    return run.expected["output_tensor"]


def exact(expected: Any) -> Any:
    """The numbers, each of which is the only right one."""
    assert (expected.within.low == expected.within.high).all()
    return expected.values.view(np.float32)


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_whole_numbers_give_what_pytorch_gives(direction: int, groups: int) -> None:
    random = np.random.default_rng(7)
    values, bias = random.integers(-4, 4, (2, 4, 7, 6)), random.integers(-4, 4, (1, 4, 1, 1))
    filters = random.integers(-4, 4, (4, 4 // groups, 3, 2))
    function = torch.nn.functional.conv_transpose2d if direction == BACKWARD else torch.nn.functional.conv2d
    more: dict[str, Any] = {"output_padding": (1, 0)} if direction == BACKWARD else {}
    operands = [torch.from_numpy(array).double() for array in (values, filters, bias.reshape(-1))]
    found = function(*operands, stride=(2, 1), padding=(1, 1), dilation=(1, 2), groups=groups, **more).numpy()
    arrays = ((2, 1), (1, 2), (1, 1), (1, 1), more.get("output_padding", (0, 0)))
    expected = convolved(direction, CROSS, values, filters, bias, found.shape, arrays, groups)
    kept = found.shape[2] - (direction == BACKWARD)  # of the row that is added the readings differ
    assert np.array_equal(expected.values.view(np.float32)[:, :, :kept], found[:, :, :kept])
    turned = convolved(direction, TURNED, values, filters[:, :, ::-1, ::-1], bias, found.shape, arrays, groups)
    assert np.array_equal(turned.values[:, :, :kept], expected.values[:, :, :kept])


def test_backward_is_the_transpose_of_forward() -> None:
    random = np.random.default_rng(3)
    image, filters = random.integers(-4, 4, (1, 2, 9)), random.integers(-4, 4, (3, 2, 3))
    arrays = ((2,), (2,), (1,), (2,), (0,))
    weights = random.integers(-4, 4, (1, 3, 4))
    there = exact(convolved(FORWARD, CROSS, image, filters, None, (1, 3, 4), arrays))
    back = exact(convolved(BACKWARD, CROSS, weights, filters, None, (1, 2, 8), arrays))
    assert (there * weights).sum() == (back * image[..., :8]).sum()


def test_what_output_padding_adds_is_0_where_nothing_reaches_it() -> None:
    """Of [1, 2] by 2 with a filter [3, 5]: one element is cut off, and one is added that may be it."""
    for behind, added, is_free in ((0, 1, False), (1, 1, True)):
        arrays = ((2,), (1,), (0,), (behind,), (added,))
        expected = convolved(BACKWARD, CROSS, [[[1, 2]]], [[[3, 5]]], None, (1, 1, 4 - behind + added), arrays)
        first = [3.0, 5.0, 6.0, 10.0][: 4 - behind]
        assert expected.values.view(np.float32).reshape(-1).tolist()[: len(first)] == first
        last = expected.within.low.view(np.float32)[0, 0, -1], expected.within.high.view(np.float32)[0, 0, -1]
        assert last == ((-np.inf, np.inf) if is_free else (0.0, 0.0))


def test_padding_beside_an_infinite_weight_is_open() -> None:
    arrays = ((1,), (1,), (1,), (0,), (0,))
    expected = convolved(FORWARD, CROSS, [[[1, 2]]], [[[np.inf, 1]]], None, (1, 1, 2), arrays)
    assert expected.within.nan is not None
    assert expected.within.nan.reshape(-1).tolist() == [True, False]
    assert expected.within.low.view(np.float32).reshape(-1).tolist() == [-np.inf, np.inf]


def test_sums_are_not_taken_in_float16() -> None:
    """2,048 and as many ones are 4,096, and 2,048 where each sum is rounded to FLOAT16."""
    values = np.ones((1, 2049, 1), np.float16)
    values[0, 0] = 2048
    tensors = [TensorDesc.of(DataType.FLOAT16, sizes) for sizes in (values.shape, values.shape, (1, 1, 1))]
    desc = CONVOLUTION(*tensors[:2], None, tensors[2], CROSS, FORWARD, (1,), (1,), (0,), (0,), (0,), 1, None)
    run = with_values(desc, HIGHEST, input_tensor=values, filter_tensor=np.ones_like(values))
    assert_conforms(TorchBackend("cpu"), run)
    for profile, low, high in ((PRECISE, 4096.0, 4096.0), (DIRECTML, 4090.0, 4100.0)):  # of parts that are rounded
        expected = expected_output(run.desc, run.bindings, profile)["output_tensor"].within
        assert expected is not None
        assert (expected.low.view(np.float16).item(), expected.high.view(np.float16).item()) == (low, high)
