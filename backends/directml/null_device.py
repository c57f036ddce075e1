"""A Direct3D 12 device that exists only as far as DirectML looks at it when it decides on descriptors.

DirectML asks DXCore for the adapter of the device, the adapter for its name and driver, and the device for what it
can do; then it decides on descriptors without touching the device again. Everything here answers those questions;
whatever else is called is put on record and refused.
"""

from __future__ import annotations

import ctypes
import struct
from typing import ClassVar
from uuid import UUID

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import (
    BOOL_OF_CPP,
    POINTER,
    RESULT,
    SIZE_T,
    UINT,
    ComObject,
    HResult,
    implements,
    read_guid,
    write_pointer,
)
from dml_conformance.backends.directml.feature_sets import FeatureSet
from dml_conformance.backends.directml.headers import AdapterProperty, D3D12Feature

# A locally unique identifier is a struct of 8 bytes. C++ on Linux returns it in a register, as it does a 64-bit number.
LUID = ctypes.c_uint64
NULL_LUID = 0x4E55_4C4C
DESCRIPTION = b"null device\0"
DRIVER_VERSION = 1 << 48  # 1.0.0.0
HARDWARE_ID = struct.pack("<4I", 0, 0, 0, 0)  # vendor, device, subsystem, revision: of no known make

MIN_PRECISION_16_BIT = 0x2
RESOURCE_BINDING_TIER_3 = 3
TILED_RESOURCES_TIER_3 = 3
CONSERVATIVE_RASTERIZATION_TIER_3 = 3
RESOURCE_HEAP_TIER_2 = 2
VIRTUAL_ADDRESS_BITS = 44
LANES_A_WAVE = 32
LANES = 4096


class Adapter(ComObject, of=headers.IDXCORE_ADAPTER):
    """IDXCoreAdapter."""

    def __init__(self, unexpected: list[str], luid: int = NULL_LUID) -> None:
        """`luid` is that of the device whose adapter this is."""
        super().__init__(unexpected)
        self.luid = luid
        self._properties: dict[int, bytes] = {
            AdapterProperty.INSTANCE_LUID: struct.pack("<Q", luid),
            AdapterProperty.DRIVER_VERSION: struct.pack("<Q", DRIVER_VERSION),
            AdapterProperty.DRIVER_DESCRIPTION: DESCRIPTION,
            AdapterProperty.HARDWARE_ID: HARDWARE_ID,
            AdapterProperty.IS_HARDWARE: b"\1",
            AdapterProperty.IS_INTEGRATED: b"\0",
        }

    @implements("IsValid", BOOL_OF_CPP)
    def is_valid(self) -> bool:
        return True

    @implements("IsPropertySupported", BOOL_OF_CPP, UINT)
    def is_property_supported(self, name: int) -> bool:
        return name in self._properties

    @implements("GetPropertySize", RESULT, UINT, POINTER)
    def get_property_size(self, name: int, size: int) -> int:
        if name not in self._properties:
            self.record(f"GetPropertySize({name})")
            return HResult.DXGI_ERROR_UNSUPPORTED.signed
        SIZE_T.from_address(size).value = len(self._properties[name])
        return HResult.S_OK

    @implements("GetProperty", RESULT, UINT, SIZE_T, POINTER)
    def get_property(self, name: int, size: int, data: int) -> int:
        if name not in self._properties or size < len(self._properties[name]):
            self.record(f"GetProperty({name}, {size})")
            return HResult.DXGI_ERROR_UNSUPPORTED.signed
        ctypes.memmove(data, self._properties[name], len(self._properties[name]))
        return HResult.S_OK


class AdapterFactory(ComObject, of=headers.IDXCORE_ADAPTER_FACTORY):
    """IDXCoreAdapterFactory, with one adapter."""

    def __init__(self, unexpected: list[str], adapter: Adapter) -> None:
        super().__init__(unexpected)
        self._adapter = adapter

    @implements("GetAdapterByLuid", RESULT, POINTER, POINTER, POINTER)
    def get_adapter_by_luid(self, luid: int, iid: int, pointer: int) -> int:
        if LUID.from_address(luid).value != self._adapter.luid:
            self.record("GetAdapterByLuid of another adapter")
            write_pointer(pointer, None)
            return HResult.E_INVALIDARG.signed
        return self._adapter.query_interface(iid, pointer)

    def create(self, iid: int, pointer: int) -> int:
        """DXCoreCreateAdapterFactory."""
        if not iid or not pointer:
            return HResult.E_POINTER.signed
        wanted = read_guid(iid)
        if wanted not in self.interfaces:
            self._unexpected.append(f"DXCoreCreateAdapterFactory({wanted})")
            write_pointer(pointer, None)
            return HResult.E_NOINTERFACE.signed
        return self.hand_out(pointer)


