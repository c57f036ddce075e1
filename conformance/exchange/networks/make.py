"""Makes the layers and chains that the product has of each named network, of its graph; needs the onnx package.

python -m dml_conformance.conformance.exchange.networks.make            writes them
python -m dml_conformance.conformance.exchange.networks.make --check    names what is not current; ends with 1 if any is
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import onnx
import zstandard
from msgspec.structs import replace
from onnx import helper

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph
from dml_conformance.conformance.exchange.networks.catalogue import NETWORKS, REDUCED
from dml_conformance.conformance.exchange.networks.chains import Chain, ChainArray, ChainStep
from dml_conformance.conformance.exchange.networks.stored import CHAIN_SUFFIX, SUFFIX, StoredLayer, StoredNetwork
from dml_conformance.conformance.exchange.onnx.layers import Layers, ModelLayer, layers_of
from dml_conformance.reports.model.records import UnmappedNode
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.cases import patterns
from dml_conformance.strategies.values import IN_RANGE, MODERATE, POSITIVE, SCALES, WEIGHTS

# Patterns of numbers of either sign and like sizes; of those that have a sign, and of scales.
ORDINARY = (MODERATE, WEIGHTS, POSITIVE, SCALES)
NORMALIZING = ("LayerNormalization", "BatchNormalization", "InstanceNormalization", "Softmax")
FOLDER = Path(__file__).with_name("data")


def network_lines(name: str, graph: NetworkGraph, outputs: Sequence[str]) -> bytes:
    """The lines of a network, as the newest level maps it."""
    found = layers_of(graph.model(*outputs), max(Level))
    unmapped = tuple(UnmappedNode(each.node, each.op_type, each.reason) for each in found.unmapped)
    level = min(level for level in Level if all(_is_valid(layer, level) for layer in found.layers))
    first = StoredNetwork(name, graph.parameters, level.label, unmapped)
    lines = [first, *(StoredLayer(layer.nodes, _with_ordinary_data(layer.case).to_json()) for layer in found.layers)]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def chain_of(model: onnx.ModelProto, layers: Layers) -> Chain:
    """A model as the chain of its steps; of no step where a node is no layer.

    Args:
        model: it.
        layers: of the model.
    """
    if layers.unmapped:
        return Chain({}, {}, (), (), {}, ())
    names, places = layers.aliases, {layer.case.desc: place for place, layer in enumerate(layers.layers)}
    graph = model.graph
    types = {value.name: _type(value) for value in graph.output}
    return Chain(
        input_arrays(model),
        {name: ChainArray(array.dtype.name, array.shape, array.tobytes()) for name, array in layers.constants.items()},
        tuple(_with_ordinary_data(layer.case).to_json() for layer in layers.layers),
        tuple(
            ChainStep(
                step.node,
                places[case.desc],
                {slot: names.get(value, value) for slot, value in step.inputs},
                dict(step.outputs),
            )
            for step, case in layers.steps
        ),
        {names.get(name, name): kind for name, kind in types.items()},
        tuple(names.get(name, name) for node in graph.node if node.op_type in NORMALIZING for name in node.output),
    )


def input_arrays(model: onnx.ModelProto) -> dict[str, ChainArray]:
    """Types and shapes of a model's inputs, by name."""
    return {value.name: ChainArray(_type(value), _shape(value)) for value in model.graph.input}


def chain_text(graph: NetworkGraph, outputs: Sequence[str]) -> bytes:
    """The chain of a network, as the newest level maps it."""
    model = graph.model(*outputs)
    return msgspec.json.encode(chain_of(model, layers_of(model, max(Level)))) + b"\n"


def _type(value: onnx.ValueInfoProto) -> str:
    return np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)).name


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _with_ordinary_data(case: Case) -> Case:
    """The case with numbers as they occur in networks, and any indices in range."""
    spec, data = spec_of(case.desc), {}
    for seed, slot in enumerate(inputs(case.desc)):
        known = patterns(spec, slot.field)
        pattern = next((pattern for pattern in ORDINARY if pattern in known), known[0])
        is_index = spec.index is not None and slot.key == spec.index.indices
        data[slot.key] = Recipe(IN_RANGE if is_index else pattern, seed)
    return replace(case, data=data, origin="")


def _is_valid(layer: ModelLayer, level: Level) -> bool:
    return decide(layer.case.desc, level).outcome is Outcome.ACCEPT


def main(arguments: list[str]) -> int:
    """Write or check the files; returns the exit code."""
    made = {f"{name}{SUFFIX}": network_lines(name, *make()) for name, make in NETWORKS.items()}
    made |= {f"{name}{CHAIN_SUFFIX}": chain_text(*make()) for name, make in REDUCED.items()}
    if arguments == ["--check"]:
        stale = [file for file, text in made.items() if not _is_current(FOLDER / file, text)]
        stale += [path.name for path in FOLDER.iterdir() if path.name not in made]
        for file in stale:
            print(f"{file}: not current; make it by python -m {__spec__.name}")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for file, text in made.items():
        (FOLDER / file).write_bytes(zstandard.ZstdCompressor(level=19, write_checksum=True).compress(text))
    return 0


def _is_current(path: Path, text: bytes) -> bool:
    return path.exists() and zstandard.ZstdDecompressor().decompress(path.read_bytes()) == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
