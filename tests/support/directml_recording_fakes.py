"""A DirectML made up of Python objects, which calls the recording device much as the real one does."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar
from uuid import UUID

import pytest

from dml_conformance.backends.directml import headers as base
from dml_conformance.backends.directml.com import (
    POINTER,
    RESULT,
    SIZE_T,
    UINT,
    ComObject,
    HResult,
    guid_bytes,
    implements,
    method,
)
from dml_conformance.backends.directml.com import release as release_object
from dml_conformance.backends.directml.execution import headers
from dml_conformance.backends.directml.execution.headers import BindingType
from dml_conformance.backends.directml.execution.structures import (
    UINT64,
    BindingDesc,
    BindingProperties,
    BindingTableDesc,
    BufferBinding,
)
from dml_conformance.backends.directml.profiles import FULL
from dml_conformance.backends.directml.recording import structures
from dml_conformance.backends.directml.recording.calls import Call
from dml_conformance.backends.directml.recording.device import RecordingNullDevice

ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the recording device is for Linux on x86-64"
)
GROUPS = 7


def call(pointer: int, slots: tuple[str, ...], name: str, restype: Any, *arguments: tuple[Any, Any]) -> Any:
    """Call a function of an object through its table, as a library does."""
    function = method(pointer, slots.index(name), restype, *(argtype for argtype, _ in arguments))
    return function(pointer, *(value for _, value in arguments))


def shader(code: bytes = b"code", parts: Sequence[bytes] = (b"SFI0", b"DXIL")) -> bytes:
    """A container as compilers make them, each part with the same code."""
    offset = 32 + 4 * len(parts)
    content = b"".join(struct.pack("<4sI", part, len(code)) + code for part in parts)
    offsets = [offset + n * (8 + len(code)) for n in range(len(parts))]
    size = offset + len(content)
    return struct.pack(f"<4s16sIII{len(parts)}I", b"DXBC", bytes(16), 1, size, len(parts), *offsets) + content


class D3d12:
    """The recording device as DirectML uses it: each function once, by its table, with objects as addresses."""

    def __init__(self) -> None:
        self.null = RecordingNullDevice(FULL)
        self.device = self.null.device.address

    @property
    def calls(self) -> tuple[Call, ...]:
        """Those since the last time."""
        return self.null.journal.take()

    @property
    def unexpected(self) -> list[str]:
        return self.null.unexpected

    def create(self, name: str, iid: UUID, *arguments: tuple[Any, Any]) -> int:
        """Call a function of the device whose last two arguments are an IID and where to put the object."""
        made = POINTER()
        ends = (POINTER, guid_pointer(iid)), (POINTER, ctypes.addressof(made))
        code = call(self.device, base.ID3D12_DEVICE5, name, RESULT, *arguments, *ends)
        assert code == HResult.S_OK, (name, code, self.unexpected)
        assert made.value is not None
        return made.value

    def root_signature(self, views: int = 3, constants: int = 55, version: int = 2) -> tuple[int, int]:
        """The blob of one with a table of views and constants. Returns the code, and its address."""
        ranges = structures.DescriptorRange1(1, views, 0, 0, 2, 0xFFFF_FFFF)
        parameters = (structures.RootParameter1 * 2)()
        parameters[0].DescriptorTable = structures.RootDescriptorTable1(1, ctypes.addressof(ranges))
        parameters[1].ParameterType = 1
        parameters[1].Constants = structures.RootConstants(0, 0, constants)
        desc = structures.RootSignatureDesc1(2, ctypes.addressof(parameters), 0, None, 0)
        versioned = structures.VersionedRootSignatureDesc(version, desc)
        blob = POINTER()
        code = self.null.serialize_versioned_root_signature(ctypes.addressof(versioned), ctypes.addressof(blob), 0)
        return code, blob.value or 0

    def create_root_signature(self, **more: int) -> int:
        code, blob = self.root_signature(**more)
        assert code == HResult.S_OK
        content = call(blob, structures.ID3D_BLOB, "GetBufferPointer", POINTER)
        size = call(blob, structures.ID3D_BLOB, "GetBufferSize", SIZE_T)
        arguments = ((UINT, 0), (POINTER, content), (SIZE_T, size))
        made = self.create("CreateRootSignature", structures.IID_ID3D12_ROOT_SIGNATURE, *arguments)
        release_object(blob)
        return made

    def create_pipeline(self, root_signature: int, code: bytes = b"") -> int:
        memory = ctypes.create_string_buffer(code or shader(), len(code or shader()))
        desc = structures.ComputePipelineStateDesc(
            root_signature, structures.ShaderBytecode(ctypes.addressof(memory), len(memory))
        )
        arguments = ((POINTER, ctypes.addressof(desc)),)
        return self.create("CreateComputePipelineState", structures.IID_ID3D12_PIPELINE_STATE, *arguments)

    def create_view(self, resource: int | None, handle: int, desc: structures.UnorderedAccessViewDesc) -> None:
        arguments = ((POINTER, resource), (POINTER, None), (POINTER, ctypes.addressof(desc)), (SIZE_T, handle))
        call(self.device, base.ID3D12_DEVICE5, "CreateUnorderedAccessView", None, *arguments)


def guid_pointer(guid: UUID) -> Any:
    return ctypes.cast(ctypes.create_string_buffer(guid_bytes(guid), 16), POINTER)


def view(elements: int, first: int = 0, *, stride: int = 4, format_: int = 0) -> structures.UnorderedAccessViewDesc:
    return structures.UnorderedAccessViewDesc(format_, 1, structures.BufferUav(first, elements, stride, 0, 0))


# --- DirectML -----------------------------------------------------------------------------------------------------


class FakeDirectml(ComObject):
    """IDMLDevice, and in the tests' place of `DirectmlDevice`.

    An operator has two tensors; it runs in `GROUPS` groups.

    Attributes:
        refuses: functions that answer E_INVALIDARG.
        keeps: whether it forgets to release its pipeline.
        while_compiling: what else it does then.
        needs: what GetBindingProperties of an operator says.
        initializer_needs: likewise of its initializer, which records commands where it needs descriptors.
    """

    interface = "IDMLDevice"
    slots = base.IDML_DEVICE

    def __init__(self, d3d12: D3d12) -> None:
        super().__init__(d3d12.unexpected)
        self.d3d12 = d3d12
        self.refuses: set[str] = set()
        self.keeps = False
        self.while_compiling: Callable[[], object] = lambda: None
        self.needs = BindingProperties(2, 0, 0)
        self.initializer_needs = BindingProperties(0, 0, 0)
        self.removed = HResult.S_OK
        self.made: list[ComObject] = []  # kept alive
        self.descs: list[bytes] = []  # what operators were created from
        self.pipeline = 0
        self.held: list[int] = []

    def close(self) -> None:
        """As `DirectmlDevice.close`."""
        assert self.release() == 0, "DirectML's device is still in use"
        for pointer in self.held:
            release_object(pointer)

    def give(self, name: str, made: ComObject, pointer: int) -> int:
        if name in self.refuses:
            return HResult.E_INVALIDARG.signed
        self.made.append(made)
        return made.hand_out(pointer)

    @implements("CreateOperator", RESULT, POINTER, POINTER, POINTER)
    def create_operator(self, desc: int, iid: int, pointer: int) -> int:
        self.descs.append(ctypes.string_at(desc, 4))
        return self.give("CreateOperator", FakeChild(self), pointer)

    @implements("CompileOperator", RESULT, POINTER, UINT, POINTER, POINTER)
    def compile_operator(self, operator: int, flags: int, iid: int, pointer: int) -> int:
        d3d12 = self.d3d12
        self.while_compiling()
        if not self.pipeline:
            root_signature = d3d12.create_root_signature(views=2)
            self.pipeline = d3d12.create_pipeline(root_signature)
            self.held += [root_signature] if self.keeps else [root_signature, self.pipeline]
        return self.give("CompileOperator", FakeDispatchable(self, self.needs), pointer)

    @implements("CreateOperatorInitializer", RESULT, UINT, POINTER, POINTER, POINTER)
    def create_initializer(self, count: int, operators: int, iid: int, pointer: int) -> int:
        return self.give("CreateOperatorInitializer", FakeDispatchable(self, self.initializer_needs), pointer)

    @implements("CreateCommandRecorder", RESULT, POINTER, POINTER)
    def create_recorder(self, iid: int, pointer: int) -> int:
        return self.give("CreateCommandRecorder", FakeRecorder(self), pointer)

    @implements("CreateBindingTable", RESULT, POINTER, POINTER, POINTER)
    def create_table(self, desc: int, iid: int, pointer: int) -> int:
        return self.give("CreateBindingTable", FakeTable(self, BindingTableDesc.from_address(desc)), pointer)

    @implements("GetDeviceRemovedReason", RESULT)
    def removed_reason(self) -> int:
        return self.removed.signed


class FakeChild(ComObject):
    interface = "IDMLOperator"
    slots: ClassVar[tuple[str, ...]] = headers.IDML_OPERATOR

    def __init__(self, dml: FakeDirectml) -> None:
        super().__init__(dml.d3d12.unexpected)
        self.dml = dml


class FakeDispatchable(FakeChild):
    slots = headers.IDML_OPERATOR_INITIALIZER

    def __init__(self, dml: FakeDirectml, needs: BindingProperties) -> None:
        super().__init__(dml)
        self.needs = needs

    @implements("GetBindingProperties", BindingProperties)
    def get_binding_properties(self) -> BindingProperties:
        return self.needs


class FakeTable(FakeChild):
    slots = headers.IDML_BINDING_TABLE

    def __init__(self, dml: FakeDirectml, desc: BindingTableDesc) -> None:
        super().__init__(dml)
        self.cpu, self.gpu = desc.CPUDescriptorHandle.ptr, desc.GPUDescriptorHandle.ptr
        self.size: int = desc.SizeInDescriptors
        self.taken = 0

    def bind(self, count: int, descs: int) -> None:
        for desc in (BindingDesc * count).from_address(descs):
            if desc.Type == BindingType.BUFFER and self.size:
                binding = BufferBinding.from_address(desc.Desc)
                elements = view(binding.SizeInBytes // 4, binding.Offset // 4)
                self.dml.d3d12.create_view(binding.Buffer, self.cpu + 32 * self.taken, elements)
                self.taken += 1

    @implements("BindInputs", None, UINT, POINTER)
    def bind_inputs(self, count: int, descs: int) -> None:
        self.bind(count, descs)

    @implements("BindOutputs", None, UINT, POINTER)
    def bind_outputs(self, count: int, descs: int) -> None:
        self.bind(count, descs)

    @implements("BindTemporaryResource", None, POINTER)
    def bind_temporary(self, desc: int) -> None:
        self.bind(1, desc)

    @implements("BindPersistentResource", None, POINTER)
    def bind_persistent(self, desc: int) -> None:
        self.bind(1, desc)


class FakeRecorder(FakeChild):
    slots = headers.IDML_COMMAND_RECORDER

    @implements("RecordDispatch", None, POINTER, POINTER, POINTER)
    def record_dispatch(self, commands: int, dispatchable: int, table: int) -> None:
        bound = next(made for made in self.dml.made if made.address == table)
        assert isinstance(bound, FakeTable)
        if bound.size:
            slots = headers.ID3D12_GRAPHICS_COMMAND_LIST
            call(commands, slots, "SetPipelineState", None, (POINTER, self.dml.pipeline))
            call(commands, slots, "SetComputeRootDescriptorTable", None, (UINT, 0), (UINT64, bound.gpu))
            call(commands, slots, "Dispatch", None, (UINT, GROUPS), (UINT, 1), (UINT, 1))
