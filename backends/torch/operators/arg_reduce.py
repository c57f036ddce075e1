"""DML_OPERATOR_ARGMIN and ARGMAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis, rows_along, valid_axes
from dml_conformance.backends.torch.operators._order import as_index, comparable
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import ArgReduce, Reduce

_INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING


def arg_reduce(find: Callable[..., Tensor], desc: ArgReduce | Reduce, tensors: Tensors) -> Tensors:
    """The place of an extreme among the elements along Axes; `find` gives the first one along a dimension."""
    source = tensors["input_tensor"]
    axes = valid_axes(desc.axes, source)
    sizes = [1 if d in axes else n for d, n in enumerate(source.shape)]
    if source.is_meta:
        places = torch.empty(sizes, dtype=torch.int64, device=source.device)
    else:
        numbers = comparable(rows_along(source, axes))
        if getattr(desc, "axis_direction", _INCREASING) == _INCREASING:
            places = find(numbers, -1)
        else:
            places = numbers.shape[-1] - 1 - find(numbers.flip(-1), -1)
    return {"output_tensor": as_index(places, desc.output_tensor.data_type.size).reshape(sizes)}


OPERATORS = {
    name: TorchOperator(partial(arg_reduce, find), (), frozenset({"input_tensor"}), apart=off_axis)
    for name, find in (("ARGMIN", torch.argmin), ("ARGMAX", torch.argmax))
}
