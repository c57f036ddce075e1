"""Descriptors and structs as memory, against figures of the C headers and structs that ctypes lays out."""

from __future__ import annotations

import ctypes
import struct
from ctypes import POINTER, Structure, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

import pytest
from directml_fakes import GATHER, tile
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import InterfaceTable
from dml_conformance.backends.directml.execution import structures
from dml_conformance.backends.directml.execution.interfaces import C_TYPES, Interface, StructReturn
from dml_conformance.backends.directml.headers import OperatorType
from dml_conformance.backends.directml.structs import (
    BLOCK_SIZE,
    HEADER,
    MOST_ENTRIES,
    OPERATOR_DESC_AT,
    Packer,
    members,
    struct_format,
    tensor_members,
)
from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operators, spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.boundaries import boundary_cases


class BufferTensorDesc(Structure):
    _fields_: ClassVar = [
        ("DataType", c_uint32),
        ("Flags", c_uint32),
        ("DimensionCount", c_uint32),
        ("Sizes", POINTER(c_uint32)),
        ("Strides", POINTER(c_uint32)),
        ("TotalTensorSizeInBytes", c_uint64),
        ("GuaranteedBaseOffsetAlignment", c_uint32),
    ]


class DmlTensorDesc(Structure):
    _fields_: ClassVar = [("Type", c_uint32), ("Desc", POINTER(BufferTensorDesc))]


TENSOR = POINTER(DmlTensorDesc)


def structure(members: str) -> type[Structure]:
    """A struct as DirectML.h has it: tensors are pointers, `Repeats` is one to numbers, all others are UINTs."""
    kinds = {"Repeats": POINTER(c_uint32)}
    fields = [(name, TENSOR if name.endswith("Tensor") else kinds.get(name, c_uint32)) for name in members.split()]
    return type("Desc", (Structure,), {"_fields_": fields})


STRUCTS = {
    "GATHER": structure("InputTensor IndicesTensor OutputTensor Axis IndexDimensions"),
    "TILE": structure("InputTensor OutputTensor RepeatsCount Repeats"),
    "GATHER_ELEMENTS": structure("InputTensor IndicesTensor OutputTensor Axis"),
    "GATHER_ND": structure("InputTensor IndicesTensor OutputTensor InputDimensionCount IndicesDimensionCount"),
    "GATHER_ND1": structure(
        "InputTensor IndicesTensor OutputTensor InputDimensionCount IndicesDimensionCount BatchDimensionCount"
    ),
}


class OperatorDescStruct(Structure):
    _fields_: ClassVar = [("Type", c_uint32), ("Desc", c_void_p)]


class Receiver:
    """Memory that blocks are received in."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(BLOCK_SIZE)
        self.packer = Packer(ctypes.addressof(self.memory))

    def receive(self, desc: OperatorDesc) -> tuple[int, Any]:
        """The operator's type and its struct, as a library finds them."""
        block = self.packer.pack(desc)
        assert HEADER.unpack_from(block) == (len(block),)
        ctypes.memset(self.memory, 0xCD, BLOCK_SIZE)
        ctypes.memmove(self.memory, bytes(block), len(block))
        operator = OperatorDescStruct.from_address(ctypes.addressof(self.memory) + OPERATOR_DESC_AT)
        return operator.Type, STRUCTS[desc.operator].from_address(operator.Desc)


def read_tensor(pointer: Any) -> TensorDesc | None:
    if not pointer:
        return None
    outer = pointer.contents
    inner = outer.Desc.contents
    count = inner.DimensionCount
    return TensorDesc(
        DataType(inner.DataType),
        tuple(inner.Sizes[:count]),
        tuple(inner.Strides[:count]) if inner.Strides else None,
        inner.TotalTensorSizeInBytes,
        inner.Flags,
        inner.GuaranteedBaseOffsetAlignment,
        TensorType(outer.Type),
    )


def read_desc(desc: OperatorDesc, found: Any) -> OperatorDesc:
    """The descriptor that the structs hold, in the class of `desc`."""
    values: dict[str, Any] = {}
    for field in spec_of(desc).fields:
        value = getattr(found, field.name)
        if field.is_tensor:
            value = read_tensor(value)
        elif field.count_field:
            value = tuple(value[: getattr(found, field.count_field)])
        values[field.attribute] = value
    return type(desc)(**values)


def test_every_operator_has_the_headers_number() -> None:
    assert {operator.name: operator.value for operator in OperatorType} == {
        name: spec.type_value for name, spec in operators().items()
    }


@pytest.mark.parametrize("name", list(operators()))
def test_a_block_holds_the_descriptor(name: str) -> None:
    receiver = Receiver()
    descs = [case.desc for case in boundary_cases(name, HIGHEST)]
    assert len(descs) > 100
    for desc in descs:
        operator_type, found = receiver.receive(desc)
        assert operator_type == operators()[name].type_value
        assert read_desc(desc, found) == desc


