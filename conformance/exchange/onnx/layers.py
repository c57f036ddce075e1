"""The layers of an ONNX model: DirectML's descriptors that its nodes become, each distinct one once.

A node becomes one descriptor or several. Every value of the model is packed memory in row-major order, and a
descriptor's tensors view that memory: broadcasting is a stride of 0, a transposition other strides, a reshape other
sizes. So nothing has to be moved between two layers, and a network can be executed as the chain of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt
import onnx

from dml_conformance.conformance.exchange.onnx.coverage import why_unmapped
from dml_conformance.conformance.exchange.onnx.graph import GraphScope, ModelGraph, Told
from dml_conformance.conformance.exchange.onnx.mapping import mappings
from dml_conformance.conformance.exchange.onnx.node import (
    Alias,
    ModelNode,
    NotMapped,
    Operation,
    ValueBinding,
    in_halves,
)
from dml_conformance.conformance.exchange.onnx.reading import OnnxModelError, check, with_sizes, without_weights
from dml_conformance.spec.case import MODEL_ORIGIN, Case
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.cases import execution_rules, recipes
from dml_conformance.strategies.chooser import SeededChooser

__all__ = ["LayerStep", "Layers", "ModelLayer", "OnnxModelError", "Told", "ValueBinding", "layers_of"]


# What moves elements or looks them up: at levels that have no integers of 64 bits for it, the provider took those of 32
# that are every second one. It is right of what is not negative, and has 32 bits.
IN_HALVES = frozenset(
    (
        *("ArgMax", "ArgMin", "Cast", "Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND"),
        *("MaxPool", "MaxUnpool", "OneHot", "Pad", "ReverseSequence", "RoiAlign", "Scatter", "ScatterElements"),
        *("ScatterND", "Slice", "SpaceToDepth", "Split", "Tile", "TopK", "Transpose"),
    )
)
MOST_NAME = 200  # characters of a node's name that a case is labelled with


class LayerStep(NamedTuple):
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
    inputs: tuple[ValueBinding, ...]
    outputs: tuple[ValueBinding, ...]
    number: int


@dataclass(frozen=True)
class ModelLayer:
    """A descriptor with all steps of the model that it is executed in.

    Attributes:
        case: the descriptor at the level, with recipes for its inputs.
        steps: in the order of the model.
    """

    case: Case
    steps: tuple[LayerStep, ...]

    @property
    def count(self) -> int:
        """How often the model executes it."""
        return len(self.steps)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, in the order of the model; one that needs it twice is there twice."""
        return tuple(step.node for step in self.steps)


