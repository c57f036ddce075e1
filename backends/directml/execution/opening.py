"""From libraries to a device that DirectML runs on."""

from __future__ import annotations

import ctypes
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from dml_conformance.backends.directml import headers, stubs
from dml_conformance.backends.directml.com import (
    POINTER,
    RESULT,
    SIZE_T,
    UINT,
    ComError,
    HResult,
    InterfaceTable,
    check,
    guid_bytes,
    method,
)
from dml_conformance.backends.directml.device import DirectmlDevice
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution.bridge import Bridge
from dml_conformance.backends.directml.execution.gpu import Gpu, buffer_desc
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.structures import (
    CommandQueueDesc,
    DescriptorHeapDesc,
    HeapDesc,
    HeapProperties,
    Luid,
)
from dml_conformance.backends.directml.headers import (
    AdapterProperty,
    CommandListType,
    D3D12Feature,
    FeatureLevel,
    HeapType,
    ResourceState,
)
from dml_conformance.backends.directml.library import cache_folder, sha256_of
from dml_conformance.backends.directml.null_device import Adapter, AdapterFactory

# What is asked for is the least that the device must have: the levels that DirectML runs on at all.
LEAST_FEATURE_LEVELS = (FeatureLevel.L11_0, FeatureLevel.CORE_1_0)
# C++ on Windows passes a pointer for the struct, on Linux it returns by value.
STRUCT_RETURN_OF_CPP = StructReturn.POINTER if hasattr(ctypes, "WinDLL") else StructReturn.VALUE


class ExecutionDevice(NamedTuple):
    """A device, and what is known of it.

    Attributes:
        gpu: to execute on.
        directml: to decide with, on the same device.
        name: of the device, in words.
        versions: of what its answers depend on.
        kept: what must be kept alive for as long as the others are in use.
    """

    gpu: Gpu
    directml: DirectmlDevice
    name: str
    versions: dict[str, str]
    kept: tuple[object, ...]


def open_device(setup: Setup) -> ExecutionDevice:
    """Load the libraries and make a device.

    Raises:
        DirectmlError: a library cannot be loaded, or lacks something.
        ComError: one of them would not make what it was asked for.
    """
    # Before any other library of their names, so that DirectML is linked against these.
    stand_ins = None if setup.dxcore else StandIns(stubs.build(cache_folder()))
    library = load(setup.d3d12)
    dxcore = load(setup.dxcore) if setup.dxcore else None
    if setup.dxgi:
        with warp_adapter(load(setup.dxgi)) as adapter:
            pointer = create_device(library, adapter)
    else:
        pointer = create_device(library)
    with ExitStack() as held:
        device = held.enter_context(Interface(headers.ID3D12_DEVICE, pointer, struct_return_of(pointer)))
        luid = _number(device.GetAdapterLuid())
        if stand_ins is not None:
            stand_ins.connect(library, luid)
        load(setup.directml)
        bridge = None
        if device.struct_return is not STRUCT_RETURN_OF_CPP:
            bridge = Bridge(cache_folder(), Path(setup.directml))
            adapt(bridge, device)
        directml = DirectmlDevice(Path(setup.directml), device.pointer)
        held.callback(directml.close)
        dml = Interface(headers.IDML_DEVICE, directml.address, STRUCT_RETURN_OF_CPP)
        dml.AddRef()  # it has two owners now
        held.enter_context(dml)
        name, versions = (setup.device_name, {}) if dxcore is None else describe(dxcore, luid)
        versions |= device_versions(device)
        if dxcore is None:
            versions["d3d12 sha256"] = sha256_of(Path(setup.d3d12))
        gpu = Gpu(device, dml)
        held.pop_all()
    return ExecutionDevice(gpu, directml, name, versions, (stand_ins, bridge, library, dxcore))


def load(name: str) -> Any:
    """A library by path or name.

    Raises:
        DirectmlError: it cannot be loaded.
    """
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise DirectmlError(f"cannot load {name}: {error}") from error


def exported(library: Any, name: str, *argtypes: Any) -> Any:
    """A function of a library that answers an HRESULT.

    Raises:
        DirectmlError: the library does not have it.
    """
    try:
        function = library[name]  # an own object each time, whose types nobody else changes
    except AttributeError:
        raise DirectmlError(f"{library._name} has no function {name}") from None
    function.restype = RESULT
    function.argtypes = argtypes
    return function


