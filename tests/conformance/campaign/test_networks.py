"""`certify --models`: every layer of networks is judged, and what is wrong is told by the name of the layer."""

from __future__ import annotations

from pathlib import Path

import pytest
from backend_files import write_backend
from commands import certificate, invoke, records_of
from msgspec.structs import replace
from stored_networks import store

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.driver import describe_campaign
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.networks import NetworkResult, NetworkVerdict
from dml_conformance.reports.model.records import Ending, Phase
from dml_conformance.reports.model.summary import Summary
from dml_conformance.spec.levels import Level


class _WrongPadding(ReferenceBackend):
    """Pads a strided convolution at its end, where it should at its start."""

    def execute(self, desc, level, inputs, outputs):  # type: ignore[no-untyped-def]
        if desc.operator == "CONVOLUTION" and desc.strides[0] == 2 and any(desc.start_padding):
            both = zip(desc.start_padding, desc.end_padding, strict=True)
            sums = [start + end for start, end in both]
            fields = {"start_padding": tuple(0 for _ in sums), "end_padding": tuple(sums)}
            desc = replace(desc, **fields)
        super().execute(desc, level, inputs, outputs)


class _WrongMask(ReferenceBackend):
    """Adds to every row of attention's scores what a mask has for the first token."""

    def execute(self, desc, level, inputs, outputs):  # type: ignore[no-untyped-def]
        is_mask = desc.operator == "ELEMENT_WISE_ADD" and desc.b_tensor.sizes[1] > 1
        if is_mask and desc.b_tensor.strides and desc.b_tensor.strides[1:3] == (0, 0):
            stretched = replace(desc.b_tensor, strides=(*desc.b_tensor.strides[:3], 0))
            desc = replace(desc, b_tensor=stretched)
        super().execute(desc, level, inputs, outputs)


def _judged(backend: ReferenceBackend, name: str) -> NetworkResult:
    """What a network's phase alone comes to."""
    engine = Engine(Judge(backend, "mine"), (), [max(Level)], BUDGETS["quick"], 0, network_names=[name])
    operators = tuple({case.operator: None for case in engine.cases(Phase.NETWORKS)})
    engine = Engine(engine.judge, operators, engine.levels, engine.budget, 0, network_names=[name])
    summary = Summary()
    summary.start(describe_campaign(engine))
    for case in engine.cases(Phase.NETWORKS):
        summary.record(engine.settled(engine.judge.record(case, Phase.NETWORKS)))
    summary.finish(Ending.now())
    return summary.networks()[0]


@pytest.mark.parametrize("name", ["resnet50", "bert-base", "resnet50-int8", "lstm-lm"])
def test_every_layer_of_a_network_is_right_on_the_reference(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, name)
    assert _judged(ReferenceBackend(), name).verdict is NetworkVerdict.RIGHT


def test_wrong_padding_of_a_strided_convolution_is_told_by_the_layers_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "resnet50")
    found = _judged(_WrongPadding(), "resnet50")
    strided = {"conv1", "layer2.0.conv2", "layer3.0.conv2", "layer4.0.conv2"}
    assert {layer.layer.nodes[0] for layer in found.wrong} == strided
    assert all("elements differ" in layer.outcome.reason for layer in found.wrong if layer.outcome)


def test_a_mask_that_is_stretched_along_the_wrong_axis_is_told_by_the_layer_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "bert-base")
    found = _judged(_WrongMask(), "bert-base")
    assert [layer.layer.nodes for layer in found.wrong] == [("layer.0.attention.mask", "layer.1.attention.mask")]


def test_the_layers_of_a_network_are_judged_and_timed_and_a_package_with_it_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "networks").mkdir()
    store(folder, monkeypatch, "tiny-fp32-b1")
    scope = ("--models", "tiny-fp32-b1", "--budget", "quick")
    result = invoke("certify", "--backend", "reference", *scope, "--package", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = certificate(tmp_path / "out")
    assert found["run"]["operators"] == ["ELEMENT_WISE_ADD", "ACTIVATION_RELU"]
    (network,) = found["networks"]
    assert (network["name"], network["verdict"]) == ("tiny-fp32-b1", "right")
    assert [layer["nodes"] for layer in network["layers"]] == [["block.relu1", "block.relu2"], ["block.bias"]]
    assert network["seconds"] > 0
    assert network["copy_seconds"] > 0
    layers = [record for record in records_of(tmp_path / "out") if record.phase is Phase.NETWORKS]
    assert [record.case_json["origin"] for record in layers] == [
        "model/tiny-fp32-b1: block.relu1 and 1 more",
        "model/tiny-fp32-b1: block.bias",
    ]
    result = invoke("verify", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "networks 2" in result.output


def test_a_wrong_layer_is_told_by_its_name_in_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "networks").mkdir()
    store(folder, monkeypatch, "tiny-fp32-b1")
    wrong = """
        def execute(self, desc, level, inputs, outputs):
            super().execute(desc, level, inputs, outputs)
            if desc.operator == "ELEMENT_WISE_ADD" and desc.output_tensor.sizes == (1, 2, 3, 4):
                outputs["output_tensor"].view[:4] = 0x11
    """
    name = write_backend(tmp_path, wrong)
    scope = ("--models", "tiny-fp32-b1", "--budget", "quick", "--cases", "0")
    result = invoke("certify", "--backend", name, *scope, "--no-throughput", "--out", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert "tiny-fp32-b1: block.bias, ELEMENT_WISE_ADD: OutputTensor: 1 of 24 elements differ" in result.output


def test_a_network_with_a_node_that_is_no_layer_is_incomplete_and_the_run_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "partly-fp32-b1")
    found = _judged(ReferenceBackend(), "partly-fp32-b1")
    assert found.verdict is NetworkVerdict.INCOMPLETE
    assert [(node.node, node.type) for node in found.network.unmapped] == [("det", "Det")]


def test_a_network_of_which_the_level_has_no_layer_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "late-fp32-b1")
    out = tmp_path / "out"
    result = invoke("certify", "--backend", "reference", "--models", "late", "--level", "6_0", "--out", out)
    assert result.exit_code == 2
    told = "--models: no layer of late-fp32-b1 is valid at 6_0; all are from level 6_2 on"
    assert told in " ".join(result.output.split())
    assert not out.exists()


def test_an_unknown_network_is_wrong_usage_and_those_that_there_are_are_told(tmp_path: Path) -> None:
    result = invoke("certify", "--backend", "reference", "--models", "resnet50,vgg16", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "there is no network 'vgg16'; there are bert-base-fp16-b1" in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()
