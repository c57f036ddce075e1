"""The null device, grown by what DirectML touches on the way to the GPU.

Its objects do nothing, and put down what is called. A function that is not here is not provided for: calling it is an
error of the recording, which names it.
"""

from __future__ import annotations

import ctypes
import pickle
from collections import Counter
from typing import ClassVar

from msgspec.structs import replace

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import (
    POINTER,
    RESULT,
    SIZE_T,
    UINT,
    ComObject,
    HResult,
    InterfaceTable,
    implements,
)
from dml_conformance.backends.directml.execution.interfaces import returned_structs
from dml_conformance.backends.directml.execution.structures import (
    UINT64,
    DescriptorHeapDesc,
    HeapProperties,
    ResourceDesc,
)
from dml_conformance.backends.directml.headers import ID3D12_DEVICE5, ID3D12_OBJECT, CommandListType
from dml_conformance.backends.directml.null_device import NullD3d12Device, NullDevice
from dml_conformance.backends.directml.profiles import Profile
from recording_device import calls, decoding, structures
from recording_device.decoding import Undecodable
from recording_device.returning import StructReturningObject

INCREMENT = 32  # between descriptors
# Heaps of descriptors lie far from each other, and from where the GPU has them.
HEAP_SPACING = 1 << 32
CPU_HEAPS, GPU_HEAPS = 1 << 40, 1 << 41


class Stray(LookupError):
    """A pointer or a descriptor that is none of this device's; the message says which."""


class Journal:
    """The calls so far, and every object of the device with its name.

    Attributes:
        unexpected: a line for each call that was not provided for, in order; shared with the objects.
    """

    def __init__(self, unexpected: list[str]) -> None:
        self.unexpected = unexpected
        self.heaps: list[DescriptorHeap] = []
        self._calls: list[object] = []
        self._objects: dict[int, tuple[str, ComObject]] = {}
        self._counts: Counter[str] = Counter()

    def note(self, call: object) -> None:
        self._calls.append(call)

    def take(self) -> tuple[object, ...]:
        """The calls since the last time."""
        taken = tuple(self._calls)
        self._calls.clear()
        return taken

    def enter(self, made: ComObject, kind: str) -> None:
        """Put down an object as `pipeline 0`, `pipeline 1`, ..."""
        self._objects[made.address] = f"{kind} {self._counts[kind]}", made
        self._counts[kind] += 1

    def rename(self, address: int, name: str) -> None:
        """Give an object a name that says more."""
        self._objects[address] = name, self._objects[address][1]

    def name_of(self, address: int) -> str:
        """The name of the object at an address; raises Stray where there is none."""
        if address not in self._objects:
            raise Stray(f"{address:#x} is no object of this device")
        return self._objects[address][0]

    def names(self, count: int, address: int) -> tuple[str, ...]:
        """The names of the objects in an array of pointers; raises Stray where one is none of these."""
        return tuple(self.name_of(pointer or 0) for pointer in (POINTER * count).from_address(address))

    def place(self, handle: int) -> int:
        """Which descriptor of its heap a handle means; raises Stray where it is none of any heap."""
        for heap in self.heaps:
            for handles in (heap.cpu, heap.gpu):
                if handle in handles:
                    return handles.index(handle)
        raise Stray(f"{handle:#x} is no descriptor of this device")

    def unreturned(self) -> list[str]:
        """The objects that are still in use, or were released too often, with their references; 1 is the device's."""
        return [f"{name}: {made.references}" for name, made in self._objects.values() if made.references != 1]


class JournalObject(StructReturningObject):
    """An object that the journal knows."""

    kind: ClassVar[str]

    def __init__(self, journal: Journal, device: ComObject | None = None) -> None:
        super().__init__(journal.unexpected)
        self.journal = journal
        self._device = device
        journal.enter(self, self.kind)

    def __init_subclass__(cls, of: InterfaceTable) -> None:
        super().__init_subclass__(of)
        cls.structs = returned_structs(of)
        cls.interfaces |= {ID3D12_OBJECT.iid}


class Blob(JournalObject, of=structures.ID3D_BLOB):
    """ID3DBlob, with a root signature in a form that only the recording device reads."""

    kind = "blob"

    def __init__(self, journal: Journal, content: calls.CreateRootSignature) -> None:
        super().__init__(journal)
        encoded = pickle.dumps(content)
        self._memory = ctypes.create_string_buffer(encoded, len(encoded))

    @implements("GetBufferPointer", POINTER)
    def get_buffer_pointer(self) -> int:
        return ctypes.addressof(self._memory)

    @implements("GetBufferSize", SIZE_T)
    def get_buffer_size(self) -> int:
        return len(self._memory)


class RootSignature(JournalObject, of=structures.ID3D12_ROOT_SIGNATURE):
    kind = "root signature"


class Pipeline(JournalObject, of=structures.ID3D12_PIPELINE_STATE):
    kind = "pipeline"

    @implements("SetName", RESULT, POINTER)
    def set_name(self, name: int) -> int:
        self.journal.note(calls.SetName(self.journal.name_of(self.address), ctypes.wstring_at(name)))
        return HResult.S_OK


