"""DML_OPERATOR_TOP_K and TOP_K1."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis, valid_axis
from dml_conformance.backends.torch.operators._order import as_index, bits, comparable
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import TopK

_INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING


def top_k(desc: TopK, tensors: Tensors) -> Tensors:
    """The first K along Axis of a stable sort, and where they were; TOP_K sorts from the largest."""
    source = tensors["input_tensor"]
    axis = valid_axis(desc, source)
    if not 1 <= desc.k <= source.shape[axis]:
        raise PlanError(f"K is {desc.k}, expected 1 to {source.shape[axis]}")
    if source.is_meta:
        places = torch.empty(source.shape, dtype=torch.int64, device=source.device)
    else:
        descending = getattr(desc, "axis_direction", None) != _INCREASING
        places = torch.sort(comparable(source), dim=axis, descending=descending, stable=True).indices
    places = places.narrow(axis, 0, desc.k)
    return {
        "output_value_tensor": torch.gather(bits(source), axis, places),
        "output_index_tensor": as_index(places, desc.output_index_tensor.data_type.size),
    }


_AGREE = (("input_tensor", "output_value_tensor"),)
OPERATORS = {
    name: TorchOperator(top_k, _AGREE, frozenset({"input_tensor"}), apart=off_axis) for name in ("TOP_K", "TOP_K1")
}
