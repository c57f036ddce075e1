"""Named networks at reduced size, as chains of descriptors that are executed one after the other.

Every value is packed memory in row-major order, which the tensors of a step view. `make` beside this module makes the
chains of the graphs; weights are random, of sizes at which activations neither vanish nor grow.
"""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.base import Bytes
from dml_conformance.spec.case import MODEL_ORIGIN, Case
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.values import random_bytes

ALIGNMENT = 4  # bytes that the size of a tensor is a multiple of
DRAWS = 4  # random numbers whose sum is nearly normal


class ChainArray(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An array: of an input of a chain what it is, of a constant what it holds, too.

    Attributes:
        type: of its elements, as NumPy calls it.
        shape: sizes.
        content: of a constant its memory.
    """

    type: str
    shape: tuple[int, ...]
    content: bytes = b""


class ChainStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One execution of a descriptor.

    Attributes:
        node: that it is, or is a part of.
        case: place of its case in the chain's.
        inputs: by slot, the values that it reads.
        outputs: by slot, those that it writes.
    """

    node: str
    case: int
    inputs: dict[str, str]
    outputs: dict[str, str]


class Chain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network as a chain of steps, in order.

    Attributes:
        inputs: of the network, by name, its weights among them.
        constants: what steps read besides, by name.
        cases: the distinct descriptors, with any data.
        steps: what is executed; none where a node of the network is no layer.
        outputs: values that the network gives, with their types.
        normalized: values that come of a normalization.
    """

    inputs: dict[str, ChainArray]
    constants: dict[str, ChainArray]
    cases: tuple[dict[str, Any], ...]
    steps: tuple[ChainStep, ...]
    outputs: dict[str, str]
    normalized: tuple[str, ...]

    def cases_at(self, level: Level, name: str = "") -> list[Case]:
        """The case of each step at a level, valid there or not; `name` is the network's."""
        of_level = [Case.from_json({**each, "level": level.label}) for each in self.cases]
        return [msgspec.structs.replace(of_level[s.case], origin=f"{MODEL_ORIGIN}{name}: {s.node}") for s in self.steps]

    def memory(self) -> dict[str, Bytes]:
        """What the inputs and constants hold, the same on every machine."""
        held = {name: as_memory(random_array(name, each)) for name, each in self.inputs.items()}
        known = {name: as_memory(np.frombuffer(each.content, np.uint8)) for name, each in self.constants.items()}
        return held | known


def as_memory(array: Any) -> Bytes:
    """An array as packed memory, with zeros up to the alignment of tensors."""
    memory = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    return np.concatenate([memory, np.zeros(-len(memory) % ALIGNMENT, np.uint8)])


def random_array(name: str, array: ChainArray, seed: int = 0) -> Any:
    """Numbers for an input of a network, by what its name says that it is."""
    count, kind = prod(array.shape), np.dtype(array.type)
    draws = np.frombuffer(random_bytes(2 * DRAWS * count, name, seed), "<u2").reshape(DRAWS, *array.shape)
    if kind.kind == "i":
        low, high = {"int8": (-127, 128), "int32": (-100, 100)}.get(kind.name, (0, 2))  # of tokens two are enough
        return (low + draws[0].astype(np.int64) % (high - low)).astype(kind)
    # Sums of whole numbers and a product are the same everywhere; their deviation is 1.
    drawn = (draws.astype(np.float64).sum(0) - DRAWS * (2**16 - 1) / 2) * (sqrt(12 / DRAWS) / 2**16)
    if name.endswith("scale"):
        drawn = 2e-2 * (1 + np.abs(drawn)) / (4 if "weight" in name else 1)
    elif name.endswith("running_var"):
        drawn = 0.5 + np.abs(drawn)
    elif name.endswith((".weight", ".w", ".r")) and len(array.shape) > 1:
        drawn = drawn / sqrt(prod(array.shape[:-1] if len(array.shape) == 2 else array.shape[1:]))
    return np.asarray(drawn, kind)