@pytest.mark.parametrize("name", list(operators()))
def test_the_structs_have_the_size_that_a_c_compiler_gives_them(name: str) -> None:
    spec = operators()[name]
    layout = members(spec.desc)
    assert len(layout) == len(spec.fields)
    assert struct.calcsize(struct_format(layout)) == ctypes.sizeof(STRUCTS[name])
    inputs, outputs = tensor_members(spec.desc)
    assert inputs == tuple(field.attribute for field in spec.input_fields)
    assert outputs == tuple(field.attribute for field in spec.output_fields)


def test_nothing_of_one_descriptor_is_left_in_the_next() -> None:
    receiver = Receiver()
    strided = replace(GATHER, input_tensor=TensorDesc.of(DataType.FLOAT32, (3, 2), (2, 1), flags=1, alignment=32))
    assert read_desc(strided, receiver.receive(strided)[1]) == strided
    assert read_desc(GATHER, receiver.receive(GATHER)[1]) == GATHER
    without = replace(GATHER, indices_tensor=None)
    assert read_desc(without, receiver.receive(without)[1]) == without
    many = replace(tile(DataType.FLOAT32), repeats=tuple(range(1, MOST_ENTRIES + 1)))
    assert read_desc(many, receiver.receive(many)[1]) == many


def test_arrays_in_a_row_share_one_count() -> None:
    class Slice(OperatorDesc, frozen=True):
        operator: ClassVar[str] = "GATHER"
        input_tensor: TensorDesc
        bias_tensor: TensorDesc | None
        offsets: tuple[int, ...]
        sizes: tuple[int, ...]
        mode: DataType
        axes: tuple[int, ...]

    Slice.__annotations__ = {
        "input_tensor": TensorDesc,
        "bias_tensor": TensorDesc | None,
        "offsets": tuple[int, ...],
        "sizes": tuple[int, ...],
        "mode": DataType,
        "axes": tuple[int, ...],
    }
    assert struct_format(members(Slice)) == "@PPIPPIIP0Q"
    tensor = TensorDesc.of(DataType.FLOAT32, (1,))
    with pytest.raises(Unsupported, match="sizes has 1 entries, and shares a count of 2"):
        Packer(0).pack(Slice(tensor, None, (1, 2), (3,), DataType.FLOAT32, ()))


def test_a_field_of_another_kind_and_an_unknown_operator_are_refused() -> None:
    class Named(OperatorDesc, frozen=True):
        operator: ClassVar[str] = "GATHER"
        name: str

    class Other(OperatorDesc, frozen=True):
        operator: ClassVar[str] = "SLICE"

    Named.__annotations__ = {"name": str}
    with pytest.raises(Unsupported, match=r"Named\.name is of a type that this backend cannot pass on"):
        Packer(0).pack(Named("x"))
    with pytest.raises(Unsupported, match="has no SLICE; it has GATHER, TILE"):
        Packer(0).pack(Other())


