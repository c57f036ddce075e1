"""What DirectML.h, d3d12.h and dxcore_interface.h say: identifiers, numbers, and the order of each table's functions.

Source: DirectX-Headers (MIT). Only what this backend uses is here.
"""

from __future__ import annotations

from enum import IntEnum
from uuid import UUID

from dml_conformance.backends.directml.com import IUNKNOWN


def _functions(names: str, after: tuple[str, ...]) -> tuple[str, ...]:
    """An interface's functions in the order of its table: those of the interface that it extends, then its own."""
    return (*after, *names.split())


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

IID_IDML_DEVICE = UUID("6dbd6437-96fd-423f-a98c-ae5e7c2a573f")
IID_IDML_OPERATOR = UUID("26caae7a-3081-4633-9581-226fbe57695d")

IDML_OBJECT = _functions("GetPrivateData SetPrivateData SetPrivateDataInterface SetName", after=IUNKNOWN)
IDML_DEVICE = _functions(
    """
    CheckFeatureSupport CreateOperator CompileOperator CreateOperatorInitializer CreateCommandRecorder
    CreateBindingTable Evict MakeResident GetDeviceRemovedReason GetParentDevice
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


IID_ID3D12_OBJECT = UUID("c4fec28f-7966-4e95-9f94-f431cb56c3b8")
IID_ID3D12_DEVICE = UUID("189819f1-1db6-4b57-be54-1821339b85f7")
IID_ID3D12_DEVICE1 = UUID("77acce80-638e-4e65-8895-c1f23386863e")
IID_ID3D12_DEVICE2 = UUID("30baa41e-b15b-475c-a0bb-1af5c5b64328")
IID_ID3D12_DEVICE3 = UUID("81dadc15-2bad-4392-93c5-101345c4aa98")
IID_ID3D12_DEVICE4 = UUID("e865df17-a9ee-46f9-a463-3098315aa2e5")
IID_ID3D12_DEVICE5 = UUID("8b4f173b-2fea-4b80-8f58-4307191ab95d")

ID3D12_OBJECT = _functions("GetPrivateData SetPrivateData SetPrivateDataInterface SetName", after=IUNKNOWN)
ID3D12_DEVICE = _functions(
    """
    GetNodeCount CreateCommandQueue CreateCommandAllocator CreateGraphicsPipelineState CreateComputePipelineState
    CreateCommandList CheckFeatureSupport CreateDescriptorHeap GetDescriptorHandleIncrementSize CreateRootSignature
    CreateConstantBufferView CreateShaderResourceView CreateUnorderedAccessView CreateRenderTargetView
    CreateDepthStencilView CreateSampler CopyDescriptors CopyDescriptorsSimple GetResourceAllocationInfo
    GetCustomHeapProperties CreateCommittedResource CreateHeap CreatePlacedResource CreateReservedResource
    CreateSharedHandle OpenSharedHandle OpenSharedHandleByName MakeResident Evict CreateFence GetDeviceRemovedReason
    GetCopyableFootprints CreateQueryHeap SetStablePowerState CreateCommandSignature GetResourceTiling GetAdapterLuid
    """,
    after=ID3D12_OBJECT,
)
ID3D12_DEVICE1 = _functions(
    "CreatePipelineLibrary SetEventOnMultipleFenceCompletion SetResidencyPriority", after=ID3D12_DEVICE
)
ID3D12_DEVICE2 = _functions("CreatePipelineState", after=ID3D12_DEVICE1)
ID3D12_DEVICE3 = _functions(
    "OpenExistingHeapFromAddress OpenExistingHeapFromFileMapping EnqueueMakeResident", after=ID3D12_DEVICE2
)
ID3D12_DEVICE4 = _functions(
    """
    CreateCommandList1 CreateProtectedResourceSession CreateCommittedResource1 CreateHeap1 CreateReservedResource1
    GetResourceAllocationInfo1
    """,
    after=ID3D12_DEVICE3,
)
ID3D12_DEVICE5 = _functions(
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


IID_IDXCORE_ADAPTER_FACTORY = UUID("78ee5945-c36e-4b13-a669-005dd11c0f06")
IID_IDXCORE_ADAPTER = UUID("f0db4c7f-fe5a-42a2-bd62-f2a6cf6fc83e")

IDXCORE_ADAPTER_FACTORY = _functions(
    """
    CreateAdapterList GetAdapterByLuid IsNotificationTypeSupported RegisterEventNotification
    UnregisterEventNotification
    """,
    after=IUNKNOWN,
)
IDXCORE_ADAPTER = _functions(
    """
    IsValid IsAttributeSupported IsPropertySupported GetProperty GetPropertySize IsQueryStateSupported QueryState
    IsSetStateSupported SetState GetFactory
    """,
    after=IUNKNOWN,
)
