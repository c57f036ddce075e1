"""The bridge between a library that returns structs through a pointer and a caller that wants them by value.

Both are C libraries made up for the purpose and compiled here.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import SUPPORT

from dml_conformance.backends.directml import headers, stubs
from dml_conformance.backends.directml.com import POINTER, InterfaceTable
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution import bridge as bridge_module
from dml_conformance.backends.directml.execution.bridge import Bridge, memory_map
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn, returned_structs
from dml_conformance.backends.directml.execution.opening import struct_return_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the bridge is for Linux on x86-64"
)

UINT64 = ctypes.c_uint64
SOURCES: dict[str, tuple[str, ...]] = {
    "native": (),
    "native-by-value": ("-DBY_VALUE",),
    # Nothing in this library calls its functions, as DirectML's own code does: without the flag a call that is the
    # last thing a function does would return right to Python, and not be seen to come from here.
    "caller": ("-fno-optimize-sibling-calls",),
}


class One(ctypes.Structure):
    _fields_ = (("value", UINT64),)


class Two(ctypes.Structure):
    _fields_ = (("first", UINT64), ("second", UINT64))


class Five(ctypes.Structure):
    _fields_ = (("values", ctypes.c_uint32 * 5),)


class Seven(ctypes.Structure):
    _fields_ = (("values", UINT64 * 7),)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all libraries, compiled once."""
    compiler = stubs.find_compiler()
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("compiled")
    for name, flags in SOURCES.items():
        source = SUPPORT / (f"directml_execution_{name.partition('-')[0]}.c")
        command = [*compiler, "-shared", "-fPIC", "-O2", "-Wl,-z,relro,-z,now", *flags]
        subprocess.run([*command, "-o", str(folder / f"{name}.so"), str(source)], check=True)
    stubs.build(folder / "cache", stubs.BRIDGE)
    return folder


