"""Small networks as chains of descriptors: what the reference makes of them is what a runtime of ONNX makes of them.

Node by node, each result of the runtime lies in what is right of the node, given what the runtime has before it. So it
does where enclosures are carried through layers. Intervals forget that errors come of the same numbers, so through deep
networks they grow until they say nothing; a normalization begins anew with the runtime's numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from carried import Carried, chained
from onnx.reference import ReferenceEvaluator
from small_networks import SMALL, random_feeds, small_network

from dml_conformance.conformance.exchange.onnx.layers import Layers, layers_of
from dml_conformance.spec.levels import Level

NORMALIZING = ("LayerNormalization", "BatchNormalization", "InstanceNormalization", "Softmax")


def evaluated(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
    """What onnx's own evaluator makes of every value of a model."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return dict(zip(names, ReferenceEvaluator(whole).run(None, feeds), strict=True))


def outside(found: Carried, runtime: Any) -> Any:
    """Where a runtime's result does not lie in what is right."""
    _, low, high = found.numbers(np.ascontiguousarray(runtime))
    return ~((low <= runtime) & (runtime <= high))


def width(found: Carried, runtime: Any) -> float:
    """The widest enclosure beside the standard deviation of the numbers."""
    _, low, high = found.numbers(np.ascontiguousarray(runtime))
    return float(np.max(high.astype(np.float64) - low) / max(np.std(runtime), 1e-30))


def network(name: str) -> tuple[onnx.ModelProto, Layers, dict[str, Any], dict[str, Any]]:
    """A small network, its layers, random numbers for it and what comes of these."""
    model = small_network(name)
    layers, feeds = layers_of(model, max(Level)), random_feeds(model)
    assert not layers.unmapped
    return model, layers, feeds, evaluated(model, feeds)


@pytest.mark.parametrize("name", SMALL)
def test_each_result_of_a_runtime_is_right_given_what_it_has_before(name: str) -> None:
    _, layers, feeds, known = network(name)
    seen = 0
    for step, value, found in chained(layers, feeds, known):
        if value in known:
            wrong = outside(found, known[value])
            assert not wrong.any(), f"{step.node}: {wrong.sum()} of {wrong.size} elements"
            seen += 1
    assert seen > len(layers.layers) / 2


@pytest.mark.parametrize("name", [name for name in SMALL if "int8" not in name])
def test_results_lie_in_the_enclosures_that_are_carried_from_one_normalization_to_the_next(name: str) -> None:
    model, layers, feeds, known = network(name)
    begun = {output for node in model.graph.node if node.op_type in NORMALIZING for output in node.output}
    outputs = {layers.aliases.get(output.name, output.name): output.name for output in model.graph.output}
    widest = 0.0
    for step, value, found in chained(layers, feeds, {each: known[each] for each in begun}):
        if (seen := known.get(outputs.get(value, value))) is not None:
            assert not outside(found, seen).any(), step.node
            widest = max(widest, width(found, seen))
    assert 0 < widest < 0.02


@pytest.mark.parametrize("name", ["lstm-lm", "yolox-s-head"])
def test_results_lie_in_the_enclosures_that_are_carried_from_end_to_end(name: str) -> None:
    model, layers, feeds, known = network(name)
    found = {value: carried for _, value, carried in chained(layers, feeds, {})}
    for output in model.graph.output:
        carried = found[layers.aliases.get(output.name, output.name)]
        assert not outside(carried, known[output.name]).any(), output.name
        assert width(carried, known[output.name]) < 1e-3, output.name
