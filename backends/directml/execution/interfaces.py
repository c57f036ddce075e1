"""The interfaces of Direct3D 12 and DirectML that execution calls, each function declared once with its types.

A class here is one interface; an object of it owns one reference to an object of the library. Functions keep their
names in snake_case. One that answers an HRESULT raises where that says failure; one that returns a struct does so in
whichever way the library has (`StructReturn`).

Source: d3d12.h and DirectML.h of DirectX-Headers (MIT).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from dml_conformance.backends.directml import headers as base
from dml_conformance.backends.directml.com import (
    IID_IUNKNOWN,
    IUNKNOWN,
    POINTER,
    RESULT,
    SIZE_T,
    UINT,
    InterfaceTable,
    check,
    guid_bytes,
    method,
)
from dml_conformance.backends.directml.execution import headers
from dml_conformance.backends.directml.execution.structures import (
    BindingProperties,
    CpuDescriptorHandle,
    GpuDescriptorHandle,
    Luid,
)

UINT64 = ctypes.c_uint64


class StructReturn(Enum):
    """How a function gives back a struct."""

    POINTER = "through a pointer passed after the object"
    VALUE = "by value, as C++ does on Linux: in registers up to 16 bytes, above through a pointer passed first"


class Function:
    """A function of an interface. Read from an object, it is that object's own, ready to be called.

    Args:
        name: in the interface's table.
        restype: what it returns; None for nothing, RESULT for what is checked and then dropped.
        argtypes: of its arguments, the object not counted.
    """

    def __init__(self, name: str, restype: Any, *argtypes: Any) -> None:
        self._name = name
        self._restype = restype
        self._argtypes = argtypes

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        if instance is None:
            raise AttributeError(f"{owner.__name__}.{self._attribute} is called on objects only")
        bound = self._bound(instance)
        instance.__dict__[self._attribute] = bound  # found before this descriptor from now on
        return bound

    def _bound(self, instance: Interface) -> Callable[..., Any]:
        pointer, slot, restype = instance.pointer, instance.slots.index(self._name), self._restype
        if isinstance(restype, type) and issubclass(restype, ctypes.Structure):
            return self._returning_struct(instance, slot, restype)
        function = method(pointer, slot, restype, *self._argtypes)
        if restype is not RESULT:
            return lambda *arguments: function(pointer, *arguments)
        called = f"{instance.name}::{self._name}"

        def checked(*arguments: Any) -> None:
            code = function(pointer, *arguments)
            if code < 0:
                check(called, code)

        return checked

    def _returning_struct(self, instance: Interface, slot: int, struct: type[ctypes.Structure]) -> Callable[..., Any]:
        pointer = instance.pointer
        if instance.struct_return is StructReturn.VALUE:
            by_value = method(pointer, slot, struct, *self._argtypes)
            return lambda *arguments: by_value(pointer, *arguments)
        through_pointer = method(pointer, slot, POINTER, POINTER, *self._argtypes)

        def filled(*arguments: Any) -> ctypes.Structure:
            result = struct()
            through_pointer(pointer, ctypes.byref(result), *arguments)
            return result

        return filled


class Interface:
    """A reference to an object of a library, given back by `close`, which may be called again, or at the end of `with`.

    Attributes:
        pointer: the object's address.
        struct_return: how its functions return structs.
    """

    name: ClassVar[str] = "IUnknown"
    iid: ClassVar[UUID] = IID_IUNKNOWN
    slots: ClassVar[tuple[str, ...]] = IUNKNOWN

    def __init_subclass__(cls, of: InterfaceTable | None = None) -> None:
        if of is not None:
            cls.name, cls.iid, cls.slots = of.name, of.iid, of

    def __init__(self, pointer: int, struct_return: StructReturn) -> None:
        """Takes over a reference that the caller has."""
        self.pointer = pointer
        self.struct_return = struct_return
        self._is_open = True

    query_interface = Function("QueryInterface", RESULT, POINTER, POINTER)
    add_ref = Function("AddRef", UINT)
    release = Function("Release", UINT)

    def create(self, interface: type[_I], function: Callable[..., None], *arguments: Any) -> _I:
        """Have one of this object's functions create another object.

        Args:
            interface: what to ask for.
            function: the function; its last two arguments are an IID and where to put the object.
            arguments: those before.

        Raises:
            ComError: it was not created.
        """
        created = POINTER()
        function(*arguments, guid_bytes(interface.iid), ctypes.byref(created))
        assert created.value is not None, f"{self.name} answered success and created nothing"
        return interface(created.value, self.struct_return)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_I = TypeVar("_I", bound=Interface)


# --- Direct3D 12 --------------------------------------------------------------------------------------------------


class Device(Interface, of=base.ID3D12_DEVICE):
    create_command_queue = Function("CreateCommandQueue", RESULT, POINTER, POINTER, POINTER)
    create_command_allocator = Function("CreateCommandAllocator", RESULT, UINT, POINTER, POINTER)
    create_command_list = Function("CreateCommandList", RESULT, UINT, UINT, POINTER, POINTER, POINTER, POINTER)
    check_feature_support = Function("CheckFeatureSupport", RESULT, UINT, POINTER, UINT)
    create_descriptor_heap = Function("CreateDescriptorHeap", RESULT, POINTER, POINTER, POINTER)
    get_descriptor_handle_increment_size = Function("GetDescriptorHandleIncrementSize", UINT, UINT)
    create_committed_resource = Function(
        "CreateCommittedResource", RESULT, POINTER, UINT, POINTER, UINT, POINTER, POINTER, POINTER
    )
    create_heap = Function("CreateHeap", RESULT, POINTER, POINTER, POINTER)
    create_placed_resource = Function(
        "CreatePlacedResource", RESULT, POINTER, UINT64, POINTER, UINT, POINTER, POINTER, POINTER
    )
    create_fence = Function("CreateFence", RESULT, UINT64, UINT, POINTER, POINTER)
    get_device_removed_reason = Function("GetDeviceRemovedReason", RESULT)
    create_query_heap = Function("CreateQueryHeap", RESULT, POINTER, POINTER, POINTER)
    get_adapter_luid = Function("GetAdapterLuid", Luid)


class Device5(Interface, of=base.ID3D12_DEVICE5):
    """The newest interface of a device that DirectML asks for."""


class Heap(Interface, of=headers.ID3D12_HEAP):
    pass


class CommandQueue(Interface, of=headers.ID3D12_COMMAND_QUEUE):
    execute_command_lists = Function("ExecuteCommandLists", None, UINT, POINTER)
    signal = Function("Signal", RESULT, POINTER, UINT64)
    get_timestamp_frequency = Function("GetTimestampFrequency", RESULT, POINTER)


class CommandAllocator(Interface, of=headers.ID3D12_COMMAND_ALLOCATOR):
    reset = Function("Reset", RESULT)


class CommandList(Interface, of=headers.ID3D12_GRAPHICS_COMMAND_LIST):
    close_list = Function("Close", RESULT)
    reset = Function("Reset", RESULT, POINTER, POINTER)
    copy_buffer_region = Function("CopyBufferRegion", None, POINTER, UINT64, POINTER, UINT64, UINT64)
    resource_barrier = Function("ResourceBarrier", None, UINT, POINTER)
    set_descriptor_heaps = Function("SetDescriptorHeaps", None, UINT, POINTER)
    end_query = Function("EndQuery", None, POINTER, UINT, UINT)
    resolve_query_data = Function("ResolveQueryData", None, POINTER, UINT, UINT, UINT, POINTER, UINT64)


class Fence(Interface, of=headers.ID3D12_FENCE):
    set_event_on_completion = Function("SetEventOnCompletion", RESULT, UINT64, POINTER)


class Resource(Interface, of=headers.ID3D12_RESOURCE):
    map = Function("Map", RESULT, UINT, POINTER, POINTER)
    unmap = Function("Unmap", None, UINT, POINTER)


class DescriptorHeap(Interface, of=headers.ID3D12_DESCRIPTOR_HEAP):
    get_cpu_start = Function("GetCPUDescriptorHandleForHeapStart", CpuDescriptorHandle)
    get_gpu_start = Function("GetGPUDescriptorHandleForHeapStart", GpuDescriptorHandle)


class QueryHeap(Interface, of=headers.ID3D12_QUERY_HEAP):
    pass


# --- DirectML -----------------------------------------------------------------------------------------------------


class DmlDevice(Interface, of=base.IDML_DEVICE):
    create_operator = Function("CreateOperator", RESULT, POINTER, POINTER, POINTER)
    compile_operator = Function("CompileOperator", RESULT, POINTER, UINT, POINTER, POINTER)
    create_operator_initializer = Function("CreateOperatorInitializer", RESULT, UINT, POINTER, POINTER, POINTER)
    create_command_recorder = Function("CreateCommandRecorder", RESULT, POINTER, POINTER)
    create_binding_table = Function("CreateBindingTable", RESULT, POINTER, POINTER, POINTER)
    get_device_removed_reason = Function("GetDeviceRemovedReason", RESULT)


class DmlOperator(Interface, of=base.IDML_OPERATOR):
    pass


class Dispatchable(Interface):
    """IDMLDispatchable: what compiled operators and their initializers have in common."""

    slots = headers.IDML_DISPATCHABLE

    get_binding_properties = Function("GetBindingProperties", BindingProperties)


class CompiledOperator(Dispatchable, of=headers.IDML_COMPILED_OPERATOR):
    pass


class OperatorInitializer(Dispatchable, of=headers.IDML_OPERATOR_INITIALIZER):
    pass


class BindingTable(Interface, of=headers.IDML_BINDING_TABLE):
    bind_inputs = Function("BindInputs", None, UINT, POINTER)
    bind_outputs = Function("BindOutputs", None, UINT, POINTER)
    bind_temporary_resource = Function("BindTemporaryResource", None, POINTER)
    bind_persistent_resource = Function("BindPersistentResource", None, POINTER)


class CommandRecorder(Interface, of=headers.IDML_COMMAND_RECORDER):
    record_dispatch = Function("RecordDispatch", None, POINTER, POINTER, POINTER)


# --- adapters -----------------------------------------------------------------------------------------------------


class DxcoreFactory(Interface, of=base.IDXCORE_ADAPTER_FACTORY):
    get_adapter_by_luid = Function("GetAdapterByLuid", RESULT, POINTER, POINTER, POINTER)


class DxcoreAdapter(Interface, of=base.IDXCORE_ADAPTER):
    get_property = Function("GetProperty", RESULT, UINT, SIZE_T, POINTER)
    get_property_size = Function("GetPropertySize", RESULT, UINT, POINTER)


class DxgiFactory(Interface, of=headers.IDXGI_FACTORY4):
    enum_warp_adapter = Function("EnumWarpAdapter", RESULT, POINTER, POINTER)


class DxgiAdapter(Interface, of=headers.IDXGI_ADAPTER):
    pass
