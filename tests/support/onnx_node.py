"""What onnxruntime's CPU kernels, which nobody here wrote, make of a single ONNX node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import helper
from slow_reference import walk

from dml_conformance.spec.operator import inputs

NEWEST = 21
UNPACKED = {np.dtype(ml_dtypes.int4): np.dtype(np.int8), np.dtype(ml_dtypes.uint4): np.dtype(np.uint8)}


def computed(
    operator: str,
    arrays: Mapping[str, Any],
    *,
    outputs: Sequence[Any] = (np.float32,),
    opset: int = NEWEST,
    domain: str = "",
    **attributes: Any,
) -> list[Any]:
    """The outputs of a node.

    Args:
        operator: ONNX's name of it.
        arrays: the inputs by any names, in the node's order; None for one that is left out. Those of `ml_dtypes`' 4-bit
            types are constants of the model.
        outputs: the element type of each output; None for one that is left out. Those of 4 bits come as 8.
        opset: the version of ONNX's own operators.
        domain: `com.microsoft` for the runtime's own operators.
        attributes: of the node; None for one that is left out.

    Raises:
        onnxruntime.capi.onnxruntime_pybind11_state.Fail: the runtime refuses the node.
    """
    given = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    names = [f"output{n}" if kind is not None else "" for n, kind in enumerate(outputs)]
    node = helper.make_node(
        operator,
        [name if array is not None else "" for name, array in arrays.items()],
        names,
        domain=domain,
        **{name: value for name, value in attributes.items() if value is not None},
    )
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
    constants = [
        helper.make_tensor(name, types[name], array.shape, array.astype(np.int8).ravel())
        for name, array in given.items()
        if array.dtype in UNPACKED
    ]
    for constant in constants:
        del given[constant.name]
    casts = []
    for n, kind in enumerate(outputs):
        if kind is not None and np.dtype(kind) in UNPACKED:
            wide = UNPACKED[np.dtype(kind)]
            casts.append(helper.make_node("Cast", [names[n]], [f"wide{n}"], to=helper.np_dtype_to_tensor_dtype(wide)))
            names[n], outputs = f"wide{n}", [*outputs[:n], wide, *outputs[n + 1 :]]
    graph = helper.make_graph(
        [node, *casts],
        operator,
        [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in given.items()],
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)
            for name, kind in zip(names, outputs, strict=True)
            if kind is not None
        ],
        constants,
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = iter(session.run(None, given))
    return [None if kind is None else next(found) for kind in outputs]


def elements(run: Any) -> dict[str, Any]:
    """The inputs of a case by slot, as arrays of numbers in the tensors' sizes."""
    found = {}
    for slot in inputs(run.desc):
        memory = run.memory(slot.key)
        kind = np.dtype(slot.tensor.data_type.unpacked.name.lower())
        flat = [np.frombuffer(memory.element(place), kind)[0] for place in walk(slot.tensor.sizes)]
        found[slot.key] = np.array(flat, kind).reshape(slot.tensor.sizes)
    return found
