"""What DirectML.h, d3d12.h, dxgi.h and dxcore_interface.h say: identifiers, numbers, and the order of each table's
functions.

Source: DirectX-Headers (MIT); dxgi.h as documented on learn.microsoft.com. Only what this backend uses is here.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from dml_conformance.backends.directml.com import IUNKNOWN, InterfaceTable

# --- DirectML ---------------------------------------------------------------------------------------------------------


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


class BindingType(IntEnum):
    """`DML_BINDING_TYPE`."""

    NONE = 0
    BUFFER = 1
    BUFFER_ARRAY = 2


EXECUTION_FLAG_NONE = 0
BUFFER_ALIGNMENT = 256  # DML_TEMPORARY_BUFFER_ALIGNMENT and DML_PERSISTENT_BUFFER_ALIGNMENT


# What compiled operators and their initializers have in common.
IDML_DISPATCHABLE = InterfaceTable(
    "IDMLDispatchable",
    "dcb821a8-1039-441e-9f1c-b1759c2f3cec",
    "GetBindingProperties()->BindingProperties",
    after=IDML_DEVICE_CHILD,
)
IDML_COMPILED_OPERATOR = InterfaceTable(
    "IDMLCompiledOperator", "6b15e56a-bf5c-4902-92d8-da3a650afea4", "", after=IDML_DISPATCHABLE
)
IDML_OPERATOR_INITIALIZER = InterfaceTable(
    "IDMLOperatorInitializer", "427c1113-435c-469c-8676-4d5dd072f813", "Reset", after=IDML_DISPATCHABLE
)
IDML_BINDING_TABLE = InterfaceTable(
    "IDMLBindingTable",
    "29c687dc-de74-4e3b-ab00-1168f2fc3cfc",
    """
    BindInputs(UINT, POINTER)->void BindOutputs(UINT, POINTER)->void BindTemporaryResource(POINTER)->void
    BindPersistentResource(POINTER)->void Reset
    """,
    after=IDML_DEVICE_CHILD,
)
IDML_COMMAND_RECORDER = InterfaceTable(
    "IDMLCommandRecorder",
    "e6857a76-2e3e-4fdd-bff4-5d2ba10fb453",
    "RecordDispatch(POINTER, POINTER, POINTER)->void",
    after=IDML_DEVICE_CHILD,
)


# --- Direct3D 12 ------------------------------------------------------------------------------------------------------


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


class FeatureLevel(IntEnum):
    """`D3D_FEATURE_LEVEL`, as far as DirectML can stand on one."""

    CORE_1_0 = 0x1000
    L11_0 = 0xB000
    L11_1 = 0xB100
    L12_0 = 0xC000
    L12_1 = 0xC100
    L12_2 = 0xC200

    @property
    def label(self) -> str:
        return "1_0_CORE" if self is FeatureLevel.CORE_1_0 else self.name[1:]


HIGHEST_SHADER_MODEL = 0x69
LOWEST_SHADER_MODEL = 0x60


class CommandListType(IntEnum):
    """`D3D12_COMMAND_LIST_TYPE`."""

    DIRECT = 0
    COMPUTE = 2


class HeapType(IntEnum):
    """`D3D12_HEAP_TYPE`."""

    DEFAULT = 1
    UPLOAD = 2
    READBACK = 3


class ResourceState(IntFlag):
    """`D3D12_RESOURCE_STATES`."""

    COMMON = 0
    UNORDERED_ACCESS = 0x8
    COPY_DEST = 0x400
    COPY_SOURCE = 0x800
    GENERIC_READ = 0xAC3


class BarrierType(IntEnum):
    """`D3D12_RESOURCE_BARRIER_TYPE`."""

    TRANSITION = 0
    UAV = 2


ALL_SUBRESOURCES = 0xFFFF_FFFF
HEAP_FLAG_ALLOW_ONLY_BUFFERS = 0xC0
RESOURCE_DIMENSION_BUFFER = 1
TEXTURE_LAYOUT_ROW_MAJOR = 1
RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS = 0x4
DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV = 0
DESCRIPTOR_HEAP_FLAG_NONE = 0
DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE = 1
FENCE_FLAG_NONE = 0
QUERY_HEAP_TYPE_TIMESTAMP = 1
QUERY_TYPE_TIMESTAMP = 2
PLACEMENT_ALIGNMENT = 65536  # D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT: the smallest heap


ID3D12_DEVICE_CHILD = InterfaceTable(
    "ID3D12DeviceChild", "905db94b-a00c-4140-9df5-2b64ca9ea357", "GetDevice", after=ID3D12_OBJECT
)
ID3D12_COMMAND_QUEUE = InterfaceTable(
    "ID3D12CommandQueue",
    "0ec870a6-5d7e-4c22-8cfc-5baae07616ed",
    """
    UpdateTileMappings CopyTileMappings ExecuteCommandLists(UINT, POINTER)->void SetMarker BeginEvent EndEvent
    Signal(POINTER, UINT64) Wait GetTimestampFrequency(POINTER) GetClockCalibration GetDesc()->CommandQueueDesc
    """,
    after=ID3D12_DEVICE_CHILD,
)
ID3D12_COMMAND_ALLOCATOR = InterfaceTable(
    "ID3D12CommandAllocator", "6102dee4-af59-4b09-b999-b44d73f09b24", "Reset()", after=ID3D12_DEVICE_CHILD
)
ID3D12_GRAPHICS_COMMAND_LIST = InterfaceTable(
    "ID3D12GraphicsCommandList",
    "5b160d0f-ac1b-4185-8ba8-b3ae42a5a455",
    """
    GetType Close() Reset(POINTER, POINTER) ClearState DrawInstanced DrawIndexedInstanced Dispatch
    CopyBufferRegion(POINTER, UINT64, POINTER, UINT64, UINT64)->void CopyTextureRegion CopyResource CopyTiles
    ResolveSubresource IASetPrimitiveTopology RSSetViewports RSSetScissorRects OMSetBlendFactor OMSetStencilRef
    SetPipelineState ResourceBarrier(UINT, POINTER)->void ExecuteBundle SetDescriptorHeaps(UINT, POINTER)->void
    SetComputeRootSignature SetGraphicsRootSignature SetComputeRootDescriptorTable SetGraphicsRootDescriptorTable
    SetComputeRoot32BitConstant SetGraphicsRoot32BitConstant SetComputeRoot32BitConstants
    SetGraphicsRoot32BitConstants SetComputeRootConstantBufferView SetGraphicsRootConstantBufferView
    SetComputeRootShaderResourceView SetGraphicsRootShaderResourceView SetComputeRootUnorderedAccessView
    SetGraphicsRootUnorderedAccessView IASetIndexBuffer IASetVertexBuffers SOSetTargets OMSetRenderTargets
    ClearDepthStencilView ClearRenderTargetView ClearUnorderedAccessViewUint ClearUnorderedAccessViewFloat
    DiscardResource BeginQuery EndQuery(POINTER, UINT, UINT)->void
    ResolveQueryData(POINTER, UINT, UINT, UINT, POINTER, UINT64)->void SetPredication SetMarker BeginEvent EndEvent
    ExecuteIndirect
    """,
    after=ID3D12_DEVICE_CHILD,
)
ID3D12_FENCE = InterfaceTable(
    "ID3D12Fence",
    "0a753dcf-c4d8-4b91-adf6-be5a60d95a76",
    "GetCompletedValue SetEventOnCompletion(UINT64, POINTER) Signal",
    after=ID3D12_DEVICE_CHILD,
)
ID3D12_HEAP = InterfaceTable(
    "ID3D12Heap", "6b3b2502-6e51-45b3-90ee-9884265e8df3", "GetDesc()->HeapDesc", after=ID3D12_DEVICE_CHILD
)
ID3D12_RESOURCE = InterfaceTable(
    "ID3D12Resource",
    "696442be-a72e-4059-bc79-5b5c98040fad",
    """
    Map(UINT, POINTER, POINTER) Unmap(UINT, POINTER)->void GetDesc()->ResourceDesc GetGPUVirtualAddress
    WriteToSubresource ReadFromSubresource GetHeapProperties
    """,
    after=ID3D12_DEVICE_CHILD,
)
ID3D12_DESCRIPTOR_HEAP = InterfaceTable(
    "ID3D12DescriptorHeap",
    "8efb471d-616c-4f49-90f7-127bb763fa51",
    """
    GetDesc()->DescriptorHeapDesc GetCPUDescriptorHandleForHeapStart()->CpuDescriptorHandle
    GetGPUDescriptorHandleForHeapStart()->GpuDescriptorHandle
    """,
    after=ID3D12_DEVICE_CHILD,
)
ID3D12_QUERY_HEAP = InterfaceTable(
    "ID3D12QueryHeap", "0d9658ae-ed45-469e-a61d-970ec583cab4", "", after=ID3D12_DEVICE_CHILD
)


# --- adapters ---------------------------------------------------------------------------------------------------------


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

_IDXGI_OBJECT = InterfaceTable(
    "IDXGIObject",
    "aec22fb8-76f3-4639-9be0-28eb43a67a2e",
    "SetPrivateData SetPrivateDataInterface GetPrivateData GetParent",
    after=IUNKNOWN,
)
IDXGI_ADAPTER = InterfaceTable("IDXGIAdapter", "2411e7e1-12ac-4ccf-bd14-9798e8534dc0", "", after=_IDXGI_OBJECT)
IDXGI_FACTORY4 = InterfaceTable(
    "IDXGIFactory4",
    "1bc6ea02-ef36-464f-bf0c-21ca39e5168a",
    """
    EnumAdapters MakeWindowAssociation GetWindowAssociation CreateSwapChain CreateSoftwareAdapter EnumAdapters1
    IsCurrent IsWindowedStereoEnabled CreateSwapChainForHwnd CreateSwapChainForCoreWindow GetSharedResourceAdapterLuid
    RegisterStereoStatusWindow RegisterStereoStatusEvent UnregisterStereoStatus RegisterOcclusionStatusWindow
    RegisterOcclusionStatusEvent UnregisterOcclusionStatus CreateSwapChainForComposition GetCreationFlags
    EnumAdapterByLuid EnumWarpAdapter(POINTER, POINTER)
    """,
    after=_IDXGI_OBJECT,
)
