"""What DirectML.h, d3d12.h and dxcore_interface.h say: identifiers, numbers, and the order of each table's functions.

Source: DirectX-Headers (MIT). Only what this backend uses is here.
"""

from __future__ import annotations

from enum import IntEnum

from dml_conformance.backends.directml.com import IUNKNOWN, InterfaceTable


class OperatorType(IntEnum):
    """`DML_OPERATOR_TYPE` of the operators that this backend takes. To add one, give it a line here."""

    GATHER = 67
    TILE = 70
    GATHER_ELEMENTS = 107
    GATHER_ND = 108
    GATHER_ND1 = 140


class Feature(IntEnum):
    """`DML_FEATURE`: what IDMLDevice::CheckFeatureSupport answers."""

    TENSOR_DATA_TYPE_SUPPORT = 0
    FEATURE_LEVELS = 1


CREATE_DEVICE_FLAG_NONE = 0


IDML_OBJECT = InterfaceTable(
    "IDMLObject",
    "c8263aac-9e0c-4a2d-9b8e-007521a3317c",
    "GetPrivateData SetPrivateData SetPrivateDataInterface SetName",
    after=IUNKNOWN,
)
IDML_DEVICE_CHILD = InterfaceTable(
    "IDMLDeviceChild", "27e83142-8165-49e3-974e-2fd66e4cb69d", "GetDevice", after=IDML_OBJECT
)
IDML_OPERATOR = InterfaceTable("IDMLOperator", "26caae7a-3081-4633-9581-226fbe57695d", "", after=IDML_DEVICE_CHILD)
IDML_DEVICE = InterfaceTable(
    "IDMLDevice",
    "6dbd6437-96fd-423f-a98c-ae5e7c2a573f",
    """
    CheckFeatureSupport CreateOperator(POINTER, POINTER, POINTER) CompileOperator(POINTER, UINT, POINTER, POINTER)
    CreateOperatorInitializer(UINT, POINTER, POINTER, POINTER) CreateCommandRecorder(POINTER, POINTER)
    CreateBindingTable(POINTER, POINTER, POINTER) Evict MakeResident GetDeviceRemovedReason() GetParentDevice
    """,
    after=IDML_OBJECT,
)


class D3D12Feature(IntEnum):
    """`D3D12_FEATURE`: what DirectML asks ID3D12Device::CheckFeatureSupport for."""

    D3D12_OPTIONS = 0
    FEATURE_LEVELS = 2
    SHADER_MODEL = 7
    D3D12_OPTIONS1 = 8
    D3D12_OPTIONS4 = 23


