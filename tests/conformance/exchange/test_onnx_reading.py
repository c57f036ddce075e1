"""Models that are broken, huge, recursive or from elsewhere: a sentence for each, and nothing of their weights."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx_models import model, outside, value

from dml_conformance.conformance.exchange.onnx import graph, reading
from dml_conformance.conformance.exchange.onnx.layers import layers_of
from dml_conformance.conformance.exchange.onnx.reading import OnnxModelError, read_model, without_weights
from dml_conformance.spec.levels import HIGHEST

RELU = helper.make_node("Relu", ["x"], ["y"], name="relu")


def plain() -> ModelProto:
    return model([RELU], [value("x", 2, 3)], ["y"])


def refused(made: ModelProto, dims: dict[str, int] | None = None) -> str:
    with pytest.raises(OnnxModelError) as caught:
        layers_of(made, HIGHEST, dims)
    return str(caught.value)


def unreadable(path: Path) -> str:
    with pytest.raises(OnnxModelError) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


# --- files --------------------------------------------------------------------------------------------------------


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnx.save(plain(), path)
    assert read_model(path) == plain()


def test_no_content_of_weights_is_read(tmp_path: Path) -> None:
    weights = {"w": np.ones((3, 2**20), np.float32), "b": np.ones(2**20, np.float32), "small": np.ones(3, np.float32)}
    made = model([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], [value("x", 2, 3)], ["y"], weights)
    made.graph.node.append(helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(weights["w"])))
    path = tmp_path / "large.onnx"
    onnx.save(made, path)
    tracemalloc.start()
    found = read_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 2**24 > 100 * peak
    lean = without_weights(found)
    assert [each.name for each in lean.graph.input] == ["x", "w", "b", "c"]
    assert [each.name for each in lean.graph.initializer] == ["small"]
    assert layers_of(found, HIGHEST) == layers_of(made, HIGHEST)


def test_a_file_of_more_than_two_gib_is_read(tmp_path: Path) -> None:
    """With a hole in it, where its weights would be."""
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", 2, 3)], ["y"])
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 2**28])
    size = 3 * 2**30
    data = key_and_length(9 << 3 | 2, size)
    tensor = weight.SerializeToString()
    initializer = key_and_length(5 << 3 | 2, len(tensor) + len(data) + size)
    graph = made.graph.SerializeToString()
    made.ClearField("graph")
    whole = key_and_length(7 << 3 | 2, len(graph) + len(initializer) + len(tensor) + len(data) + size)
    path = tmp_path / "huge.onnx"
    with path.open("wb") as stream:
        stream.write(made.SerializeToString() + whole + graph + initializer + tensor + data)
        stream.truncate(stream.tell() + size)
    (layer,) = layers_of(read_model(path), HIGHEST).layers
    assert layer.case.desc.b_tensor.sizes == (1, 1, 3, 2**28)  # type: ignore[attr-defined]


def key_and_length(*numbers: int) -> bytes:
    return reading._key_and_length(*numbers)


def test_files_that_are_no_model(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    assert unreadable(path).endswith("cannot be read: No such file or directory")
    assert "Is a directory" in unreadable(tmp_path)
    for content, problem in (
        (b"", "the file is empty; expected an ONNX model"),
        (b"\x00\x01\x02", "expected an ONNX model"),
        (b"no model at all", "expected an ONNX model"),
        (plain().SerializeToString()[:-4], "it ends within a field; the file is truncated or is something else"),
        (ModelProto(ir_version=8).SerializeToString(), "it has no graph"),
        (b"\xff" * 20, "no number of protobuf"),
        (b"\x3a\x02\x0f\x0f", "no field of protobuf"),
    ):
        path.write_bytes(content)
        assert problem in unreadable(path), content


def test_a_truncated_file_raises_nothing_else(tmp_path: Path) -> None:
    content, path = plain().SerializeToString(), tmp_path / "a.onnx"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with suppress(OnnxModelError):
            layers_of(read_model(path), HIGHEST)


def test_what_is_too_large_without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 2**20)
    made = plain()
    made.doc_string = "x" * 2**21
    path = tmp_path / "a.onnx"
    onnx.save(made, path)
    assert "more than 1 MiB without its weights, the most that is read" in unreadable(path)


# --- models -------------------------------------------------------------------------------------------------------


def test_weights_need_not_be_there() -> None:
    made = model(
        [helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", 1, 3, 8, 8)], ["y"], {"w": outside("w", 4, 3, 3, 3)}
    )
    (layer,) = layers_of(made, HIGHEST).layers
    assert layer.case.desc.filter_tensor.sizes == (4, 3, 3, 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_there", [True, False])
def test_no_file_that_a_model_names_is_opened(is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_there:
        (tmp_path / "weights.bin").write_bytes(bytes(64))
    monkeypatch.chdir(tmp_path)
    constant = helper.make_node("Constant", [], ["c"], value=outside("c", 4, 4))
    body = helper.make_function(
        "own",
        "F",
        ["x"],
        ["y"],
        [constant, helper.make_node("MatMul", ["x", "c"], ["y"])],
        [helper.make_opsetid("", 21)],
    )
    (layer,) = layers_of(calling("F", body, sizes=(2, 4)), HIGHEST).layers
    assert layer.case.desc.b_tensor.sizes == (1, 1, 4, 4)  # type: ignore[attr-defined]
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], value=outside("fill", 1))
    made = model([node], [value("x", 1)], ["y"], {"s": np.int64([3])})
    assert refused(made) == "tensor 'fill': its content is in another file, which is not read"


def test_symbols_that_are_missing_are_named() -> None:
    made = model([RELU], [value("x", "batch", "length", None)], ["y"])
    assert refused(made, {"batch": 2}) == (
        "sizes are missing for length (of input 'x'), x[2] (of input 'x'); give them with --dim length=SIZE --dim "
        "x[2]=SIZE"
    )
    assert not layers_of(made, HIGHEST, {"batch": 2, "length": 3, "x[2]": 4}).unmapped
    assert "--dim bacth: the model has no such symbol; it has batch, length, x[2]" in refused(
        made, {"batch": 2, "length": 3, "x[2]": 4, "bacth": 2}
    )
    assert "--dim n: the model has no such symbol; all of its sizes are known" in refused(plain(), {"n": 1})


def function(name: str, *calls: str) -> onnx.FunctionProto:
    names = ["x", *(f"v{n}" for n in range(1, len(calls))), "y"]
    nodes = [
        helper.make_node(call, [names[n]], [names[n + 1]], domain="" if call == "Relu" else "own")
        for n, call in enumerate(calls)
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, opsets)


def calling(name: str, *functions: onnx.FunctionProto, sizes: tuple[int, ...] = (2, 3)) -> ModelProto:
    node = helper.make_node(name, ["x"], ["y"], name="call", domain="own")
    opsets = [helper.make_opsetid("own", 1)]
    return model([node], [value("x", *sizes)], ["y"], functions=functions, opsets=opsets)


def test_recursive_functions() -> None:
    assert refused(calling("A", function("A", "B"), function("B", "Relu", "A"))) == (
        "function 'A' is recursive: A calls B calls A"
    )
    assert "A calls A" in refused(calling("A", function("A", "A")))


def test_functions_that_call_each_other_very_deep() -> None:
    names = [f"F{n}" for n in range(2000)]
    functions = [function(name, call) for name, call in zip(names, [*names[1:], "Relu"], strict=True)]
    assert "exceeds limit" in (told := refused(calling("F0", *functions))) or "too deep to follow" in told
    assert not layers_of(calling("F1960", *functions[1960:]), HIGHEST).unmapped


def test_functions_that_double_what_they_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_NODES", 1000)
    names = [f"F{n}" for n in range(40)]
    functions = [function(name, call, call) for name, call in zip(names, [*names[1:], "Relu"], strict=True)]
    assert "there are more than 1,000 nodes with it" in refused(calling("F0", *functions))


def test_constants_that_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_KNOWN", 2**20)
    nodes = [helper.make_node("Neg", [f"c{n}"], [f"c{n + 1}"]) for n in range(20)]
    made = model(
        [*nodes, helper.make_node("Add", ["x", "c20"], ["y"])], [value("x", 2**16)], ["y"], {"c0": np.ones(2**16)}
    )
    assert "node 'c3': what is known before anything is executed takes more than 1 MiB" in refused(made)


def test_unknown_domains_and_versions() -> None:
    assert refused(calling("Own")) == (
        "node 'call': Own is of domain 'own', which is not known here, and the model has no function for it"
    )
    assert "opset 99; onnx" in refused(model([RELU], [value("x", 2)], ["y"], opset=99))
    unknown = helper.make_node("Bogus", ["x"], ["y"], name="bogus")
    assert "Bogus" in refused(model([unknown], [value("x", 2)], ["y"]))


BROKEN: dict[str, Callable[[ModelProto], object]] = {
    "an output of nothing": lambda made: made.graph.output.append(value("z", 1)),
    "an input of nothing": lambda made: made.graph.node.append(helper.make_node("Relu", ["z"], ["w"])),
    "the same value twice": lambda made: made.graph.node.append(helper.make_node("Neg", ["x"], ["y"])),
    "no opset": lambda made: made.ClearField("opset_import"),
    "an attribute of the wrong kind": lambda made: made.graph.node[0].attribute.append(
        helper.make_attribute("alpha", "text")
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_the_checker_refuses(what: str) -> None:
    made = plain()
    BROKEN[what](made)
    assert refused(made).startswith("onnx's checker refuses it: ")


def test_a_node_that_contradicts_its_inputs_is_named() -> None:
    made = model([helper.make_node("MatMul", ["x", "x"], ["y"], name="product")], [value("x", 2, 3)], ["y"])
    assert refused(made).startswith("node 'product': MatMul contradicts its inputs: ")


def test_a_model_is_left_as_it_is() -> None:
    made = model([RELU], [value("x", "n", 3)], ["y"])
    before = made.SerializeToString(deterministic=True)
    layers_of(made, HIGHEST, {"n": 2})
    assert made.SerializeToString(deterministic=True) == before


def test_texts_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    """In the second case the inference of onnx 1.23 does not end."""
    path = tmp_path / "a.onnx"
    path.write_bytes(plain().SerializeToString().replace(b"relu", b"\xff\xfe\xfd\xfc"))
    assert "expected names in UTF-8: " in refused(read_model(path))
    node = helper.make_node("Einsum", ["x", "x"], ["y"], name="sum", equation="ij,\u00e9jk->ik")
    assert refused(model([node], [value("x", 2, 2)], ["y"])) == (
        "node 'sum': its equation has letters that are not ASCII"
    )


def test_an_initializer_of_other_sizes() -> None:
    made = model([helper.make_node("Add", ["x", "b"], ["y"])], [value("x", 2)], ["y"], {"b": np.ones(2, np.float32)})
    made.graph.initializer[0].dims[0] = 3
    assert "tensor 'b'" in refused(made) or "TensorProto (tensor name: b)" in refused(made)
