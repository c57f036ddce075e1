"""Which libraries execution runs on here: the choice, made without loading anything.

On Windows, DirectML.dll and the system's d3d12.dll; on WSL, libdirectml.so and the system's libd3d12.so; on any other
Linux, libdirectml.so and the Direct3D 12 library that the user names.
"""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.library import OVERRIDE, LibraryFile, find_library, sha256_of
from dml_conformance.spec.levels import Level

D3D12_OVERRIDE = "DML_CONFORMANCE_D3D12"
DEVICE_NAME = "DML_CONFORMANCE_D3D12_NAME"
WSL_FOLDER = Path("/usr/lib/wsl/lib")
WINDOWS_FILE_NAME = "DirectML.dll"
WORDS = ("d3d12", "warp")


class Setup(msgspec.Struct, frozen=True):
    """What the process that executes has to load.

    Attributes:
        directml: path of the DirectML library.
        d3d12: path or name of the Direct3D 12 library.
        dxcore: path or name of the DXCore library; "" if there is none, and stand-ins must do for the two libraries
            that DirectML for Linux is linked against.
        dxgi: name of the DXGI library where the device is to be Windows' software adapter; else "".
        device_name: what the device is, where no library can say.
    """

    directml: str
    d3d12: str
    dxcore: str = ""
    dxgi: str = ""
    device_name: str = ""


def names_device(word: str) -> bool:
    """Whether a word of a backend's device asks for execution: `d3d12`, `d3d12=/path/libd3d12.so` or `warp`."""
    return word.partition("=")[0] in WORDS


def choose(word: str, level: Level | None = None) -> tuple[Setup, LibraryFile]:
    """The libraries for a device.

    Args:
        word: `d3d12`, the first adapter of the system's Direct3D 12, or of the library named in
            `DML_CONFORMANCE_D3D12`; `d3d12=/path/libd3d12.so`, of that library; `warp`, Windows' software adapter.
        level: of the DirectML library; None leaves that to `find_library`.

    Raises:
        DirectmlError: there is no such device here, or a library is missing.
    """
    kind, _, path = word.partition("=")
    if kind not in WORDS or (kind == "warp" and path):
        raise DirectmlError(f"{word!r} is no device; expected d3d12, d3d12=/path/libd3d12.so or warp")
    if platform.system() == "Windows":
        return _on_windows(kind, path, level)
    if kind == "warp":
        raise DirectmlError("WARP is Windows' own software adapter; on Linux name a Direct3D 12 library, see 'd3d12'")
    return _on_linux(path, level)


def _on_windows(kind: str, path: str, level: Level | None) -> tuple[Setup, LibraryFile]:
    if level is not None:
        raise DirectmlError(f"on Windows the DirectML library is not chosen by level; name one in {OVERRIDE}")
    directml = next(_windows_candidates(), None)
    if directml is None:
        raise DirectmlError(f"no {WINDOWS_FILE_NAME} is found; install onnxruntime-directml, or name one in {OVERRIDE}")
    if not directml.is_file():
        raise DirectmlError(f"{OVERRIDE} names {str(directml)!r}, and there is no such file")
    setup = Setup(
        directml=str(directml),
        d3d12=_named_d3d12(path) or "d3d12.dll",
        dxcore="dxcore.dll",
        dxgi="dxgi.dll" if kind == "warp" else "",
    )
    return setup, LibraryFile(directml, sha256_of(directml), None)


def _windows_candidates() -> Iterator[Path]:
    """What the user names, alone; else onnxruntime's library, which is the newer one, then the system's."""
    if override := os.environ.get(OVERRIDE):
        named = Path(override)
        yield named / WINDOWS_FILE_NAME if named.is_dir() else named
        return
    folders = []
    onnxruntime = importlib.util.find_spec("onnxruntime")
    if onnxruntime is not None and onnxruntime.origin is not None:
        folders.append(Path(onnxruntime.origin).parent / "capi")
    folders.append(Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32")
    yield from (path for folder in folders if (path := folder / WINDOWS_FILE_NAME).is_file())


def _on_linux(path: str, level: Level | None) -> tuple[Setup, LibraryFile]:
    library = find_library(level)
    if d3d12 := _named_d3d12(path):
        name = os.environ.get(DEVICE_NAME) or f"the device of {Path(d3d12).name}"
        return Setup(str(library.path), d3d12, device_name=name), library
    if (WSL_FOLDER / "libd3d12.so").is_file():
        setup = Setup(str(library.path), str(WSL_FOLDER / "libd3d12.so"), str(WSL_FOLDER / "libdxcore.so"))
        return setup, library
    raise DirectmlError(
        f"no Direct3D 12 library is found, execution needs one; name it in {D3D12_OVERRIDE}, "
        "or as in directml:d3d12=/path/libd3d12.so"
    )


def _named_d3d12(path: str) -> str:
    """The Direct3D 12 library that the user names, "" if none."""
    by = "the device" if path else D3D12_OVERRIDE
    named = path or os.environ.get(D3D12_OVERRIDE, "")
    if named and not Path(named).is_file():
        raise DirectmlError(f"{by} names {named!r}, and there is no such file")
    return str(Path(named).resolve()) if named else ""
