"""The one place where two ways of returning a struct meet.

DirectML for Linux is C++ and expects a struct by value. A C library may return it through a pointer that the caller
passes after the object. Such a library's classes get stand-ins for those functions (`stubs/bridge.c`): in the tables
of the library itself, so that every object of a class has them, also those that DirectML makes on its own, and so that
an object stays what the library takes it for. A stand-in converts for calls out of DirectML's code and passes on all
others as they are.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.com import POINTER, SIZE_T, InterfaceTable
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution.interfaces import returned_structs

MEMORY_MAP = Path("/proc/self/maps")
WORD = ctypes.sizeof(POINTER)


class MemoryRegion(NamedTuple):
    """A piece of this process's memory."""

    start: int
    end: int
    is_writable: bool
    file: str


def memory_map() -> Iterator[MemoryRegion]:
    """All memory of this process."""
    for line in MEMORY_MAP.read_text().splitlines():
        span, permissions, _, _, _, *file = line.split(maxsplit=5)
        start, end = (int(number, 16) for number in span.split("-"))
        yield MemoryRegion(start, end, "w" in permissions, file[0] if file else "")


class Bridge:
    """Converts between a library that returns structs through a pointer and one that wants them by value.

    Args:
        cache: where `stubs.build` keeps what it compiles.
        caller: the library that wants them by value; it is loaded.

    Raises:
        DirectmlError: there is no C compiler, or the caller is not loaded.
    """

    def __init__(self, cache: Path, caller: Path) -> None:
        (name,) = stubs.BRIDGE
        self._library = ctypes.CDLL(str(stubs.build(cache, stubs.BRIDGE) / name))
        self._stand_in_for: Any = self._library.stand_in_for
        self._stand_in_for.restype = POINTER
        self._stand_in_for.argtypes = [POINTER, SIZE_T]
        resolved = str(caller.resolve())
        pieces = [piece for piece in memory_map() if piece.file == resolved]
        if not pieces:
            raise DirectmlError(f"{caller} is not loaded")
        start, end = min(piece.start for piece in pieces), max(piece.end for piece in pieces)
        SIZE_T.in_dll(self._library, "callers_start").value = start
        SIZE_T.in_dll(self._library, "callers_size").value = end - start
        self._adapted: set[int] = set()

    def adapt(self, pointer: int, interface: InterfaceTable) -> None:
        """Adapt the class of an object, unless that was done.

        Args:
            pointer: the object.
            interface: its interface, whose table has the types of every function that returns a struct.

        Raises:
            DirectmlError: there are more classes than there are stand-ins for, or the table cannot be written.
        """
        table = POINTER.from_address(pointer).value
        assert table is not None
        if table in self._adapted:
            return
        for name, struct in returned_structs(interface).items():
            slot = table + interface.index(name) * WORD
            original = POINTER.from_address(slot).value
            stand_in = self._stand_in_for(original, ctypes.sizeof(struct))
            if stand_in is None:
                raise DirectmlError("the Direct3D 12 library has more classes than this bridge has room for")
            _write(slot, stand_in)
        self._adapted.add(table)


def _write(address: int, value: int) -> None:
    """Write a word, also where a library's memory is read-only, as it is for tables once they have been relocated."""
    piece = next(piece for piece in memory_map() if piece.start <= address < piece.end)
    if piece.is_writable:
        SIZE_T.from_address(address).value = value
        return
    page = address & -mmap.PAGESIZE
    _protect(page, mmap.PROT_READ | mmap.PROT_WRITE)
    SIZE_T.from_address(address).value = value
    _protect(page, mmap.PROT_READ)


def _protect(page: int, protection: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [POINTER, SIZE_T, ctypes.c_int]
    if libc.mprotect(page, mmap.PAGESIZE, protection):
        raise DirectmlError(f"memory of the Direct3D 12 library cannot be adapted: error {ctypes.get_errno()}")
