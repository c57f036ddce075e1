"""Makes the layers that the product has of each named network, of its graph; needs the onnx package.

python -m dml_conformance.conformance.exchange.networks.make            writes them
python -m dml_conformance.conformance.exchange.networks.make --check    names what is not current; ends with 1 if any is
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import zstandard
from msgspec.structs import replace

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph
from dml_conformance.conformance.exchange.networks.catalogue import NETWORKS
from dml_conformance.conformance.exchange.networks.stored import SUFFIX, StoredLayer, StoredNetwork, stored_lines
from dml_conformance.conformance.exchange.onnx.layers import ModelLayer, layers_of
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
FOLDER = Path(__file__).with_name("data")


def network_lines(name: str, graph: NetworkGraph, outputs: Sequence[str]) -> bytes:
    """The lines of a network, as the newest level maps it."""
    found = layers_of(graph.model(*outputs), max(Level))
    unmapped = tuple(UnmappedNode(each.node, each.op_type, each.reason) for each in found.unmapped)
    level = min(level for level in Level if all(_is_valid(layer, level) for layer in found.layers))
    first = StoredNetwork(name, graph.parameters, level.label, unmapped)
    lines = [first, *(StoredLayer(layer.nodes, _with_ordinary_data(layer.case).to_json()) for layer in found.layers)]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


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
    made = {name: network_lines(name, *make()) for name, make in NETWORKS.items()}
    if arguments == ["--check"]:
        stale = [name for name, lines in made.items() if not _is_current(name, lines)]
        stale += [path.name for path in FOLDER.iterdir() if path.name.removesuffix(SUFFIX) not in made]
        for name in stale:
            print(f"{name}: not current; make it by python -m {__spec__.name}")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for name, lines in made.items():
        compressor = zstandard.ZstdCompressor(level=19, write_checksum=True)
        (FOLDER / f"{name}{SUFFIX}").write_bytes(compressor.compress(lines))
    return 0


def _is_current(name: str, lines: bytes) -> bool:
    return (FOLDER / f"{name}{SUFFIX}").exists() and stored_lines(name) == lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
