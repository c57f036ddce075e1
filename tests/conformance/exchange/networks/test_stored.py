"""Layers of networks as the product has them: current, found by name, held against a level."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored_networks import store

from dml_conformance.conformance.exchange.networks.catalogue import NETWORKS
from dml_conformance.conformance.exchange.networks.make import network_lines
from dml_conformance.conformance.exchange.networks.stored import (
    distinct_cases,
    network_at,
    network_names,
    networks_named,
    stored_lines,
)
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.values import check_recipes


def test_there_is_a_file_for_each_network_and_no_other() -> None:
    assert sorted(NETWORKS) == list(network_names())


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_stored_is_what_the_graph_becomes(name: str) -> None:
    assert stored_lines(name) == network_lines(name, *NETWORKS[name]()), "make it again: see make.py"


@pytest.mark.parametrize("name", NETWORKS)
def test_every_layer_is_valid_and_has_data_and_every_node_is_a_layer(name: str) -> None:
    network, cases = network_at(name, max(Level))
    assert network.unmapped == ()
    assert [layer.case for layer in network.layers] == [case.digest for case in cases]
    assert all(case.outcome is Outcome.ACCEPT for case in cases)
    for case in cases:
        check_recipes(case)


def test_resnet50_has_53_convolutions_of_23_kinds() -> None:
    network = network_at("resnet50-fp32-b1", max(Level)).network
    convolutions = [layer for layer in network.layers if layer.operator == "CONVOLUTION"]
    assert len(convolutions) == 23
    assert sum(len(layer.nodes) for layer in convolutions) == 53


def test_a_beginning_names_each_network_that_begins_so() -> None:
    assert networks_named("resnet50") == ("resnet50-fp16-b1", "resnet50-fp32-b1", "resnet50-int8-b1")
    assert networks_named("resnet50-fp16-b1") == ("resnet50-fp16-b1",)
    assert len(networks_named("whisper-tiny")) == 4


@pytest.mark.parametrize("name", ["resnet", "resnet50-", "", "vgg16"])
def test_of_another_name_it_is_told_which_there_are(name: str) -> None:
    with pytest.raises(ValueError, match=f"no network '{name}'; there are bert-base-fp16-b1, bert-base-fp32-b1, "):
        networks_named(name)


def test_what_a_level_does_not_allow_is_unmapped_there() -> None:
    network, cases = network_at("mobilenetv3-large-fp32-b1", Level.L6_0)
    assert {node.type for node in network.unmapped} == {"ACTIVATION_HARD_SWISH"}
    assert len(network.unmapped) == 21
    assert "level 6_2 has all of the network's layers" in network.unmapped[0].reason
    assert all(case.level is Level.L6_0 for case in cases)


def test_equal_layers_of_several_networks_are_one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, monkeypatch, "tiny-fp32-b1", "tiny-fp16-b1")
    networks = [network_at(name, max(Level)) for name in network_names()]
    assert [len(each.cases) for each in networks] == [2, 2]
    assert len(distinct_cases(networks)) == 2
    assert networks[0].network.layers[0].nodes == ("block.relu1", "block.relu2")
