"""The recording device, called as DirectML calls it: what it takes down, and what it makes of the unforeseen."""

from __future__ import annotations

import ctypes
import hashlib
import re
from itertools import pairwise
from typing import Any

import pytest
from directml_recording_fakes import ON_LINUX, D3d12, call, guid_pointer, shader, view

from dml_conformance.backends.directml import headers as base
from dml_conformance.backends.directml.com import IID_IUNKNOWN, POINTER, RESULT, SIZE_T, UINT, HResult, method, release
from dml_conformance.backends.directml.execution import headers
from dml_conformance.backends.directml.execution.headers import CommandListType, HeapType, ResourceState
from dml_conformance.backends.directml.execution.interfaces import (
    CommandList,
    DescriptorHeap,
    Device,
    Resource,
    StructReturn,
)
from dml_conformance.backends.directml.execution.structures import (
    UINT64,
    DescriptorHeapDesc,
    HeapProperties,
    ResourceBarrier,
    ResourceDesc,
    TransitionBarrier,
)
from dml_conformance.backends.directml.recording import calls, structures
from dml_conformance.backends.directml.recording.objects import INCREMENT

pytestmark = ON_LINUX

LIST = headers.ID3D12_GRAPHICS_COMMAND_LIST


@pytest.fixture
def d3d12() -> D3d12:
    return D3d12()


@pytest.fixture
def device(d3d12: D3d12) -> Device:
    """The device as the execution half calls it."""
    return Device(d3d12.device, StructReturn.VALUE)


@pytest.fixture
def commands(device: Device) -> int:
    kind = CommandListType.COMPUTE
    return device.create(CommandList, device.create_command_list, 0, kind, 0, None).pointer


def buffer(device: Device, width: int) -> int:
    properties = ctypes.byref(HeapProperties(Type=HeapType.DEFAULT, CreationNodeMask=1, VisibleNodeMask=1))
    desc = ctypes.byref(ResourceDesc(Dimension=1, Width=width, Height=1, Flags=4))
    return device.create(Resource, device.create_committed_resource, properties, 0, desc, 0, None).pointer


def heap(device: Device, count: int) -> tuple[int, int, int]:
    """A heap of descriptors, and where it starts, for the CPU and for the GPU."""
    desc = ctypes.byref(DescriptorHeapDesc(NumDescriptors=count))
    made = device.create(DescriptorHeap, device.create_descriptor_heap, desc)
    return made.pointer, made.get_cpu_start().ptr, made.get_gpu_start().ptr


# --- what is taken down -------------------------------------------------------------------------------------------


def test_a_root_signature_is_read_from_its_blob(d3d12: D3d12) -> None:
    d3d12.create_root_signature(views=2, constants=34)
    table = calls.DescriptorTable((calls.DescriptorRange("UAV", 2, 0, 0, 2, 0xFFFF_FFFF),))
    parameters = (table, calls.RootConstants(0, 0, 34))
    assert d3d12.calls == (calls.CreateRootSignature("root signature 0", "1_1", parameters, 0, 0, 0),)
    assert d3d12.unexpected == []


def test_a_pipeline_has_its_shader_and_its_name(d3d12: D3d12) -> None:
    code = shader(b"12345678", (b"DXIL", b"PSV0"))
    pipeline = d3d12.create_pipeline(d3d12.create_root_signature(), code)
    name = ctypes.create_unicode_buffer("Tile_256")
    call(pipeline, structures.ID3D12_PIPELINE_STATE, "SetName", RESULT, (POINTER, ctypes.addressof(name)))
    assert d3d12.calls[1:] == (
        calls.CreateComputePipelineState(
            "pipeline 0",
            "root signature 0",
            calls.Shader(len(code), hashlib.sha256(code).hexdigest(), ("DXIL", "PSV0")),
            0,
            0,
        ),
        calls.SetName("pipeline 0", "Tile_256"),
    )


