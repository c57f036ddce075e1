"""COM in Python: objects given out, called through their tables as a library would."""

from __future__ import annotations

import ctypes
import re
from uuid import UUID

import pytest

from dml_conformance.backends.directml import com
from dml_conformance.backends.directml.com import ComObject, HResult, implements, method

IID = UUID("00112233-4455-6677-8899-aabbccddeeff")
OTHER = UUID("ffffffff-4455-6677-8899-aabbccddeeff")


class Counter(ComObject):
    slots = (*com.IUNKNOWN, "Add", "Fail", "Missing", "Large")
    interfaces = frozenset({IID})

    @implements("Add", com.UINT, com.UINT, com.UINT)
    def add(self, a: int, b: int) -> int:
        return a + b

    @implements("Fail", com.RESULT)
    def fail(self) -> int:
        raise ValueError("broken")

    @implements("Large", ctypes.c_uint64)
    def large(self) -> int:
        return 2**64 - 2


@pytest.fixture
def unexpected() -> list[str]:
    return []


@pytest.fixture
def counter(unexpected: list[str]) -> Counter:
    return Counter(unexpected)


def test_a_guid_lies_in_memory_as_windows_has_it() -> None:
    assert com.guid_bytes(IID) == bytes.fromhex("33221100554477668899aabbccddeeff")
    memory = ctypes.create_string_buffer(com.guid_bytes(IID), com.GUID_SIZE)
    assert com.read_guid(ctypes.addressof(memory)) == IID


def test_results_have_names_and_are_signed_as_c_has_them() -> None:
    codes = (0, -2147024809, 0x80070057, -1)
    assert [com.result_name(code) for code in codes] == ["S_OK", "E_INVALIDARG", "E_INVALIDARG", "HRESULT 0xffffffff"]
    assert (HResult.E_NOTIMPL.signed, HResult.S_OK.signed) == (-2147467263, 0)
    com.check("Create", 0)
    com.check("Create", 1)
    with pytest.raises(com.ComError, match=re.escape("Create answered E_INVALIDARG")):
        com.check("Create", HResult.E_INVALIDARG.signed)


def test_methods_are_called_in_their_slots(counter: Counter) -> None:
    add = method(counter.address, 3, com.UINT, com.UINT, com.UINT)
    assert add(counter.address, 2, 40) == 42
    assert method(counter.address, 6, ctypes.c_uint64)(counter.address) == 2**64 - 2


def test_references_are_counted(counter: Counter) -> None:
    assert method(counter.address, 1, com.UINT)(counter.address) == 2
    assert counter.references == 2
    assert com.release(counter.address) == 1


def ask_for(counter: ComObject, iid: UUID) -> tuple[int, int | None]:
    query = method(counter.address, 0, com.RESULT, com.POINTER, com.POINTER)
    memory = ctypes.create_string_buffer(com.guid_bytes(iid), com.GUID_SIZE)
    pointer = com.POINTER(1)
    code = query(counter.address, ctypes.addressof(memory), ctypes.addressof(pointer))
    return code, pointer.value


@pytest.mark.parametrize("iid", [IID, com.IID_IUNKNOWN])
def test_query_interface_gives_out_a_reference(counter: Counter, iid: UUID) -> None:
    assert ask_for(counter, iid) == (0, counter.address)
    assert counter.references == 2


def test_query_interface_refuses_others(counter: Counter, unexpected: list[str]) -> None:
    assert ask_for(counter, OTHER) == (HResult.E_NOINTERFACE.signed, None)
    assert counter.references == 1
    assert unexpected == [f"IUnknown::QueryInterface({OTHER})"]


@pytest.mark.parametrize(
    ("slot", "code", "line"),
    [
        (5, HResult.E_NOTIMPL, "IUnknown::Missing (slot 5)"),
        (4, HResult.E_FAIL, "IUnknown::Fail raised ValueError: broken"),
        (7, HResult.E_NOTIMPL, "IUnknown::slot 7, beyond the interface"),
        (6 + com.BEYOND, HResult.E_NOTIMPL, f"IUnknown::slot {6 + com.BEYOND}, beyond the interface"),
    ],
)
def test_a_call_that_cannot_be_answered_is_refused_and_recorded(
    slot: int, code: HResult, line: str, counter: Counter, unexpected: list[str]
) -> None:
    assert method(counter.address, slot, com.RESULT)(counter.address) == code.signed
    assert unexpected == [line]


def test_a_method_must_be_of_the_interface() -> None:
    class Wrong(ComObject):
        slots = com.IUNKNOWN

        @implements("Nowhere", com.RESULT)
        def nowhere(self) -> int:
            return 0

    with pytest.raises(AssertionError, match="Wrong has no function Nowhere"):
        Wrong([])