ID3D12_OBJECT = InterfaceTable(
    "ID3D12Object",
    "c4fec28f-7966-4e95-9f94-f431cb56c3b8",
    "GetPrivateData SetPrivateData SetPrivateDataInterface SetName",
    after=IUNKNOWN,
)
ID3D12_DEVICE = InterfaceTable(
    "ID3D12Device",
    "189819f1-1db6-4b57-be54-1821339b85f7",
    """
    GetNodeCount CreateCommandQueue(POINTER, POINTER, POINTER) CreateCommandAllocator(UINT, POINTER, POINTER)
    CreateGraphicsPipelineState CreateComputePipelineState
    CreateCommandList(UINT, UINT, POINTER, POINTER, POINTER, POINTER) CheckFeatureSupport(UINT, POINTER, UINT)
    CreateDescriptorHeap(POINTER, POINTER, POINTER) GetDescriptorHandleIncrementSize(UINT)->UINT CreateRootSignature
    CreateConstantBufferView CreateShaderResourceView CreateUnorderedAccessView CreateRenderTargetView
    CreateDepthStencilView CreateSampler CopyDescriptors CopyDescriptorsSimple
    GetResourceAllocationInfo(UINT, UINT, POINTER)->ResourceAllocationInfo
    GetCustomHeapProperties(UINT, UINT)->HeapProperties
    CreateCommittedResource(POINTER, UINT, POINTER, UINT, POINTER, POINTER, POINTER)
    CreateHeap(POINTER, POINTER, POINTER)
    CreatePlacedResource(POINTER, UINT64, POINTER, UINT, POINTER, POINTER, POINTER) CreateReservedResource
    CreateSharedHandle OpenSharedHandle OpenSharedHandleByName MakeResident Evict
    CreateFence(UINT64, UINT, POINTER, POINTER) GetDeviceRemovedReason() GetCopyableFootprints
    CreateQueryHeap(POINTER, POINTER, POINTER) SetStablePowerState CreateCommandSignature GetResourceTiling
    GetAdapterLuid()->Luid
    """,
    after=ID3D12_OBJECT,
)
ID3D12_DEVICE1 = InterfaceTable(
    "ID3D12Device1",
    "77acce80-638e-4e65-8895-c1f23386863e",
    "CreatePipelineLibrary SetEventOnMultipleFenceCompletion SetResidencyPriority",
    after=ID3D12_DEVICE,
)
ID3D12_DEVICE2 = InterfaceTable(
    "ID3D12Device2", "30baa41e-b15b-475c-a0bb-1af5c5b64328", "CreatePipelineState", after=ID3D12_DEVICE1
)
ID3D12_DEVICE3 = InterfaceTable(
    "ID3D12Device3",
    "81dadc15-2bad-4392-93c5-101345c4aa98",
    "OpenExistingHeapFromAddress OpenExistingHeapFromFileMapping EnqueueMakeResident",
    after=ID3D12_DEVICE2,
)
ID3D12_DEVICE4 = InterfaceTable(
    "ID3D12Device4",
    "e865df17-a9ee-46f9-a463-3098315aa2e5",
    """
    CreateCommandList1 CreateProtectedResourceSession CreateCommittedResource1 CreateHeap1 CreateReservedResource1
    GetResourceAllocationInfo1(UINT, UINT, POINTER, POINTER)->ResourceAllocationInfo
    """,
    after=ID3D12_DEVICE3,
)
ID3D12_DEVICE5 = InterfaceTable(
    "ID3D12Device5",
    "8b4f173b-2fea-4b80-8f58-4307191ab95d",
    """
    CreateLifetimeTracker RemoveDevice EnumerateMetaCommands EnumerateMetaCommandParameters CreateMetaCommand
    CreateStateObject GetRaytracingAccelerationStructurePrebuildInfo CheckDriverMatchingIdentifier
    """,
    after=ID3D12_DEVICE4,
)


class AdapterProperty(IntEnum):
    """`DXCoreAdapterProperty`: what DirectML asks IDXCoreAdapter::GetProperty for."""

    INSTANCE_LUID = 0
    DRIVER_VERSION = 1
    DRIVER_DESCRIPTION = 2
    HARDWARE_ID = 3
    IS_HARDWARE = 11
    IS_INTEGRATED = 12


IDXCORE_ADAPTER_FACTORY = InterfaceTable(
    "IDXCoreAdapterFactory",
    "78ee5945-c36e-4b13-a669-005dd11c0f06",
    """
    CreateAdapterList GetAdapterByLuid(POINTER, POINTER, POINTER) IsNotificationTypeSupported RegisterEventNotification
    UnregisterEventNotification
    """,
    after=IUNKNOWN,
)
IDXCORE_ADAPTER = InterfaceTable(
    "IDXCoreAdapter",
    "f0db4c7f-fe5a-42a2-bd62-f2a6cf6fc83e",
    """
    IsValid IsAttributeSupported IsPropertySupported GetProperty(UINT, SIZE_T, POINTER) GetPropertySize(UINT, POINTER)
    IsQueryStateSupported QueryState IsSetStateSupported SetState GetFactory
    """,
    after=IUNKNOWN,
)