@dataclass(frozen=True)
class Layers:
    """What a model becomes.

    Attributes:
        layers: the distinct ones, by the first step of each.
        unmapped: the nodes that no valid descriptor was made of, in the model's order.
        aliases: by name, values that are the memory of another one, such as those of Reshape; the other one is none.
        constants: values that steps read and that are known without executing anything, by name: what is computed of
            shapes, and small initializers.
    """

    layers: tuple[ModelLayer, ...]
    unmapped: tuple[Told, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def steps(self) -> list[tuple[LayerStep, Case]]:
        """Every step with what it executes, in the order of the model."""
        every = [(step, layer.case) for layer in self.layers for step in layer.steps]
        return sorted(every, key=lambda one: one[0].number)


def layers_of(model: onnx.ModelProto, level: Level, dims: Mapping[str, int] | None = None, name: str = "") -> Layers:
    """The layers of a model.

    Args:
        model: weights need not be there: what matters of them is type and shape. It is left as it is.
        level: the feature level of the descriptors; what it has no valid descriptor for is unmapped.
        dims: sizes of symbolic dimensions, by their names.
        name: of the model, which the cases have as their origin.

    Raises:
        OnnxModelError: the model is none, or a shape is not known.
    """
    try:
        lean = without_weights(model)
        with_sizes(lean, dims or {})
        check(lean)
        graph = ModelGraph(lean, level)
        collector = _Collector(graph, level)
        graph.walk(collector)
        return collector.layers(name)
    except UnicodeDecodeError as error:  # wherever one of its texts is looked at
        raise OnnxModelError(f"expected names in UTF-8: {error}") from None
    except RecursionError:
        raise OnnxModelError("functions call each other too deep to follow") from None


class _Collector:
    """What comes of the nodes that a walk visits."""

    def __init__(self, graph: ModelGraph, level: Level) -> None:
        self._graph = graph
        self._level = level
        self._steps: list[tuple[OperatorDesc, LayerStep]] = []
        self._told: list[Told] = []

    def told(self, told: Told) -> None:
        self._told.append(told)

    def mark(self) -> tuple[int, int]:
        """Where the collection stands."""
        return len(self._steps), len(self._told)

    def back_to(self, mark: tuple[int, int]) -> list[Told]:
        """Forget what was collected since; returns what was told."""
        steps, told = mark
        forgotten = self._told[told:]
        del self._steps[steps:], self._told[told:]
        return forgotten

    def node(self, node: ModelNode, proto: onnx.NodeProto, scope: GraphScope) -> None:
        """Map a node, or the function that ONNX defines it by."""
        try:
            made = self._mapped(node)
        except NotMapped as error:
            reason = str(error)
        else:
            for one in made:
                if isinstance(one, Alias):
                    self._graph.alias(one.value, one.of)
                else:
                    number = len(self._steps)
                    step = LayerStep(node.name, node.op_type, one.inputs, one.outputs, number)
                    self._steps.append((one.desc, step))
            return
        version = scope.opsets.get(proto.domain, node.version)
        function = self._graph.function_of(proto, node.domain, version)
        if function is not None:
            mark = self.mark()
            try:
                self._graph.inline(proto, function, scope._replace(path=f"{node.name}/"), self)
            except OnnxModelError as error:
                self.back_to(mark)
                reason += f"; nor is its function mapped: {error}"
            else:
                if len(self._told) == mark[1]:
                    return
                failed = self.back_to(mark)[0]
                if failed.reason != reason:
                    reason += f"; nor is its function mapped: {failed.op_type}: {failed.reason}"
        self._told.append(Told(node.name, node.op_type, node.domain, version, reason))

    def _mapped(self, node: ModelNode) -> list[Operation | Alias]:
        """What a node becomes; raises NotMapped, also where it is not valid."""
        mapping = mappings().get((node.domain, node.op_type))
        if mapping is None:
            raise NotMapped(why_unmapped(node.domain, node.op_type))
        try:
            made = list(mapping.make(node))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # whatever the checker lets through
            raise NotMapped(f"its attributes or inputs are none that {node.op_type} can have: {error}") from None
        return [self._valid(one, node) if isinstance(one, Operation) else one for one in made]

    def _valid(self, made: Operation, node: ModelNode) -> Operation:
        """An operation, or the same in 32 bits where integers of 64 are not valid; raises NotMapped where it is not."""
        try:
            _check(made.desc, self._level)
            return made
        except NotMapped as error:
            fits = node.op_type in IN_HALVES and not any(value and value.has_negatives for value in node.inputs)
            halves = in_halves(made) if fits else made
            if halves.desc == made.desc or decide(halves.desc, self._level).outcome is not Outcome.ACCEPT:
                raise NotMapped(str(error)) from None
            return halves

    def layers(self, name: str) -> Layers:
        """All that was collected."""
        steps: dict[OperatorDesc, list[LayerStep]] = {}
        for desc, step in self._steps:
            steps.setdefault(desc, []).append(step)
        read = {binding.value for _, step in self._steps for binding in step.inputs}
        constants = {
            each: value.constant
            for each in sorted(read | {self._graph.aliases.get(each, each) for each in read})
            if (value := self._graph.values.get(each)) is not None and value.constant is not None
        }
        return Layers(
            tuple(ModelLayer(_case(desc, self._level, name, found), tuple(found)) for desc, found in steps.items()),
            tuple(self._told),
            self._graph.aliases,
            constants,
        )


def _check(desc: OperatorDesc, level: Level) -> None:
    """Raises NotMapped where a descriptor is not valid."""
    decision = decide(desc, level)
    if decision.outcome is not Outcome.ACCEPT:
        first = decision.violations[0]
        where = f"{first.where}: " if first.where else ""
        raise NotMapped(f"{first.rule.id} at {level}: {where}{first.found}")


def _case(desc: OperatorDesc, level: Level, name: str, steps: list[LayerStep]) -> Case:
    """A valid case of a descriptor, with data as other cases of its operator have."""
    rules = execution_rules(desc.operator, level)
    more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    origin = f"{MODEL_ORIGIN}{name}: {steps[0].node[:MOST_NAME]}{more}"
    data = recipes(SeededChooser(msgspec.json.encode(desc_to_json(desc)).decode()), desc)
    return Case(desc, level, data, rules[0] if rules else "", Outcome.ACCEPT, (), origin)
