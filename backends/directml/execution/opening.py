"""From libraries to a device that DirectML runs on."""

from __future__ import annotations

from typing import NamedTuple

from backends.directml import stubs
from backends.directml.device import DirectmlDevice
from backends.directml.execution.gpu import Gpu
from backends.directml.execution.headers import FeatureLevel
from backends.directml.execution.loader import Setup
from backends.directml.library import cache_folder

LOWEST_FEATURE_LEVELS = (FeatureLevel.L11_0, FeatureLevel.CORE_1_0)
SERIALIZE = "D3D12SerializeVersionedRootSignature"


class Opened(NamedTuple):
    """A device, and what is known of it.

    Attributes:
        gpu: to execute on.
        directml: to decide with; it lives as long as `gpu`.
        name: of the device, in words.
        versions: of what its answers depend on.
        kept: what must be kept alive as long as `gpu`.
    """

    gpu: Gpu
    directml: DirectmlDevice
    name: str
    versions: dict[str, str]
    kept: tuple[object, ...]


def open_device(setup: Setup) -> Opened:
    """Load the libraries and make a device.

    Raises:
        DirectmlError: a library cannot be loaded, or lacks something.
        ComError: one of them would not make what it was asked for.
    """
    adapter = _Adapter()
    kept: tuple[object, ...] = ()
    if not setup.dxcore and _is_linux():
        d3d12 = _LateLibrary(setup.d3d12)
        # Before any other library of the same name, so that DirectML is linked against these.
        kept = (adapter, *stubs.load(stubs.build(cache_folder()), adapter.create_factory, d3d12.serialize))