class Resource(JournalObject, of=headers.ID3D12_RESOURCE):
    """A buffer, of any size: there is no memory behind it."""

    kind = "buffer"

    def __init__(self, journal: Journal, device: ComObject, heap: bytes, heap_flags: int, desc: bytes) -> None:
        """`heap` are the HeapProperties, `desc` is the ResourceDesc, as they lie in memory."""
        super().__init__(journal, device)
        self._heap = heap
        self._heap_flags = heap_flags
        self._desc = desc

    @implements("GetDevice", RESULT, POINTER, POINTER)
    def get_device(self, iid: int, pointer: int) -> int:
        return self._device.query_interface(iid, pointer)

    @implements("GetDesc", ResourceDesc)
    def get_desc(self) -> ctypes.Structure:
        return ResourceDesc.from_buffer_copy(self._desc)

    @implements("GetHeapProperties", RESULT, POINTER, POINTER)
    def get_heap_properties(self, properties: int | None, flags: int | None) -> int:
        if properties:
            ctypes.memmove(properties, self._heap, ctypes.sizeof(HeapProperties))
        if flags:
            UINT.from_address(flags).value = self._heap_flags
        return HResult.S_OK


class DescriptorHeap(JournalObject, of=headers.ID3D12_DESCRIPTOR_HEAP):
    kind = "descriptor heap"

    def __init__(self, journal: Journal, device: ComObject, count: int) -> None:
        super().__init__(journal, device)
        start, end = len(journal.heaps) * HEAP_SPACING, len(journal.heaps) * HEAP_SPACING + count * INCREMENT
        self.cpu = range(CPU_HEAPS + start, CPU_HEAPS + end, INCREMENT)
        self.gpu = range(GPU_HEAPS + start, GPU_HEAPS + end, INCREMENT)
        journal.heaps.append(self)

    @implements("GetCPUDescriptorHandleForHeapStart", SIZE_T)
    def get_cpu_start(self) -> int:
        return self.cpu.start

    @implements("GetGPUDescriptorHandleForHeapStart", UINT64)
    def get_gpu_start(self) -> int:
        return self.gpu.start


class CommandAllocator(JournalObject, of=headers.ID3D12_COMMAND_ALLOCATOR):
    kind = "command allocator"

    @implements("Reset", RESULT)
    def reset(self) -> int:
        return HResult.S_OK


class CommandQueue(JournalObject, of=headers.ID3D12_COMMAND_QUEUE):
    kind = "command queue"

    @implements("ExecuteCommandLists", None, UINT, POINTER)
    def execute_command_lists(self, count: int, lists: int) -> None:
        """Nothing is executed here."""

    @implements("Signal", RESULT, POINTER, UINT64)
    def signal(self, fence: int, value: int) -> int:
        return HResult.S_OK


class Fence(JournalObject, of=headers.ID3D12_FENCE):
    kind = "fence"

    @implements("SetEventOnCompletion", RESULT, UINT64, POINTER)
    def set_event_on_completion(self, value: int, event: int | None) -> int:
        return HResult.S_OK


class CommandList(JournalObject, of=headers.ID3D12_GRAPHICS_COMMAND_LIST):
    kind = "command list"

    def __init__(self, journal: Journal, device: ComObject, kind: CommandListType) -> None:
        super().__init__(journal, device)
        self._kind = kind

    @implements("GetDevice", RESULT, POINTER, POINTER)
    def get_device(self, iid: int, pointer: int) -> int:
        return self._device.query_interface(iid, pointer)

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
        self.journal.note(calls.SetDescriptorHeaps(self.journal.names(count, heaps)))

    @implements("SetComputeRootSignature", None, POINTER)
    def set_compute_root_signature(self, root_signature: int) -> None:
        self.journal.note(calls.SetComputeRootSignature(self.journal.name_of(root_signature)))

    @implements("SetComputeRootDescriptorTable", None, UINT, UINT64)
    def set_compute_root_descriptor_table(self, parameter: int, handle: int) -> None:
        self.journal.note(calls.SetComputeRootDescriptorTable(parameter, self.journal.place(handle)))

    @implements("SetComputeRoot32BitConstants", None, UINT, UINT, POINTER, UINT)
    def set_compute_root_32bit_constants(self, parameter: int, count: int, values: int, offset: int) -> None:
        data = tuple((UINT * count).from_address(values))
        self.journal.note(calls.SetComputeRoot32BitConstants(parameter, data, offset))


