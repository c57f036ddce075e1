"""The structs of Direct3D 12 and DirectML that execution needs, as C lays them out; members have the headers' names.

Source: d3d12.h and DirectML.h of DirectX-Headers (MIT).
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

from dml_conformance.backends.directml.com import POINTER, SIZE_T, UINT

UINT64 = ctypes.c_uint64
INT = ctypes.c_int32  # also every enumeration
SHORT = ctypes.c_uint16


class Luid(ctypes.Structure):
    _fields_: ClassVar = [("LowPart", UINT), ("HighPart", INT)]


class CpuDescriptorHandle(ctypes.Structure):
    _fields_: ClassVar = [("ptr", SIZE_T)]


class GpuDescriptorHandle(ctypes.Structure):
    _fields_: ClassVar = [("ptr", UINT64)]


class CommandQueueDesc(ctypes.Structure):
    _fields_: ClassVar = [("Type", INT), ("Priority", INT), ("Flags", INT), ("NodeMask", UINT)]


class HeapProperties(ctypes.Structure):
    _fields_: ClassVar = [
        ("Type", INT),
        ("CPUPageProperty", INT),
        ("MemoryPoolPreference", INT),
        ("CreationNodeMask", UINT),
        ("VisibleNodeMask", UINT),
    ]


class HeapDesc(ctypes.Structure):
    _fields_: ClassVar = [
        ("SizeInBytes", UINT64),
        ("Properties", HeapProperties),
        ("Alignment", UINT64),
        ("Flags", INT),
    ]


class SampleDesc(ctypes.Structure):
    _fields_: ClassVar = [("Count", UINT), ("Quality", UINT)]


class ResourceDesc(ctypes.Structure):
    _fields_: ClassVar = [
        ("Dimension", INT),
        ("Alignment", UINT64),
        ("Width", UINT64),
        ("Height", UINT),
        ("DepthOrArraySize", SHORT),
        ("MipLevels", SHORT),
        ("Format", INT),
        ("SampleDesc", SampleDesc),
        ("Layout", INT),
        ("Flags", INT),
    ]


class DescriptorHeapDesc(ctypes.Structure):
    _fields_: ClassVar = [("Type", INT), ("NumDescriptors", UINT), ("Flags", INT), ("NodeMask", UINT)]


class QueryHeapDesc(ctypes.Structure):
    _fields_: ClassVar = [("Type", INT), ("Count", UINT), ("NodeMask", UINT)]


class MemoryRange(ctypes.Structure):
    _fields_: ClassVar = [("Begin", SIZE_T), ("End", SIZE_T)]


class ResourceAllocationInfo(ctypes.Structure):
    _fields_: ClassVar = [("SizeInBytes", UINT64), ("Alignment", UINT64)]


class TransitionBarrier(ctypes.Structure):
    _fields_: ClassVar = [("pResource", POINTER), ("Subresource", UINT), ("StateBefore", INT), ("StateAfter", INT)]


class ResourceBarrier(ctypes.Structure):
    """A transition, or a UAV barrier: that has the resource alone, in the same place, null for all resources."""

    _fields_: ClassVar = [("Type", INT), ("Flags", INT), ("Transition", TransitionBarrier)]


class BindingProperties(ctypes.Structure):
    _fields_: ClassVar = [
        ("RequiredDescriptorCount", UINT),
        ("TemporaryResourceSize", UINT64),
        ("PersistentResourceSize", UINT64),
    ]


class BindingTableDesc(ctypes.Structure):
    _fields_: ClassVar = [
        ("Dispatchable", POINTER),
        ("CPUDescriptorHandle", CpuDescriptorHandle),
        ("GPUDescriptorHandle", GpuDescriptorHandle),
        ("SizeInDescriptors", UINT),
    ]


class BindingDesc(ctypes.Structure):
    _fields_: ClassVar = [("Type", INT), ("Desc", POINTER)]


class BufferBinding(ctypes.Structure):
    _fields_: ClassVar = [("Buffer", POINTER), ("Offset", UINT64), ("SizeInBytes", UINT64)]


class BufferArrayBinding(ctypes.Structure):
    _fields_: ClassVar = [("BindingCount", UINT), ("Bindings", POINTER)]
