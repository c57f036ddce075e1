"""Reading an ONNX model without its weights, so that its size does not matter, and checking that it is one.

A tensor of more than `MOST_VALUES` elements is a weight: its type and shape suffice, and its content is passed over
while the file is read, or left where it lies outside. It becomes an input of the model. Smaller ones are kept, as
DirectML has some of them as attributes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from dml_conformance.spec.errors import BadInputError

MOST_VALUES = 2**16  # elements of a tensor whose content is kept
MOST_BYTES = 2**28  # of a model without its weights
MOST_DEPTH = 64  # of graphs in graphs
ONNX_DOMAINS = ("", "ai.onnx")
# Domains whose operators are known by name, though not all of them become descriptors.
KNOWN_DOMAINS = (*ONNX_DOMAINS, "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft")


class OnnxModelError(BadInputError, ValueError):
    """A model that cannot be read; the message says of which file and node, and what was expected."""


def read_model(path: Path) -> onnx.ModelProto:
    """Read a model from a file, without its weights.

    Raises:
        OnnxModelError: it cannot be read, is no model, or is too large without its weights.
    """
    try:
        with path.open("rb") as stream:
            if not stream.read(1):
                raise OnnxModelError(f"{path}: the file is empty; expected an ONNX model")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                kept = b"".join(_kept(_Reader(content), 0, len(content), _MODEL, 0))
    except (OSError, ValueError) as error:
        if isinstance(error, OnnxModelError):
            raise
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else error
        what = "cannot be read" if isinstance(error, OSError) else "expected an ONNX model as protobuf"
        raise OnnxModelError(f"{path}: {what}: {reason}") from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(kept)
    except DecodeError:
        raise OnnxModelError(f"{path}: expected an ONNX model as protobuf, found something else") from None
    if not model.HasField("graph"):
        raise OnnxModelError(f"{path}: expected an ONNX model; it has no graph")
    return model


# --- protobuf, passed over ----------------------------------------------------------------------------------------

# Fields of the messages of onnx.proto that hold others on the way to a tensor; `raw_data` and the like of a tensor.
_Message = Mapping[int, Any]
_TENSOR_DATA = (4, 5, 6, 7, 9, 10, 11)
_TENSOR: _Message = {}
_SPARSE: _Message = {1: _TENSOR, 2: _TENSOR}
_GRAPH: dict[int, Any] = {}
_ATTRIBUTE: _Message = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE}
_NODE: _Message = {5: _ATTRIBUTE}
_GRAPH |= {1: _NODE, 5: _TENSOR, 15: _SPARSE}
_MODEL: _Message = {7: _GRAPH, 25: {7: _NODE, 11: _ATTRIBUTE}}
_MARKED_AS_OUTSIDE = b"\x70\x01"  # TensorProto.data_location = EXTERNAL
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_DATA = MOST_VALUES * 16  # bytes; complex numbers have as many


class _Reader:
    """Bytes of a file that are looked at one by one, and copied where they are kept."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.copied = 0

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """A number, and the place behind it."""
        found = 0
        for n in range(10):
            if at >= end:
                raise ValueError("it ends within a number; the file is truncated or is something else")
            byte = self.content[at]
            found, at = found | (byte & 0x7F) << 7 * n, at + 1
            if byte < 0x80:
                return found, at
        raise ValueError(f"byte {at}: no number of protobuf")

    def copy(self, start: int, end: int) -> bytes:
        self.copied += end - start
        if self.copied > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB without its weights, the most that is read")
        return self.content[start:end]


def _kept(reader: _Reader, at: int, end: int, message: _Message, depth: int) -> Iterator[bytes]:
    """The bytes of a message without the content of large tensors."""
    if depth > 4 * MOST_DEPTH:
        raise ValueError(f"graphs lie in each other more than {MOST_DEPTH} deep")
    while at < end:
        start = at
        key, at = reader.varint(at, end)
        number, wire = key >> 3, key & 7
        if wire == _BYTES:
            length, at = reader.varint(at, end)
            inner, at = at, at + length
        elif wire == _VARINT:
            inner, (_, at) = at, reader.varint(at, end)
        elif wire in (_FIXED64, _FIXED32):
            inner, at = at, at + (8 if wire == _FIXED64 else 4)
        else:
            raise ValueError(f"byte {start}: no field of protobuf")
        if at > end:
            raise ValueError("it ends within a field; the file is truncated or is something else")
        if wire == _BYTES and number in message:
            parts = b"".join(_kept(reader, inner, at, message[number], depth + 1))
            yield _key_and_length(key, len(parts)) + parts
        elif message is _TENSOR and wire == _BYTES and number in _TENSOR_DATA and at - inner > _MOST_DATA:
            yield _MARKED_AS_OUTSIDE
        else:
            yield reader.copy(start, at)


