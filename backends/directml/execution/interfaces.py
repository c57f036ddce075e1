"""Objects of Direct3D 12, DXGI, DXCore and DirectML, their functions called by the tables of `headers`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Self

from dml_conformance.backends.directml.com import POINTER, RESULT, InterfaceTable, check, guid_bytes, method
from dml_conformance.backends.directml.execution import structures

# The types that a table names: plain ones, and all structs.
C_TYPES: Mapping[str, Any] = {**vars(structures), "RESULT": RESULT, "void": None}


class StructReturn(Enum):
    """How a function gives back a struct."""

    POINTER = "through a pointer passed after the object"
    VALUE = "by value, as C++ does on Linux: in registers up to 16 bytes, above through a pointer passed first"


def returned_structs(table: InterfaceTable) -> dict[str, type[ctypes.Structure]]:
    """The functions of a table that return a struct, as far as their types are given, with its class."""
    results = {name: C_TYPES[types.result] for name, types in table.types.items()}
    return {name: result for name, result in results.items() if _is_struct(result)}


def _is_struct(result: Any) -> bool:
    return isinstance(result, type) and issubclass(result, ctypes.Structure)


class Interface:
    """A reference to an object of a library, given back by `close`, which may be called again, or at the end of `with`.

    The functions whose types the table gives are attributes. One that answers an HRESULT raises ComError where that
    says failure; one that returns a struct does so in whichever way the library has.

    Args:
        table: of its functions.
        pointer: the object's address; a reference that the caller has is taken over.
        struct_return: how its functions return structs.
    """

    def __init__(self, table: InterfaceTable, pointer: int, struct_return: StructReturn) -> None:
        self.table = table
        self.pointer = pointer
        self.struct_return = struct_return
        self._is_open = True

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self.table.types:
            raise AttributeError(f"{self.table.name} has no function {name} whose types are known")
        bound = self.__dict__[name] = self._bound(name)  # found before this is asked, from now on
        return bound

    def _bound(self, name: str) -> Callable[..., Any]:
        types, pointer, slot = self.table.types[name], self.pointer, self.table.index(name)
        result, arguments = C_TYPES[types.result], [C_TYPES[argument] for argument in types.arguments]
        if _is_struct(result) and self.struct_return is StructReturn.POINTER:
            through_pointer = method(pointer, slot, POINTER, POINTER, *arguments)

            def filled(*values: Any) -> ctypes.Structure:
                struct: ctypes.Structure = result()
                through_pointer(pointer, ctypes.byref(struct), *values)
                return struct

            return filled
        function = method(pointer, slot, result, *arguments)
        if result is not RESULT:
            return lambda *values: function(pointer, *values)
        called = f"{self.table.name}::{name}"

        def checked(*values: Any) -> None:
            code = function(pointer, *values)
            if code < 0:
                check(called, code)

        return checked

    def create(self, table: InterfaceTable, function: str, *arguments: Any) -> Interface:
        """Have one of this object's functions create another object.

        Args:
            table: of the interface to ask for.
            function: its name; its last two arguments are an IID and where to put the object.
            arguments: those before.

        Raises:
            ComError: it was not created.
        """
        created = POINTER()
        getattr(self, function)(*arguments, guid_bytes(table.iid), ctypes.byref(created))
        assert created.value is not None, f"{self.table.name} answered success and created nothing"
        return Interface(table, created.value, self.struct_return)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.Release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
