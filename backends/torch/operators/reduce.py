"""DML_OPERATOR_REDUCE."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import off_axis, rows_along, valid_axes
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.backends.torch.operators._order import UNSIGNED, as_index, bits
from dml_conformance.backends.torch.operators._shares import share
from dml_conformance.backends.torch.operators.arg_reduce import arg_reduce
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import Reduce

_FUNCTION = enumeration("DML_REDUCE_FUNCTION")
_PLACES = {_FUNCTION.ARGMAX: torch.argmax, _FUNCTION.ARGMIN: torch.argmin}
# Of rows; integers are those of 64 bits.
_ROWS: dict[int, Callable[[Tensor], Tensor]] = {
    _FUNCTION.AVERAGE: lambda rows: share(rows.sum(-1), rows.shape[-1]),
    _FUNCTION.L1: lambda rows: rows.abs().sum(-1),
    _FUNCTION.L2: lambda rows: rows.square().sum(-1).sqrt(),
    _FUNCTION.LOG_SUM: lambda rows: rows.sum(-1).log(),
    _FUNCTION.LOG_SUM_EXP: lambda rows: rows.logsumexp(-1),
    _FUNCTION.MAX: lambda rows: rows.amax(-1),
    _FUNCTION.MIN: lambda rows: rows.amin(-1),
    _FUNCTION.MULTIPLY: lambda rows: rows.prod(-1),
    _FUNCTION.SUM: lambda rows: rows.sum(-1),
    _FUNCTION.SUM_SQUARE: lambda rows: rows.square().sum(-1),
}
_ORDERED = (_FUNCTION.MAX, _FUNCTION.MIN)


def reduce(desc: Reduce, tensors: Tensors) -> Tensors:
    """`output[c] = Function(input[c, Axes])`, of FLOAT16 in FLOAT32."""
    source = tensors["input_tensor"]
    if desc.function in _PLACES:
        return arg_reduce(_PLACES[desc.function], desc, tensors)
    axes = valid_axes(desc.axes, source)
    sizes = [1 if d in axes else size for d, size in enumerate(source.shape)]
    if source.is_meta:
        return {"output_tensor": torch.empty(sizes, dtype=source.dtype, device=source.device)}
    return {"output_tensor": _of_rows(desc.function, rows_along(source, axes)).reshape(sizes)}


def _of_rows(function: int, rows: Tensor) -> Tensor:
    dtype = rows.dtype
    if rows.is_floating_point():
        return _ROWS[function](rows.float()).to(dtype)
    if function in _ORDERED:
        return narrow(_ROWS[function](widen(rows)), dtype)
    if dtype not in UNSIGNED:
        return _ROWS[function](rows.to(torch.int64)).to(dtype)
    if function == _FUNCTION.L1:  # magnitudes are what they are
        function = _FUNCTION.SUM
    found = _ROWS[function](bits(rows).to(torch.int64))
    return as_index(found, dtype.itemsize).view(dtype)


def _fault(desc: Reduce, level: Level) -> str:
    of, to = desc.input_tensor.data_type, desc.output_tensor.data_type
    return "" if desc.function in _PLACES or of == to else f"OutputTensor is {to.name}, InputTensor is {of.name}"


OPERATORS = {"REDUCE": TorchOperator(reduce, (), frozenset({"input_tensor"}), fault=_fault, apart=off_axis)}
