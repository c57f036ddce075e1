"""The named networks at sizes that are executed in no time, and random numbers to execute them on."""

from __future__ import annotations

from typing import Any

import onnx

from dml_conformance.conformance.exchange.networks.catalogue import REDUCED
from dml_conformance.conformance.exchange.networks.chains import random_array
from dml_conformance.conformance.exchange.networks.make import input_arrays

SMALL = {name.removesuffix("-b1").removesuffix("-fp32"): make for name, make in REDUCED.items() if "fp16" not in name}


def small_network(name: str) -> onnx.ModelProto:
    """The model of a small network."""
    graph, outputs = SMALL[name]()
    return graph.model(*outputs)


def random_feeds(model: onnx.ModelProto, seed: int = 0) -> dict[str, Any]:
    """Numbers for every input of a model."""
    return {name: random_array(name, array, seed) for name, array in input_arrays(model).items()}