def test_views_are_taken_down_with_their_place_in_the_heap(d3d12: D3d12, device: Device) -> None:
    resource = buffer(device, 4096)
    heap(device, 8)
    _, start, _ = heap(device, 8)
    d3d12.create_view(resource, start, view(6, 3))
    d3d12.create_view(None, start + 7 * INCREMENT, view(5, stride=0, format_=structures.Format.R8_UINT))
    d3d12.create_view(resource, start, view(1, format_=99))
    assert d3d12.calls == (
        calls.CreateUnorderedAccessView("buffer 0", 0, "UNKNOWN", 3, 6, 4, 0, 0),
        calls.CreateUnorderedAccessView(None, 7, "R8_UINT", 0, 5, 0, 0, 0),
        calls.CreateUnorderedAccessView("buffer 0", 0, "99", 0, 1, 4, 0, 0),
    )
    assert d3d12.unexpected == []


def test_residency_is_taken_down(d3d12: D3d12) -> None:
    pipeline = d3d12.create_pipeline(d3d12.create_root_signature())
    objects = (POINTER * 2)(pipeline, d3d12.device)
    for name in ("MakeResident", "Evict"):
        assert call(d3d12.device, base.ID3D12_DEVICE5, name, RESULT, (UINT, 2), (POINTER, objects)) == 0
    assert d3d12.calls[2:] == (calls.MakeResident(("pipeline 0", "device 0")), calls.Evict(("pipeline 0", "device 0")))


def test_commands_are_taken_down_in_order(d3d12: D3d12, device: Device, commands: int) -> None:
    root_signature = d3d12.create_root_signature()
    pipeline = d3d12.create_pipeline(root_signature)
    source, target = buffer(device, 64), buffer(device, 64)
    descriptors, _, gpu = heap(device, 4)
    values = (UINT * 3)(5, 6, 2**32 - 1)
    d3d12.null.journal.take()
    for name, *arguments in (
        ("SetDescriptorHeaps", (UINT, 1), (POINTER, (POINTER * 1)(descriptors))),
        ("SetPipelineState", (POINTER, pipeline)),
        ("SetComputeRootSignature", (POINTER, root_signature)),
        ("SetComputeRootDescriptorTable", (UINT, 1), (UINT64, gpu + 2 * INCREMENT)),
        ("SetComputeRoot32BitConstants", (UINT, 1), (UINT, 3), (POINTER, values), (UINT, 53)),
        ("Dispatch", (UINT, 65535), (UINT, 2), (UINT, 3)),
        ("CopyBufferRegion", (POINTER, target), (UINT64, 4), (POINTER, source), (UINT64, 8), (UINT64, 2**33)),
    ):
        call(commands, LIST, name, None, *arguments)
    assert d3d12.calls == (
        calls.SetDescriptorHeaps(("descriptor heap 0",)),
        calls.SetPipelineState("pipeline 0"),
        calls.SetComputeRootSignature("root signature 0"),
        calls.SetComputeRootDescriptorTable(1, 2),
        calls.SetComputeRoot32BitConstants(1, (5, 6, 2**32 - 1), 53),
        calls.Dispatch(65535, 2, 3),
        calls.CopyBufferRegion("buffer 1", 4, "buffer 0", 8, 2**33),
    )
    assert d3d12.unexpected == []


def test_barriers_are_taken_down(d3d12: D3d12, device: Device, commands: int) -> None:
    resource = buffer(device, 64)
    before, after = ResourceState.COMMON, ResourceState.COPY_DEST | ResourceState.UNORDERED_ACCESS
    barriers = (ResourceBarrier * 3)(
        ResourceBarrier(0, 0, TransitionBarrier(resource, 7, before, after)),
        ResourceBarrier(2, 0, TransitionBarrier(resource)),
        ResourceBarrier(2),
    )
    call(commands, LIST, "ResourceBarrier", None, (UINT, 3), (POINTER, barriers))
    (noted,) = d3d12.calls
    assert isinstance(noted, calls.ResourceBarrier)
    transition, *waits = noted.barriers
    assert isinstance(transition, calls.Transition)
    assert (transition.resource, transition.subresource, transition.state_before) == ("buffer 0", 7, "COMMON")
    assert set(transition.state_after.split("|")) == {"COPY_DEST", "UNORDERED_ACCESS"}
    assert waits == [calls.UavBarrier("buffer 0"), calls.UavBarrier(None)]


