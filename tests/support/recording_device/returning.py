"""COM objects in Python whose functions return structs, as C++ on Linux has it.

Source: the System V ABI.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from dml_conformance.backends.directml.com import POINTER, ComObject

# A struct of up to this many bytes is returned in registers, and a larger one through a pointer that the caller passes
# before the object.
LARGEST_IN_REGISTERS = 16


class StructReturningObject(ComObject):
    """An object that also returns large structs: as objects of their classes, or zeros where it has no function.

    Attributes:
        structs: of the functions that return a struct, its class.
    """

    structs: ClassVar[Mapping[str, type[ctypes.Structure]]] = {}

    def _native(self, name: str, function: Callable[..., Any], restype: Any, *argtypes: Any) -> Any:
        struct = self.structs.get(name)
        if is_returned_through_pointer(struct):
            return _returning_through_pointer(struct, function, argtypes)
        return super()._native(name, function, restype, *argtypes)


def is_returned_through_pointer(restype: Any) -> bool:
    """Whether C++ on Linux returns it through a pointer that the caller passes before the object."""
    is_struct = isinstance(restype, type) and issubclass(restype, ctypes.Structure)
    return is_struct and ctypes.sizeof(restype) > LARGEST_IN_REGISTERS


def _returning_through_pointer(struct: Any, function: Callable[..., Any], argtypes: tuple[Any, ...]) -> Any:
    """A function that puts the struct where the caller wants it; zeros, where the Python function returns no struct."""

    def call(target: int, this: int, *arguments: Any) -> int:
        result = function(this, *arguments)
        size = ctypes.sizeof(struct)
        ctypes.memmove(target, bytes(result) if isinstance(result, struct) else bytes(size), size)
        return target

    return ctypes.CFUNCTYPE(POINTER, POINTER, POINTER, *argtypes)(call)
