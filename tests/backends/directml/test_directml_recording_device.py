"""The recording device is strict: it makes an error of whatever it was not made for."""

from __future__ import annotations

import ctypes
import platform
import re
import struct
import sys
from typing import Any

import pytest
from recording_device import decoding, structures
from recording_device.decoding import Undecodable
from recording_device.device import INCREMENT, Pipeline, RecordingNullDevice

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import POINTER, SIZE_T, HResult, method, release
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn
from dml_conformance.backends.directml.execution.structures import DescriptorHeapDesc, ResourceBarrier
from dml_conformance.backends.directml.headers import (
    ID3D12_DESCRIPTOR_HEAP,
    ID3D12_GRAPHICS_COMMAND_LIST,
    CommandListType,
)
from dml_conformance.backends.directml.profiles import FULL

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the recording device is for Linux on x86-64"
)


@pytest.fixture
def null() -> RecordingNullDevice:
    return RecordingNullDevice(FULL)


@pytest.fixture
def device(null: RecordingNullDevice) -> Interface:
    """The device as the execution half calls it."""
    return Interface(headers.ID3D12_DEVICE, null.device.address, StructReturn.VALUE)


@pytest.fixture
def commands(device: Interface) -> Interface:
    return device.create(ID3D12_GRAPHICS_COMMAND_LIST, "CreateCommandList", 0, CommandListType.COMPUTE, 0, None)


def shader() -> bytes:
    """A container as compilers make them, of one part."""
    return struct.pack("<4s16sIIII4sI", b"DXBC", bytes(16), 1, 44, 1, 36, b"DXIL", 0)


def check_told(null: RecordingNullDevice, pattern: str) -> None:
    assert null.journal.take() == ()
    (line,) = null.unexpected
    assert re.fullmatch(pattern, line), line


def test_pointers_that_are_not_the_devices_are_told(null: RecordingNullDevice, commands: Interface) -> None:
    commands.SetDescriptorHeaps(1, ctypes.byref(POINTER(0xBAD0)))
    check_told(null, r"ID3D12GraphicsCommandList::SetDescriptorHeaps raised Stray: 0xbad0 is no object of this device")


@pytest.mark.parametrize(
    ("place", "dimension", "problem"),
    [
        (-1, 1, r"Stray: 0x\w+ is no descriptor of this device"),
        (4, 1, r"Stray: 0x\w+ is no descriptor of this device"),
        (0.5, 1, r"Stray: 0x\w+ is no descriptor of this device"),
        (0, 4, "Undecodable: a view of dimension 4"),
    ],
)
def test_views_that_cannot_be_are_told(
    null: RecordingNullDevice, device: Interface, place: float, dimension: int, problem: str
) -> None:
    for _ in range(2):
        heap = device.create(
            ID3D12_DESCRIPTOR_HEAP, "CreateDescriptorHeap", ctypes.byref(DescriptorHeapDesc(NumDescriptors=4))
        )
    desc = structures.UnorderedAccessViewDesc(0, dimension, structures.BufferUav(0, 1, 4, 0, 0))
    slot = headers.ID3D12_DEVICE5.index("CreateUnorderedAccessView")
    create = method(device.pointer, slot, None, POINTER, POINTER, POINTER, SIZE_T)
    handle = heap.GetCPUDescriptorHandleForHeapStart().ptr + int(place * INCREMENT)
    create(device.pointer, None, None, ctypes.addressof(desc), handle)
    check_told(null, f"ID3D12Device5::CreateUnorderedAccessView raised {problem}")


def test_root_signatures_of_other_versions_are_told(null: RecordingNullDevice) -> None:
    versioned = structures.VersionedRootSignatureDesc(1)
    code = null.serialize_versioned_root_signature(ctypes.addressof(versioned), 0, 0)
    assert code == HResult.E_NOTIMPL.signed
    check_told(null, r"D3D12SerializeVersionedRootSignature was given a root signature of version 1")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (b"MZ90", r"a shader that starts with b'MZ90'"),
        (shader()[:-1], r"a shader of \d+ bytes that says that it has \d+"),
        (shader()[:20], r"a shader whose parts cannot be found: .*"),
    ],
    ids=["no container", "cut short", "no parts"],
)
def test_shaders_of_another_form_are_told(code: bytes, why: str) -> None:
    assert decoding.shader(shader()).parts == ("DXIL",)
    with pytest.raises(Undecodable, match=why):
        decoding.shader(code)


def test_barriers_of_other_types_are_told(null: RecordingNullDevice, commands: Interface) -> None:
    commands.ResourceBarrier(1, ctypes.byref(ResourceBarrier(1)))
    check_told(null, r"ID3D12GraphicsCommandList::ResourceBarrier raised Undecodable: a barrier of type 1")


def test_references_are_followed_to_the_end(null: RecordingNullDevice) -> None:
    pipeline = Pipeline(null.journal)
    assert null.journal.unreturned() == []
    pipeline.hand_out(ctypes.addressof(POINTER()))
    assert null.journal.unreturned() == ["pipeline 0: 2"]
    for _ in range(2):
        release(pipeline.address)
    assert null.journal.unreturned() == ["pipeline 0: 0"]


# From d3d12.h, as a C compiler for 64-bit machines lays them out.
@pytest.mark.parametrize(
    ("of", "size", "offsets"),
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
def test_structs_are_laid_out_as_in_c(of: Any, size: int, offsets: dict[str, int]) -> None:
    assert ctypes.sizeof(of) == size
    assert {name: getattr(of, name).offset for name in offsets} == offsets
