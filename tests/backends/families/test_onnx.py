"""What onnxruntime makes of the same arrays is right, wherever ONNX has an operator and the runtime a kernel of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from family_cases import assert_conforms, described_tensor, example
from onnx_node import computed

from dml_conformance.backends.torch import TorchBackend

RANDOM = np.random.default_rng(7)
MICROSOFT = "com.microsoft"


def normal(*sizes: int) -> Any:
    return RANDOM.normal(1, 2, sizes).astype(np.float32)


def integers(kind: Any, *sizes: int) -> Any:
    info = np.iinfo(kind)
    return RANDOM.integers(info.min, info.max, sizes, kind, endpoint=True)


class Node(NamedTuple):
    """A node and the operator that it stands for.

    Attributes:
        operator: DirectML's.
        members: those of the descriptor that are no arrays of the node.
        node: ONNX's name of it.
        arrays: the node's inputs by the names of members, in its order. DirectML has a single number, and a row of
            them, in a tensor of as many dimensions as the others; a row is that of channels.
        attributes: of the node.
        kind: the type of the output.
    """

    operator: str
    members: dict[str, Any]
    node: str
    arrays: dict[str, Any]
    attributes: dict[str, Any]
    kind: Any = np.float32


IMAGE = normal(2, 3, 7, 8)
WINDOWS = {
    "window_size": (3, 2),
    "strides": (2, 1),
    "start_padding": (1, 1),
    "end_padding": (1, 0),
    "dilations": (1, 2),
}
ONNX_WINDOWS = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 1, 1, 0), "dilations": (1, 2)}
FILTERED = {"strides": (2, 1), "start_padding": (1, 0), "end_padding": (1, 1), "dilations": (1, 1), "group_count": 2}
ONNX_FILTERED = {"strides": (2, 1), "pads": (1, 0, 1, 1), "group": 2}
BYTES, FILTERS = integers(np.uint8, 1, 4, 5, 6), integers(np.int8, 6, 2, 3, 2)
SCALES = RANDOM.uniform(0.001, 0.02, 6).astype(np.float32)
POINT, SCALE = np.uint8(125), np.float32(0.02)
A, B = integers(np.uint8, 4, 6), integers(np.uint8, 6, 3)
FACTORS = {"a": A, "a_scale": SCALE, "a_zero_point": POINT, "b": B, "b_scale": SCALE, "b_zero_point": POINT}
QUANTIZED = {"input": BYTES, "input_scale": np.float32(0.03), "input_zero_point": POINT}
RESULT = {"output_scale": np.float32(0.3), "output_zero_point": np.uint8(7)}
STATISTICS = {key: np.abs(normal(3)) for key in ("scale", "bias", "mean", "variance")}
BASES, EXPONENTS = np.meshgrid(np.arange(-9, 10, dtype=np.int32), np.arange(-2, 5, dtype=np.float32) / 2)
REGIONS = np.float32([[1, 2, 9, 7], [-3, 0, 12, 15]])

NODES = [
    *(
        Node(
            "AVERAGE_POOLING1",
            {**WINDOWS, "include_padding": is_counted},
            "AveragePool",
            {"input": IMAGE},
            {**ONNX_WINDOWS, "count_include_pad": int(is_counted)},
        )
        for is_counted in (False, True)
    ),
    *(
        Node("LP_POOLING1", {**WINDOWS, "p": p}, "LpPool", {"input": IMAGE}, {**ONNX_WINDOWS, "p": p})
        for p in (1, 2, 3)
    ),
    *(
        Node("MAX_POOLING2", WINDOWS, "MaxPool", {"input": image}, ONNX_WINDOWS, image.dtype)
        for image in (IMAGE, integers(np.int8, 2, 3, 7, 8), integers(np.uint8, 2, 3, 7, 8))
    ),
    Node(
        "QUANTIZED_LINEAR_AVERAGE_POOLING",
        {**WINDOWS, "include_padding": False, "dilations": (1, 1)},
        "QLinearAveragePool",
        QUANTIZED | {"output_scale": SCALE, "output_zero_point": POINT},
        {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 1, 1, 0), "count_include_pad": 0, "domain": MICROSOFT},
        np.uint8,
    ),
    Node(
        "CONVOLUTION_INTEGER",
        FILTERED,
        "ConvInteger",
        {
            "input": BYTES,
            "filter": FILTERS.view(np.uint8),
            "input_zero_point": POINT,
            "filter_zero_point": np.uint8(99),
        },
        ONNX_FILTERED,
        np.int32,
    ),
    Node(
        "QUANTIZED_LINEAR_CONVOLUTION",
        FILTERED,
        "QLinearConv",
        QUANTIZED
        | {"filter": FILTERS, "filter_scale": SCALES, "filter_zero_point": np.zeros(6, np.int8), **RESULT}
        | {"bias": RANDOM.integers(-9999, 9999, 6).astype(np.int32)},
        ONNX_FILTERED,
        np.uint8,
    ),
    *(
        Node(
            "MATRIX_MULTIPLY_INTEGER",
            {},
            "MatMulInteger",
            {"a": A, "b": B.view(kind), "a_zero_point": POINT, "b_zero_point": integers(kind, 3)},
            {},
            np.int32,
        )
        for kind in (np.int8, np.uint8)
    ),
    Node("QUANTIZED_LINEAR_MATRIX_MULTIPLY", {}, "QLinearMatMul", FACTORS | RESULT, {}, np.uint8),
    Node(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        {},
        "MatMulIntegerToFloat",
        {key: FACTORS[key] for key in ("a", "b", "a_scale", "b_scale", "a_zero_point", "b_zero_point")},
        {"domain": MICROSOFT},
    ),
    *(
        Node(
            "CUMULATIVE_SUMMATION",
            {"axis": 1, "axis_direction": is_reversed, "has_exclusive_sum": is_exclusive},
            "CumSum",
            {"input": array, "axis": np.array(1, np.int32)},
            {"exclusive": is_exclusive, "reverse": is_reversed},
            array.dtype,
        )
        for array in (IMAGE, integers(np.int32, 2, 3, 4, 5))
        for is_reversed, is_exclusive in ((0, 0), (1, 0), (0, 1), (1, 1))
    ),
    Node(
        "BATCH_NORMALIZATION",
        {"spatial": True, "epsilon": 0.25},
        "BatchNormalization",
        {"input": IMAGE, **STATISTICS},
        {"epsilon": 0.25},
    ),
    *(
        Node(
            "MEAN_VARIANCE_NORMALIZATION",
            {"cross_channel": is_cross, "normalize_variance": True, "epsilon": 0.0},
            "MeanVarianceNormalization",
            {"input": IMAGE},
            {"axes": [1, 2, 3] if is_cross else [2, 3]},
        )
        for is_cross in (True, False)
    ),
    *(
        Node(
            "LOCAL_RESPONSE_NORMALIZATION",
            {"cross_channel": True, "local_size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0},
            "LRN",
            {"input": IMAGE},
            {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0},
        )
        for size in (1, 3, 5)
    ),
    *(
        Node(
            "LP_NORMALIZATION",
            {"axis": axis, "epsilon": 0.0, "p": p},
            "LpNormalization",
            {"input": IMAGE},
            {"axis": axis, "p": p},
        )
        for axis, p in ((0, 1), (1, 2), (3, 2))
    ),
    Node(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        {},
        "QLinearAdd",
        {"a": A, "a_scale": np.float32(0.25), "a_zero_point": POINT, "b": A[::-1].copy(), "b_scale": np.float32(0.5)}
        | {"b_zero_point": POINT, "output_scale": np.float32(1), "output_zero_point": np.uint8(60)},
        {"domain": MICROSOFT},
        np.uint8,
    ),
    Node("ELEMENT_WISE_POW", {}, "Pow", {"input": BASES, "exponent": EXPONENTS}, {}, np.int32),
    Node(
        "ROI_ALIGN1",
        {"reduction_function": 2, "interpolation_mode": 1, "spatial_scale_x": 0.5, "spatial_scale_y": 0.5}
        | {"input_pixel_offset": 0.5, "output_pixel_offset": -0.5, "out_of_bounds_input_value": 0.0}
        | {"minimum_samples_per_output": 2, "maximum_samples_per_output": 2, "align_regions_to_corners": False},
        "RoiAlign",
        {"input": IMAGE, "roi": REGIONS, "batch_indices": np.array([0, 1])},
        {"coordinate_transformation_mode": "half_pixel", "mode": "avg", "sampling_ratio": 2, "spatial_scale": 0.5}
        | {"output_height": 3, "output_width": 2},
    ),
]


def shaped(name: str, array: Any, rank: int) -> Any:
    """An array of the node as DirectML's tensor has it."""
    if name == "batch_indices":
        return array.astype(np.uint32)
    sizes = (
        (1,) * rank if array.ndim == 0 else (1, -1, *(1,) * (rank - 2)) if array.ndim == 1 and rank > 2 else array.shape
    )
    return array.reshape(sizes)


@pytest.mark.few(len(NODES))
@pytest.mark.parametrize("row", NODES, ids=lambda row: f"{row.operator}-{row.node}")
def test_onnxruntime_computes_what_is_right(row: Node) -> None:
    found = computed(row.node, row.arrays, row.kind, **row.attributes)
    rank = next(iter(row.arrays.values())).ndim
    arrays = {name: shaped(name, np.asarray(array), rank) for name, array in row.arrays.items()}
    run = example(row.operator, **{**arrays, **row.members}, output=described_tensor(found.shape, row.kind))
    right = run.holds(found)
    assert right.all(), found[~right]
    assert len(np.unique(found)) > 4
    assert_conforms(TorchBackend("cpu"), run)
