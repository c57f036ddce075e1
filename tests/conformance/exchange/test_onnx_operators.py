"""The mapping of each operator, by the cases that ONNX itself has of it: the steps compute what is expected there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from layer_chain import Chain, as_bytes
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model, value

from dml_conformance.conformance.exchange.onnx.coverage import Way, coverage
from dml_conformance.conformance.exchange.onnx.layers import Layers, layers_of
from dml_conformance.conformance.exchange.onnx.mapping import mappings
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.validator import Outcome, decide

# Cases of ONNX whose results are others by DirectML's own pages, or by its provider.
OTHER_RESULTS = {
    "test_lstm_with_peepholes": "LSTM-6: the page's output gate sees the cell state from before",
    "test_resize_downsample_scales_linear_align_corners": "the provider takes the output's whole size for its scale",
    "test_resize_downsample_scales_linear_antialias": "the page does not say what antialiasing is",
    "test_resize_downsample_sizes_linear_antialias": "the page does not say what antialiasing is",
    "test_roialign_mode_max": "the case has the greatest of weighted corners, not of interpolated samples",
}
# Operators that ONNX has no case of with a node of them alone, or none that can be mapped.
WITHOUT_CASE = {"GlobalLpPool", "LRN", "LpPool", "MaxRoiPool", "Range", "ReduceLogSumExp", "Scatter", "Upsample"}
# Whose results, integers of 8 bits, are rounded: by one they may be others.
ROUNDED = {"DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear"}


@cache
def cases() -> dict[str, list[Any]]:
    """ONNX's cases of single nodes, by operator."""
    from onnx.backend.test.case.node import collect_testcases

    found: dict[str, list[Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arithmetic in the making of the cases
        every = collect_testcases(None)
    for case in every:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].domain == "" and case.data_sets:
            given, made = ([array(each) for each in side] for side in case.data_sets[0])
            if all(each is not None for each in (*given, *made)):
                found.setdefault(nodes[0].op_type, []).append(replace(case, data_sets=[(given, made)]))
    return found


def array(given: Any) -> Any:
    """A tensor as an array; None for what is none, and for text."""
    found = numpy_helper.to_array(given) if isinstance(given, TensorProto) else given
    return found if isinstance(found, np.ndarray | np.generic) and found.dtype != object else None


def variants(case: Any) -> Iterator[tuple[onnx.ModelProto, dict[str, Any]]]:
    """The model with all inputs, with all but the first as constants, and with constants alone."""
    arrays = dict(zip((each.name for each in case.model.graph.input), case.data_sets[0][0], strict=True))
    count = len(arrays)
    for first in (count, 1, 0):
        made = onnx.ModelProto()
        made.CopyFrom(case.model)
        made.ir_version = max(made.ir_version, 10)
        for given in list(made.graph.input)[first:]:
            tensor = numpy_helper.from_array(np.asarray(arrays[given.name]), given.name)
            tensor.data_type = given.type.tensor_type.elem_type
            made.graph.initializer.append(tensor)
            made.graph.input.remove(given)
        yield made, arrays


def check_operators(found: Layers) -> None:
    """Every descriptor is valid, and of an operator that its mapping names."""
    for step, case in found.steps:
        assert decide(case.desc, case.level).outcome is Outcome.ACCEPT
        assert case.data is not None
        assert case.data.keys() == {binding.slot for binding in step.inputs}
        assert case.operator in mappings()["", step.op_type].to


def check_results(found: Layers, given: dict[str, Any], outputs: dict[str, Any], case: Any) -> None:
    chain = Chain(found, given)
    for name, expected in outputs.items():
        expected = np.asarray(expected)
        if not chain.has(name):
            continue  # it is known before
        wanted = as_bytes(expected)
        made = chain.bytes_of(name)[: len(wanted)]
        if expected.dtype.kind == "f":
            rtol, atol = (2e-2, 1e-2) if expected.dtype == np.float16 else (case.rtol, 1e-5)
            numbers = made.view(expected.dtype).reshape(expected.shape)
            np.testing.assert_allclose(numbers.astype(np.float64), expected.astype(np.float64), rtol, atol)
        elif case.model.graph.node[0].op_type in ROUNDED:
            np.testing.assert_allclose(made.view(expected.dtype), expected.ravel(), 0, 1)
        else:
            np.testing.assert_array_equal(made, wanted)


MAPPED = sorted(op_type for domain, op_type in mappings() if not domain)


@pytest.mark.few(20, 80)
@pytest.mark.parametrize("op_type", MAPPED)
def test_steps_compute_what_onnx_expects(op_type: str) -> None:
    mapped = 0
    for case in cases().get(op_type, ()):
        outputs = dict(zip((each.name for each in case.model.graph.output), case.data_sets[0][1], strict=True))
        for made, arrays in variants(case):
            found = layers_of(made, HIGHEST)
            if found.unmapped:
                assert re.search(r"\w", found.unmapped[0].reason)
                continue
            check_operators(found)
            mapped += 1
            if case.name not in OTHER_RESULTS:
                check_results(found, arrays, outputs, case)
    assert mapped or op_type in WITHOUT_CASE


@pytest.mark.parametrize("level", [Level.L1_0, Level.L2_0, Level.L2_1, Level.L3_0, Level.L4_0, Level.L5_0])
def test_older_levels_compute_the_same_or_say_why_not(level: Level) -> None:
    every = (
        "Clip",
        "Slice",
        "Softmax",
        "Gather",
        "MaxPool",
        "Resize",
        "Neg",
        "DepthToSpace",
        "Pad",
        "ArgMax",
        "RoiAlign",
    )
    for op_type in every:
        for case in cases()[op_type]:
            outputs = dict(zip((each.name for each in case.model.graph.output), case.data_sets[0][1], strict=True))
            for made, arrays in variants(case):
                found = layers_of(made, level)
                if not found.unmapped:
                    check_operators(found)
                    # Before there are integers of 64 bits, negative indices are not known to be such.
                    if case.name not in (*OTHER_RESULTS, "test_gather_negative_indices"):
                        check_results(found, arrays, outputs, case)


# --- without a case of ONNX's own ---------------------------------------------------------------------------------


def one(op_type: str, *inputs: tuple[int, ...], opset: int = 21, constants: Any = None, **attributes: Any) -> Layers:
    """The layers of a single node."""
    names = [f"x{n}" for n in range(len(inputs))]
    node = helper.make_node(op_type, [*names, *(constants or ())], ["y"], name="node", **attributes)
    given = [value(name, *sizes) for name, sizes in zip(names, inputs, strict=True)]
    return layers_of(model([node], given, ["y"], constants, opset), HIGHEST)


@pytest.mark.parametrize(
    ("op_type", "inputs", "more", "operator"),
    [
        ("GlobalLpPool", [(1, 2, 3, 3)], {"p": 3}, "LP_POOLING"),
        ("LpPool", [(1, 2, 5, 5)], {"kernel_shape": [2, 2], "p": 1}, "LP_POOLING"),
        ("LRN", [(1, 4, 3, 3)], {"size": 3}, "LOCAL_RESPONSE_NORMALIZATION"),
        ("MaxRoiPool", [(1, 2, 8, 8), (3, 5)], {"pooled_shape": [2, 3]}, "ROI_POOLING"),
        ("Upsample", [(1, 2, 3, 3)], {"opset": 9, "constants": {"s": np.float32([1, 1, 2, 2])}}, "RESAMPLE3"),
        ("Upsample", [(1, 2, 3, 3)], {"opset": 7, "scales": [1.0, 1.0, 2.0, 2.0]}, "RESAMPLE3"),
        ("ReduceLogSumExp", [(2, 3)], {"opset": 13, "axes": [0], "keepdims": 0}, "REDUCE"),
        ("Softmax", [(2, 3, 4)], {"opset": 11, "axis": 1}, "ACTIVATION_SOFTMAX"),
        ("Slice", [(2, 3)], {"opset": 7, "starts": [1], "ends": [9], "axes": [1]}, "SLICE1"),
        ("Pad", [(2, 3)], {"opset": 7, "pads": [0, 1, 1, 0]}, "PADDING1"),
        ("Clip", [(2, 3)], {"opset": 7, "min": 0.0, "max": 1.0}, "ELEMENT_WISE_CLIP1"),
        ("Conv", [(1, 4, 9), (6, 2, 3)], {"group": 2, "auto_pad": "SAME_LOWER", "strides": [2]}, "CONVOLUTION"),
        ("BatchNormalization", [(2, 3), *[(3,)] * 4], {"opset": 7}, "BATCH_NORMALIZATION"),
        ("Einsum", [(2, 3, 4), (5, 2, 4)], {"equation": "bij,kbj->bik"}, "GEMM"),
    ],
)
def test_single_nodes(op_type: str, inputs: list[tuple[int, ...]], more: dict[str, Any], operator: str) -> None:
    found = one(op_type, *inputs, **more)
    assert not found.unmapped
    check_operators(found)
    (layer,) = found.layers
    assert (layer.case.operator, layer.nodes) == (operator, ("node",))


def test_what_is_large_and_known_is_filled() -> None:
    """What is small is known before, and no layer."""
    for count, operators in ((10, []), (10**5, ["FILL_VALUE_SEQUENCE"])):
        ends = {"a": np.float32(1), "b": np.float32(count + 1), "c": np.float32(1)}
        found = one("Range", constants=ends)
        assert [layer.case.operator for layer in found.layers] == operators
    shape = {"s": np.int64([1000, 100])}
    assert one("ConstantOfShape", constants=shape).layers[0].case.operator == "FILL_VALUE_CONSTANT"


def test_reasons() -> None:
    for found, reason in (
        (one("GRU", (2, 1, 3), (1, 12, 3), (1, 12, 4), hidden_size=4, clip=1.0), "clip is what LSTM alone has"),
        (one("Dropout", (2,), opset=13, constants={"r": np.float32(0.5), "t": np.bool_(True)}), "in training mode"),
        (one("Einsum", (2, 3), (3, 2), equation="ij,ji->"), "is no product of matrices in a batch"),
        (one("Slice", (4,), constants={"s": np.int64([9]), "e": np.int64([12])}), ""),
        (one("Det", (3, 3)), "no operator of DirectML does it"),
    ):
        if reason:
            assert reason in found.unmapped[0].reason
            assert found.unmapped[0][:2] == ("node", found.unmapped[0].op_type)
        else:
            assert (found.unmapped, found.layers) == ((), ())  # without elements there is nothing to do


def test_the_rule_that_a_level_asks_for_is_named() -> None:
    node = helper.make_node("Erf", ["x"], ["y"], name="node")
    made = model([node], [value("x", 2)], ["y"])
    assert layers_of(made, Level.L1_0).unmapped[0].reason.startswith("ELEMENT_WISE_ERF.introduced-in at 1_0: ")
    assert not layers_of(made, Level.L2_0).unmapped
    wide = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", 2, kind=TensorProto.BFLOAT16)], ["y"])
    assert "'x' holds BFLOAT16, which DirectML has no data type for" in layers_of(wide, HIGHEST).unmapped[0].reason


def test_what_is_said_to_be_taken_apart_can_be() -> None:
    """For each operator that becomes its function there is a case that is mapped."""
    apart = [each.op_type for each in coverage() if each.way is Way.FUNCTION]
    never = [
        op_type
        for op_type in apart
        if all(layers_of(made, HIGHEST).unmapped for case in cases().get(op_type, ()) for made, _ in variants(case))
    ]
    assert not never
