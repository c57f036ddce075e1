"""The structs of Direct3D 12 and DirectML that execution needs, as C lays them out; members have the headers' names.

Source: d3d12.h and DirectML.h of DirectX-Headers (MIT).
"""

from __future__ import annotations

import ctypes
from typing import Any

from dml_conformance.backends.directml.com import POINTER, SIZE_T, UINT

UINT64 = ctypes.c_uint64
INT = ctypes.c_int32  # also every enumeration
SHORT = ctypes.c_uint16


def c_struct(name: str, **members: Any) -> type[ctypes.Structure]:
    """A struct of these members, with their types, in this order."""
    return type(name, (ctypes.Structure,), {"_fields_": list(members.items()), "__module__": __name__})


Luid = c_struct("Luid", LowPart=UINT, HighPart=INT)
CpuDescriptorHandle = c_struct("CpuDescriptorHandle", ptr=SIZE_T)
GpuDescriptorHandle = c_struct("GpuDescriptorHandle", ptr=UINT64)
CommandQueueDesc = c_struct("CommandQueueDesc", Type=INT, Priority=INT, Flags=INT, NodeMask=UINT)
HeapProperties = c_struct(
    "HeapProperties",
    Type=INT,
    CPUPageProperty=INT,
    MemoryPoolPreference=INT,
    CreationNodeMask=UINT,
    VisibleNodeMask=UINT,
)
HeapDesc = c_struct("HeapDesc", SizeInBytes=UINT64, Properties=HeapProperties, Alignment=UINT64, Flags=INT)
SampleDesc = c_struct("SampleDesc", Count=UINT, Quality=UINT)
ResourceDesc = c_struct(
    "ResourceDesc",
    Dimension=INT,
    Alignment=UINT64,
    Width=UINT64,
    Height=UINT,
    DepthOrArraySize=SHORT,
    MipLevels=SHORT,
    Format=INT,
    SampleDesc=SampleDesc,
    Layout=INT,
    Flags=INT,
)
DescriptorHeapDesc = c_struct("DescriptorHeapDesc", Type=INT, NumDescriptors=UINT, Flags=INT, NodeMask=UINT)
QueryHeapDesc = c_struct("QueryHeapDesc", Type=INT, Count=UINT, NodeMask=UINT)
MemoryRange = c_struct("MemoryRange", Begin=SIZE_T, End=SIZE_T)
ResourceAllocationInfo = c_struct("ResourceAllocationInfo", SizeInBytes=UINT64, Alignment=UINT64)
TransitionBarrier = c_struct("TransitionBarrier", pResource=POINTER, Subresource=UINT, StateBefore=INT, StateAfter=INT)
# A transition, or a UAV barrier: that has the resource alone, in the same place, null for all resources.
ResourceBarrier = c_struct("ResourceBarrier", Type=INT, Flags=INT, Transition=TransitionBarrier)
BindingProperties = c_struct(
    "BindingProperties", RequiredDescriptorCount=UINT, TemporaryResourceSize=UINT64, PersistentResourceSize=UINT64
)
BindingTableDesc = c_struct(
    "BindingTableDesc",
    Dispatchable=POINTER,
    CPUDescriptorHandle=CpuDescriptorHandle,
    GPUDescriptorHandle=GpuDescriptorHandle,
    SizeInDescriptors=UINT,
)
BindingDesc = c_struct("BindingDesc", Type=INT, Desc=POINTER)
BufferBinding = c_struct("BufferBinding", Buffer=POINTER, Offset=UINT64, SizeInBytes=UINT64)
BufferArrayBinding = c_struct("BufferArrayBinding", BindingCount=UINT, Bindings=POINTER)
