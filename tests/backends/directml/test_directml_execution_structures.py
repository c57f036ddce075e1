"""Layout of the structs and order of the tables that execution relies on, against figures of the C headers."""

from __future__ import annotations

import ctypes

import pytest

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import InterfaceTable
from dml_conformance.backends.directml.execution import structures
from dml_conformance.backends.directml.execution.interfaces import C_TYPES, Interface, StructReturn

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


@pytest.mark.parametrize(("name", "size"), SIZES.items(), ids=SIZES)
def test_sizes_of_structs(name: str, size: int) -> None:
    assert ctypes.sizeof(getattr(structures, name)) == size


def _is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ctypes.Structure)


def test_every_struct_has_a_size_here() -> None:
    defined = {name for name, value in vars(structures).items() if _is_struct(value)}
    assert defined == set(SIZES)


@pytest.mark.parametrize(("struct", "member", "offset"), [(*key, offset) for key, offset in OFFSETS.items()])
def test_places_of_members(struct: str, member: str, offset: int) -> None:
    assert getattr(getattr(structures, struct), member).offset == offset


@pytest.mark.parametrize(("table", "slots"), SLOTS.items(), ids=SLOTS)
def test_places_in_the_tables(table: str, slots: dict[str, int]) -> None:
    functions: tuple[str, ...] = getattr(headers, table)
    assert len(set(functions)) == len(functions)
    assert {name: functions.index(name) for name in slots} == slots
    assert max(slots.values()) == len(functions) - 1


TABLES = {
    table.name: table
    for table in (*vars(headers).values(), *vars(headers).values())
    if isinstance(table, InterfaceTable)
}


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
