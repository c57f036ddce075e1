"""COM with ctypes: calling objects of a C++ library, and giving it objects that live in Python.

A COM object is a pointer to a pointer to a table of functions; the first three are IUnknown's. On Linux, as on 64-bit
Windows, each is a plain C function with the object as its first argument, so ctypes needs no C++ of its own.

Source: the calling convention of C++ virtual functions in DirectX-Headers (unknwnbase.h, MIT) and the System V ABI.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import UUID

BOOL = ctypes.c_int32
BOOL_OF_CPP = ctypes.c_bool  # DXCore's interfaces use C++'s own one-byte bool
UINT = ctypes.c_uint32
SIZE_T = ctypes.c_size_t
POINTER = ctypes.c_void_p
RESULT = ctypes.c_int32  # HRESULT; ctypes has one of its own on Windows only

GUID_SIZE = 16
_FUNCTION = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>[^)]*)\)(?:->(?P<result>\w+))?)?")


class FunctionTypes(NamedTuple):
    """Names of what a function returns and of what it takes, the object not counted."""

    result: str
    arguments: tuple[str, ...]


class InterfaceTable(tuple[str, ...]):
    """The functions of an interface in the order of its table: those of the interface that it extends, then its own.

    Args:
        name: of the interface.
        iid: its identifier.
        functions: their names; those that are called from here, or return a struct, with their types:
            `Map(UINT, POINTER, POINTER)` answers an HRESULT, `Unmap(UINT, POINTER)->void` nothing.
        after: the interface that it extends.

    Attributes:
        types: of those functions that have them.
    """

    name: str
    iid: UUID
    types: Mapping[str, FunctionTypes]

    def __new__(cls, name: str, iid: str, functions: str, after: tuple[str, ...] = ()) -> Self:
        found = list(_FUNCTION.finditer(functions))
        made = super().__new__(cls, (*after, *(function["name"] for function in found)))
        made.name, made.iid = name, UUID(iid)
        types = dict(after.types) if isinstance(after, InterfaceTable) else {}
        for function in found:
            if function["arguments"] is not None:
                arguments = tuple(re.findall(r"\w+", function["arguments"]))
                types[function["name"]] = FunctionTypes(function["result"] or "RESULT", arguments)
        made.types = types
        return made


IUNKNOWN = InterfaceTable(
    "IUnknown",
    "00000000-0000-0000-c000-000000000046",
    "QueryInterface(POINTER, POINTER) AddRef()->UINT Release()->UINT",
)
IID_IUNKNOWN = IUNKNOWN.iid


class HResult(IntEnum):
    """The HRESULT codes that DirectML and Direct3D 12 answer with, as unsigned numbers."""

    S_OK = 0
    E_NOTIMPL = 0x80004001
    E_NOINTERFACE = 0x80004002
    E_POINTER = 0x80004003
    E_FAIL = 0x80004005
    E_UNEXPECTED = 0x8000FFFF
    E_OUTOFMEMORY = 0x8007000E
    E_INVALIDARG = 0x80070057
    DXGI_ERROR_UNSUPPORTED = 0x887A0004
    DXGI_ERROR_DEVICE_REMOVED = 0x887A0005

    @property
    def signed(self) -> int:
        """The code as a C function returns it."""
        return self.value - 2**32 if self.value >= 2**31 else self.value


def result_name(code: int) -> str:
    """`E_INVALIDARG` for its code, signed or not; the number in hexadecimal where it has no name here."""
    code &= 0xFFFF_FFFF
    known = HResult._value2member_map_.get(code)
    return known.name if isinstance(known, HResult) else f"HRESULT {code:#010x}"


class ComError(RuntimeError):
    """A call that failed; the message names it and its code.

    Attributes:
        code: the HRESULT, as the function returned it.
    """

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call} answered {result_name(code)}")
        self.code = code


def check(call: str, code: int) -> None:
    """Raise if a call failed.

    Raises:
        ComError: the code is negative, which is how HRESULT says failure.
    """
    if code < 0:
        raise ComError(call, code)


def guid_bytes(guid: UUID) -> bytes:
    """A GUID as it lies in memory."""
    return guid.bytes_le


def read_guid(address: int) -> UUID:
    return UUID(bytes_le=ctypes.string_at(address, GUID_SIZE))


def write_pointer(address: int, value: int | None) -> None:
    ctypes.c_void_p.from_address(address).value = value


# --- calling objects of a library ---------------------------------------------------------------------------------


def method(pointer: int, slot: int, restype: Any, *argtypes: Any) -> Callable[..., Any]:
    """The function in a slot of an object's table; it takes the object's address first.

    It stays valid as long as the object does, and may be called for every object of the same class.
    """
    table = ctypes.c_void_p.from_address(pointer).value
    assert table is not None, "an object without a table"
    address = ctypes.c_void_p.from_address(table + slot * ctypes.sizeof(ctypes.c_void_p)).value
    assert address is not None, f"no function in slot {slot}"
    return ctypes.CFUNCTYPE(restype, POINTER, *argtypes)(address)


def release(pointer: int) -> int:
    """Give a reference back. Returns how many are left."""
    left: int = method(pointer, IUNKNOWN.index("Release"), UINT)(pointer)
    return left


# --- objects that live in Python ----------------------------------------------------------------------------------

_M = TypeVar("_M", bound=Callable[..., Any])


# A table has this many functions more than its interface, so that a call beyond its end is seen and not a crash.
BEYOND = 32


def implements(name: str, restype: Any, *argtypes: Any) -> Callable[[_M], _M]:
    """Mark a Python method as the function called `name` in its class's `slots`.

    Args:
        restype: what it returns.
        argtypes: of its arguments, the object not counted.
    """

    def mark(function: _M) -> _M:
        function.com_signature = (name, restype, argtypes)  # type: ignore[attr-defined]
        return function

    return mark


class ComObject:
    """A COM object in Python. A subclass says what it is, and marks its methods with `implements`.

    A call of a function that the subclass does not have, in the table or beyond its end, is put on record and answered
    with E_NOTIMPL; so is, with E_FAIL, one whose Python method raises. The object lives as long as Python holds it,
    whatever the library does to its reference count; that is kept for what it tells.

    Attributes:
        interface: what it is called in the record.
        slots: names of the functions in the table, in order, from IUnknown's three on.
        interfaces: what QueryInterface has; IUnknown always is one.
        references: what AddRef and Release have left, from 1 on.
    """

    interface: ClassVar[str] = "IUnknown"
    slots: ClassVar[tuple[str, ...]] = IUNKNOWN
    interfaces: ClassVar[frozenset[UUID]] = frozenset()

    def __init_subclass__(cls, of: InterfaceTable | None = None) -> None:
        """`of` gives the first three attributes."""
        if of is not None:
            cls.interface, cls.slots = of.name, of
            cls.interfaces |= {of.iid}

    def __init__(self, unexpected: list[str]) -> None:
        """`unexpected` gets a line for each call that is not provided for."""
        self._unexpected = unexpected
        self.references = 1
        own = self._implemented()
        self._functions = [own.get(name) or self._missing(name, slot) for slot, name in enumerate(self.slots)]
        count = len(self.slots)
        self._functions += [self._missing("", slot) for slot in range(count, count + BEYOND)]
        addresses = (ctypes.cast(function, POINTER).value for function in self._functions)
        self._table = (POINTER * len(self._functions))(*addresses)
        self._object = POINTER(ctypes.addressof(self._table))

    @property
    def address(self) -> int:
        """What the library takes for a pointer to the object."""
        return ctypes.addressof(self._object)

    def hand_out(self, pointer: int) -> int:
        """Write the object's address where a library wants one, with a reference of its own. Returns S_OK."""
        self.references += 1
        write_pointer(pointer, self.address)
        return HResult.S_OK

    def record(self, call: str) -> None:
        """Put a call on record as one that was not provided for."""
        self._unexpected.append(f"{self.interface}::{call}")

    @implements("QueryInterface", RESULT, POINTER, POINTER)
    def query_interface(self, iid: int, pointer: int) -> int:
        wanted = read_guid(iid)
        if wanted == IID_IUNKNOWN or wanted in self.interfaces:
            return self.hand_out(pointer)
        self.record(f"QueryInterface({wanted})")
        write_pointer(pointer, None)
        return HResult.E_NOINTERFACE.signed

    @implements("AddRef", UINT)
    def add_ref(self) -> int:
        self.references += 1
        return self.references

    @implements("Release", UINT)
    def release(self) -> int:
        self.references -= 1
        return self.references

    def _implemented(self) -> Mapping[str, Any]:
        functions = {}
        for attribute in dir(type(self)):
            signature = getattr(getattr(type(self), attribute), "com_signature", None)
            if signature is not None:
                name, restype, argtypes = signature
                assert name in self.slots, f"{type(self).__name__} has no function {name}"
                functions[name] = _native(self._guarded(name, attribute), restype, *argtypes)
        return functions

    def _guarded(self, name: str, attribute: str) -> Callable[..., Any]:
        bound = getattr(self, attribute)

        def call(this: int, *arguments: Any) -> Any:
            try:
                return bound(*arguments)
            except Exception as error:  # ctypes would print it and answer 0, which is success
                self.record(f"{name} raised {type(error).__name__}: {error}")
                return HResult.E_FAIL.signed

        return call

    def _missing(self, name: str, slot: int) -> Any:
        # No argument but the object is declared: on this calling convention the caller clears up what it passed.
        def call(this: int) -> int:
            self.record(f"{name} (slot {slot})" if name else f"slot {slot}, beyond the interface")
            return HResult.E_NOTIMPL.signed

        return _native(call, RESULT)


def _native(function: Callable[..., Any], restype: Any, *argtypes: Any) -> Any:
    """What stands in the table for a function: a C function that calls a Python one."""
    return ctypes.CFUNCTYPE(restype, POINTER, *argtypes)(function)
