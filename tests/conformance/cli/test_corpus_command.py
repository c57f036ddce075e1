"""`corpus from-model`: what is written and told, what is refused, and runs of such corpora."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from backend_files import write_backend
from commands import certificate, invoke, records_of
from onnx import helper
from onnx_models import model, value

from dml_conformance.conformance.exchange.corpus import MOST_LINE_BYTES, LayerUse, check_corpus
from dml_conformance.conformance.exchange.corpus_files import open_corpus


@pytest.fixture
def network(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Conv", ["b", "w"], ["c"], name="second", pads=[1, 1, 1, 1]),
        helper.make_node("Det", ["c"], ["d"], name="unmapped"),
    ]
    weights = {"w": np.ones((3, 3, 3, 3), np.float32)}
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, [value("x", "batch", 3, 4, 4)], ["c", "d"], weights), path)
    return path


def test_a_corpus_of_layers(network: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.jsonl.zst"
    result = invoke("corpus", "from-model", network, "--dim", "batch=2", "--level", "6_2", "-o", path)
    assert result.exit_code == 0
    assert result.stdout == f"Corpus: {path}, 2 cases of 3 layers; 1 node not mapped\n"
    assert result.stderr == f"{network}: node 'unmapped': Det of opset 21: no operator of DirectML does it\n"
    with open_corpus(path) as reader:
        assert (reader.header.model, reader.header.cases, reader.header.levels) == ("net.onnx", 2, ("6_2",))
        lines = [msgspec.json.decode(line.content) for line in reader.lines()]
    assert [line["layer"] for line in lines] == [
        {"count": 2, "nodes": ["first", "second"]},
        {"count": 1, "nodes": ["relu"]},
    ]
    assert lines[0]["case"]["origin"] == "model/net.onnx: first and 1 more"
    again = tmp_path / "again.jsonl.zst"
    invoke("corpus", "from-model", network, "--dim", "batch=2", "--level", "6_2", "-o", again)
    assert again.read_bytes() == path.read_bytes()


def test_it_goes_to_standard_output(network: Path) -> None:
    result = invoke("corpus", "from-model", network, "--dim", "batch=2", "-o", "-")
    assert len(result.stdout.splitlines()) == 4
    assert result.stdout.startswith('{"corpus":')


def test_what_is_refused(network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.jsonl"
    alone = tmp_path / "alone.onnx"
    onnx.save(model([helper.make_node("Det", ["x"], ["y"])], [value("x", 3, 3)], ["y"]), alone)
    (tmp_path / "text.onnx").write_text("no model", encoding="utf-8")
    for arguments, problem in (
        ([network], f"{network}: sizes are missing for batch (of input 'x'); give them with --dim batch=SIZE"),
        ([network, "--dim", "batch"], "expected a name and a size, such as batch=1; found 'batch'"),
        ([network, "--dim", "batch=0"], "expected a name and a size, such as batch=1; found 'batch=0'"),
        ([alone], f"{alone}: no node of it could be mapped to a descriptor at 6_4"),
        ([tmp_path / "text.onnx"], "text.onnx: expected an ONNX model as protobuf"),
        ([tmp_path / "none.onnx"], "none.onnx: cannot be read: No such file or directory"),
    ):
        result = invoke("corpus", "from-model", *arguments, "-o", path)
        assert result.exit_code == 2
        assert problem in result.stderr
        assert not path.exists()
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = invoke("corpus", "from-model", network, "-o", path)
    assert result.exit_code == 2
    assert "run: pip install 'dml-conformance[onnx]'" in result.stderr


def test_it_replaces_a_corpus_alone(network: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.jsonl"
    path.write_text("mine", encoding="utf-8")
    result = invoke("corpus", "from-model", network, "--dim", "batch=2", "-o", path, "--replace")
    assert result.exit_code == 2
    assert path.read_text(encoding="utf-8") == "mine"


def test_very_many_names_fit_in_a_line(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", [f"v{n}"], [f"v{n + 1}"], name=f"{n:05}{'x' * 500}")
        for n in range(MOST_LINE_BYTES // 500)
    ]
    path, written = tmp_path / "deep.onnx", tmp_path / "deep.jsonl"
    onnx.save(model(nodes, [value("v0", 2)], [nodes[-1].output[0]]), path)
    assert invoke("corpus", "from-model", path, "-o", written).exit_code == 0
    with open_corpus(written) as reader:
        check_corpus(reader)
    layer = msgspec.json.decode(written.read_bytes().splitlines()[1])["layer"]
    assert layer["count"] == len(nodes) > len(layer["nodes"]) > 100
    assert LayerUse.of(["a", "b", "a"]) == LayerUse(3, ("a", "b"))


# --- runs ---------------------------------------------------------------------------------------------------------

WRONG = """
def execute(self, desc, level, inputs, outputs):
    super().execute(desc, level, inputs, outputs)
    if desc.operator == "CONVOLUTION":
        for bound in outputs.values():
            bound.view[:] ^= 64
"""


def test_reports_name_the_layer_that_fails(network: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "net.jsonl", tmp_path / "out"
    invoke("corpus", "from-model", network, "--dim", "batch=2", "-o", path)
    backend = write_backend(tmp_path, WRONG)
    result = invoke("run", path, "--backend", backend, "--out", out)
    assert result.exit_code == 1
    assert "Layer of net.onnx: first and 1 more" in result.stdout
    assert "Layer of net.onnx: first and 1 more" in (out / "junit.xml").read_text(encoding="utf-8")
    assert certificate(out)["environment"]["models"] == "net.onnx"
    assert {record.verdict for record in records_of(out)} == {"pass", "fail"}


def test_results_of_layers_are_not_merged(network: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.jsonl"
    invoke("corpus", "from-model", network, "--dim", "batch=2", "-o", path)
    parts = [tmp_path / f"part-{n}" for n in (1, 2)]
    for n, part in enumerate(parts, 1):
        invoke("run", path, "--backend", "reference", "--shard", f"{n}/2", "--out", part)
    result = invoke("merge", *parts, "--out", tmp_path / "merged")
    assert result.exit_code == 2
    assert "its cases are layers of net.onnx; there is no merging of these: run their corpus whole" in result.stderr


def test_a_corpus_of_another_release_names_its_model(network: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.jsonl"
    invoke("corpus", "from-model", network, "--dim", "batch=2", "-o", path)
    path.write_bytes(path.read_bytes().replace(b'"suite_version":"', b'"suite_version":"9', 1))
    result = invoke("run", path, "--backend", "reference")
    assert result.exit_code == 2
    assert "make it anew of its model, net.onnx" in result.stderr
