"""Executing the layers of a model one after the other, on what the reference expects of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.conformance.exchange.networks.carried import Carried, executed
from dml_conformance.conformance.exchange.onnx.layers import Layers, LayerStep
from dml_conformance.spec.case import Case
from dml_conformance.spec.operator import tensor_at

Bytes = npt.NDArray[np.uint8]


class Chain:
    """The memory of a model's values, by the names of those that are no other's.

    Args:
        layers: of the model.
        given: its inputs and weights, by name.
    """

    def __init__(self, layers: Layers, given: Mapping[str, npt.NDArray[Any]]) -> None:
        self._aliases = layers.aliases
        self._memory = {name: as_bytes(array) for name, array in {**layers.constants, **given}.items()}
        for step, case in layers.steps:
            self._execute(step, case)

    def has(self, name: str) -> bool:
        """Whether a value is known here."""
        return self._aliases.get(name, name) in self._memory

    def bytes_of(self, name: str) -> Bytes:
        """What a value holds."""
        return self._memory[self._aliases.get(name, name)]

    def _execute(self, step: LayerStep, case: Case) -> None:
        read = {}
        for slot, value in step.inputs:
            tensor = tensor_at(case.desc, slot)
            assert tensor is not None
            content = self.bytes_of(value)
            missing = max(tensor.total_tensor_size_in_bytes - len(content), 0)
            read[slot] = Carried.exact(np.concatenate([content, np.zeros(missing, np.uint8)]))
        found = executed(case, read)
        self._memory.update({value: found[slot].value for slot, value in step.outputs})


def as_bytes(array: npt.NDArray[Any]) -> Bytes:
    """An array as packed memory holds it; of less than a byte two elements share one."""
    array = np.ascontiguousarray(array)
    if array.dtype.name in ("int4", "uint4"):
        nibbles = array.astype(np.int8).ravel().view(np.uint8) & 15
        nibbles = np.concatenate([nibbles, np.zeros(len(nibbles) % 2, np.uint8)])
        return nibbles[::2] | nibbles[1::2] << 4
    return np.atleast_1d(array).ravel().view(np.uint8)