def create_device(library: Any, adapter: Interface | None = None) -> int:
    """An ID3D12Device, on an adapter or on the library's first. Returns its address.

    Raises:
        DirectmlError: the library is none of Direct3D 12.
        ComError: there is no device, or none that DirectML can run on.
    """
    create = exported(library, "D3D12CreateDevice", POINTER, UINT, POINTER, POINTER)
    device = POINTER()
    iid = guid_bytes(headers.ID3D12_DEVICE.iid)
    code = HResult.E_FAIL.signed
    for level in LEAST_FEATURE_LEVELS:
        code = create(None if adapter is None else adapter.pointer, level, iid, ctypes.byref(device))
        if code >= 0:
            break
    check("D3D12CreateDevice", code)
    assert device.value is not None
    return device.value


def struct_return_of(device: int) -> StructReturn:
    """How a Direct3D 12 library returns structs, from what its device does when asked for its adapter.

    A function that fills in a struct through a pointer returns the pointer too. One that returns by value does not
    look at the argument that it gets in excess.
    """
    luid = Luid()
    function = method(device, headers.ID3D12_DEVICE.index("GetAdapterLuid"), POINTER, POINTER)
    answered = function(device, ctypes.byref(luid))
    return StructReturn.POINTER if answered == ctypes.addressof(luid) else StructReturn.VALUE


