"""Which descriptors have a form in ONNX, and which form: one module a family, found by walking this package.

An operator that is one node, as `table` has it, needs nothing here. A module's `FORMS` has a function for each operator
that needs more: `form(graph, desc)` adds the nodes to a graph and names its outputs, or raises `NoForm`.

What a form may do outside of ONNX is to move elements: strides, the order of dimensions, sizes, 4-bit elements in bytes
of their own. Arithmetic is done by nodes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import has_plain_row, plain
from dml_conformance.backends.onnxruntime.graph import FormGraph, NoForm
from dml_conformance.backends.onnxruntime.table import NODES
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes

Form = Callable[[FormGraph, Any], None]


# The operators that have none, and why.
WITHOUT_FORM = {
    "RANDOM_GENERATOR": "ONNX does not say what its random nodes give",
    "ROI_ALIGN_GRAD": "ONNX has no gradient of RoiAlign",
}


@cache
def own_forms() -> dict[str, Form]:
    """The forms of operators that are more than a row of the table."""
    found: dict[str, Form] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            found.update(importlib.import_module(f"{__name__}.{module.name}").FORMS)
    return found


@cache
def mapped_operators() -> tuple[str, ...]:
    """The operators that have a form, in the order of DML_OPERATOR_TYPE."""
    rows = {row.operator for row in NODES if has_plain_row(row.operator)}
    return tuple(name for name in descriptor_classes() if name in own_forms() or name in rows)


def form_of(desc: OperatorDesc) -> FormGraph:
    """The nodes that compute a descriptor.

    Args:
        desc: valid.

    Raises:
        NoForm: there are none; the message says what has none.
    """
    graph = FormGraph(desc)
    form = own_forms().get(desc.operator, plain)
    form(graph, desc)
    return graph


def beyond_onnx(desc: OperatorDesc) -> str:
    """What of a valid descriptor has no form in ONNX, in words; "" where it has one."""
    try:
        form_of(desc)
    except NoForm as reason:
        return f"no form in ONNX: {reason}"
    return ""
