"""Graphs as models that ONNX Runtime takes, and the sessions that run them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from dml_conformance.backends.onnxruntime.graph import BOOL, FormGraph
from dml_conformance.backends.onnxruntime.table import MICROSOFT

IR_VERSION = 10  # the newest that ONNX Runtime 1.20 reads
MOST_SESSIONS = 256
# Elements of a constant that is part of a model; larger ones are fed, so that models stay small and are used again.
MOST_ELEMENTS = 256
ELEMENTS = {
    "FLOAT32": TensorProto.FLOAT,
    "FLOAT16": TensorProto.FLOAT16,
    "FLOAT64": TensorProto.DOUBLE,
    BOOL: TensorProto.BOOL,
    "INT4": TensorProto.INT4,
    "UINT4": TensorProto.UINT4,
    **{f"{sign}{bits}": getattr(TensorProto, f"{sign}{bits}") for sign in ("INT", "UINT") for bits in (8, 16, 32, 64)},
}


def model_of(graph: FormGraph) -> onnx.ModelProto:
    """The model of a graph; its tensors have no sizes, so that it takes any."""
    nodes = [
        helper.make_node(
            node.op_type,
            node.inputs,
            node.outputs,
            domain=node.domain,
            **{name: _attribute(name, value) for name, value in node.attributes.items()},
        )
        for node in graph.nodes
    ]
    inputs = [_value(name, layout.kind) for name, layout in graph.inputs.items()]
    inputs += [_value(name, graph.kinds[name]) for name in large_constants(graph)]
    outputs = [_value(name, layout.kind) for name, layout in graph.outputs.items()]
    small = graph.constants.keys() - large_constants(graph).keys()
    constants = [numpy_helper.from_array(array, name) for name, array in graph.constants.items() if name in small]
    opsets = [helper.make_opsetid("", graph.opset)]
    if any(node.domain for node in graph.nodes):
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    made = helper.make_graph(nodes, graph.desc.operator, inputs, outputs, constants)
    return helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="dml-conformance")


def large_constants(graph: FormGraph) -> dict[str, Any]:
    """The constants that are fed as inputs are, by name."""
    return {name: array for name, array in graph.constants.items() if array.size > MOST_ELEMENTS}


def _value(name: str, kind: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, ELEMENTS[kind], None)


def _attribute(name: str, value: Any) -> Any:
    """An attribute's value; element types are numbers to ONNX."""
    return ELEMENTS[value] if name in ("to", "output_dtype") else value


class Sessions:
    """Sessions by the bytes of their models, of which those that were used last are kept.

    Args:
        providers: of ONNX Runtime, in its order.
    """

    def __init__(self, providers: Sequence[Any]) -> None:
        self._providers = list(providers)
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = self._options.inter_op_num_threads = 1
        self._options.log_severity_level = 4
        self._kept: OrderedDict[bytes, onnxruntime.InferenceSession] = OrderedDict()

    @property
    def count(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def run(self, graph: FormGraph, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of a graph by name.

        Raises:
            Exception: ONNX Runtime refuses the model or its inputs.
        """
        names = list(graph.outputs)
        session = self._session(model_of(graph).SerializeToString())
        found = session.run(names, {**arrays, **large_constants(graph)})
        return dict(zip(names, found, strict=True))

    def _session(self, model: bytes) -> onnxruntime.InferenceSession:
        session = self._kept.pop(model, None)
        if session is None:
            session = onnxruntime.InferenceSession(model, self._options, providers=self._providers)
            if len(self._kept) == MOST_SESSIONS:
                self._kept.popitem(last=False)
        self._kept[model] = session
        return session