def adapt(bridge: Bridge, device: Interface) -> None:
    """Adapt all classes of a library whose objects DirectML comes to see, an object of each being made for it.

    DirectML asks for no interface of a device newer than ID3D12Device5.
    """
    with ExitStack() as held:

        def adapted(table: InterfaceTable, function: str, *arguments: Any) -> Interface:
            made = held.enter_context(device.create(table, function, *arguments))
            bridge.adapt(made.pointer, table)
            return made

        adapted(headers.ID3D12_DEVICE5, "QueryInterface")
        bridge.adapt(device.pointer, headers.ID3D12_DEVICE)
        queue_desc = ctypes.byref(CommandQueueDesc(Type=CommandListType.COMPUTE))
        adapted(headers.ID3D12_COMMAND_QUEUE, "CreateCommandQueue", queue_desc)
        for flags in (headers.DESCRIPTOR_HEAP_FLAG_NONE, headers.DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE):
            heap_desc = DescriptorHeapDesc(headers.DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 1, flags)
            adapted(headers.ID3D12_DESCRIPTOR_HEAP, "CreateDescriptorHeap", ctypes.byref(heap_desc))
        properties = HeapProperties(Type=HeapType.DEFAULT, CreationNodeMask=1, VisibleNodeMask=1)
        desc = buffer_desc(headers.PLACEMENT_ALIGNMENT, headers.RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
        state = ResourceState.COMMON
        committed = (ctypes.byref(properties), 0, ctypes.byref(desc), state, None)
        adapted(headers.ID3D12_RESOURCE, "CreateCommittedResource", *committed)
        memory = HeapDesc(headers.PLACEMENT_ALIGNMENT, properties, 0, headers.HEAP_FLAG_ALLOW_ONLY_BUFFERS)
        heap = adapted(headers.ID3D12_HEAP, "CreateHeap", ctypes.byref(memory))
        placed = (heap.pointer, 0, ctypes.byref(desc), state, None)
        adapted(headers.ID3D12_RESOURCE, "CreatePlacedResource", *placed)


def device_versions(device: Interface) -> dict[str, str]:
    """What a device says that it can do, as far as DirectML looks at it."""
    levels = (UINT * len(FeatureLevel))(*FeatureLevel)
    query = bytearray(struct.pack("@IPI0P", len(levels), ctypes.addressof(levels), 0))
    _ask(device, D3D12Feature.FEATURE_LEVELS, query)
    level = FeatureLevel(struct.unpack("@IPI0P", query)[2])
    options = bytearray(60)
    _ask(device, D3D12Feature.D3D12_OPTIONS, options)
    options4 = bytearray(12)
    _ask(device, D3D12Feature.D3D12_OPTIONS4, options4)
    return {
        "d3d12 feature level": level.label,
        "d3d12 shader model": _shader_model(device),
        "d3d12 doubles": _yes_or_no(struct.unpack_from("@I", options)[0]),
        "d3d12 native 16-bit operations": _yes_or_no(struct.unpack("@3I", options4)[2]),
    }


def _shader_model(device: Interface) -> str:
    # A device that does not know a model refuses the question, so it is asked for ever older ones.
    for model in range(headers.HIGHEST_SHADER_MODEL, headers.LOWEST_SHADER_MODEL - 1, -1):
        query = bytearray(struct.pack("@I", model))
        try:
            _ask(device, D3D12Feature.SHADER_MODEL, query)
        except ComError:
            continue
        (highest,) = struct.unpack("@I", query)
        return f"{highest >> 4}_{highest & 15}"
    return "below 6_0"


def _ask(device: Interface, feature: D3D12Feature, data: bytearray) -> None:
    device.CheckFeatureSupport(feature, ctypes.byref(ctypes.c_char.from_buffer(data)), len(data))


def _yes_or_no(value: int) -> str:
    return "yes" if value else "no"


# --- adapters -----------------------------------------------------------------------------------------------------


class StandIns:
    """The two libraries that DirectML for Linux is linked against, where the system does not have them.

    Args:
        folder: where `stubs.build` put them.
    """

    def __init__(self, folder: Path) -> None:
        self._unexpected: list[str] = []
        self._factory: AdapterFactory | None = None
        self._serialize: Any = None
        self._kept = stubs.load(folder, self._create_factory, self._serialize_root_signature)

    def connect(self, d3d12: Any, luid: int) -> None:
        """Have them answer for a library and its device's adapter.

        Raises:
            DirectmlError: the library lacks a function.
        """
        self._serialize = exported(d3d12, "D3D12SerializeVersionedRootSignature", POINTER, POINTER, POINTER)
        self._factory = AdapterFactory(self._unexpected, Adapter(self._unexpected, luid))

    def _create_factory(self, iid: int, pointer: int) -> int:
        return HResult.E_FAIL.signed if self._factory is None else self._factory.create(iid, pointer)

    def _serialize_root_signature(self, desc: int, blob: int, error: int) -> int:
        if self._serialize is None:
            return HResult.E_FAIL.signed
        code: int = self._serialize(desc, blob, error)
        return code


def warp_adapter(dxgi: Any) -> Interface:
    """Windows' software adapter.

    Raises:
        DirectmlError, ComError: this Windows has none.
    """
    with _root(headers.IDXGI_FACTORY4, exported(dxgi, "CreateDXGIFactory1", POINTER, POINTER)) as factory:
        return factory.create(headers.IDXGI_ADAPTER, "EnumWarpAdapter")


def describe(dxcore: Any, luid: int) -> tuple[str, dict[str, str]]:
    """Name and driver's version of an adapter, from DXCore.

    Raises:
        DirectmlError, ComError: DXCore does not know it.
    """
    with ExitStack() as held:
        create = exported(dxcore, "DXCoreCreateAdapterFactory", POINTER, POINTER)
        factory = held.enter_context(_root(headers.IDXCORE_ADAPTER_FACTORY, create))
        wanted = ctypes.byref(ctypes.c_uint64(luid))
        adapter = held.enter_context(factory.create(headers.IDXCORE_ADAPTER, "GetAdapterByLuid", wanted))
        name = _property(adapter, AdapterProperty.DRIVER_DESCRIPTION).rstrip(b"\0").decode(errors="replace")
        version = struct.unpack("<4H", _property(adapter, AdapterProperty.DRIVER_VERSION))
    return name, {"driver": ".".join(map(str, reversed(version)))}


def _root(table: InterfaceTable, create: Any) -> Interface:
    """An object made by a library's function."""
    made = POINTER()
    check(f"creating {table.name}", create(guid_bytes(table.iid), ctypes.byref(made)))
    assert made.value is not None
    return Interface(table, made.value, STRUCT_RETURN_OF_CPP)


def _property(adapter: Interface, name: AdapterProperty) -> bytes:
    size = SIZE_T()
    adapter.GetPropertySize(name, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    adapter.GetProperty(name, size, data)
    return data.raw


def _number(luid: ctypes.Structure) -> int:
    return int.from_bytes(bytes(luid), "little")