def _key_and_length(*numbers: int) -> bytes:
    found = bytearray()
    for number in numbers:
        while number >= 0x80:
            found.append(number & 0x7F | 0x80)
            number >>= 7
        found.append(number)
    return bytes(found)


# --- weights as inputs --------------------------------------------------------------------------------------------


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with an input in place of each large tensor, and of each whose content is elsewhere."""
    found = onnx.ModelProto()
    _copied(model, found, {"graph"})
    found.graph.SetInParent()
    _copied(model.graph, found.graph, {"initializer", "sparse_initializer", "node"})
    given = {value.name for value in model.graph.input}
    weights: dict[str, onnx.ValueInfoProto] = {}
    _move(model.graph, found.graph, weights, MOST_DEPTH)
    found.graph.input.extend(value for name, value in weights.items() if name not in given)
    return found


def _copied(message: Any, target: Any, left_out: Iterable[str]) -> Any:
    for field, value in message.ListFields():
        if field.name in left_out:
            continue
        if field.message_type is None and not isinstance(value, str | bytes) and hasattr(value, "__len__"):
            getattr(target, field.name).extend(value)
        elif field.message_type is None:
            setattr(target, field.name, value)
        elif hasattr(value, "ListFields"):
            getattr(target, field.name).CopyFrom(value)
        else:
            getattr(target, field.name).extend(value)
    return target


def _move(source: Any, target: Any, weights: dict[str, onnx.ValueInfoProto], depth: int) -> None:
    """Initializers and nodes of a graph into another one, without those that are weights."""
    if not depth:
        raise OnnxModelError(f"graph {source.name!r}: graphs lie in each other more than {MOST_DEPTH} deep")
    for tensor in source.initializer:
        if is_weight(tensor):
            weights[tensor.name] = _described(tensor.name, tensor)
        else:
            target.initializer.append(tensor)
    for sparse in source.sparse_initializer:
        weights[sparse.values.name] = _described(sparse.values.name, sparse.values, sparse.dims)
    for node in source.node:
        constant = large_constant(node)
        if constant is not None:
            weights[node.output[0]] = _described(node.output[0], constant)
            continue
        copy = _copied(node, target.node.add(), {"attribute"})
        for attribute in node.attribute:
            if attribute.type != onnx.AttributeProto.GRAPH:
                copy.attribute.append(attribute)
                continue
            nested = copy.attribute.add(name=attribute.name, type=attribute.type)
            _copied(attribute.g, nested.g, {"initializer", "sparse_initializer", "node"})
            _move(attribute.g, nested.g, weights, depth - 1)


def is_weight(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor's content is elsewhere, or more than is kept."""
    return tensor.data_location == onnx.TensorProto.EXTERNAL or prod(tensor.dims) > MOST_VALUES


