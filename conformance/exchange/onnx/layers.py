"""The layers of an ONNX model: DirectML's descriptors that its nodes become, each distinct one once.

A node becomes one descriptor or several, as ONNX Runtime's DirectML execution provider makes them. Every value of the
model is packed memory in row-major order, and a descriptor's tensors view that memory: broadcasting is a stride of 0, a
transposition other strides, a reshape other sizes. So nothing has to be moved between two layers, and a network can be
executed as the chain of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy.typing as npt

from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level


class Binding(NamedTuple):
    """A value of the model at a tensor of a descriptor.

    Attributes:
        slot: key of the tensor, `input_tensor` or `input_tensors[2]`.
        value: name in the model, functions inlined. What a node's first descriptor leaves for its next one is named by
            the node, `conv1#0`. The memory is packed, in row-major order, and all of it is bound.
        offset: bytes from the start of the value's memory to the tensor.
    """

    slot: str
    value: str
    offset: int = 0


class Step(NamedTuple):
    """One execution of a layer; a model's steps in turn compute its outputs.

    Attributes:
        node: name of the node.
        op_type: of the node, `Conv`.
        inputs: what the descriptor reads.
        outputs: what it writes.
        number: of the step in the model, from 0 on.
    """

    node: str
    op_type: str
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]
    number: int


@dataclass(frozen=True)
class Layer:
    """A descriptor with all steps of the model that it is executed in.

    Attributes:
        case: the descriptor at the level, with recipes for its inputs.
        steps: in the order of the model.
    """

    case: Case
    steps: tuple[Step, ...]

    @property
    def count(self) -> int:
        """How often the model executes it."""
        return len(self.steps)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, in the order of the model; one that needs it twice is there twice."""
        return tuple(step.node for step in self.steps)


class Unmapped(NamedTuple):
    """A node that no valid descriptor was made of.

    Attributes:
        node: its name.
        op_type: `NonMaxSuppression`.
        domain: "" for ONNX's own.
        version: of the domain's operator set that the model imports.
        reason: in a sentence.
    """

    node: str
    op_type: str
    domain: str
    version: int
    reason: str


@dataclass(frozen=True)
class Layers:
    """What a model becomes.

    Attributes:
        layers: the distinct ones, by the first step of each.
        unmapped: the nodes that are none, in the model's order.
        aliases: by name, values that are the memory of another one, such as those of Reshape; the other one is none.
        constants: values that are known without executing anything, by name: computed from shapes, and initializers and
            constants that are small.
    """

    layers: tuple[Layer, ...]
    unmapped: tuple[Unmapped, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def steps(self) -> list[tuple[Step, Case]]:
        """Every step with what it executes, in the order of the model."""
        every = [(step, layer.case) for layer in self.layers for step in layer.steps]
        return sorted(every, key=lambda one: one[0].number)


def layers_of(model: Any, level: Level, dims: Mapping[str, int] | None = None) -> Layers:
    """The layers of a model.

    Args:
        model: an onnx.ModelProto; weights need not be there.
        level: the feature level of the descriptors; what it has no valid descriptor for is unmapped.
        dims: sizes of symbolic dimensions, by their names.

    Raises:
        ModelError: the model is none, or a shape is not known.
    """
    raise NotImplementedError
