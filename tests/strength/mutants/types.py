"""Data types that are taken for others, or refused."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import RejectsValid, WrongDecision, least_total, plants


@plants("tensor_seen", WrongDecision, since="2_1", rules=("data-types",))
def AcceptsUint4(tensor: TensorDesc) -> TensorDesc:
    """Takes a 4-bit type, whose size it does not know, for UINT8."""
    if tensor.data_type is not DataType.UINT4:
        return tensor
    wider = replace(tensor, data_type=DataType.UINT8)
    return replace(wider, total_tensor_size_in_bytes=least_total(wider))


@plants("seen", WrongDecision, since="3_0", has=("indices_tensor",), rules=("data-types",))
def AcceptsInt16Indices(desc: Any) -> Any:
    indices = desc.indices_tensor
    if indices is None or indices.data_type is not DataType.INT16:
        return desc
    total = 2 * indices.total_tensor_size_in_bytes
    return replace(desc, indices_tensor=replace(indices, data_type=DataType.INT32, total_tensor_size_in_bytes=total))


@plants("seen", WrongDecision, rules=("same-data-type",))
def ConvertsDataTypes(desc: Any) -> Any:
    """Accepts an output of another data type, as if it were a cast."""
    source, output = desc.input_tensor, desc.output_tensor
    if source is None or output is None or not (source.data_type.size and output.data_type.size):
        return desc
    total = output.total_tensor_size_in_bytes * source.data_type.size // output.data_type.size
    return replace(desc, output_tensor=replace(output, data_type=source.data_type, total_tensor_size_in_bytes=total))


@plants("refused", RejectsValid, since="2_1")
def RejectsInt8(desc: Any) -> bool:
    return desc.input_tensor.data_type is DataType.INT8


@plants("refused", RejectsValid, since="3_0", has=("indices_tensor",))
def RejectsUint64Indices(desc: Any) -> bool:
    return desc.indices_tensor.data_type is DataType.UINT64
