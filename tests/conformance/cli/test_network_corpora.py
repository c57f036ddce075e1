"""`corpus networks` and `corpus network`: the networks that have names, and their layers as corpora."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import certificate, invoke
from stored_networks import store

from dml_conformance.conformance.exchange.corpus import check_corpus
from dml_conformance.conformance.exchange.corpus_files import open_corpus
from dml_conformance.conformance.exchange.networks.stored import network_names


def test_the_networks_are_listed_with_what_they_are() -> None:
    rows = json.loads(invoke("corpus", "networks", "--format", "json").output)
    assert [row["network"] for row in rows] == list(network_names())
    (row,) = [row for row in rows if row["network"] == "resnet50-fp32-b1"]
    assert row == {
        "network": "resnet50-fp32-b1",
        "parameters": 25_557_032,
        "layers": 174,
        "distinct": 54,
        "level": "1_0",
    }
    told = "resnet50-fp32-b1: 25,557,032 parameters, 174 layers of 54 kinds, from level 1_0 on"
    assert told in invoke("corpus", "networks").output.splitlines()


def test_a_network_is_a_corpus_whose_lines_name_the_nodes(tmp_path: Path) -> None:
    path = tmp_path / "network.jsonl"
    result = invoke("corpus", "network", "resnet50-fp32-b1", "--level", "2_0", "-o", path)
    assert result.exit_code == 0, result.output
    assert "54 cases of 174 layers" in result.output
    with open_corpus(path) as reader:
        assert reader.header.model == "resnet50-fp32-b1"
        assert reader.header.levels == ("2_0",)
        check_corpus(reader)
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]
    assert sum(line["layer"]["count"] for line in lines) == 174
    assert lines[0]["layer"]["nodes"] == ["conv1"]
    assert lines[0]["case"]["origin"] == "model/resnet50-fp32-b1: conv1"


def test_run_judges_the_corpus_of_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "networks").mkdir()
    store(folder, monkeypatch, "tiny-fp32-b1")
    path, out = tmp_path / "network.jsonl.zst", tmp_path / "out"
    assert invoke("corpus", "network", "tiny-fp32-b1", "-o", path).exit_code == 0
    result = invoke("run", path, "--backend", "reference", "--out", out)
    assert result.exit_code == 0, result.output
    assert certificate(out)["counts"]["pass"] == 2


def test_layers_that_a_level_does_not_allow_are_told(tmp_path: Path) -> None:
    path = tmp_path / "network.jsonl"
    result = invoke("corpus", "network", "mobilenetv3-large-fp32-b1", "--level", "6_0", "-o", path)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("ACTIVATION_HARD_SWISH: breaks ACTIVATION_HARD_SWISH.introduced-in at 6_0") == 21


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("vgg16", "there is no network 'vgg16'; there are bert-base-fp16-b1"),
        ("gpt2", "expected the name of one network; gpt2-fp16-b1, gpt2-fp32-b1 begin so"),
    ],
)
def test_a_name_that_is_not_that_of_one_network_is_wrong_usage(name: str, told: str, tmp_path: Path) -> None:
    result = invoke("corpus", "network", name, "-o", tmp_path / "network.jsonl")
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


def test_a_network_of_which_a_level_has_no_layer_leaves_no_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "networks").mkdir()
    store(folder, monkeypatch, "late-fp32-b1")
    path = tmp_path / "network.jsonl"
    result = invoke("corpus", "network", "late-fp32-b1", "--level", "6_0", "-o", path)
    assert result.exit_code == 2
    assert "late-fp32-b1: no layer of it is valid at 6_0" in result.output
    assert not path.exists()
