"""The layers of whole models: what is known before, what is inlined, what is one layer, and the chain of all steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from layer_chain import Chain
from onnx import TensorProto, helper
from onnx_models import model, value

from dml_conformance.conformance.exchange.dxdispatch.exporting import export
from dml_conformance.conformance.exchange.dxdispatch.importing import import_document
from dml_conformance.conformance.exchange.onnx import graph
from dml_conformance.conformance.exchange.onnx.layers import Layers, OnnxModelError, layers_of
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.values import check_recipes

make = helper.make_node
Array = npt.NDArray[Any]


def operators(found: Layers) -> list[str]:
    """What is executed, in turn."""
    return [case.operator for _, case in found.steps]


def numbers(*sizes: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def computed(made: onnx.ModelProto, given: dict[str, Array]) -> list[Array]:
    """What onnxruntime's kernels make of a model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, given))


def agrees(made: onnx.ModelProto, given: dict[str, Array], level: Level = HIGHEST) -> Layers:
    """The layers of a model, whose steps compute what onnxruntime computes of it."""
    found = layers_of(made, level)
    assert found.unmapped == ()
    chain = Chain(found, given)
    for output, array in zip(made.graph.output, computed(made, given), strict=True):
        wanted = np.asarray(array)
        result = chain.bytes_of(output.name)[: wanted.nbytes].view(wanted.dtype).reshape(wanted.shape)
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)
    return found


# --- what is known ------------------------------------------------------------------------------------------------


def test_what_is_computed_of_shapes_is_known() -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["first"]),
        make("Unsqueeze", ["first", "axes"], ["rows"]),
        make("Concat", ["rows", "rest"], ["sizes"], axis=0),
        make("Reshape", ["x", "sizes"], ["flat"]),
        make("Softmax", ["flat"], ["y"]),
    ]
    constants = {"zero": np.int64(0), "axes": np.int64([0]), "rest": np.int64([-1])}
    found = agrees(model(nodes, [value("x", 2, 3, 4)], ["y"], constants), {"x": numbers(2, 3, 4)})
    assert operators(found) == ["ACTIVATION_SOFTMAX1"]
    assert found.layers[0].case.desc.input_tensor.sizes == (1, 1, 2, 12)  # type: ignore[attr-defined]
    assert found.aliases == {"flat": "x"}


def test_constants_that_steps_read_are_there() -> None:
    nodes = [
        make("Constant", [], ["c"], value_float=2.0),
        make("Mul", ["c", "w"], ["f"]),
        make("Add", ["x", "f"], ["y"]),
    ]
    made = model(nodes, [value("x", 3)], ["y"], {"w": np.float32([1, 2, 3]), "unused": np.float32([1])})
    found = agrees(made, {"x": numbers(3)})
    assert operators(found) == ["ELEMENT_WISE_ADD"]
    assert {name: array.tolist() for name, array in found.constants.items()} == {"f": [2, 4, 6]}


def test_constants_may_be_infinite() -> None:
    nodes = [make("Div", ["one", "zero"], ["inf"]), make("Min", ["x", "inf"], ["y"])]
    found = agrees(
        model(nodes, [value("x", 3)], ["y"], {"one": np.float32([1]), "zero": np.float32([0])}), {"x": numbers(3)}
    )
    assert found.constants["inf"].tolist() == [np.inf]


def test_what_is_known_only_when_the_model_runs() -> None:
    nodes = [make("Add", ["n", "n"], ["m"]), make("Expand", ["x", "m"], ["y"]), make("Relu", ["y"], ["z"])]
    found = layers_of(model(nodes, [value("x", 1), value("n", 2, kind=TensorProto.INT64)], ["z"]), HIGHEST)
    assert operators(found) == ["ELEMENT_WISE_ADD"]
    assert [(told.node, told.reason) for told in found.unmapped] == [
        ("y", "size 0 of 'y' depends on data"),
        ("z", "size 0 of 'z' depends on data"),
    ]


# --- layers -------------------------------------------------------------------------------------------------------