@pytest.fixture
def load(tmp_path: Path, compiled: Path) -> Any:
    """Loads a copy of a library, so that what one test does to it is not seen in another."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    return lambda name: ctypes.CDLL(str(tmp_path / f"{name}.so"))


@pytest.fixture
def native(load: Any) -> Any:
    return load("native")


@pytest.fixture
def caller(load: Any) -> Any:
    library = load("caller")
    for name, restype, argtypes in (
        ("call_luid", One, []),
        ("call_cpu_start", One, []),
        ("call_gpu_start", One, []),
        ("call_heap_desc", Two, []),
        ("call_allocation", Two, [ctypes.c_uint32, ctypes.c_uint32, POINTER]),
        ("call_allocation1", Two, [ctypes.c_uint32, ctypes.c_uint32, POINTER, POINTER]),
        ("call_properties", Five, [ctypes.c_uint32, ctypes.c_uint32]),
        ("call_resource_desc", Seven, []),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = restype, [POINTER, *argtypes]
    return library


@pytest.fixture
def bridge(tmp_path: Path, caller: ctypes.CDLL) -> Bridge:
    return Bridge(tmp_path / "cache", Path(caller._name))


def address_of(library: ctypes.CDLL, name: str) -> int:
    return ctypes.addressof(UINT64.in_dll(library, name))


def table_of(address: int) -> int:
    table = POINTER.from_address(address).value
    assert table is not None
    return table


def is_writable(address: int) -> bool:
    return next(piece.is_writable for piece in memory_map() if piece.start <= address < piece.end)


def test_a_caller_by_value_gets_every_size_of_struct(native: ctypes.CDLL, caller: ctypes.CDLL, bridge: Bridge) -> None:
    device, heap, resource = (address_of(native, name) for name in ("device", "descriptor_heap", "resource"))
    bridge.adapt(device, headers.ID3D12_DEVICE5)
    bridge.adapt(heap, headers.ID3D12_DESCRIPTOR_HEAP)
    bridge.adapt(resource, headers.ID3D12_RESOURCE)

    descs, infos = (UINT64 * 2)(11, 22), (UINT64 * 1)()
    assert caller.call_luid(device).value == 1001
    two = caller.call_allocation(device, 3, 4, descs)
    assert (two.first, two.second) == (1007, 22)
    two = caller.call_allocation1(device, 5, 6, descs, infos)
    assert (two.first, two.second, infos[0]) == (1011, 22, 11)
    assert list(caller.call_properties(device, 7, 2).values) == [1720, 1721, 1722, 1723, 1724]
    two = caller.call_heap_desc(heap)
    assert (two.first, two.second) == (2000, 16)
    assert caller.call_cpu_start(heap).value == 2009
    assert caller.call_gpu_start(heap).value == 2010
    assert list(caller.call_resource_desc(resource).values) == list(range(3000, 3007))


def test_every_object_of_a_class_is_adapted_with_the_first(
    native: ctypes.CDLL, caller: ctypes.CDLL, bridge: Bridge
) -> None:
    bridge.adapt(address_of(native, "resource"), headers.ID3D12_RESOURCE)
    assert list(caller.call_resource_desc(address_of(native, "other_resource")).values) == list(range(4000, 4007))


def test_the_library_itself_is_still_answered_through_a_pointer(native: ctypes.CDLL, bridge: Bridge) -> None:
    native.own_call.restype, native.own_call.argtypes = UINT64, [POINTER]
    resource = address_of(native, "resource")
    assert native.own_call(resource) == 3006
    bridge.adapt(resource, headers.ID3D12_RESOURCE)
    assert native.own_call(resource) == 3006


def test_python_is_still_answered_through_a_pointer(native: ctypes.CDLL, bridge: Bridge) -> None:
    device, heap = address_of(native, "device"), address_of(native, "descriptor_heap")
    bridge.adapt(device, headers.ID3D12_DEVICE5)
    bridge.adapt(heap, headers.ID3D12_DESCRIPTOR_HEAP)
    assert Interface(headers.ID3D12_DEVICE, device, StructReturn.POINTER).GetAdapterLuid().LowPart == 1001
    descriptors = Interface(headers.ID3D12_DESCRIPTOR_HEAP, heap, StructReturn.POINTER)
    assert descriptors.GetGPUDescriptorHandleForHeapStart().ptr == 2010


def test_an_object_stays_what_it_is_and_a_class_is_adapted_once(native: ctypes.CDLL, bridge: Bridge) -> None:
    resource = address_of(native, "resource")
    table = table_of(resource)

    def functions() -> list[int | None]:
        return [POINTER.from_address(table + 8 * slot).value for slot in range(len(headers.ID3D12_RESOURCE))]

    before = functions()
    bridge.adapt(resource, headers.ID3D12_RESOURCE)
    after = functions()
    assert table_of(resource) == table
    assert [slot for slot, _ in enumerate(before) if before[slot] != after[slot]] == [10]
    bridge.adapt(address_of(native, "other_resource"), headers.ID3D12_RESOURCE)
    assert functions() == after


def test_read_only_tables_are_read_only_afterwards(native: ctypes.CDLL, bridge: Bridge) -> None:
    resource = address_of(native, "resource")
    assert not is_writable(table_of(resource)), "this test is of no use: the table was writable all along"
    bridge.adapt(resource, headers.ID3D12_RESOURCE)
    assert not is_writable(table_of(resource))


def test_a_table_that_cannot_be_written_is_told(
    native: ctypes.CDLL, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module.mmap, "PAGESIZE", 3)  # no place is at a page's start then
    with pytest.raises(DirectmlError, match=r"memory of the Direct3D 12 library cannot be adapted: error \d+"):
        bridge.adapt(address_of(native, "resource"), headers.ID3D12_RESOURCE)


def test_tables_in_writable_memory_are_adapted_too(caller: ctypes.CDLL, bridge: Bridge) -> None:
    filled = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.POINTER(Seven))

    @filled
    def get_desc(this: int, desc: Any) -> int:
        desc.contents.values[6] = 42
        return ctypes.addressof(desc.contents)

    table = (POINTER * len(headers.ID3D12_RESOURCE))()
    table[10] = ctypes.cast(get_desc, POINTER).value
    made = POINTER(ctypes.addressof(table))
    bridge.adapt(ctypes.addressof(made), headers.ID3D12_RESOURCE)
    assert caller.call_resource_desc(ctypes.addressof(made)).values[6] == 42


def test_more_classes_than_there_is_room_for_are_told(bridge: Bridge) -> None:
    tables = [(POINTER * len(headers.ID3D12_RESOURCE))(*[1] * len(headers.ID3D12_RESOURCE)) for _ in range(33)]
    objects = [POINTER(ctypes.addressof(table)) for table in tables]
    for made in objects[:32]:
        bridge.adapt(ctypes.addressof(made), headers.ID3D12_RESOURCE)
    with pytest.raises(DirectmlError, match="more classes than this bridge has room for"):
        bridge.adapt(ctypes.addressof(objects[32]), headers.ID3D12_RESOURCE)


def test_a_caller_that_is_not_loaded_is_told(tmp_path: Path, bridge: Bridge) -> None:
    with pytest.raises(DirectmlError, match=r"not-loaded\.so is not loaded"):
        Bridge(tmp_path / "cache", tmp_path / "not-loaded.so")


def test_no_function_has_more_arguments_than_the_stand_ins_pass_on() -> None:
    # Six registers: the object, the struct's pointer, and four more; GetResourceAllocationInfo3 would have six more.
    tables = [table for table in vars(headers).values() if isinstance(table, InterfaceTable)]
    assert not any("GetResourceAllocationInfo3" in table for table in tables)
    assert {name for table in tables if "ID3D12" in table.name for name in returned_structs(table)} == {
        "GetResourceAllocationInfo",
        "GetResourceAllocationInfo1",
        "GetCustomHeapProperties",
        "GetAdapterLuid",
        "GetDesc",
        "GetCPUDescriptorHandleForHeapStart",
        "GetGPUDescriptorHandleForHeapStart",
    }


@pytest.mark.parametrize(
    ("name", "expected"), [("native", StructReturn.POINTER), ("native-by-value", StructReturn.VALUE)]
)
def test_how_a_library_returns_structs_is_found_out(load: Any, name: str, expected: StructReturn) -> None:
    library = load(name)
    device = address_of(library, "device")
    assert struct_return_of(device) is expected
    assert Interface(headers.ID3D12_DEVICE, device, expected).GetAdapterLuid().LowPart == 1001
    heap = Interface(headers.ID3D12_DESCRIPTOR_HEAP, address_of(library, "descriptor_heap"), expected)
    assert heap.GetCPUDescriptorHandleForHeapStart().ptr == 2009
    assert heap.GetGPUDescriptorHandleForHeapStart().ptr == 2010
    desc = Interface(headers.ID3D12_RESOURCE, address_of(library, "resource"), expected).GetDesc()
    assert (desc.Dimension, desc.Alignment, desc.Width) == (3000, 3001, 3002)
