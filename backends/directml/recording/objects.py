"""Objects of Direct3D 12 that do nothing, and put down what is called: what the recording device creates.

A function that is not here is not provided for: calling it is an error of the recording, which names it.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar
from uuid import UUID

import msgspec

from dml_conformance.backends.directml.com import POINTER, RESULT, SIZE_T, UINT, ComObject, HResult, implements
from dml_conformance.backends.directml.execution import headers
from dml_conformance.backends.directml.execution.bridge import RETURNING
from dml_conformance.backends.directml.execution.headers import CommandListType
from dml_conformance.backends.directml.execution.structures import UINT64, HeapProperties, ResourceDesc
from dml_conformance.backends.directml.headers import IID_ID3D12_OBJECT
from dml_conformance.backends.directml.recording import calls, decoding, structures
from dml_conformance.backends.directml.recording.decoding import RootSignature
from dml_conformance.backends.directml.recording.journal import Journal, Stray

INCREMENT = 32  # between descriptors
# Heaps of descriptors lie far from each other, and from where the GPU has them.
HEAP_SPACING = 1 << 32
CPU_HEAPS, GPU_HEAPS = 1 << 40, 1 << 41


class Recorded(ComObject):
    """An object that the journal knows."""

    kind: ClassVar[str]

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal.unexpected)
        self.journal = journal
        self.name = journal.enter(self, self.kind)


class Blob(Recorded):
    """ID3DBlob, with a root signature in a form that only the recording device reads."""

    kind = "blob"
    interface = "ID3DBlob"
    slots = structures.ID3D_BLOB
    interfaces = frozenset({structures.IID_ID3D_BLOB})

    def __init__(self, journal: Journal, content: RootSignature) -> None:
        super().__init__(journal)
        encoded = msgspec.json.encode(content)
        self._memory = ctypes.create_string_buffer(encoded, len(encoded))

    @implements("GetBufferPointer", POINTER)
    def get_buffer_pointer(self) -> int:
        return ctypes.addressof(self._memory)

    @implements("GetBufferSize", SIZE_T)
    def get_buffer_size(self) -> int:
        return len(self._memory)


class DeviceChild(Recorded):
    """ID3D12DeviceChild: an object that knows its device."""

    iid: ClassVar[UUID]

    def __init__(self, device: ComObject, journal: Journal) -> None:
        super().__init__(journal)
        self._device = device

    def __init_subclass__(cls) -> None:
        cls.structs = RETURNING.get(cls.slots, {})
        cls.interfaces = frozenset({IID_ID3D12_OBJECT, cls.iid})

    @implements("GetDevice", RESULT, POINTER, POINTER)
    def get_device(self, iid: int, pointer: int) -> int:
        return self._device.query_interface(iid, pointer)


class RecordedRootSignature(DeviceChild):
    kind = "root signature"
    interface = "ID3D12RootSignature"
    iid = structures.IID_ID3D12_ROOT_SIGNATURE
    slots = structures.ID3D12_ROOT_SIGNATURE


class RecordedPipeline(DeviceChild):
    kind = "pipeline"
    interface = "ID3D12PipelineState"
    iid = structures.IID_ID3D12_PIPELINE_STATE
    slots = structures.ID3D12_PIPELINE_STATE

    @implements("SetName", RESULT, POINTER)
    def set_name(self, name: int) -> int:
        self.journal.note(calls.SetName(self.name, ctypes.wstring_at(name)))
        return HResult.S_OK


class RecordedResource(DeviceChild):
    """A buffer, of any size: there is no memory behind it."""

    kind = "buffer"
    interface = "ID3D12Resource"
    iid = headers.IID_ID3D12_RESOURCE
    slots = headers.ID3D12_RESOURCE

    def __init__(self, device: ComObject, journal: Journal, heap: bytes, heap_flags: int, desc: bytes) -> None:
        """`heap` are the HeapProperties, `desc` is the ResourceDesc, as they lie in memory."""
        super().__init__(device, journal)
        self._heap = heap
        self._heap_flags = heap_flags
        self._desc = desc

    @implements("GetDesc", ResourceDesc)
    def get_desc(self) -> ResourceDesc:
        return ResourceDesc.from_buffer_copy(self._desc)

    @implements("GetHeapProperties", RESULT, POINTER, POINTER)
    def get_heap_properties(self, properties: int | None, flags: int | None) -> int:
        if properties:
            ctypes.memmove(properties, self._heap, ctypes.sizeof(HeapProperties))
        if flags:
            UINT.from_address(flags).value = self._heap_flags
        return HResult.S_OK


class RecordedDescriptorHeap(DeviceChild):
    kind = "descriptor heap"
    interface = "ID3D12DescriptorHeap"
    iid = headers.IID_ID3D12_DESCRIPTOR_HEAP
    slots = headers.ID3D12_DESCRIPTOR_HEAP

    def __init__(self, device: ComObject, journal: Journal, number: int, count: int) -> None:
        """`number` is which heap of the device it is, `count` how many descriptors it has."""
        super().__init__(device, journal)
        self._cpu = range(CPU_HEAPS + number * HEAP_SPACING, CPU_HEAPS + number * HEAP_SPACING + count * INCREMENT)
        self._gpu = range(GPU_HEAPS + number * HEAP_SPACING, GPU_HEAPS + number * HEAP_SPACING + count * INCREMENT)

    def place(self, handle: int) -> int | None:
        """Which descriptor a handle means, the CPU's or the GPU's; None if it is none of this heap."""
        for handles in (self._cpu, self._gpu):
            if handle in handles:
                index, rest = divmod(handle - handles.start, INCREMENT)
                return None if rest else index
        return None

    @implements("GetCPUDescriptorHandleForHeapStart", SIZE_T)
    def get_cpu_start(self) -> int:
        return self._cpu.start

    @implements("GetGPUDescriptorHandleForHeapStart", UINT64)
    def get_gpu_start(self) -> int:
        return self._gpu.start


class Heaps:
    """The heaps of descriptors that a device has created."""

    def __init__(self) -> None:
        self._heaps: list[RecordedDescriptorHeap] = []

    def create(self, device: ComObject, journal: Journal, count: int) -> RecordedDescriptorHeap:
        self._heaps.append(RecordedDescriptorHeap(device, journal, len(self._heaps), count))
        return self._heaps[-1]

    def place(self, handle: int) -> int:
        """Which descriptor of its heap a handle means.

        Raises:
            Stray: it is none of any heap.
        """
        places = (heap.place(handle) for heap in self._heaps)
        found = next((place for place in places if place is not None), None)
        if found is None:
            raise Stray(f"{handle:#x} is no descriptor of this device")
        return found


class RecordedAllocator(DeviceChild):
    kind = "command allocator"
    interface = "ID3D12CommandAllocator"
    iid = headers.IID_ID3D12_COMMAND_ALLOCATOR
    slots = headers.ID3D12_COMMAND_ALLOCATOR

    @implements("Reset", RESULT)
    def reset(self) -> int:
        return HResult.S_OK


class RecordedQueue(DeviceChild):
    kind = "command queue"
    interface = "ID3D12CommandQueue"
    iid = headers.IID_ID3D12_COMMAND_QUEUE
    slots = headers.ID3D12_COMMAND_QUEUE

    @implements("ExecuteCommandLists", None, UINT, POINTER)
    def execute_command_lists(self, count: int, lists: int) -> None:
        """Nothing is executed here."""

    @implements("Signal", RESULT, POINTER, UINT64)
    def signal(self, fence: int, value: int) -> int:
        return HResult.S_OK


class RecordedFence(DeviceChild):
    """There is nothing to wait for."""

    kind = "fence"
    interface = "ID3D12Fence"
    iid = headers.IID_ID3D12_FENCE
    slots = headers.ID3D12_FENCE

    @implements("SetEventOnCompletion", RESULT, UINT64, POINTER)
    def set_event_on_completion(self, value: int, event: int | None) -> int:
        return HResult.S_OK


class RecordedList(DeviceChild):
    kind = "command list"
    interface = "ID3D12GraphicsCommandList"
    iid = headers.IID_ID3D12_GRAPHICS_COMMAND_LIST
    slots = headers.ID3D12_GRAPHICS_COMMAND_LIST

    def __init__(self, device: ComObject, journal: Journal, heaps: Heaps, kind: CommandListType) -> None:
        super().__init__(device, journal)
        self._heaps = heaps
        self._kind = kind

    @implements("GetType", UINT)
    def get_type(self) -> int:
        return self._kind

    @implements("Close", RESULT)
    def close(self) -> int:
        return HResult.S_OK

    @implements("Reset", RESULT, POINTER, POINTER)
    def reset(self, allocator: int, pipeline: int | None) -> int:
        return HResult.S_OK

    @implements("Dispatch", None, UINT, UINT, UINT)
    def dispatch(self, x: int, y: int, z: int) -> None:
        self.journal.note(calls.Dispatch(x, y, z))

    @implements("CopyBufferRegion", None, POINTER, UINT64, POINTER, UINT64, UINT64)
    def copy_buffer_region(self, target: int, target_offset: int, source: int, source_offset: int, size: int) -> None:
        name_of = self.journal.name_of
        self.journal.note(calls.CopyBufferRegion(name_of(target), target_offset, name_of(source), source_offset, size))

    @implements("SetPipelineState", None, POINTER)
    def set_pipeline_state(self, pipeline: int) -> None:
        self.journal.note(calls.SetPipelineState(self.journal.name_of(pipeline)))

    @implements("ResourceBarrier", None, UINT, POINTER)
    def resource_barrier(self, count: int, barriers: int) -> None:
        self.journal.note(decoding.barriers(count, barriers, self.journal.name_of))

    @implements("SetDescriptorHeaps", None, UINT, POINTER)
    def set_descriptor_heaps(self, count: int, heaps: int) -> None:
        names = self.journal.names(count, heaps)
        self.journal.note(calls.SetDescriptorHeaps(names))

    @implements("SetComputeRootSignature", None, POINTER)
    def set_compute_root_signature(self, root_signature: int) -> None:
        self.journal.note(calls.SetComputeRootSignature(self.journal.name_of(root_signature)))

    @implements("SetComputeRootDescriptorTable", None, UINT, UINT64)
    def set_compute_root_descriptor_table(self, parameter: int, handle: int) -> None:
        self.journal.note(calls.SetComputeRootDescriptorTable(parameter, self._heaps.place(handle)))

    @implements("SetComputeRoot32BitConstants", None, UINT, UINT, POINTER, UINT)
    def set_compute_root_32bit_constants(self, parameter: int, count: int, values: int, offset: int) -> None:
        data = tuple((UINT * count).from_address(values))
        self.journal.note(calls.SetComputeRoot32BitConstants(parameter, data, offset))