class NullD3d12Device(ComObject, of=headers.ID3D12_DEVICE5):
    """ID3D12Device5, with what a feature set claims."""

    interfaces: ClassVar[frozenset[UUID]] = frozenset(
        table.iid
        for table in (
            headers.ID3D12_OBJECT,
            headers.ID3D12_DEVICE,
            headers.ID3D12_DEVICE1,
            headers.ID3D12_DEVICE2,
            headers.ID3D12_DEVICE3,
            headers.ID3D12_DEVICE4,
        )
    )

    def __init__(self, unexpected: list[str], feature_set: FeatureSet) -> None:
        super().__init__(unexpected)
        self._feature_set = feature_set

    @implements("GetDeviceRemovedReason", RESULT)
    def get_device_removed_reason(self) -> int:
        return HResult.S_OK

    @implements("GetAdapterLuid", LUID)
    def get_adapter_luid(self) -> int:
        return NULL_LUID

    @implements("CheckFeatureSupport", RESULT, UINT, POINTER, UINT)
    def check_feature_support(self, feature: int, data: int, size: int) -> int:
        answer = self._answer(feature, ctypes.string_at(data, size))
        if answer is None:
            self.record(f"CheckFeatureSupport({feature}, {size} bytes)")
            return HResult.E_INVALIDARG.signed
        ctypes.memmove(data, answer, size)
        return HResult.S_OK

    @implements("EnumerateMetaCommands", RESULT, POINTER, POINTER)
    def enumerate_meta_commands(self, count: int, descs: int | None) -> int:
        """None: DirectML then uses shaders of its own. It takes E_NOTIMPL here for a broken device."""
        UINT.from_address(count).value = 0
        return HResult.S_OK

    def _answer(self, feature: int, asked: bytes) -> bytes | None:
        """The feature's struct filled in, None for one that DirectML was not seen to ask for."""
        has = self._feature_set
        match feature, len(asked):
            case D3D12Feature.D3D12_OPTIONS, 60:
                return struct.pack(
                    "<15I",
                    has.doubles,
                    True,  # OutputMergerLogicOp
                    MIN_PRECISION_16_BIT if has.min_precision_16_bit else 0,
                    TILED_RESOURCES_TIER_3,
                    RESOURCE_BINDING_TIER_3,
                    True,  # PSSpecifiedStencilRefSupported
                    has.typed_uav_loads,
                    True,  # ROVsSupported
                    CONSERVATIVE_RASTERIZATION_TIER_3,
                    VIRTUAL_ADDRESS_BITS,
                    False,  # StandardSwizzle64KBSupported
                    0,  # CrossNodeSharingTier
                    False,  # CrossAdapterRowMajorTextureSupported
                    True,  # VPAndRTArrayIndexFromAnyShaderFeedingRasterizerSupportedWithoutGSEmulation
                    RESOURCE_HEAP_TIER_2,
                )
            case D3D12Feature.FEATURE_LEVELS, 24:
                count, levels = struct.unpack_from("<I4xQ", asked)
                known = [level for level in (UINT * count).from_address(levels) if level <= has.feature_level]
                return struct.pack("<I4xQI4x", count, levels, max(known, default=0))
            case D3D12Feature.SHADER_MODEL, 4:
                return struct.pack("<I", min(*struct.unpack("<I", asked), has.shader_model))
            case D3D12Feature.D3D12_OPTIONS1, 24:
                lanes = (LANES_A_WAVE, LANES_A_WAVE, LANES) if has.wave_operations else (0, 0, 0)
                return struct.pack("<6I", has.wave_operations, *lanes, True, has.int64)
            case D3D12Feature.D3D12_OPTIONS4, 12:
                return struct.pack("<3I", True, 0, has.native_16_bit)
            case _:
                return None


class NullDevice:
    """The device with its adapter and the factory that DXCore gives out.

    Attributes:
        device: the ID3D12Device for DMLCreateDevice1.
        unexpected: a line for each call that was not provided for, in order.
    """

    def __init__(self, feature_set: FeatureSet) -> None:
        self.unexpected: list[str] = []
        self.device = NullD3d12Device(self.unexpected, feature_set)
        self._factory = AdapterFactory(self.unexpected, Adapter(self.unexpected))

    def create_adapter_factory(self, iid: int, pointer: int) -> int:
        """DXCoreCreateAdapterFactory."""
        return self._factory.create(iid, pointer)

    def serialize_versioned_root_signature(self, desc: int, blob: int, error: int) -> int:
        """D3D12SerializeVersionedRootSignature; only a library that compiles an operator asks for it."""
        self.unexpected.append("D3D12SerializeVersionedRootSignature")
        return HResult.E_NOTIMPL.signed