@pytest.mark.parametrize(
    ("desc", "reason"),
    [
        (replace(GATHER, axis=2**32), "cannot hold"),
        (replace(GATHER, axis=-1), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, sizes=(2**32, 1))), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, total_tensor_size_in_bytes=2**64)), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, strides=(1,))), "1 strides for 2 sizes"),
        (replace(tile(DataType.FLOAT32), repeats=(1,) * (MOST_ENTRIES + 1)), "33 entries"),
    ],
)
def test_what_the_api_cannot_say_is_not_claimed(desc: OperatorDesc, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        Packer(0).pack(desc)


# --- structs and tables that execution relies on ----------------------------------------------------------------------


# From d3d12.h and DirectML.h, as a C compiler for 64-bit machines lays them out.
SIZES = {
    "Luid": 8,
    "CpuDescriptorHandle": 8,
    "GpuDescriptorHandle": 8,
    "CommandQueueDesc": 16,
    "HeapProperties": 20,
    "HeapDesc": 48,
    "SampleDesc": 8,
    "ResourceDesc": 56,
    "DescriptorHeapDesc": 16,
    "QueryHeapDesc": 12,
    "MemoryRange": 16,
    "ResourceAllocationInfo": 16,
    "TransitionBarrier": 24,
    "ResourceBarrier": 32,
    "BindingProperties": 24,
    "BindingTableDesc": 32,
    "BindingDesc": 16,
    "BufferBinding": 24,
    "BufferArrayBinding": 16,
}
OFFSETS = {
    ("HeapDesc", "Properties"): 8,
    ("HeapDesc", "Alignment"): 32,
    ("ResourceDesc", "Alignment"): 8,
    ("ResourceDesc", "Height"): 24,
    ("ResourceDesc", "DepthOrArraySize"): 28,
    ("ResourceDesc", "MipLevels"): 30,
    ("ResourceDesc", "SampleDesc"): 36,
    ("ResourceDesc", "Layout"): 44,
    ("ResourceDesc", "Flags"): 48,
    ("ResourceBarrier", "Transition"): 8,
    ("BindingProperties", "TemporaryResourceSize"): 8,
    ("BindingTableDesc", "SizeInDescriptors"): 24,
    ("BindingDesc", "Desc"): 8,
    ("BufferArrayBinding", "Bindings"): 8,
}
# From the same headers: a few places in each table, those that DirectML was seen to call by number and the last one
# among them.
SLOTS = {
    "ID3D12_DEVICE5": {
        "CheckFeatureSupport": 13,
        "GetResourceAllocationInfo": 25,
        "GetCustomHeapProperties": 26,
        "GetDeviceRemovedReason": 37,
        "GetAdapterLuid": 43,
        "GetResourceAllocationInfo1": 56,
        "EnumerateMetaCommands": 59,
        "CheckDriverMatchingIdentifier": 64,
    },
    "IDXCORE_ADAPTER_FACTORY": {"GetAdapterByLuid": 4, "UnregisterEventNotification": 7},
    "IDXCORE_ADAPTER": {"GetProperty": 6, "GetPropertySize": 7, "GetFactory": 12},
    "IDML_DEVICE": {"CheckFeatureSupport": 7, "CreateOperator": 8, "GetParentDevice": 16},
    "ID3D12_COMMAND_QUEUE": {"ExecuteCommandLists": 10, "Signal": 14, "GetTimestampFrequency": 16, "GetDesc": 18},
    "ID3D12_COMMAND_ALLOCATOR": {"Reset": 8},
    "ID3D12_GRAPHICS_COMMAND_LIST": {
        "Close": 9,
        "Reset": 10,
        "CopyBufferRegion": 15,
        "ResourceBarrier": 26,
        "SetDescriptorHeaps": 28,
        "EndQuery": 53,
        "ResolveQueryData": 54,
        "ExecuteIndirect": 59,
    },
    "ID3D12_FENCE": {"GetCompletedValue": 8, "SetEventOnCompletion": 9, "Signal": 10},
    "ID3D12_HEAP": {"GetDesc": 8},
    "ID3D12_RESOURCE": {"Map": 8, "Unmap": 9, "GetDesc": 10, "GetHeapProperties": 14},
    "ID3D12_DESCRIPTOR_HEAP": {"GetDesc": 8, "GetGPUDescriptorHandleForHeapStart": 10},
    "ID3D12_QUERY_HEAP": {"GetDevice": 7},
    "IDXGI_FACTORY4": {"EnumAdapters1": 12, "EnumAdapterByLuid": 26, "EnumWarpAdapter": 27},
    "IDML_DISPATCHABLE": {"GetBindingProperties": 8},
    "IDML_OPERATOR_INITIALIZER": {"GetBindingProperties": 8, "Reset": 9},
    "IDML_BINDING_TABLE": {"BindInputs": 8, "BindOutputs": 9, "BindPersistentResource": 11, "Reset": 12},
    "IDML_COMMAND_RECORDER": {"RecordDispatch": 8},
}


def test_sizes_of_structs_and_places_of_members() -> None:
    defined = {
        name: ctypes.sizeof(value)
        for name, value in vars(structures).items()
        if isinstance(value, type) and issubclass(value, Structure)
    }
    assert defined == SIZES
    places = {(struct, member): getattr(getattr(structures, struct), member).offset for struct, member in OFFSETS}
    assert places == OFFSETS


@pytest.mark.parametrize(("table", "slots"), SLOTS.items(), ids=SLOTS)
def test_places_in_the_tables(table: str, slots: dict[str, int]) -> None:
    functions: tuple[str, ...] = getattr(headers, table)
    assert len(set(functions)) == len(functions)
    assert {name: functions.index(name) for name in slots} == slots
    assert max(slots.values()) == len(functions) - 1


TABLES = {table.name: table for table in vars(headers).values() if isinstance(table, InterfaceTable)}


def test_interfaces_have_identifiers_of_their_own() -> None:
    assert len(TABLES) > 20
    assert len({table.iid for table in TABLES.values()}) == len(TABLES)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_type_of_a_function_is_known(table: InterfaceTable) -> None:
    assert {"QueryInterface", "AddRef", "Release"} <= table.types.keys() <= set(table)
    for types in table.types.values():
        assert {types.result, *types.arguments} <= C_TYPES.keys()


def test_a_function_without_types_cannot_be_called() -> None:
    with pytest.raises(AttributeError, match="ID3D12Heap has no function Evict whose types are known"):
        Interface(headers.ID3D12_HEAP, 0, StructReturn.VALUE).Evict()
