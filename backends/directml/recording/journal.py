"""What is kept of a recording while it is made: the calls, and the objects with their names."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from dml_conformance.backends.directml.com import POINTER
from dml_conformance.backends.directml.recording.calls import Call


class Stray(LookupError):
    """A pointer or a descriptor that is none of this device's; the message says which."""


class Counted(Protocol):
    """An object whose references are counted, from 1 on."""

    name: str
    references: int

    @property
    def address(self) -> int:
        """What pointers to it point to."""


class Journal:
    """The calls so far, and every object of the device.

    Attributes:
        unexpected: a line for each call that was not provided for, in order.
    """

    def __init__(self, unexpected: list[str]) -> None:
        """`unexpected` is shared with the objects that put lines into it."""
        self.unexpected = unexpected
        self._calls: list[Call] = []
        self._objects: dict[int, Counted] = {}
        self._counts: Counter[str] = Counter()

    def note(self, call: Call) -> None:
        """Put down a call."""
        self._calls.append(call)

    def take(self) -> tuple[Call, ...]:
        """The calls since the last time."""
        taken = tuple(self._calls)
        self._calls.clear()
        return taken

    def enter(self, made: Counted, kind: str) -> str:
        """Put down an object. Returns a name for it: `pipeline 0`, `pipeline 1`, ..."""
        self._objects[made.address] = made
        self._counts[kind] += 1
        return f"{kind} {self._counts[kind] - 1}"

    def find(self, address: int) -> Counted:
        """The object at an address.

        Raises:
            Stray: there is none.
        """
        if address not in self._objects:
            raise Stray(f"{address:#x} is no object of this device")
        return self._objects[address]

    def name_of(self, address: int) -> str:
        """The name of the object at an address.

        Raises:
            Stray: there is none.
        """
        return self.find(address).name

    def names(self, count: int, address: int) -> tuple[str, ...]:
        """The names of the objects in an array of pointers.

        Raises:
            Stray: one is none of these.
        """
        return tuple(self.name_of(pointer or 0) for pointer in (POINTER * count).from_address(address))

    def rename(self, address: int, name: str) -> None:
        """Give an object a name that says more."""
        self.find(address).name = name

    def unreturned(self) -> list[str]:
        """The objects that are still in use, or were released too often, with their references; 1 is the device's."""
        counted = self._objects.values()
        return [f"{made.name}: {made.references}" for made in counted if made.references != 1]
