"""Backends by name: `reference`, `torch:cuda:0`, `path/to/file.py:Class`, or a name that a package registered.

A name may end in `:` and a device, which the backend's class gets as its only argument; without one it gets none.

A file is loaded under a private module name made from its path, so it may be called anything and lie anywhere. What
lies beside the file can be imported from it: its folder goes to the end of `sys.path`, where it comes before no
installed package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Collection
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from dml_conformance.backends.base import RAISED, Backend, Capabilities, check_claims
from dml_conformance.spec.errors import BadInputError, closest
from dml_conformance.spec.registry import operators, why_unknown

GROUP = "dml_conformance.backends"
METHODS = ("validate", "execute", "capabilities")

# In a backend's `paths`: what of the suite its process imported with it.
SHARED_CODE = "shared code"
# Modules that decide on descriptors, compute outputs, or do both. `spec.registry` is one that every process has.
DECIDING = tuple(f"dml_conformance.{name}" for name in ("spec.validator", "backends.reference", "conformance"))

# No package can take these names.
BUILT_IN = {
    name: EntryPoint(name, f"dml_conformance.backends.{where}", GROUP)
    for name, where in (
        ("reference", "reference:ReferenceBackend"),
        ("torch", "torch:TorchBackend"),
        ("torch-eager", "torch:TorchEagerBackend"),
        ("torch-kernels", "torch:TorchKernelsBackend"),
        ("directml", "directml:directml_backend"),
        ("onnxruntime", "onnxruntime.backend:OnnxRuntimeBackend"),
    )
}


class BackendError(BadInputError, ValueError):
    """A backend that cannot be had; the message is one line that says why and what there is instead."""


def with_shared_code(claims: Capabilities, name: str, before: Collection[str]) -> Capabilities:
    """Claims that say which of `DECIDING` were imported with a backend into this process.

    The reference backend's own `paths` say it.

    Args:
        claims: of the backend.
        name: that it was loaded by.
        before: the modules that were there before it was loaded.
    """
    shared = [module for module in DECIDING if module in sys.modules and module not in before]
    if not shared or name == "reference":
        return claims
    return msgspec.structs.replace(claims, paths=claims.paths | {SHARED_CODE: ", ".join(shared)})


def known_backends() -> tuple[str, ...]:
    """Names that `load_backend` takes besides files: the built-in ones first, then those of installed packages."""
    return tuple(_registered())


def load_backend(name: str) -> Backend:
    """Make the backend that a name means.

    Args:
        name: `family`, `family:device`, `path/to/file.py:Class` or `path/to/file.py:Class:device`.

    Raises:
        BackendError: there is no such backend, it cannot be made here, or what it makes is no backend.
    """
    factory, device = _found(name)
    return _made(factory, device, name)


def _found(name: str) -> tuple[Any, str]:
    """The class, or whatever else it is, that a name means, and the device."""
    # A file without a class gets the colon that is missing, and so an error that names the classes there are.
    path, is_file, rest = (name + ":" if name.endswith(".py") else name).rpartition(".py:")
    if is_file:
        class_name, _, device = rest.partition(":")
        return _from_file(Path(path + ".py"), class_name, name), device
    family, _, device = name.partition(":")
    return _from_registry(family, name), device


def devices_of(name: str) -> tuple[str, ...]:
    """The devices that a name leaves the choice of, each to be put in place of the name's own, by `on_device`.

    A class says so by a `devices` of its own (`backends.base.HasDevices`); without one there is no choice.

    Raises:
        BackendError: there is no such backend, or it cannot say.
    """
    factory, device = _found(name)
    ask = getattr(factory, "devices", None)
    if not callable(ask):
        return ()
    try:
        return tuple(str(each) for each in ask(device))
    except RAISED as error:
        raise BackendError(f"backend {name!r}: its devices cannot be had: {_error_text(error)}") from error


def on_device(name: str, device: str) -> str:
    """The name of a backend on another device."""
    path, is_file, rest = name.rpartition(".py:")
    return f"{path}{is_file}{rest.partition(':')[0]}:{device}"


def _registered() -> dict[str, EntryPoint]:
    return BUILT_IN | {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def _from_registry(family: str, name: str) -> Any:
    registered = _registered()
    if family not in registered:
        close = closest(family, registered)
        hint = f"did you mean {close}? " if close else ""
        raise BackendError(
            f"unknown backend {name!r}: {hint}known are {', '.join(registered)} and path/to/file.py:Class"
        )
    entry = registered[family]
    try:
        return entry.load()
    except RAISED as error:
        raise BackendError(f"backend {name!r}: loading {entry.value} failed: {_error_text(error)}") from error


def _from_file(path: Path, class_name: str, name: str) -> Any:
    if not path.is_file():
        raise BackendError(f"backend {name!r}: there is no file {str(path)!r}")
    module = _module(path.resolve(), name)
    found = getattr(module, class_name, None) if class_name else None
    if found is None:
        problem = f"has no class {class_name!r}" if class_name else "needs a class, as in file.py:Class"
        there = ", ".join(_candidates(module)) or "none"
        raise BackendError(f"backend {name!r}: {str(path)!r} {problem}; classes with validate and execute: {there}")
    return found


def _module(path: Path, name: str) -> ModuleType:
    """Run the file as it is now, as a module of a name that nothing else has."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    private = f"_dml_conformance_backend_{digest}"
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(private, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module  # before it runs: dataclasses and pickle look their module up by name
    try:
        spec.loader.exec_module(module)
    except RAISED as error:
        del sys.modules[private]
        raise BackendError(
            f"backend {name!r}: {str(path)!r} failed{_line(error, path)}: {_error_text(error)}"
        ) from error
    return module


def _made(factory: Any, device: str, name: str) -> Backend:
    if not callable(factory):
        raise BackendError(f"backend {name!r}: expected a class, found {type(factory).__name__}")
    called = getattr(factory, "__name__", repr(factory))
    if inspect.isclass(factory):
        _require_methods(factory, called, name)
    arguments = (device,) if device else ()
    if device and not _takes(factory, arguments):
        raise BackendError(f"backend {name!r}: {called} takes no device; leave out {':' + device!r}")
    try:
        backend = factory(*arguments)
    except RAISED as error:
        raise BackendError(f"backend {name!r} cannot be made: {_error_text(error)}") from error
    _require_methods(backend, type(backend).__name__, name)
    try:
        capabilities = backend.capabilities()
    except RAISED as error:
        raise BackendError(f"backend {name!r}: capabilities() failed: {_error_text(error)}") from error
    if not isinstance(capabilities, Capabilities):
        kind = type(capabilities).__name__
        raise BackendError(
            f"backend {name!r}: capabilities() gave {kind}, expected dml_conformance.backends.base.Capabilities"
        )
    try:
        check_claims(capabilities)
    except (ValueError, TypeError, AttributeError) as error:
        raise BackendError(f"backend {name!r}: capabilities().{error}") from error
    for number, operator in enumerate(capabilities.operators):
        if operator not in operators():
            raise BackendError(f"backend {name!r}: capabilities().operators[{number}]: {why_unknown(operator)}")
    return cast(Backend, backend)


def _require_methods(subject: Any, called: str, name: str) -> None:
    missing = [method for method in METHODS if not callable(getattr(subject, method, None))]
    if missing:
        raise BackendError(f"backend {name!r}: {called} is no backend, it lacks {', '.join(missing)}")


def _takes(factory: Callable[..., Any], arguments: tuple[str, ...]) -> bool:
    try:
        inspect.signature(factory).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # a class written in C may have no signature; calling it tells
        return True
    return True


def _candidates(module: ModuleType) -> list[str]:
    """Classes of the module's own that look like backends."""
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and all(callable(getattr(value, method, None)) for method in ("validate", "execute"))
    ]


def _error_text(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line(error: BaseException, path: Path) -> str:
    """` at line 12`, the last line of the file that was reached, or "" where none of it ran."""
    reached = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f" at line {reached[-1]}" if reached else ""
