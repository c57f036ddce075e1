"""The null device, grown by what DirectML touches on the way to the GPU."""

from __future__ import annotations

import ctypes

import msgspec

from dml_conformance.backends.directml.com import POINTER, RESULT, SIZE_T, UINT, HResult, implements
from dml_conformance.backends.directml.execution.bridge import RETURNING
from dml_conformance.backends.directml.execution.headers import CommandListType
from dml_conformance.backends.directml.execution.structures import (
    UINT64,
    DescriptorHeapDesc,
    HeapProperties,
    ResourceDesc,
)
from dml_conformance.backends.directml.headers import ID3D12_DEVICE5
from dml_conformance.backends.directml.null_device import Device, NullDevice
from dml_conformance.backends.directml.profiles import Profile
from dml_conformance.backends.directml.recording import calls, decoding, structures
from dml_conformance.backends.directml.recording.decoding import RootSignature, Undecodable
from dml_conformance.backends.directml.recording.journal import Journal
from dml_conformance.backends.directml.recording.objects import (
    INCREMENT,
    Blob,
    Heaps,
    Recorded,
    RecordedAllocator,
    RecordedFence,
    RecordedList,
    RecordedPipeline,
    RecordedQueue,
    RecordedResource,
    RecordedRootSignature,
)


class RecordingDevice(Device):
    """ID3D12Device5, with functions that create things."""

    structs = RETURNING[ID3D12_DEVICE5]
    # DirectML asks for the queue of the debug layer's messages, which a device has only with the debug layer.
    absent = frozenset({structures.IID_ID3D12_INFO_QUEUE})

    def __init__(self, journal: Journal, profile: Profile) -> None:
        super().__init__(journal.unexpected, profile)
        self._journal = journal
        self._heaps = Heaps()
        self.name = journal.enter(self, "device")

    @implements("CreateCommandQueue", RESULT, POINTER, POINTER, POINTER)
    def create_command_queue(self, desc: int, iid: int, pointer: int) -> int:
        return _give(RecordedQueue(self, self._journal), iid, pointer)

    @implements("CreateCommandAllocator", RESULT, UINT, POINTER, POINTER)
    def create_command_allocator(self, kind: int, iid: int, pointer: int) -> int:
        return _give(RecordedAllocator(self, self._journal), iid, pointer)

    @implements("CreateCommandList", RESULT, UINT, UINT, POINTER, POINTER, POINTER, POINTER)
    def create_command_list(
        self, node_mask: int, kind: int, allocator: int, pipeline: int | None, iid: int, pointer: int
    ) -> int:
        return _give(RecordedList(self, self._journal, self._heaps, CommandListType(kind)), iid, pointer)

    @implements("CreateFence", RESULT, UINT64, UINT, POINTER, POINTER)
    def create_fence(self, value: int, flags: int, iid: int, pointer: int) -> int:
        return _give(RecordedFence(self, self._journal), iid, pointer)

    @implements("CreateCommittedResource", RESULT, POINTER, UINT, POINTER, UINT, POINTER, POINTER, POINTER)
    def create_committed_resource(
        self, properties: int, flags: int, desc: int, state: int, clear: int | None, iid: int, pointer: int
    ) -> int:
        heap = ctypes.string_at(properties, ctypes.sizeof(HeapProperties))
        described = ctypes.string_at(desc, ctypes.sizeof(ResourceDesc))
        return _give(RecordedResource(self, self._journal, heap, flags, described), iid, pointer)

    @implements("CreateDescriptorHeap", RESULT, POINTER, POINTER, POINTER)
    def create_descriptor_heap(self, desc: int, iid: int, pointer: int) -> int:
        count = DescriptorHeapDesc.from_address(desc).NumDescriptors
        return _give(self._heaps.create(self, self._journal, count), iid, pointer)

    @implements("GetDescriptorHandleIncrementSize", UINT, UINT)
    def get_descriptor_handle_increment_size(self, kind: int) -> int:
        return INCREMENT

    @implements("CreateRootSignature", RESULT, UINT, POINTER, SIZE_T, POINTER, POINTER)
    def create_root_signature(self, node_mask: int, blob: int, size: int, iid: int, pointer: int) -> int:
        content = msgspec.json.decode(ctypes.string_at(blob, size), type=RootSignature)
        made = RecordedRootSignature(self, self._journal)
        self._journal.note(
            calls.CreateRootSignature(
                made.name, content.version, content.parameters, content.num_static_samplers, content.flags, node_mask
            )
        )
        return _give(made, iid, pointer)

    @implements("CreateComputePipelineState", RESULT, POINTER, POINTER, POINTER)
    def create_compute_pipeline_state(self, desc: int, iid: int, pointer: int) -> int:
        wanted = structures.ComputePipelineStateDesc.from_address(desc)
        shader = decoding.shader(ctypes.string_at(wanted.CS.pShaderBytecode, wanted.CS.BytecodeLength))
        root_signature = self._journal.name_of(wanted.pRootSignature)
        made = RecordedPipeline(self, self._journal)
        self._journal.note(
            calls.CreateComputePipelineState(made.name, root_signature, shader, wanted.NodeMask, wanted.Flags)
        )
        return _give(made, iid, pointer)

    @implements("CreateUnorderedAccessView", None, POINTER, POINTER, POINTER, SIZE_T)
    def create_unordered_access_view(self, resource: int | None, counter: int | None, desc: int, handle: int) -> None:
        if counter is not None:
            raise Undecodable("a view with a counter")
        name = None if resource is None else self._journal.name_of(resource)
        self._journal.note(decoding.unordered_access_view(desc, name, self._heaps.place(handle)))

    @implements("MakeResident", RESULT, UINT, POINTER)
    def make_resident(self, count: int, objects: int) -> int:
        self._journal.note(calls.MakeResident(self._journal.names(count, objects)))
        return HResult.S_OK

    @implements("Evict", RESULT, UINT, POINTER)
    def evict(self, count: int, objects: int) -> int:
        self._journal.note(calls.Evict(self._journal.names(count, objects)))
        return HResult.S_OK


class RecordingNullDevice(NullDevice):
    """The recording device with its adapter.

    Attributes:
        journal: what is called.
    """

    journal: Journal

    def serialize_versioned_root_signature(self, desc: int, blob: int, error: int) -> int:
        """D3D12SerializeVersionedRootSignature."""
        try:
            content = decoding.root_signature(desc)
        except Undecodable as problem:
            self.unexpected.append(f"D3D12SerializeVersionedRootSignature was given {problem}")
            return HResult.E_NOTIMPL.signed
        return Blob(self.journal, content).hand_out(blob)

    def _create_device(self, profile: Profile) -> Device:
        self.journal = Journal(self.unexpected)
        return RecordingDevice(self.journal, profile)


def _give(made: Recorded, iid: int, pointer: int) -> int:
    """Answer a call that creates something: the caller gets a reference."""
    return made.query_interface(iid, pointer)