def large_constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor of a Constant whose content is not kept."""
    tensors = [each.t for each in node.attribute if each.name == "value"] if node.op_type == "Constant" else []
    return next((tensor for tensor in tensors if is_weight(tensor)), None)


def _described(name: str, tensor: onnx.TensorProto, dims: Iterable[int] | None = None) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims if dims is None else dims))


# --- checks ---------------------------------------------------------------------------------------------------------


def check(model: onnx.ModelProto) -> None:
    """Hold a model against ONNX's own checker, and its functions and domains against what can be followed.

    Raises:
        OnnxModelError: naming the node, where there is one.
    """
    for imported in model.opset_import:
        if imported.domain in ONNX_DOMAINS and imported.version > onnx.defs.onnx_opset_version():
            raise OnnxModelError(
                f"it is of opset {imported.version}; onnx {onnx.__version__} knows those up to "
                f"{onnx.defs.onnx_opset_version()}: install a newer onnx"
            )
    _check_functions(model)
    complete = onnx.ModelProto()
    complete.CopyFrom(model)
    for value in complete.graph.output:  # runtimes do without a shape here, which the checker insists on
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    for nodes in (complete.graph.node, *(each.node for each in complete.functions)):
        _empty_outside_tensors(nodes)
    try:
        onnx.checker.check_model(complete)
    except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise OnnxModelError(f"onnx's checker refuses it: {' '.join(str(error).split())}") from None
    _check_domains(model.graph.node, {function_key(each) for each in model.functions}, MOST_DEPTH)


def _empty_outside_tensors(nodes: Iterable[onnx.NodeProto]) -> None:
    """Take away the content of attributes that is elsewhere, where the checker would look for it."""
    for attribute in (each for node in nodes for each in node.attribute):
        if attribute.t.data_location == onnx.TensorProto.EXTERNAL:
            attribute.t.CopyFrom(onnx.TensorProto(name=attribute.t.name, data_type=attribute.t.data_type, dims=[0]))
        if attribute.type == onnx.AttributeProto.GRAPH:
            _empty_outside_tensors(attribute.g.node)


def function_key(function: onnx.FunctionProto | onnx.NodeProto) -> tuple[str, str, str]:
    """What a node names a function by."""
    name = function.name if isinstance(function, onnx.FunctionProto) else function.op_type
    return function.domain, name, function.overload


def _check_functions(model: onnx.ModelProto) -> None:
    """Raises OnnxModelError where a function needs itself."""
    functions = {function_key(each): each for each in model.functions}
    finished: set[tuple[str, str, str]] = set()
    for start in functions:
        path = [start]
        stack = [iter(_called(functions[start].node))]
        while stack:
            key = next((key for key in stack[-1] if key in functions and key not in finished), None)
            if key is None:
                stack.pop()
                finished.add(path.pop())
            elif key in path:
                names = " calls ".join(name for _, name, _ in (*path[path.index(key) :], key))
                raise OnnxModelError(f"function {key[1]!r} is recursive: {names}")
            else:
                path.append(key)
                stack.append(iter(_called(functions[key].node)))


def _called(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, str, str]]:
    for node in nodes:
        yield function_key(node)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _called(attribute.g.node)


def _check_domains(nodes: Iterable[onnx.NodeProto], functions: set[tuple[str, str, str]], depth: int) -> None:
    for node in nodes:
        if node.domain not in KNOWN_DOMAINS and function_key(node) not in functions:
            raise OnnxModelError(
                f"node {node_name(node)!r}: {node.op_type} is of domain {node.domain!r}, which is not known here, and "
                "the model has no function for it"
            )
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _check_domains(attribute.g.node, functions, depth - 1)


def node_name(node: onnx.NodeProto) -> str:
    """The name of a node, or of its first output where it has none."""
    return node.name or next((name for name in node.output if name), node.op_type)


# --- sizes ------------------------------------------------------------------------------------------------------------


def with_sizes(model: onnx.ModelProto, dims: Mapping[str, int]) -> None:
    """Give the model's inputs, and the values that it describes, the sizes that symbols stand for.

    A dimension with neither size nor name is named by its input and place, `x[0]`.

    Raises:
        OnnxModelError: an input has a symbol that `dims` does not have, or `dims` has one that the model has not.
    """
    missing: dict[str, str] = {}
    named: set[str] = set()
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        is_input = any(value is each for each in model.graph.input)
        for n, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value"):
                continue
            symbol = dim.dim_param or f"{value.name}[{n}]"
            named.add(symbol)
            if symbol in dims:
                dim.dim_value = dims[symbol]
            elif is_input:
                missing.setdefault(symbol, value.name)
    if missing:
        told = ", ".join(f"{symbol} (of input {name!r})" for symbol, name in missing.items())
        given = " ".join(f"--dim {symbol}=SIZE" for symbol in missing)
        raise OnnxModelError(f"sizes are missing for {told}; give them with {given}")
    unknown = sorted(set(dims) - named)
    if unknown:
        known = f"it has {', '.join(sorted(named))}" if named else "all of its sizes are known"
        raise OnnxModelError(f"--dim {unknown[0]}: the model has no such symbol; {known}")
