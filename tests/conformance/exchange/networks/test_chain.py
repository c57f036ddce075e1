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
from onnx.reference import ReferenceEvaluator
from small_networks import SMALL, random_feeds, small_network

from dml_conformance.conformance.exchange.networks.carried import Carried, carried_through
from dml_conformance.conformance.exchange.networks.chains import Chain, ChainArray, random_array
from dml_conformance.conformance.exchange.networks.make import chain_of
from dml_conformance.conformance.exchange.networks.stored import stored_chain
from dml_conformance.conformance.exchange.onnx.layers import layers_of
from dml_conformance.spec.levels import Level

DRAWN = [1.7126519680023193, 0.4288369119167328, -0.9040567278862]  # the first numbers of an image


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
    size, runtime = runtime.nbytes, np.ascontiguousarray(runtime)
    _, low, high = (part[:size].view(runtime.dtype).reshape(runtime.shape) for part in found)
    return ~((low <= runtime) & (runtime <= high))


def width(found: Carried, runtime: Any) -> float:
    """The widest enclosure beside the standard deviation of the numbers."""
    _, low, high = found.numbers(runtime.dtype.name)
    return float(np.max(high - low) / max(np.std(runtime), 1e-30))


def network(name: str) -> tuple[Chain, dict[str, Any]]:
    """The chain of a small network, and what a runtime makes of its values, by their names there."""
    model = small_network(name)
    layers = layers_of(model, max(Level))
    assert not layers.unmapped
    known = evaluated(model, random_feeds(model))
    written = {value for step, _ in layers.steps for _, value in step.outputs}
    return chain_of(model, layers), {
        layers.aliases.get(value, value): array
        for value, array in known.items()
        if layers.aliases.get(value, value) in written
    }


@pytest.mark.parametrize("name", SMALL)
def test_each_result_of_a_runtime_is_right_given_what_it_has_before(name: str) -> None:
    chain, known = network(name)
    seen = 0
    for step, value, found in carried_through(chain, known):
        if value in known:
            wrong = outside(found, known[value])
            assert not wrong.any(), f"{step.node}: {wrong.sum()} of {wrong.size} elements"
            seen += 1
    assert seen > len(chain.cases) / 2


@pytest.mark.parametrize("name", [name for name in SMALL if "int8" not in name])
def test_results_lie_in_the_enclosures_that_are_carried_from_one_normalization_to_the_next(name: str) -> None:
    chain, known = network(name)
    widest = 0.0
    for step, value, found in carried_through(chain, {each: known[each] for each in chain.normalized}):
        if value in chain.outputs:
            assert not outside(found, known[value]).any(), step.node
            widest = max(widest, width(found, known[value]))
    assert 0 < widest < 0.02


@pytest.mark.parametrize("name", ["lstm-lm", "yolox-s-head"])
def test_results_lie_in_the_enclosures_that_are_carried_from_end_to_end(name: str) -> None:
    chain, known = network(name)
    found = {value: carried for _, value, carried in carried_through(chain)}
    for output in chain.outputs:
        assert not outside(found[output], known[output]).any(), output
        assert width(found[output], known[output]) < 1e-3, output


def test_what_is_rounded_to_whole_numbers_of_what_is_not_known_exactly_may_be_anything() -> None:
    chain = stored_chain("resnet50-int8-b1")
    found = {value: carried for _, value, carried in carried_through(chain)}
    (output,) = chain.outputs
    _, low, high = found[output].numbers("float32")
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_numbers_are_nearly_normal_and_the_same_everywhere() -> None:
    drawn = random_array("image", ChainArray("float32", (3, 32, 32)))
    assert abs(drawn.mean()) < 0.05
    assert abs(drawn.std() - 1) < 0.05
    assert drawn.ravel()[:3].tolist() == DRAWN
