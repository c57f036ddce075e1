"""Layout of the structs and order of the tables that execution relies on, against figures of the C headers."""

from __future__ import annotations

import ctypes

import pytest

from dml_conformance.backends.directml import headers as base
from dml_conformance.backends.directml.execution import headers, interfaces, structures
from dml_conformance.backends.directml.execution.interfaces import Function, Interface

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
        if getattr(value, "__module__", "") == structures.__name__
    }
    assert defined == SIZES
    places = {(struct, member): getattr(getattr(structures, struct), member).offset for struct, member in OFFSETS}
    assert places == OFFSETS


@pytest.mark.parametrize(("table", "slots"), SLOTS.items(), ids=SLOTS)
def test_places_in_the_tables(table: str, slots: dict[str, int]) -> None:
    functions: tuple[str, ...] = getattr(headers, table, None) or getattr(base, table)
    assert len(set(functions)) == len(functions)
    assert {name: functions.index(name) for name in slots} == slots
    assert max(slots.values()) == len(functions) - 1


def test_every_function_is_in_its_interface_and_interfaces_have_identifiers_of_their_own() -> None:
    classes = [value for value in vars(interfaces).values() if isinstance(value, type) and issubclass(value, Interface)]
    assert len(classes) > 15
    for interface in classes:
        for attribute, value in vars(interface).items():
            if isinstance(value, Function):
                assert value._name in interface.slots, f"{interface.__name__}.{attribute}"
    named = [interface for interface in classes if interface.name != "IUnknown"]
    assert len({interface.iid for interface in named}) == len(named)
    assert len({interface.name for interface in named}) == len(named)