# --- what is asked ------------------------------------------------------------------------------------------------


def test_a_resource_says_what_it_was_created_as(d3d12: D3d12, device: Device) -> None:
    resource = buffer(device, 2**40)
    desc = call(resource, headers.ID3D12_RESOURCE, "GetDesc", ResourceDesc)
    assert (desc.Dimension, desc.Width, desc.Height, desc.Flags) == (1, 2**40, 1, 4)
    properties, flags = HeapProperties(), UINT(9)
    arguments = ((POINTER, ctypes.addressof(properties)), (POINTER, ctypes.addressof(flags)))
    assert call(resource, headers.ID3D12_RESOURCE, "GetHeapProperties", RESULT, *arguments) == 0
    assert (properties.Type, properties.VisibleNodeMask, flags.value) == (HeapType.DEFAULT, 1, 0)
    assert d3d12.calls == ()


@pytest.mark.parametrize("iid", [IID_IUNKNOWN, base.IID_ID3D12_DEVICE])
def test_everything_knows_its_device(d3d12: D3d12, commands: int, iid: Any) -> None:
    found = POINTER()
    arguments = ((POINTER, guid_pointer(iid)), (POINTER, ctypes.addressof(found)))
    assert call(commands, LIST, "GetDevice", RESULT, *arguments) == 0
    assert found.value == d3d12.device
    assert d3d12.null.device.references == 2


def test_a_list_says_its_type(commands: int) -> None:
    assert call(commands, LIST, "GetType", UINT) == CommandListType.COMPUTE


def test_the_queue_of_messages_is_rightly_absent(d3d12: D3d12) -> None:
    found = POINTER(1)
    asked = ((POINTER, guid_pointer(structures.IID_ID3D12_INFO_QUEUE)), (POINTER, ctypes.addressof(found)))
    code = call(d3d12.device, base.ID3D12_DEVICE5, "QueryInterface", RESULT, *asked)
    assert (code, found.value, d3d12.unexpected) == (HResult.E_NOINTERFACE.signed, None, [])


def test_heaps_do_not_meet(device: Device) -> None:
    starts = [start for _ in range(3) for start in heap(device, 1_000_000)[1:]]
    spans = sorted((start, start + 1_000_000 * INCREMENT) for start in starts)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_references_are_followed_to_the_end(d3d12: D3d12) -> None:
    root_signature = d3d12.create_root_signature()
    assert d3d12.null.journal.unreturned() == ["root signature 0: 2"]
    release(root_signature)
    assert d3d12.null.journal.unreturned() == []
    release(root_signature)
    assert d3d12.null.journal.unreturned() == ["root signature 0: 0"]


# --- the unforeseen -----------------------------------------------------------------------------------------------


def test_a_function_that_is_not_provided_for_is_named_with_interface_and_slot(d3d12: D3d12, commands: int) -> None:
    name = "DrawInstanced"
    code = call(commands, LIST, name, RESULT, (UINT, 1), (UINT, 1), (UINT, 0), (UINT, 0))
    assert code == HResult.E_NOTIMPL.signed
    assert call(d3d12.device, base.ID3D12_DEVICE5, "CreateSampler", RESULT, (POINTER, None), (SIZE_T, 1)) < 0
    assert d3d12.unexpected == [
        "ID3D12GraphicsCommandList::DrawInstanced (slot 12)",
        "ID3D12Device5::CreateSampler (slot 22)",
    ]


def test_a_function_beyond_the_interface_is_told_and_no_crash(d3d12: D3d12, commands: int) -> None:
    assert method(commands, len(LIST), RESULT)(commands) == HResult.E_NOTIMPL.signed
    assert d3d12.unexpected == [f"ID3D12GraphicsCommandList::slot {len(LIST)}, beyond the interface"]


def test_a_struct_that_is_not_provided_for_is_zeros_and_no_crash(d3d12: D3d12) -> None:
    arguments = ((UINT, 0), (UINT, HeapType.DEFAULT))
    properties = call(d3d12.device, base.ID3D12_DEVICE5, "GetCustomHeapProperties", HeapProperties, *arguments)
    assert bytes(properties) == bytes(20)
    assert d3d12.unexpected == ["ID3D12Device5::GetCustomHeapProperties (slot 26)"]


