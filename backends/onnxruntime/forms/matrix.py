"""Products of matrices of floating-point numbers."""

from __future__ import annotations

import math
from typing import Any

from dml_conformance.backends.onnxruntime.forms._fused import activated
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue


def gemm(graph: FormGraph, desc: Any) -> None:
    """One node of single matrices, several of a batch."""
    sizes = {key: getattr(desc, key).sizes for key in ("a_tensor", "b_tensor", "output_tensor")}
    read = graph.input if desc.fused_activation is None else graph.number
    if math.prod(desc.output_tensor.sizes[:-2]) == 1:
        a, b = (read(key, sizes=sizes[key][-2:]) for key in ("a_tensor", "b_tensor"))
        c = None if desc.c_tensor is None else read("c_tensor", sizes=sizes["output_tensor"][-2:])
        attributes = {"transA": desc.trans_a, "transB": desc.trans_b, "alpha": desc.alpha, "beta": desc.beta}
        found = graph.node("Gemm", a, b, c, **attributes)
    else:
        a = _transposed(graph, graph.number("a_tensor"), desc.trans_a, len(sizes["a_tensor"]))
        b = _transposed(graph, graph.number("b_tensor"), desc.trans_b, len(sizes["b_tensor"]))
        found = graph.node("Mul", graph.node("MatMul", a, b), graph.constant(desc.alpha, a.kind))
        if desc.c_tensor is not None:
            c = graph.node("Mul", graph.number("c_tensor"), graph.constant(desc.beta, a.kind))
            found = graph.node("Add", found, c)
    graph.output("output_tensor", activated(graph, found, desc.fused_activation))


def _transposed(graph: FormGraph, matrix: FormValue, is_transposed: int, rank: int) -> FormValue:
    if not is_transposed:
        return matrix
    return graph.node("Transpose", matrix, perm=[*range(rank - 2), rank - 1, rank - 2])


FORMS = {"GEMM": gemm}
