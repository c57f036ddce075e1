"""A model as a row of nodes with every type and shape known: constants folded, functions and branches inlined.

Each node is inferred by ONNX's own schema from what is known of its inputs, constants among them, so that what is
computed of shapes is known too. A branch whose condition is known takes the place of its If, and the turns of a Loop
whose number is known stand one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from dml_conformance.conformance.exchange.onnx.mapping import mappings
from dml_conformance.conformance.exchange.onnx.node import ModelNode, ModelValue, NotMapped
from dml_conformance.conformance.exchange.onnx.reading import (
    MOST_VALUES,
    ONNX_DOMAINS,
    OnnxModelError,
    function_key,
    large_constant,
    node_name,
)
from dml_conformance.spec.levels import Level

MOST_TURNS = 256  # of a loop that is unrolled
MOST_NODES = 200_000  # of a model, functions and turns inlined
MOST_KNOWN = 2**30  # bytes of all constants together
NO_TYPE = onnx.TypeProto()


class Told(NamedTuple):
    """A node that is no descriptor, and why."""

    node: str
    op_type: str
    domain: str
    version: int
    reason: str


class GraphScope(NamedTuple):
    """Where a node stands.

    Attributes:
        opsets: the version of each domain.
        path: before the names of nodes and values, "" in the model itself.
    """

    opsets: Mapping[str, int]
    path: str = ""


class Visitor(Protocol):
    """Who is shown the nodes of a model, one after the other."""

    def node(self, node: ModelNode, proto: onnx.NodeProto, scope: GraphScope) -> None:
        """A node, also as the model has it, and where it stands."""

    def told(self, told: Told) -> None:
        """A node that has no known types, or a branch that cannot be followed."""

    def mark(self) -> tuple[int, int]:
        """A place to go back to."""

    def back_to(self, mark: tuple[int, int]) -> list[Told]:
        """Forget what came since; returns what was told."""


class ModelGraph:
    """What is known of a model's values, and its nodes in turn.

    Args:
        model: without its weights, checked, with the sizes of its inputs.
        level: of the descriptors.

    Attributes:
        values: by name.
        aliases: values that are the memory of another one.
    """

    def __init__(self, model: onnx.ModelProto, level: Level) -> None:
        self._level = level
        self._ir_version = model.ir_version
        self._functions = {function_key(each): each for each in model.functions}
        self._described = {each.name: each.type for each in (*model.graph.value_info, *model.graph.output)}
        self._model = model
        self._count = 0
        self._known = 0
        self.values: dict[str, ModelValue] = {}
        self.aliases: dict[str, str] = {}

    def alias(self, name: str, of: str) -> None:
        """Make a value the memory of another one."""
        self.aliases[name] = self.aliases.get(of, of)
        if of in self.values:
            self.values.setdefault(name, self.values[of]._replace(name=name))

    # Walking.

    def walk(self, visitor: Visitor) -> None:
        """Visit every node in turn.

        Raises:
            OnnxModelError: a node contradicts its inputs, or there are too many.
        """
        graph = self._model.graph
        opsets = {each.domain: each.version for each in self._model.opset_import}
        for value in graph.input:
            self.values[value.name] = ModelValue(value.name, value.type)
        self._constants(graph.initializer, {})
        self.run(graph.node, GraphScope(opsets), visitor)

    def _constants(self, tensors: Iterable[onnx.TensorProto], names: Mapping[str, str]) -> None:
        for tensor in tensors:
            name = names.get(tensor.name, tensor.name)
            self.values[name] = _constant(name, _array(tensor), tensor.data_type)

    def run(self, nodes: Iterable[onnx.NodeProto], scope: GraphScope, visitor: Visitor) -> None:
        """Visit nodes that stand in a scope."""
        for node in nodes:
            self._count += 1
            if self._count > MOST_NODES:
                raise OnnxModelError(f"node {node_name(node)!r}: there are more than {MOST_NODES:,} nodes with it")
            self._one(node, scope, visitor)

    def _one(self, node: onnx.NodeProto, scope: GraphScope, visitor: Visitor) -> None:
        name = scope.path + node_name(node) if node.name else node_name(node)
        domain = "" if node.domain in ONNX_DOMAINS else node.domain
        weight = large_constant(node)
        if weight is not None:  # in a function; those of graphs are inputs by now
            kind = helper.make_tensor_type_proto(weight.data_type, weight.dims)
            self.values[node.output[0]] = ModelValue(node.output[0], kind)
            return
        function = self._functions.get(function_key(node))
        if function is not None:
            self.inline(node, function, scope._replace(path=f"{name}/"), visitor)
            return
        version = scope.opsets.get(node.domain, scope.opsets.get(domain, 1))
        control = {"If": self._branch, "Loop": self._turns}.get(node.op_type) if domain == "" else None
        try:
            if control is not None:
                control(node, name, scope, visitor)
                return
            self._infer(node, name, domain, version)
            if self._fold(node, domain, version):
                return
        except NotMapped as error:
            self._unknown(node)
            visitor.told(Told(name, node.op_type, domain, version, str(error)))
            return
        visitor.node(self._node(node, name, domain, version), node, scope)

    def _node(self, node: onnx.NodeProto, name: str, domain: str, version: int) -> ModelNode:
        schema = _schema(node.op_type, domain, version)
        attributes = {} if schema is None else _defaults(schema)
        attributes |= {each.name: _python(each) for each in node.attribute if not each.ref_attr_name}
        return ModelNode(
            name,
            node.op_type,
            domain,
            version if schema is None else schema.since_version,
            tuple(self.values.get(each) if each else None for each in node.input),
            tuple(self.values.get(each, ModelValue(each, NO_TYPE)) if each else None for each in node.output),
            attributes,
            self._level,
        )

    def _unknown(self, node: onnx.NodeProto) -> None:
        for name in filter(None, node.output):
            self.values.setdefault(name, ModelValue(name, self._described.get(name, NO_TYPE)))

    # Types and constants.

    def _infer(self, node: onnx.NodeProto, name: str, domain: str, version: int) -> None:
        """Find out types and shapes of the outputs."""
        schema = _schema(node.op_type, domain, version)
        if schema is None:
            if domain in ("", "ai.onnx.ml"):
                raise OnnxModelError(f"node {name!r}: {node.op_type} is no operator of {domain or 'ONNX'} {version}")
            self._infer_unknown(node, name, domain, version)
            return
        if node.op_type == "Einsum" and not all(each.s.isascii() for each in node.attribute):
            raise OnnxModelError(f"node {name!r}: its equation has letters that are not ASCII")  # inference never ends
        given = {each: self.values[each] for each in node.input if each}
        types = {each: value.type for each, value in given.items()}
        if any(not kind.WhichOneof("value") for kind in types.values()):
            self._unknown(node)
            return
        data = {each: _tensor(value) for each, value in given.items() if value.constant is not None}
        opsets = [helper.make_opsetid(domain, version)]
        for known in (data, {}):  # some functions of ONNX itself have constants that its inference refuses
            try:
                found = shape_inference.infer_node_outputs(
                    schema, node, types, known, opset_imports=opsets, ir_version=self._ir_version
                )
                break
            except (shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError) as error:
                reason = " ".join(str(error).split())
        else:
            raise OnnxModelError(f"node {name!r}: {node.op_type} contradicts its inputs: {reason}")
        for each in filter(None, node.output):
            self.values[each] = ModelValue(each, self._completed(each, found.get(each, NO_TYPE)))

    def _infer_unknown(self, node: onnx.NodeProto, name: str, domain: str, version: int) -> None:
        """The same for an operator that ONNX has no schema of: by its mapping, or as the model says."""
        self._unknown(node)
        mapping = mappings().get((domain, node.op_type))
        if mapping is None or mapping.sizes is None or any(each not in self.values for each in node.input if each):
            return
        of = self._node(node, name, domain, version)
        for n, (each, sizes) in enumerate(zip(node.output, mapping.sizes(of), strict=False)):
            if each:
                typed_by = of.input(mapping.typed_by[min(n, len(mapping.typed_by) - 1)])
                kind = typed_by.type.tensor_type.elem_type
                self.values[each] = ModelValue(each, helper.make_tensor_type_proto(kind, sizes))

    def _completed(self, name: str, found: onnx.TypeProto) -> onnx.TypeProto:
        """A type with what the model says of it where inference does not know."""
        said = self._described.get(name, NO_TYPE)
        return said if _is_whole(said) and not _is_whole(found) else found

    def _fold(self, node: onnx.NodeProto, domain: str, version: int) -> bool:
        """Compute a node whose inputs are known, or of which the sizes suffice; whether that was done."""
        if self._is_empty(node):
            return True
        if domain or node.op_type in _NOT_FOLDED or any(each.type in _GRAPHS for each in node.attribute):
            return False
        given = [self.values.get(each) if each else None for each in node.input]
        if node.op_type in ("Shape", "Size"):
            assert given[0] is not None
            sizes = given[0].sizes
            given = [_constant(node.input[0], np.broadcast_to(np.int8(0), sizes), onnx.TensorProto.INT8)]
        if any(value is not None and value.constant is None for value in given) or None in given[:1]:
            return False
        for each in node.attribute:
            if each.type == onnx.AttributeProto.TENSOR:
                _array(each.t)
        try:
            outputs = [self.values[each] for each in node.output if each]
            if any(np.prod(value.sizes, dtype=object) > MOST_VALUES for value in outputs):
                return False
            results = _computed(node, [value for value in given if value is not None], version)
        except Exception:  # whatever onnx's reference raises for what it does not compute
            return False
        for value, result in zip(outputs, results, strict=True):
            if not isinstance(result, np.ndarray | np.generic):
                return False
            self.values[value.name] = value._replace(constant=np.asarray(result))
            self._known += result.nbytes
        if self._known > MOST_KNOWN:
            raise OnnxModelError(
                f"node {node_name(node)!r}: what is known before anything is executed takes more than "
                f"{MOST_KNOWN >> 20} MiB"
            )
        return True

    def _is_empty(self, node: onnx.NodeProto) -> bool:
        """Whether the outputs have no elements, so that they are known and nothing is computed."""
        made = [self.values[each] for each in node.output if each]
        try:
            if not made or any(0 not in value.sizes for value in made):
                return False
        except NotMapped:
            return False
        for value in made:
            kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            self.values[value.name] = value._replace(constant=np.zeros(value.sizes, kind))
        return True

    # Functions and control flow.

    def inline(self, node: onnx.NodeProto, function: onnx.FunctionProto, scope: GraphScope, visitor: Visitor) -> None:
        """Visit the nodes of a function in place of the node that calls it."""
        names = dict(zip(function.input, node.input, strict=False))
        names |= dict.fromkeys(function.input[len(node.input) :], "")
        names |= dict(zip(function.output, node.output, strict=False))
        schema = _schema(function.name, function.domain, scope.opsets.get(function.domain, 1))
        defaults = () if schema is None else (each.default_value for each in schema.attributes.values())
        given = {each.name: each for each in (*defaults, *function.attribute_proto, *node.attribute) if each.name}
        body = [_with_attributes(each, given) for each in function.node]
        opsets = {each.domain: each.version for each in function.opset_import}
        self._run_renamed(body, names, GraphScope({**scope.opsets, **opsets}, scope.path), visitor)
        for formal, actual in zip(function.output, node.output, strict=False):
            if formal in function.input and actual:  # what is handed through
                self.alias(actual, names[formal])

    def _run_renamed(
        self, nodes: Iterable[onnx.NodeProto], names: dict[str, str], scope: GraphScope, visitor: Visitor
    ) -> None:
        """Visit nodes whose values have names of their own in the scope, but for those that `names` has."""
        nodes = list(nodes)
        for name in (name for node in nodes for name in node.output if name):
            names.setdefault(name, scope.path + name)
        self.run((_renamed(node, names) for node in nodes), scope, visitor)

    def _branch(self, node: onnx.NodeProto, name: str, scope: GraphScope, visitor: Visitor) -> None:
        condition = self.values[node.input[0]].constant
        if condition is None or condition.size != 1:
            raise NotMapped("which branch is taken depends on data")
        wanted = "then_branch" if condition.reshape(()) else "else_branch"
        branch = next(each.g for each in node.attribute if each.name == wanted)
        self._body(branch, {}, node.output, scope._replace(path=f"{name}/"), visitor)

    def _body(
        self, graph: onnx.GraphProto, names: dict[str, str], outputs: Iterable[str], scope: GraphScope, visitor: Visitor
    ) -> None:
        """Visit the nodes of a graph in a node, whose outputs become those that are named."""
        produced = {each for node in graph.node for each in node.output}
        results = list(zip((each.name for each in graph.output), outputs, strict=False))
        names |= {tensor.name: scope.path + tensor.name for tensor in graph.initializer}
        self._constants(graph.initializer, names)
        for inner, outer in results:
            if inner in produced and inner not in names and outer:
                names[inner] = outer
        self._run_renamed(graph.node, names, scope, visitor)
        for inner, outer in results:
            if outer and names.get(inner, inner) != outer:
                self.alias(outer, names.get(inner, inner))

    def _turns(self, node: onnx.NodeProto, name: str, scope: GraphScope, visitor: Visitor) -> None:
        body = next(each.g for each in node.attribute if each.name == "body")
        mark = visitor.mark()
        try:
            self._unroll(node, body, name, scope, visitor)
        except NotMapped:
            visitor.back_to(mark)
            raise

    def _unroll(
        self, node: onnx.NodeProto, body: onnx.GraphProto, name: str, scope: GraphScope, visitor: Visitor
    ) -> None:
        most, goes_on = (self.values[each].constant if each else None for each in node.input[:2])
        if (most is None and node.input[0]) or (goes_on is None and node.input[1]):
            raise NotMapped("how often its body is executed depends on data")
        carried = list(node.input[2:])
        scanned: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
        turns = int(most.reshape(())) if most is not None else MOST_TURNS + 1
        runs = goes_on is None or bool(goes_on.reshape(()))
        formal = [each.name for each in body.input]
        n = 0
        while n < turns and runs:
            if n == MOST_TURNS:
                raise NotMapped(f"its body is executed more than {MOST_TURNS} times")
            path = f"{name}/{n}/"
            counter, condition = f"{path}#", f"{path}?"
            self.values[counter] = _constant(counter, np.int64(n), onnx.TensorProto.INT64)
            self.values[condition] = _constant(condition, np.bool_(True), onnx.TensorProto.BOOL)
            names = dict(zip(formal, (counter, condition, *carried), strict=True))
            outputs = [f"{path}={each.name}" for each in body.output]
            self._body(body, names, outputs, scope._replace(path=path), visitor)
            met = self.values[outputs[0]].constant
            if met is None:
                raise NotMapped("how often its body is executed depends on data")
            runs = bool(met.reshape(()))
            carried = outputs[1 : 1 + len(carried)]
            for row, each in zip(scanned, outputs[1 + len(carried) :], strict=True):
                row.append(each)
            n += 1
        for outer, inner in zip(node.output, carried, strict=False):
            if outer:
                self.alias(outer, inner)
        for outer, row in zip(node.output[len(carried) :], scanned, strict=False):
            if outer:
                self._stack(outer, row, name, scope, visitor)

    def _stack(self, output: str, parts: list[str], name: str, scope: GraphScope, visitor: Visitor) -> None:
        """Put what each turn of a loop leaves one after the other."""
        if not parts:
            raise NotMapped("its body is never executed, and what it stacks has no elements")
        axes = f"{output}/axes"
        self.values[axes] = _constant(axes, np.array([0], np.int64), onnx.TensorProto.INT64)
        rows = [f"{part}/row" for part in parts]
        nodes = [helper.make_node("Unsqueeze", [part, axes], [row]) for part, row in zip(parts, rows, strict=True)]
        nodes.append(helper.make_node("Concat", rows, [output], name=f"{name}/{output}", axis=0))
        self.run(nodes, scope._replace(opsets={**scope.opsets, "": max(13, scope.opsets.get("", 13))}), visitor)

    def function_of(self, node: onnx.NodeProto, domain: str, version: int) -> onnx.FunctionProto | None:
        """The function that ONNX defines an operator by, or None."""
        schema = _schema(node.op_type, domain, version)
        if schema is None:
            return None
        if schema.has_function:
            return _parsed(schema.function_body)
        if not schema.has_context_dependent_function:
            return None
        types = [self.values[each].type.SerializeToString() if each else b"" for each in node.input]
        body = schema.get_context_dependent_function(node.SerializeToString(), types)
        return _parsed(body) if body else None


_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
# What is different each time, and what the runtime keeps, so that what is quantized stays so.
_NOT_FOLDED = frozenset(
    (
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"),
        *("Dropout", "DequantizeLinear", "Optional", "SequenceEmpty"),
    )
)


def _is_whole(kind: onnx.TypeProto) -> bool:
    """Whether it is a tensor of known sizes."""
    of = kind.tensor_type
    return bool(of.HasField("shape")) and all(dim.HasField("dim_value") for dim in of.shape.dim)


def _parsed(body: onnx.FunctionProto | bytes) -> onnx.FunctionProto:
    return onnx.FunctionProto.FromString(body) if isinstance(body, bytes) else body


def _constant(name: str, array: npt.NDArray[Any] | np.generic, kind: int) -> ModelValue:
    return ModelValue(name, helper.make_tensor_type_proto(kind, array.shape), np.asarray(array))


def _array(tensor: onnx.TensorProto) -> npt.NDArray[Any]:
    """The elements of a tensor; raises OnnxModelError where they are elsewhere, or not as many as its sizes say."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise OnnxModelError(f"tensor {tensor.name!r}: its content is in another file, which is not read")
    try:
        return numpy_helper.to_array(tensor)
    except (TypeError, ValueError, KeyError) as error:
        raise OnnxModelError(f"tensor {tensor.name!r}: {error}") from None