class RecordingDevice(StructReturningObject, NullD3d12Device):
    """ID3D12Device5, with functions that create things: the caller of each gets a reference."""

    structs = returned_structs(ID3D12_DEVICE5)
    # DirectML asks for the queue of the debug layer's messages, which a device has only with the debug layer.
    absent = frozenset({structures.IID_ID3D12_INFO_QUEUE})

    def __init__(self, journal: Journal, profile: Profile) -> None:
        super().__init__(journal.unexpected, profile)
        self._journal = journal
        journal.enter(self, "device")

    @implements("CreateCommandQueue", RESULT, POINTER, POINTER, POINTER)
    def create_command_queue(self, desc: int, iid: int, pointer: int) -> int:
        return CommandQueue(self._journal).query_interface(iid, pointer)

    @implements("CreateCommandAllocator", RESULT, UINT, POINTER, POINTER)
    def create_command_allocator(self, kind: int, iid: int, pointer: int) -> int:
        return CommandAllocator(self._journal).query_interface(iid, pointer)

    @implements("CreateCommandList", RESULT, UINT, UINT, POINTER, POINTER, POINTER, POINTER)
    def create_command_list(
        self, node_mask: int, kind: int, allocator: int, pipeline: int | None, iid: int, pointer: int
    ) -> int:
        return CommandList(self._journal, self, CommandListType(kind)).query_interface(iid, pointer)

    @implements("CreateFence", RESULT, UINT64, UINT, POINTER, POINTER)
    def create_fence(self, value: int, flags: int, iid: int, pointer: int) -> int:
        return Fence(self._journal).query_interface(iid, pointer)

    @implements("CreateCommittedResource", RESULT, POINTER, UINT, POINTER, UINT, POINTER, POINTER, POINTER)
    def create_committed_resource(
        self, properties: int, flags: int, desc: int, state: int, clear: int | None, iid: int, pointer: int
    ) -> int:
        heap = ctypes.string_at(properties, ctypes.sizeof(HeapProperties))
        described = ctypes.string_at(desc, ctypes.sizeof(ResourceDesc))
        return Resource(self._journal, self, heap, flags, described).query_interface(iid, pointer)

    @implements("CreateDescriptorHeap", RESULT, POINTER, POINTER, POINTER)
    def create_descriptor_heap(self, desc: int, iid: int, pointer: int) -> int:
        count = DescriptorHeapDesc.from_address(desc).NumDescriptors
        return DescriptorHeap(self._journal, self, count).query_interface(iid, pointer)

    @implements("GetDescriptorHandleIncrementSize", UINT, UINT)
    def get_descriptor_handle_increment_size(self, kind: int) -> int:
        return INCREMENT

    @implements("CreateRootSignature", RESULT, UINT, POINTER, SIZE_T, POINTER, POINTER)
    def create_root_signature(self, node_mask: int, blob: int, size: int, iid: int, pointer: int) -> int:
        content = pickle.loads(ctypes.string_at(blob, size))
        made = RootSignature(self._journal)
        self._journal.note(replace(content, name=self._journal.name_of(made.address)))
        return made.query_interface(iid, pointer)

    @implements("CreateComputePipelineState", RESULT, POINTER, POINTER, POINTER)
    def create_compute_pipeline_state(self, desc: int, iid: int, pointer: int) -> int:
        wanted = structures.ComputePipelineStateDesc.from_address(desc)
        shader = decoding.shader(ctypes.string_at(wanted.CS.pShaderBytecode, wanted.CS.BytecodeLength))
        root_signature = self._journal.name_of(wanted.pRootSignature)
        made = Pipeline(self._journal)
        name = self._journal.name_of(made.address)
        self._journal.note(calls.CreateComputePipelineState(name, root_signature, shader))
        return made.query_interface(iid, pointer)

    @implements("CreateUnorderedAccessView", None, POINTER, POINTER, POINTER, SIZE_T)
    def create_unordered_access_view(self, resource: int | None, counter: int | None, desc: int, handle: int) -> None:
        if counter is not None:
            raise Undecodable("a view with a counter")
        name = None if resource is None else self._journal.name_of(resource)
        self._journal.note(decoding.unordered_access_view(desc, name, self._journal.place(handle)))

    @implements("MakeResident", RESULT, UINT, POINTER)
    def make_resident(self, count: int, objects: int) -> int:
        self._journal.note(calls.MakeResident(self._journal.names(count, objects)))
        return HResult.S_OK

    @implements("Evict", RESULT, UINT, POINTER)
    def evict(self, count: int, objects: int) -> int:
        self._journal.note(calls.Evict(self._journal.names(count, objects)))
        return HResult.S_OK


class RecordingNullDevice(NullDevice):
    """The recording device with its adapter; `journal` has what is called."""

    journal: Journal

    def serialize_versioned_root_signature(self, desc: int, blob: int, error: int) -> int:
        """D3D12SerializeVersionedRootSignature."""
        try:
            content = decoding.root_signature(desc)
        except Undecodable as problem:
            self.unexpected.append(f"D3D12SerializeVersionedRootSignature was given {problem}")
            return HResult.E_NOTIMPL.signed
        return Blob(self.journal, content).hand_out(blob)

    def _create_device(self, profile: Profile) -> NullD3d12Device:
        self.journal = Journal(self.unexpected)
        return RecordingDevice(self.journal, profile)
