"""Small ONNX models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

NEWEST = 21


def value(name: str, *sizes: int | str | None, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    """A value that a model describes; None is a dimension without size or name."""
    return helper.make_tensor_value_info(name, kind, sizes)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    constants: Mapping[str, Any] | None = None,
    opset: int = NEWEST,
    **more: Any,
) -> ModelProto:
    """A model whose outputs have no shapes, as runtimes take them.

    Args:
        nodes: in their order.
        inputs: as `value` makes them.
        outputs: their names.
        constants: initializers by name; arrays, or tensors as ONNX has them.
        opset: of ONNX's own operators.
        more: of the model, such as `functions`.
    """
    tensors = [
        array if isinstance(array, TensorProto) else numpy_helper.from_array(np.asarray(array), name)
        for name, array in (constants or {}).items()
    ]
    graph = helper.make_graph(
        list(nodes), "graph", list(inputs), [helper.make_empty_tensor_value_info(name) for name in outputs], tensors
    )
    for output in graph.output:
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), *more.pop("opsets", ())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **more)


def outside(name: str, *sizes: int, kind: int = TensorProto.FLOAT) -> TensorProto:
    """A tensor whose content is in a file that is not there."""
    tensor = TensorProto(name=name, data_type=kind, dims=sizes, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor
