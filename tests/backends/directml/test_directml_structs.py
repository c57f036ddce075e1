"""Descriptors and structs as memory, against figures of the C headers and structs that ctypes lays out."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterator
from ctypes import (
    POINTER,
    Structure,
    Union,
    c_double,
    c_float,
    c_int8,
    c_int16,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, ClassVar

import pytest
from directml_fakes import GATHER, tile
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import InterfaceTable
from dml_conformance.backends.directml.execution import structures
from dml_conformance.backends.directml.execution.interfaces import C_TYPES, Interface, StructReturn
from dml_conformance.backends.directml.structs import (
    BLOCK_SIZE,
    HEADER,
    OPERATOR_DESC_AT,
    Packer,
    scalar_bits,
    struct_format,
)
from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.descriptor import Field, OperatorDesc, descriptor_classes
from dml_conformance.spec.field_kinds import (
    BOOL,
    KINDS,
    OPERATOR,
    OPERATORS,
    SCALAR,
    SIZE_2D,
    TENSOR,
    TENSORS,
    ArrayKind,
    ScaleBias,
    Size2d,
)
from dml_conformance.spec.operator_facts import OperatorFacts, operator_facts
from dml_conformance.spec.tensor import TensorDesc


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


class ScaleBiasStruct(Structure):
    _fields_: ClassVar = [("Scale", c_float), ("Bias", c_float)]


class Size2dStruct(Structure):
    _fields_: ClassVar = [("Width", c_uint32), ("Height", c_uint32)]


class ScalarUnion(Union):
    _fields_: ClassVar = [
        ("Bytes", c_uint8 * 8),
        ("INT8", c_int8),
        ("UINT8", c_uint8),
        ("INT16", c_int16),
        ("UINT16", c_uint16),
        ("INT32", c_int32),
        ("UINT32", c_uint32),
        ("INT64", c_int64),
        ("UINT64", c_uint64),
        ("FLOAT32", c_float),
        ("FLOAT64", c_double),
    ]


class OperatorDescStruct(Structure):
    _fields_: ClassVar = [("Type", c_uint32), ("Desc", c_void_p)]


# The header's types; what is not named is an enumeration.
MEMBER_TYPES = {
    "const DML_TENSOR_DESC *": POINTER(DmlTensorDesc),
    "UINT": c_uint32,
    "INT": c_int32,
    "FLOAT": c_float,
    "float": c_float,
    "BOOL": c_int32,
    "DML_SCALAR_UNION": ScalarUnion,
    "DML_SIZE_2D": Size2dStruct,
    "const DML_SCALE_BIAS *": POINTER(ScaleBiasStruct),
    "const UINT *": POINTER(c_uint32),
    "const INT *": POINTER(c_int32),
    "const FLOAT *": POINTER(c_float),
    "const DML_OPERATOR_DESC *": POINTER(OperatorDescStruct),
}


def structure(facts: OperatorFacts) -> type[Structure]:
    members = [(member.name, MEMBER_TYPES.get(member.type, c_uint32)) for member in facts.fields]
    return type(facts.structure, (Structure,), {"_fields_": members})


STRUCTS = {name: structure(facts) for name, facts in operator_facts().items()}


class Receiver:
    """Memory that blocks are received in."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(BLOCK_SIZE)
        self.packer = Packer(ctypes.addressof(self.memory))

    def receive(self, desc: OperatorDesc) -> OperatorDesc:
        """The descriptor as a library finds it."""
        block = self.packer.pack(desc)
        assert HEADER.unpack_from(block) == (len(block),)
        ctypes.memset(self.memory, 0xCD, BLOCK_SIZE)
        ctypes.memmove(self.memory, bytes(block), len(block))
        return read_operator(OperatorDescStruct.from_address(ctypes.addressof(self.memory) + OPERATOR_DESC_AT))


def read_tensor(outer: Any) -> TensorDesc | None:
    if not outer.Desc:
        return None
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


def read_operator(found: Any) -> OperatorDesc:
    """The descriptor that a DML_OPERATOR_DESC stands for."""
    name = next(name for name, facts in operator_facts().items() if facts.value == found.Type)
    members = STRUCTS[name].from_address(found.Desc)
    values: dict[str, Any] = {}
    for field in descriptor_classes()[name].fields:
        value = getattr(members, field.name)
        read = READ.get(field.kind, itself)
        if field.count_field:
            values[field.attribute] = tuple(read(value[n]) for n in range(getattr(members, field.count_field)))
        elif field.kind is SCALAR:
            values[field.attribute] = getattr(value, DataType(values[field.typed_by]).name)
        elif field.optional or field.kind is TENSOR:
            values[field.attribute] = read(value.contents) if value else None
        else:
            values[field.attribute] = read(value)
    return descriptor_classes()[name](**values)


def itself(value: Any) -> Any:
    return value


