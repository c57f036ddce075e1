"""Structs and numbers of Direct3D 12 that DirectML passes when it compiles and binds, as C lays them out.

Source: d3d12.h, d3dcommon.h and dxgiformat.h of DirectX-Headers (MIT).
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import ClassVar
from uuid import UUID

from dml_conformance.backends.directml.com import IUNKNOWN, POINTER, SIZE_T, UINT, InterfaceTable
from dml_conformance.backends.directml.execution.structures import INT, UINT64
from dml_conformance.backends.directml.headers import ID3D12_DEVICE_CHILD

IID_ID3D12_INFO_QUEUE = UUID("0742a90b-c387-483f-b946-30a7e4e61458")

ID3D_BLOB = InterfaceTable(
    "ID3DBlob", "8ba5fb08-5195-40e2-ac58-0d989c3a0102", "GetBufferPointer GetBufferSize", after=IUNKNOWN
)
ID3D12_ROOT_SIGNATURE = InterfaceTable(
    "ID3D12RootSignature", "c54a6b66-72df-4ee8-8be5-a946a1429214", "", after=ID3D12_DEVICE_CHILD
)
ID3D12_PIPELINE_STATE = InterfaceTable(
    "ID3D12PipelineState", "765a30f3-f624-4c6f-a828-ace948622445", "GetCachedBlob", after=ID3D12_DEVICE_CHILD
)

ROOT_SIGNATURE_VERSION_1_1 = 2
UAV_DIMENSION_BUFFER = 1


class RootParameterType(IntEnum):
    """`D3D12_ROOT_PARAMETER_TYPE`."""

    DESCRIPTOR_TABLE = 0
    CONSTANTS_32BIT = 1


class DescriptorRangeType(IntEnum):
    """`D3D12_DESCRIPTOR_RANGE_TYPE`."""

    SRV = 0
    UAV = 1
    CBV = 2
    SAMPLER = 3


class Format(IntEnum):
    """`DXGI_FORMAT`, as far as a buffer of DirectML's data types can have one."""

    UNKNOWN = 0
    R32_FLOAT = 41
    R32_UINT = 42
    R32_SINT = 43
    R16_FLOAT = 54
    R16_UINT = 57
    R16_SINT = 59
    R8_UINT = 62
    R8_SINT = 64


class DescriptorRange1(ctypes.Structure):
    _fields_: ClassVar = [
        ("RangeType", INT),
        ("NumDescriptors", UINT),
        ("BaseShaderRegister", UINT),
        ("RegisterSpace", UINT),
        ("Flags", INT),
        ("OffsetInDescriptorsFromTableStart", UINT),
    ]


class RootDescriptorTable1(ctypes.Structure):
    _fields_: ClassVar = [("NumDescriptorRanges", UINT), ("pDescriptorRanges", POINTER)]


class RootConstants(ctypes.Structure):
    _fields_: ClassVar = [("ShaderRegister", UINT), ("RegisterSpace", UINT), ("Num32BitValues", UINT)]


class _RootParameterKinds(ctypes.Union):
    _fields_: ClassVar = [("DescriptorTable", RootDescriptorTable1), ("Constants", RootConstants)]


class RootParameter1(ctypes.Structure):
    _anonymous_ = ("kinds",)
    _fields_: ClassVar = [("ParameterType", INT), ("kinds", _RootParameterKinds), ("ShaderVisibility", INT)]


class RootSignatureDesc1(ctypes.Structure):
    _fields_: ClassVar = [
        ("NumParameters", UINT),
        ("pParameters", POINTER),
        ("NumStaticSamplers", UINT),
        ("pStaticSamplers", POINTER),
        ("Flags", INT),
    ]


class VersionedRootSignatureDesc(ctypes.Structure):
    """Of version 1.1; those of others start with the version too."""

    _fields_: ClassVar = [("Version", INT), ("Desc_1_1", RootSignatureDesc1)]


class ShaderBytecode(ctypes.Structure):
    _fields_: ClassVar = [("pShaderBytecode", POINTER), ("BytecodeLength", SIZE_T)]


class CachedPipelineState(ctypes.Structure):
    _fields_: ClassVar = [("pCachedBlob", POINTER), ("CachedBlobSizeInBytes", SIZE_T)]


class ComputePipelineStateDesc(ctypes.Structure):
    _fields_: ClassVar = [
        ("pRootSignature", POINTER),
        ("CS", ShaderBytecode),
        ("NodeMask", UINT),
        ("CachedPSO", CachedPipelineState),
        ("Flags", INT),
    ]


class BufferUav(ctypes.Structure):
    _fields_: ClassVar = [
        ("FirstElement", UINT64),
        ("NumElements", UINT),
        ("StructureByteStride", UINT),
        ("CounterOffsetInBytes", UINT64),
        ("Flags", INT),
    ]


class UnorderedAccessViewDesc(ctypes.Structure):
    """Of a buffer."""

    _fields_: ClassVar = [("Format", INT), ("ViewDimension", INT), ("Buffer", BufferUav)]