def test_equal_descriptors_are_one_layer() -> None:
    nodes = [make("Relu", ["x"], ["a"], name="one"), make("Relu", ["a"], ["b"], name="two"), make("Neg", ["b"], ["y"])]
    relu, negative = layers_of(model(nodes, [value("x", 2)], ["y"]), HIGHEST, name="net.onnx").layers
    assert (relu.count, relu.nodes, relu.case.origin) == (2, ("one", "two"), "model/net.onnx: one and 1 more")
    assert (negative.count, negative.nodes, negative.case.origin) == (1, ("y",), "model/net.onnx: y")
    for layer in (relu, negative):
        assert layer.case.outcome is Outcome.ACCEPT
        check_recipes(layer.case)
        assert layer.case.rule.startswith(f"{layer.case.operator}.")


def test_the_same_model_gives_the_same_cases() -> None:
    made = model([make("Relu", ["x"], ["y"])], [value("x", 2)], ["y"])
    assert layers_of(made, HIGHEST) == layers_of(made, HIGHEST)


def network() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A network with convolutions, a skip, an attention of its own, a recurrent layer and a loss of dimensions."""
    weights = {
        "w1": numbers(8, 3, 3, 3, seed=2),
        "w2": numbers(8, 8, 3, seed=3),
        "gamma": numbers(8, seed=4),
        "beta": numbers(8, seed=5),
        "rnn_w": numbers(1, 16, 8, seed=6),
        "rnn_r": numbers(1, 16, 4, seed=7),
        "scale": np.float32(0.5),
        "sizes": np.int64([2, 8, -1]),
    }
    nodes = [
        make("Conv", ["x", "w1"], ["c1"], name="stem", strides=[2, 2], auto_pad="SAME_UPPER"),
        make("HardSwish", ["c1"], ["a1"], name="swish"),
        make("Reshape", ["a1", "sizes"], ["r1"], name="flatten"),
        make("Conv", ["r1", "w2"], ["c2"], name="mix", pads=[1, 1]),
        make("Add", ["c2", "r1"], ["s1"], name="skip"),
        make("Transpose", ["s1"], ["t1"], name="turn", perm=[0, 2, 1]),
        make("LayerNormalization", ["t1", "gamma", "beta"], ["n1"], name="norm"),
        make("Transpose", ["n1"], ["k1"], name="keys", perm=[0, 2, 1]),
        make("MatMul", ["n1", "k1"], ["m1"], name="scores"),
        make("Mul", ["m1", "scale"], ["m2"], name="scaled"),
        make("Softmax", ["m2"], ["p1"], name="weights", axis=-1),
        make("MatMul", ["p1", "n1"], ["o1"], name="mixed"),
        make("Transpose", ["o1"], ["q1"], name="in_turn", perm=[1, 0, 2]),
        make("LSTM", ["q1", "rnn_w", "rnn_r"], ["", "h1"], name="memory", hidden_size=4),
        make("Squeeze", ["h1", "axis"], ["h2"], name="last"),
        make("ReduceMean", ["h2"], ["y"], name="mean", axes=[1], keepdims=0),
    ]
    weights["axis"] = np.int64([0])
    return model(nodes, [value("x", 2, 3, 8, 8)], ["y"], weights, opset=17), {"x": numbers(2, 3, 8, 8)}


@pytest.mark.parametrize("level", [Level.L3_0, Level.L5_1, HIGHEST])
def test_the_chain_of_all_steps_computes_the_model(level: Level) -> None:
    found = agrees(*network(), level)
    nodes = {step.node.partition("/")[0] for step, _ in found.steps}
    assert nodes >= {"stem", "mix", "skip", "norm", "scores", "memory", "mean"}
    assert {"r1", "h2"} <= set(found.aliases)


def test_descriptors_survive_a_dxdispatch_model(tmp_path: Path) -> None:
    for layer in layers_of(network()[0], HIGHEST).layers:
        exported = export(layer.case, inline=False)
        for name, content in exported.all_files().items():
            (tmp_path / name).write_bytes(content)
        (imported,) = import_document(exported.model, "model.json", tmp_path).cases
        assert imported.case.desc == layer.case.desc
        assert imported.case.digest == layer.case.digest


def test_integers_of_64_bits_at_levels_without_them() -> None:
    """They are every second one of 32 bits; not where they are known to be below 0, and not in arithmetic."""
    node = make("Gather", ["x", "i"], ["y"], name="node")
    made = model([node], [value("x", 5, 2), value("i", 3, kind=TensorProto.INT64)], ["y"])
    given = {"x": numbers(5, 2), "i": np.int64([4, 0, 3])}
    indices = agrees(made, given, Level.L2_1).layers[0].case.desc.indices_tensor  # type: ignore[attr-defined]
    assert (indices.data_type, indices.sizes, indices.strides) == (DataType.UINT32, (1, 1, 1, 3), (6, 6, 6, 2))
    assert indices.total_tensor_size_in_bytes == given["i"].nbytes
    for low, told in ((-1, 1), (0, 0)):
        fixed = model([node], [value("x", 5, 2)], ["y"], {"i": np.int64([low, 2])})
        assert len(layers_of(fixed, Level.L2_1).unmapped) == told
    add = model([make("Add", ["i", "i"], ["y"])], [value("i", 3, kind=TensorProto.INT64)], ["y"])
    assert "ELEMENT_WISE_ADD.data-types at 2_1" in layers_of(add, Level.L2_1).unmapped[0].reason


# --- functions and control flow -----------------------------------------------------------------------------------


def test_functions_are_taken_apart() -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    inner = helper.make_function(
        "own", "Inner", ["a"], ["b"], [leaky := make("LeakyRelu", ["a"], ["b"], name="leaky")], opsets, ["slope"]
    )
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    del inner.node[:]
    inner.node.append(leaky)
    outer = helper.make_function(
        "own",
        "Outer",
        ["a"],
        ["c"],
        [make("Inner", ["a"], ["b"], name="in", domain="own", slope=0.25), make("Add", ["a", "b"], ["c"], name="sum")],
        opsets,
    )
    nodes = [
        make("Outer", ["x"], ["h"], name="one", domain="own"),
        make("Outer", ["h"], ["y"], name="two", domain="own"),
    ]
    made = model(nodes, [value("x", 3)], ["y"], opset=17, functions=[inner, outer], opsets=[opsets[1]])
    found = agrees(made, {"x": numbers(3)})
    assert [step.node for step, _ in found.steps] == ["one/in/leaky", "one/sum", "two/in/leaky", "two/sum"]
    assert found.layers[0].case.desc.alpha == 0.25  # type: ignore[attr-defined]


def branch(name: str, *nodes: onnx.NodeProto, output: str = "b") -> onnx.GraphProto:
    return helper.make_graph(list(nodes), name, [], [value(output, 3)])


@pytest.mark.parametrize(("condition", "operator"), [(True, "ACTIVATION_RELU"), (False, "ELEMENT_WISE_NEGATE")])
def test_a_branch_whose_condition_is_known(condition: bool, operator: str) -> None:
    node = make(
        "If",
        ["c"],
        ["y"],
        name="choice",
        then_branch=branch("then", make("Relu", ["x"], ["b"], name="relu")),
        else_branch=branch("else", make("Neg", ["x"], ["b"], name="neg")),
    )
    made = model([node], [value("x", 3)], ["y"], {"c": np.bool_(condition)})
    found = agrees(made, {"x": numbers(3)})
    assert operators(found) == [operator]
    assert found.steps[0][0].node == f"choice/{'relu' if condition else 'neg'}"
    made.graph.initializer.remove(made.graph.initializer[0])
    made.graph.input.append(value("c", kind=TensorProto.BOOL))
    assert layers_of(made, HIGHEST).unmapped[0].reason == "which branch is taken depends on data"


def looping(turns: int, **more: Any) -> onnx.ModelProto:
    """x, doubled and stacked in each turn."""
    body = helper.make_graph(
        [make("Add", ["v", "v"], ["w"], name="add"), make("Identity", ["w"], ["s"]), make("Identity", ["go"], ["on"])],
        "body",
        [value("i", kind=TensorProto.INT64), value("go", kind=TensorProto.BOOL), value("v", 3)],
        [value("on", kind=TensorProto.BOOL), value("w", 3), value("s", 3)],
    )
    node = make("Loop", ["n", "", "x"], ["y", "all"], name="loop", body=body)
    return model([node], [value("x", 3)], ["y", "all"], {"n": np.int64(turns)}, **more)


def test_the_turns_of_a_loop_stand_one_after_the_other() -> None:
    found = agrees(looping(3), {"x": numbers(3)})
    assert [step.node for step, _ in found.steps] == ["loop/0/add", "loop/1/add", "loop/2/add", "loop/all"]
    assert [layer.count for layer in found.layers] == [3, 1]


def test_a_loop_of_very_many_turns_is_told() -> None:
    found = layers_of(looping(10**6), HIGHEST)
    assert found.layers == ()
    assert found.unmapped[0].reason == f"its body is executed more than {graph.MOST_TURNS} times"


def test_there_is_an_end_to_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_NODES", 10)
    with pytest.raises(OnnxModelError, match="there are more than 10 nodes with it"):
        layers_of(looping(100), HIGHEST)


# --- com.microsoft ------------------------------------------------------------------------------------------------


def bytes_(*sizes: int, kind: Any = np.uint8, seed: int = 1) -> Array:
    limits = np.iinfo(kind)
    return np.random.default_rng(seed).integers(limits.min, limits.max, sizes).astype(kind)


PLACES = np.random.default_rng(1).integers(0, 7, (2, 3))
IDS = PLACES.astype(np.int32)
S, Z = np.float32(0.1), np.uint8(3)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
# By the operator, with more of a name where there are several: inputs, None where one is left out, and attributes.
NODES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "FusedMatMul": ([numbers(2, 3, 4), numbers(2, 5, 4)], {"transB": 1, "alpha": 0.5}),
    "Gelu": ([numbers(2, 3)], {}),
    "BiasGelu": ([numbers(2, 3), numbers(3)], {}),
    "QuickGelu": ([numbers(2, 3)], {"alpha": 1.702}),
    "SkipLayerNormalization": ([numbers(2, 3, 8), numbers(2, 3, 8), *[numbers(8)] * 3], {}),
    "SkipSimplifiedLayerNormalization": ([numbers(2, 3, 8), numbers(2, 3, 8), numbers(8)], {}),
    "MatMulIntegerToFloat": ([bytes_(2, 4), bytes_(4, 3), S, numbers(3), Z, bytes_(3)], {}),
    "DynamicQuantizeMatMul": ([numbers(2, 4), bytes_(4, 3), S, Z, numbers(3)], {}),
    "QLinearAdd": ([bytes_(2, 3), S, Z, bytes_(2, 3), S, Z, S, Z], {}),
    "QLinearSigmoid": ([bytes_(2, 3), S, Z, np.float32(1 / 256), np.uint8(0)], {}),
    "QLinearConcat": ([S, Z, bytes_(2, 3), S, Z, bytes_(2, 4), S, Z], {"axis": 1}),
    "QLinearAveragePool": ([bytes_(1, 2, 6, 6), S, Z, S, Z], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "QLinearGlobalAveragePool": ([bytes_(1, 2, 6, 6), S, Z, S, Z], {}),
    "QuantizeLinear": ([numbers(2, 3), S, Z], {}),
    "DequantizeLinear": ([bytes_(2, 3), S, Z], {}),
    "Attention": ([numbers(2, 3, 8), numbers(8, 24), numbers(24), MASK[:, :3].copy()], {"num_heads": 2}),
    "MultiHeadAttention": (
        [numbers(2, 3, 8), numbers(2, 5, 8), numbers(2, 5, 8), numbers(24), MASK],
        {"num_heads": 2},
    ),
    "MatMulNBits": (
        [numbers(2, 64), bytes_(5, 2, 16), abs(numbers(10)), bytes_(5)],
        {"K": 64, "N": 5, "bits": 4, "block_size": 32},
    ),
    "RotaryEmbedding": ([numbers(2, 3, 16), PLACES, numbers(9, 4, seed=2), numbers(9, 4, seed=3)], {}),
    "RotaryEmbedding interleaved": (
        [numbers(2, 3, 16), np.int64([2]), numbers(9, 4, seed=2), numbers(9, 4, seed=3)],
        {"interleaved": 1},
    ),
    "EmbedLayerNormalization": (
        [IDS, IDS % 2, numbers(7, 8), numbers(4, 8, seed=2), numbers(2, 8, seed=3), numbers(8), numbers(8)],
        {},
    ),
    "EmbedLayerNormalization placed": (
        [IDS, None, numbers(7, 8), numbers(7, 8, seed=2), None, numbers(8), numbers(8), IDS % 2, IDS[:, ::-1].copy()],
        {},
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_operators_of_microsoft_are_what_onnxruntime_has(name: str) -> None:
    (arrays, attributes), op_type = NODES[name], name.partition(" ")[0]
    names = [f"x{n}" if array is not None else "" for n, array in enumerate(arrays)]
    given = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    inputs = [value(n, *a.shape, kind=helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in given.items()]
    node = make(op_type, names, ["y"], name="node", domain="com.microsoft", **attributes)
    made = model([node], inputs, ["y"], opset=17)
    if op_type == "EmbedLayerNormalization":
        node.output.append("mask")
        made = model([node], inputs, ["y", "mask"], opset=17)
        made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT32
    if op_type.startswith("Q") and op_type != "QuickGelu":
        made.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    results = computed(made, given)
    found = layers_of(made, HIGHEST)
    assert found.unmapped == ()
    chain = Chain(found, given)
    for output, expected in zip(made.graph.output, results, strict=True):
        result = chain.bytes_of(output.name)[: expected.nbytes].view(expected.dtype).reshape(expected.shape)
        tolerance = {np.dtype(np.float32): (1e-4, 2e-5), np.dtype(np.uint8): (0, 1)}.get(expected.dtype, (0, 0))
        np.testing.assert_allclose(result.astype(np.float64), expected.astype(np.float64), *tolerance)


@pytest.mark.parametrize(
    ("op_type", "sizes", "attributes", "made"),
    [
        ("FastGelu", [(2, 3), (3,)], {}, ["ELEMENT_WISE_ADD", "ACTIVATION_GELU"]),
        ("BiasAdd", [(2, 3, 4), (4,), (2, 3, 4)], {}, ["ELEMENT_WISE_ADD", "ELEMENT_WISE_ADD"]),
        (
            "BiasSplitGelu",
            [(2, 3, 8), (8,)],
            {},
            ["ELEMENT_WISE_ADD", "SPLIT", "ACTIVATION_GELU", "ELEMENT_WISE_MULTIPLY"],
        ),
        (
            "GroupNorm",
            [(2, 3, 3, 8), (8,), (8,)],
            {"groups": 4, "activation": 1},
            ["MEAN_VARIANCE_NORMALIZATION1", "ACTIVATION_SIGMOID", "ELEMENT_WISE_MULTIPLY"],
        ),
        ("MultiHeadAttention", [(2, 3, 2, 3, 4)], {"num_heads": 2}, ["MULTIHEAD_ATTENTION"]),
        ("MultiHeadAttention", [(2, 3, 8), (2, 5, 2, 2, 4)], {"num_heads": 2}, ["MULTIHEAD_ATTENTION"]),
    ],
)
def test_operators_that_onnxruntime_has_no_kernel_of_here(
    op_type: str, sizes: list[tuple[int, ...]], attributes: dict[str, Any], made: list[str]
) -> None:
    names = [f"x{n}" for n in range(len(sizes))]
    node = make(op_type, names, ["y"], domain="com.microsoft", **attributes)
    inputs = [value(name, *each) for name, each in zip(names, sizes, strict=True)]
    found = layers_of(model([node], inputs, ["y"], opset=17), HIGHEST)
    assert found.unmapped == ()
    assert operators(found) == made
    Chain(found, {name: numbers(*each) for name, each in zip(names, sizes, strict=True)})


def test_operators_of_microsoft_that_are_not_mapped() -> None:
    node = make("QAttention", ["x"], ["y"], name="turn", domain="com.microsoft")
    (told,) = layers_of(model([node], [value("x", 2, 3)], ["y"]), HIGHEST).unmapped
    assert told[:4] == ("turn", "QAttention", "com.microsoft", 1)
    assert told.reason == "it takes a product of integers before the attention"
