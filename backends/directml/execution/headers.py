"""What d3d12.h, dxgi.h and DirectML.h say beyond what deciding needs: identifiers, numbers, order of the tables.

Source: DirectX-Headers (MIT); dxgi.h as documented on learn.microsoft.com. Only what execution uses is here.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from dml_conformance.backends.directml.com import IUNKNOWN, InterfaceTable
from dml_conformance.backends.directml.headers import ID3D12_OBJECT, IDML_DEVICE_CHILD

# --- Direct3D 12 --------------------------------------------------------------------------------------------------


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


# --- DXGI, on Windows ---------------------------------------------------------------------------------------------


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


# --- DirectML -----------------------------------------------------------------------------------------------------


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