def _tensor(value: ModelValue) -> onnx.TensorProto:
    """A constant as ONNX has it."""
    assert value.constant is not None
    kind = value.type.tensor_type.elem_type
    if kind == onnx.TensorProto.STRING:
        texts: Any = [str(each).encode() for each in value.constant.ravel()]
        return helper.make_tensor(value.name, kind, value.constant.shape, texts)
    return numpy_helper.from_array(value.constant, value.name)


def _schema(op_type: str, domain: str, version: int) -> Any:
    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def _defaults(schema: Any) -> dict[str, Any]:
    return {
        name: _python(each.default_value)
        for name, each in schema.attributes.items()
        if each.default_value.type != onnx.AttributeProto.UNDEFINED
    }


def _python(attribute: onnx.AttributeProto) -> Any:
    found = helper.get_attribute_value(attribute)
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    if isinstance(found, onnx.TensorProto):
        return _array(found)
    if hasattr(found, "__len__") and not isinstance(found, str):
        return tuple(each.decode(errors="replace") if isinstance(each, bytes) else each for each in found)
    return found


def _computed(node: onnx.NodeProto, given: list[ModelValue], version: int) -> list[Any]:
    """What onnx's reference makes of a node."""
    inputs = {value.name: value for value in given}
    graph = helper.make_graph(
        [node],
        "node",
        [helper.make_value_info(name, value.type) for name, value in inputs.items()],
        [helper.make_value_info(name, NO_TYPE) for name in node.output if name],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    with np.errstate(all="ignore"):  # a constant may be infinite
        return list(ReferenceEvaluator(model).run(None, {name: value.constant for name, value in inputs.items()}))


def _with_attributes(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function with the attributes that the function is called with."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for each in node.attribute:
        if each.ref_attr_name and each.ref_attr_name not in given:
            continue
        copy = found.attribute.add()
        copy.CopyFrom(given[each.ref_attr_name] if each.ref_attr_name else each)
        copy.name = each.name
        if copy.type == onnx.AttributeProto.GRAPH:
            nodes = [_with_attributes(inner, given) for inner in copy.g.node]
            del copy.g.node[:]
            copy.g.node.extend(nodes)
    return found


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A node with other names for its values, also where a graph within it reads them."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.input[:] = [names.get(each, each) for each in node.input]
    found.output[:] = [names.get(each, each) for each in node.output]
    for each in found.attribute:
        if each.type == onnx.AttributeProto.GRAPH:
            own = {name for inner in each.g.node for name in inner.output}
            own |= {value.name for value in (*each.g.input, *each.g.initializer)}
            outer = {name: new for name, new in names.items() if name not in own}
            nodes = [_renamed(inner, outer) for inner in each.g.node]
            del each.g.node[:]
            each.g.node.extend(nodes)
            for output in each.g.output:
                output.name = outer.get(output.name, output.name)
    return found
