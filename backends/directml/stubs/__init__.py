"""The two system libraries that libdirectml.so wants on Linux, as far as it wants them, and what execution adds.

It is linked against libd3d12.so for one function and looks up one in libdxcore.so. The C files beside this one give
both, and forward to Python. They are compiled once, by the system's C compiler, into the user's cache.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dml_conformance.backends.directml.com import POINTER, RESULT
from dml_conformance.backends.directml.errors import DirectmlError

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-shared", "-fPIC", "-O2")
# Library by library: its name, by which the loader later finds it loaded, its source, and what else the linker gets.
LIBRARIES = {
    "libd3d12.so": ("d3d12.c", "d3d12.map"),
    "libdxcore.so": ("dxcore.c", None),
}
# For execution on a library that returns structs in another way than DirectML expects.
BRIDGE = {"libbridge.so": ("bridge.c", None)}


def find_compiler() -> list[str] | None:
    """The C compiler's command: `CC` if it is set, else the first of `COMPILERS`; None if there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    candidates = [named] if named else [[name] for name in COMPILERS]
    return next((command for command in candidates if shutil.which(command[0])), None)


def build(cache: Path, libraries: Mapping[str, tuple[str, str | None]] = LIBRARIES) -> Path:
    """Compile libraries, unless the cache has them.

    Args:
        cache: folder of the cache; a folder named after the sources' digest is made in it.
        libraries: which ones.

    Returns:
        The folder with them.

    Raises:
        DirectmlError: there is no C compiler, or it failed.
    """
    sources = {name: _source(name) for files in libraries.values() for name in files if name is not None}
    parts = [*(sources[name] for name in sorted(sources)), *(flag.encode() for flag in FLAGS)]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    folder = cache / f"stubs-{digest[:16]}"
    if folder.is_dir():
        return folder
    compiler = find_compiler()
    if compiler is None:
        raise DirectmlError(
            "the DirectML library needs two small system libraries that are compiled here, and there is no C compiler: "
            f"install one as {', '.join(COMPILERS)}, or name one in CC"
        )
    cache.mkdir(parents=True, exist_ok=True)
    # Built aside and renamed as a whole, so that no other process ever sees half of it.
    with tempfile.TemporaryDirectory(dir=cache) as aside:
        built = Path(aside, "built")
        built.mkdir()
        for name, content in sources.items():
            Path(aside, name).write_bytes(content)
        for library, (source, exports) in libraries.items():
            linker = [f"-Wl,-soname,{library}"] + ([f"-Wl,--version-script={exports}"] if exports else [])
            _compile([*compiler, *FLAGS, *linker, "-o", str(built / library), source], aside)
        try:
            built.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    return folder


def load(folder: Path, create_factory: Callable[..., int], serialize: Callable[..., int]) -> Sequence[Any]:
    """Load both libraries, so that one linked against them finds them loaded, by name.

    Args:
        folder: where `build` put them.
        create_factory: DXCoreCreateAdapterFactory.
        serialize: D3D12SerializeVersionedRootSignature.

    Returns:
        What must be kept alive for as long as a library may call.
    """
    d3d12, dxcore = (ctypes.CDLL(str(folder / name)) for name in LIBRARIES)
    on_serialize = ctypes.CFUNCTYPE(RESULT, POINTER, POINTER, POINTER)(serialize)
    on_create = ctypes.CFUNCTYPE(RESULT, POINTER, POINTER)(create_factory)
    POINTER.in_dll(d3d12, "d3d12_target").value = ctypes.cast(on_serialize, POINTER).value
    POINTER.in_dll(dxcore, "dxcore_target").value = ctypes.cast(on_create, POINTER).value
    return d3d12, dxcore, on_serialize, on_create


def _source(name: str) -> bytes:
    return resources.files(__name__).joinpath(name).read_bytes()


def _compile(command: list[str], folder: str) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    except subprocess.CalledProcessError as error:
        raise DirectmlError(f"{' '.join(command)} failed: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DirectmlError(f"{' '.join(command)} failed: {error}") from error
