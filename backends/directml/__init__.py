"""The real DirectML library as a backend: live decisions on Linux x86-64, without a GPU."""

from __future__ import annotations

from dml_conformance.backends.directml.backend import DirectmlBackend
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.execution.loader import names_device

__all__ = ["DirectmlBackend", "DirectmlError", "LibraryCrash", "directml_backend"]


def directml_backend(device: str = "") -> DirectmlBackend:
    """The backend on a device: one that executes, where a word of the device is `d3d12` or `warp`.

    Raises:
        ValueError: a word means nothing here.
        DirectmlError: a library cannot be had or does not run here.
    """
    if any(map(names_device, device.split(","))):
        from dml_conformance.backends.directml.execution.backend import DeviceBackend

        return DeviceBackend(device)
    return DirectmlBackend(device)