READ: dict[Any, Any] = {
    TENSOR: read_tensor,
    TENSORS: read_tensor,
    OPERATOR: read_operator,
    OPERATORS: read_operator,
    SIZE_2D: lambda value: Size2d(value.Width, value.Height),
    KINDS["const DML_SCALE_BIAS *"]: lambda value: ScaleBias(value.Scale, value.Bias),
    BOOL: bool,
}
ELU = descriptor_classes()["ACTIVATION_ELU"](None, None, 0.5)
SCALED = descriptor_classes()["ELEMENT_WISE_IDENTITY"](None, None, ScaleBias(2.0, 0.5))
TENSORS_OF_ALL_KINDS = (
    TensorDesc.of(DataType.FLOAT32, (3, 2), (2, 1), flags=1, alignment=32),
    None,
    TensorDesc.of(DataType.INT8, (1, 2, 3), flags=0),
)


def some(field: Field, turn: int) -> Any:
    """A value of a field, another one each turn; arrays of one descriptor have the same length."""
    kind = field.kind
    if kind is TENSOR:
        return TENSORS_OF_ALL_KINDS[turn % 3]
    if kind is TENSORS:
        return tuple(filter(None, TENSORS_OF_ALL_KINDS * 2))[turn % 5 :]
    if kind is OPERATOR:
        return (ELU, SCALED, None)[turn % 3]
    if kind is OPERATORS:
        return (ELU, SCALED)[: turn % 3]
    if isinstance(kind, ArrayKind):
        usual = [value for value in kind.element.typical if value == value and abs(value) < 1e6]
        return tuple(usual[(turn + n) % len(usual)] for n in range(turn % 4))
    values = kind.typical
    return values[turn % len(values)]


def some_descs(name: str) -> Iterator[OperatorDesc]:
    made = descriptor_classes()[name]
    for turn in range(12):
        values: dict[str, Any] = {}
        for field in made.fields:
            value = some(field, turn)
            if field.kind.name == "DML_TENSOR_DATA_TYPE":
                value = (1, 3, 6, 9, 10, 11, 5, 8, 4, 7)[turn % 10]
            if field.kind is SCALAR and DataType(values[field.typed_by]).is_float:
                value = float(value)
            values[field.attribute] = value
        yield made(**values)


@pytest.mark.parametrize("name", list(operator_facts()))
def test_a_block_holds_the_descriptor(name: str) -> None:
    receiver = Receiver()
    for desc in some_descs(name):
        assert repr(receiver.receive(desc)) == repr(desc)  # in which NaN is NaN


@pytest.mark.parametrize("name", list(operator_facts()))
def test_the_structs_have_the_size_that_a_c_compiler_gives_them(name: str) -> None:
    fields = descriptor_classes()[name].fields
    assert all(bool(field.count_field) is isinstance(field.kind, ArrayKind) for field in fields)
    assert struct.calcsize(struct_format(fields)) == ctypes.sizeof(STRUCTS[name])


def test_nothing_of_one_descriptor_is_left_in_the_next() -> None:
    receiver = Receiver()
    strided = replace(GATHER, input_tensor=TensorDesc.of(DataType.FLOAT32, (3, 2), (2, 1), flags=1, alignment=32))
    many = replace(tile(DataType.FLOAT32), repeats=tuple(range(1, 1000)))
    for desc in (strided, GATHER, many, replace(GATHER, indices_tensor=None), strided):
        assert receiver.receive(desc) == desc


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        (1, DataType.FLOAT16, b"\x00\x3c"),
        (-1.0, DataType.INT16, b"\xff\xff"),
        (255, DataType.UINT8, b"\xff"),
        (math.inf, DataType.FLOAT32, b"\x00\x00\x80\x7f"),
        (2**63, DataType.UINT64, b"\x00" * 7 + b"\x80"),
        (7, DataType.UNKNOWN, b""),
        (7, 99, b""),
    ],
)
def test_the_number_of_a_scalar_union(value: float, data_type: int, expected: bytes) -> None:
    assert scalar_bits(value, data_type).to_bytes(8, "little") == expected.ljust(8, b"\x00")


FILL = descriptor_classes()["FILL_VALUE_CONSTANT"]
SLICE = descriptor_classes()["SLICE"]
JOIN = descriptor_classes()["JOIN"]
ONE = TensorDesc.of(DataType.FLOAT32, (1,))


@pytest.mark.parametrize(
    ("desc", "reason"),
    [
        (replace(GATHER, axis=2**32), "cannot hold"),
        (replace(GATHER, axis=-1), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, sizes=(2**32, 1))), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, total_tensor_size_in_bytes=2**64)), "cannot hold"),
        (replace(GATHER, input_tensor=replace(GATHER.input_tensor, strides=(1,))), "1 strides for 2 sizes"),
        (replace(tile(DataType.FLOAT32), repeats=(1,) * BLOCK_SIZE), "cannot hold"),
        (JOIN((ONE, None), ONE, 0), "none of which can be null"),
        (JOIN((ONE,) * 1000, ONE, 0), "cannot hold"),
        (SLICE(ONE, ONE, (0, 0), (1,), (1, 1)), "Sizes has 1 entries, and Offsets 2; DirectML has one DimensionCount"),
        (FILL(ONE, DataType.UINT8, 256), "cannot hold"),
        (FILL(ONE, DataType.INT32, 0.5), "a number has a fraction"),
        (FILL(ONE, DataType.INT32, math.nan), "a number has a fraction"),
        (FILL(ONE, DataType.FLOAT16, 1e6), "cannot hold"),
        (FILL(ONE, DataType.FLOAT32, 1e40), "cannot hold"),
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
