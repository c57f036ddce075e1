"""Networks that are stored in a folder in place of the product's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from small_networks import SMALL

from dml_conformance.conformance.exchange.networks import stored
from dml_conformance.conformance.exchange.networks.builder import NetworkGraph
from dml_conformance.conformance.exchange.networks.make import chain_text, network_lines


def tiny() -> tuple[NetworkGraph, list[str]]:
    """A network of three layers, two of which are the same."""
    graph = NetworkGraph("tiny", "fp32")
    x = graph.input("x", (1, 2, 3, 4))
    with graph.scope("block"):
        x = graph.node("Relu", graph.node("Relu", x, name="relu1"), name="relu2")
        x = graph.node("Add", x, graph.weight("bias", 2, 1, 1), name="bias")
    return graph, [x]


def partly_unknown() -> tuple[NetworkGraph, list[str]]:
    """A network with a node that DirectML has no operator for."""
    graph = NetworkGraph("partly", "fp32")
    x = graph.node("Relu", graph.input("x", (1, 2, 3, 4)), name="relu")
    return graph, [graph.node("Det", graph.node("Reshape", x, graph.integers(6, 2, 2)), name="det")]


def late() -> tuple[NetworkGraph, list[str]]:
    """A network of an operator that came with level 6_2."""
    graph = NetworkGraph("late", "fp32")
    return graph, [graph.node("HardSwish", graph.input("x", (1, 2, 3, 4)), name="swish")]


EVERY = SMALL | {"late-fp32-b1": late, "tiny-fp32-b1": tiny, "tiny-fp16-b1": tiny, "partly-fp32-b1": partly_unknown}


def store(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have these networks, and no others."""
    for name in names:
        files = {stored.SUFFIX: network_lines(name, *EVERY[name]()), stored.CHAIN_SUFFIX: chain_text(*EVERY[name]())}
        for suffix, text in files.items():
            (folder / f"{name}{suffix}").write_bytes(zstandard.ZstdCompressor().compress(text))
    monkeypatch.setattr(stored, "_folder", lambda: folder)
