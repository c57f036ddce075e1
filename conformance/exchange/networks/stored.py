"""The layers of the named networks as the product has them, so that they are judged without the onnx package.

A network is a file of lines: the first says what it is, each of the others has a layer. Beside it is another one of the
same network at reduced size, as a chain. `make` beside this module makes them of the graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, NamedTuple

import msgspec
import zstandard

from dml_conformance.conformance.exchange.networks.chains import Chain
from dml_conformance.reports.model.records import Network, NetworkLayer, UnmappedNode
from dml_conformance.spec.case import MODEL_ORIGIN, Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Outcome

SUFFIX, CHAIN_SUFFIX = ".jsonl.zst", ".chain.json.zst"


class StoredNetwork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line: what a network is.

    Attributes:
        network: its name.
        parameters: how many it has.
        level: the lowest at which every layer is valid.
        unmapped: the nodes that are no layers.
    """

    network: str
    parameters: int
    level: str
    unmapped: tuple[UnmappedNode, ...] = ()


class StoredLayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line: a distinct layer, with the names of the nodes that it is."""

    nodes: tuple[str, ...]
    case: dict[str, Any]


class NetworkCases(NamedTuple):
    """A network at a level: what is said of it, and a case for each of its layers."""

    network: Network
    cases: tuple[Case, ...]


def network_names() -> tuple[str, ...]:
    """Names of the networks that there are."""
    files = sorted(entry.name for entry in _folder().iterdir())
    return tuple(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))


def networks_named(text: str) -> tuple[str, ...]:
    """The networks of a name, or of the beginning of some: `resnet50` is each ResNet-50.

    Raises:
        ValueError: there is none; the message says which there are.
    """
    names = network_names()
    found = tuple(name for name in names if name == text or name.startswith(f"{text}-"))
    if not found:
        raise ValueError(f"there is no network {text!r}; there are {', '.join(names)}")
    return found


def stored_lines(name: str) -> bytes:
    """The lines of a network, as `make` made them."""
    content = (_folder() / f"{name}{SUFFIX}").read_bytes()
    return zstandard.ZstdDecompressor().decompress(content)


def stored_network(name: str) -> tuple[StoredNetwork, list[StoredLayer]]:
    """A network as it is stored."""
    first, *lines = stored_lines(name).splitlines()
    layers = [msgspec.json.decode(line, type=StoredLayer) for line in lines]
    return msgspec.json.decode(first, type=StoredNetwork), layers


def stored_chain_text(name: str) -> bytes:
    """The chain of a network, as `make` made it."""
    return zstandard.ZstdDecompressor().decompress((_folder() / f"{name}{CHAIN_SUFFIX}").read_bytes())


def stored_chain(name: str) -> Chain:
    """The chain of a network at reduced size."""
    return msgspec.json.decode(stored_chain_text(name), type=Chain)


def network_at(name: str, level: Level) -> NetworkCases:
    """A network's layers, held against a level.

    Args:
        name: one of `network_names`.
        level: what has no valid descriptor there is told as unmapped.
    """
    stored, stored_layers = stored_network(name)
    layers, cases, unmapped = [], [], list(stored.unmapped)
    for layer in stored_layers:
        more = f" and {len(layer.nodes) - 1} more" if len(layer.nodes) > 1 else ""
        origin = f"{MODEL_ORIGIN}{name}: {layer.nodes[0]}{more}"
        case = Case.from_json({**layer.case, "level": level.label, "origin": origin})
        if case.outcome is Outcome.ACCEPT:
            layers.append(NetworkLayer(case.digest, case.operator, layer.nodes))
            cases.append(case)
        else:
            reason = f"breaks {', '.join(case.broken)} at {level}; level {stored.level} has all of the network's layers"
            unmapped += [UnmappedNode(node, case.operator, reason) for node in layer.nodes]
    return NetworkCases(Network(name, tuple(layers), tuple(unmapped)), tuple(cases))


def distinct_cases(networks: Iterable[NetworkCases]) -> Sequence[Case]:
    """The cases of several networks, each once."""
    return list({case.digest: case for each in networks for case in each.cases}.values())


def _folder() -> Any:
    return resources.files(__package__) / "data"
