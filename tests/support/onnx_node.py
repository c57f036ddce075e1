"""What onnxruntime's CPU kernels, which nobody here wrote, make of a single ONNX node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper

NEWEST = 21


def computed(
    operator: str, arrays: Mapping[str, Any], kind: Any = np.float32, domain: str = "", **attributes: Any
) -> Any:
    """The first output of a node.

    Args:
        operator: ONNX's name of it.
        arrays: the inputs by any names, in the node's order.
        kind: the element type of the output.
        domain: `com.microsoft` for the runtime's own operators.
        attributes: of the node.

    Raises:
        onnxruntime.capi.onnxruntime_pybind11_state.Fail: the runtime refuses the node.
    """
    given = {name: np.asarray(array) for name, array in arrays.items()}
    node = helper.make_node(operator, list(given), ["output"], domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    output = helper.make_tensor_value_info("output", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)
    graph = helper.make_graph([node], operator, inputs, [output])
    opsets = [helper.make_opsetid("", NEWEST), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]
