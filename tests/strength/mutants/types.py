"""Data types that are taken for others, or refused."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes
from strength.mutants.base import RejectsValid, WrongDecision, edit_tensors


class AcceptsUint4(WrongDecision):
    """Takes a 4-bit type, whose size it does not know, for UINT8."""

    since = "2_1"
    rules = ("data-types",)

    def seen(self, desc: Any, level: Level) -> Any:
        def widened(tensor: TensorDesc) -> TensorDesc:
            if tensor.data_type is not DataType.UINT4:
                return tensor
            least = minimum_size_in_bytes(DataType.UINT8, tensor.sizes, tensor.strides)
            return replace(tensor, data_type=DataType.UINT8, total_tensor_size_in_bytes=least)

        return edit_tensors(desc, widened)


class AcceptsInt16Indices(WrongDecision):
    has = ("indices_tensor",)
    rules = ("data-types",)
    since = "3_0"

    def seen(self, desc: Any, level: Level) -> Any:
        indices = desc.indices_tensor
        if indices is None or indices.data_type is not DataType.INT16:
            return desc
        total = 2 * indices.total_tensor_size_in_bytes
        return replace(
            desc, indices_tensor=replace(indices, data_type=DataType.INT32, total_tensor_size_in_bytes=total)
        )


class ConvertsDataTypes(WrongDecision):
    """Accepts an output of another data type, as if it were a cast."""

    rules = ("same-data-type",)

    def seen(self, desc: Any, level: Level) -> Any:
        source, output = desc.input_tensor, desc.output_tensor
        if source is None or output is None or not (source.data_type.size and output.data_type.size):
            return desc
        total = output.total_tensor_size_in_bytes * source.data_type.size // output.data_type.size
        return replace(
            desc, output_tensor=replace(output, data_type=source.data_type, total_tensor_size_in_bytes=total)
        )


class RejectsInt8(RejectsValid):
    since = "2_1"

    def refused(self, desc: Any) -> bool:
        return desc.input_tensor.data_type is DataType.INT8


class RejectsUint64Indices(RejectsValid):
    has = ("indices_tensor",)
    since = "3_0"

    def refused(self, desc: Any) -> bool:
        return desc.indices_tensor.data_type is DataType.UINT64
