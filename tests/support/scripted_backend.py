"""The reference with other claims, answers and deeds, for tests of whatever asks backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.levels import Level


class ScriptedBackend(ReferenceBackend):
    """Does what a test says.

    Args:
        validate: decides in place of the reference, by a descriptor and a level.
        execute: does in place of executing what it does with a descriptor, inputs and outputs.
        after: likewise, when the reference has executed.
        claims: fields of its capabilities that are not the reference's.

    Attributes:
        asked: the methods that were called, in order.
    """

    def __init__(
        self,
        *,
        validate: Callable[[Any, Level], Any] | None = None,
        execute: Callable[..., None] | None = None,
        after: Callable[..., None] | None = None,
        **claims: Any,
    ) -> None:
        super().__init__()
        self._validate, self._execute, self._after, self._claims = validate, execute, after, claims
        self.asked: list[str] = []

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), **self._claims)

    def validate(self, desc: Any, level: Level) -> Answer:
        self.asked.append("validate")
        return self._validate(desc, level) if self._validate else super().validate(desc, level)

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        self.asked.append("execute")
        if self._execute is None:
            super().execute(desc, level, inputs, outputs)
        else:
            self._execute(desc, inputs, outputs)
        if self._after is not None:
            self._after(desc, inputs, outputs)


def raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def accepting(desc: Any, level: Level) -> Answer:
    return Answer(True)


def rejecting(desc: Any, level: Level) -> Answer:
    return Answer(False, "no reason")


def flip_a_bit(desc: Any, inputs: Any, outputs: Any) -> None:
    """Make the first byte of an output wrong."""
    outputs["output_tensor"].view[0] ^= 1