def check_told(d3d12: D3d12, pattern: str) -> None:
    assert d3d12.calls == ()
    (line,) = d3d12.unexpected
    assert re.fullmatch(pattern, line), line


def test_pointers_that_are_not_the_devices_are_told(d3d12: D3d12, commands: int) -> None:
    call(commands, LIST, "SetPipelineState", None, (POINTER, 0xBAD0))
    check_told(d3d12, r"ID3D12GraphicsCommandList::SetPipelineState raised Stray: 0xbad0 is no object of this device")


@pytest.mark.parametrize("place", [-1, 4, 0.5])
def test_descriptors_outside_the_heap_are_told(d3d12: D3d12, device: Device, place: float) -> None:
    _, start, _ = heap(device, 4)
    d3d12.create_view(None, start + int(place * INCREMENT), view(1))
    check_told(d3d12, r"ID3D12Device5::CreateUnorderedAccessView raised Stray: 0x\w+ is no descriptor of this device")


def test_views_of_something_else_are_told(d3d12: D3d12, device: Device) -> None:
    _, start, _ = heap(device, 4)
    other = view(1)
    other.ViewDimension = 4
    d3d12.create_view(None, start, other)
    check_told(d3d12, r"ID3D12Device5::CreateUnorderedAccessView raised Undecodable: a view of dimension 4")


def test_root_signatures_of_other_versions_are_told(d3d12: D3d12) -> None:
    code, _ = d3d12.root_signature(version=1)
    assert code == HResult.E_NOTIMPL.signed
    check_told(d3d12, r"D3D12SerializeVersionedRootSignature was given a root signature of version 1")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (b"MZ90", r"a shader that starts with b'MZ90'"),
        (shader()[:-1], r"a shader of \d+ bytes that says that it has \d+"),
        (shader()[:20], r"a shader whose parts cannot be found: .*"),
    ],
    ids=["no container", "cut short", "no parts"],
)
def test_shaders_of_another_form_are_told(d3d12: D3d12, code: bytes, why: str) -> None:
    root_signature = d3d12.create_root_signature()
    d3d12.null.journal.take()
    with pytest.raises(AssertionError):
        d3d12.create_pipeline(root_signature, code)
    check_told(d3d12, rf"ID3D12Device5::CreateComputePipelineState raised Undecodable: {why}")


def test_barriers_of_other_types_are_told(d3d12: D3d12, commands: int) -> None:
    barrier = ctypes.byref(ResourceBarrier(1))
    call(commands, LIST, "ResourceBarrier", None, (UINT, 1), (POINTER, barrier))
    check_told(d3d12, r"ID3D12GraphicsCommandList::ResourceBarrier raised Undecodable: a barrier of type 1")


# From d3d12.h, as a C compiler for 64-bit machines lays them out.
@pytest.mark.parametrize(
    ("struct", "size", "offsets"),
    [
        (structures.DescriptorRange1, 24, {"OffsetInDescriptorsFromTableStart": 20}),
        (structures.RootParameter1, 32, {"kinds": 8, "ShaderVisibility": 24}),
        (structures.RootSignatureDesc1, 40, {"pParameters": 8, "pStaticSamplers": 24, "Flags": 32}),
        (structures.VersionedRootSignatureDesc, 48, {"Desc_1_1": 8}),
        (structures.ComputePipelineStateDesc, 56, {"CS": 8, "NodeMask": 24, "CachedPSO": 32, "Flags": 48}),
        (structures.UnorderedAccessViewDesc, 40, {"Buffer": 8}),
        (structures.BufferUav, 32, {"NumElements": 8, "CounterOffsetInBytes": 16, "Flags": 24}),
    ],
)
def test_structs_are_laid_out_as_in_c(struct: Any, size: int, offsets: dict[str, int]) -> None:
    assert ctypes.sizeof(struct) == size
    assert {name: getattr(struct, name).offset for name in offsets} == offsets
