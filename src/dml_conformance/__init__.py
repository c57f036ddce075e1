"""Conformance suite and specification checker for DirectML operators.

Here are the names that a backend and a gate need; everything else is imported by its full path. They are loaded when
they are asked for: pytest imports this package in every run of an environment that it is installed in.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dml_conformance.backends.base import (
        Answer,
        Backend,
        Binding,
        Capabilities,
        Execution,
        OutOfMemory,
        Scope,
        Timed,
        Unsupported,
    )
    from dml_conformance.backends.loading import load_backend
    from dml_conformance.conformance.accuracy.enclosure import enclosure
    from dml_conformance.conformance.gate.suite import ConformanceSuite
    from dml_conformance.spec.datatypes import DataType
    from dml_conformance.spec.levels import Level
    from dml_conformance.spec.rules import Category
    from dml_conformance.spec.tensor import TensorDesc
    from dml_conformance.spec.validator import decide

__all__ = [
    "Answer",
    "Backend",
    "Binding",
    "Capabilities",
    "Category",
    "ConformanceSuite",
    "DataType",
    "Execution",
    "Level",
    "OutOfMemory",
    "Scope",
    "TensorDesc",
    "Timed",
    "Unsupported",
    "decide",
    "enclosure",
    "load_backend",
]

_MODULES = {
    "backends.base": (
        "Answer", "Backend", "Binding", "Capabilities", "Execution", "OutOfMemory", "Scope", "Timed", "Unsupported"
    ),
    "backends.loading": ("load_backend",),
    "conformance.accuracy.enclosure": ("enclosure",),
    "conformance.gate.suite": ("ConformanceSuite",),
    "spec.datatypes": ("DataType",),
    "spec.levels": ("Level",),
    "spec.rules": ("Category",),
    "spec.tensor": ("TensorDesc",),
    "spec.validator": ("decide",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
