"""The null device, asked as DirectML asks it."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from dml_conformance.backends.directml import com, headers
from dml_conformance.backends.directml.com import POINTER, RESULT, SIZE_T, UINT, HResult, method
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS, FULL, LEAST, SHADER_MODEL_6_6, FeatureSet
from dml_conformance.backends.directml.headers import AdapterProperty, D3D12Feature
from dml_conformance.backends.directml.null_device import DESCRIPTION, LUID, NULL_LUID, NullDevice


def call(pointer: int, table: tuple[str, ...], name: str, restype: Any, *arguments: tuple[Any, Any]) -> int:
    function = method(pointer, table.index(name), restype, *(argtype for argtype, _ in arguments))
    result: int = function(pointer, *(value for _, value in arguments))
    return result


def guid(value: UUID) -> tuple[Any, Any]:
    return POINTER, ctypes.cast(ctypes.create_string_buffer(com.guid_bytes(value), 16), POINTER)


def check_feature(null: NullDevice, feature: int, data: bytes) -> tuple[int, bytes]:
    memory = ctypes.create_string_buffer(data, len(data))
    code = call(
        null.device.address,
        headers.ID3D12_DEVICE5,
        "CheckFeatureSupport",
        RESULT,
        (UINT, feature),
        (POINTER, ctypes.addressof(memory)),
        (UINT, len(data)),
    )
    return code, memory.raw


@pytest.mark.parametrize("feature_set", FEATURE_SETS.values(), ids=lambda feature_set: feature_set.name)
def test_the_claims_of_a_feature_set_are_told(feature_set: FeatureSet) -> None:
    null = NullDevice(feature_set)
    code, data = check_feature(null, D3D12Feature.D3D12_OPTIONS, bytes(60))
    assert code == 0
    options = struct.unpack("<15I", data)
    assert options[0] == feature_set.doubles
    assert bool(options[2] & 2) == feature_set.min_precision_16_bit
    assert options[6] == feature_set.typed_uav_loads
    code, data = check_feature(null, D3D12Feature.D3D12_OPTIONS1, bytes(24))
    waves, *lanes, _, int64 = struct.unpack("<6I", data)
    assert (code, waves, int64) == (0, feature_set.wave_operations, feature_set.int64)
    assert all(lanes) == feature_set.wave_operations
    code, data = check_feature(null, D3D12Feature.D3D12_OPTIONS4, bytes(12))
    assert (code, struct.unpack("<3I", data)[2]) == (0, feature_set.native_16_bit)
    assert null.unexpected == []


def test_profiles_differ_from_full_in_what_their_name_says() -> None:
    assert FEATURE_SETS["full"] == FULL
    assert FEATURE_SETS["no-doubles"] == replace(FULL, name="no-doubles", doubles=False)
    assert list(FEATURE_SETS) == [feature_set.name for feature_set in FEATURE_SETS.values()]
    assert not any(value is True for value in vars(LEAST).values())


@pytest.mark.parametrize(("asked", "answered"), [(0x66, 0x66), (0x60, 0x60), (0x6A, SHADER_MODEL_6_6)])
def test_the_shader_model_is_the_lower_of_asked_and_claimed(asked: int, answered: int) -> None:
    assert check_feature(NullDevice(FULL), D3D12Feature.SHADER_MODEL, struct.pack("<I", asked)) == (
        0,
        struct.pack("<I", answered),
    )


@pytest.mark.parametrize(("feature_set", "answered"), [(FULL, 0xC100), (LEAST, 0x1000)])
def test_the_feature_level_is_the_highest_of_those_asked(feature_set: FeatureSet, answered: int) -> None:
    levels = (UINT * 4)(0x1000, 0xB000, 0xC100, 0xC200)
    query = struct.pack("<I4xQI4x", 4, ctypes.addressof(levels), 0)
    code, data = check_feature(NullDevice(feature_set), D3D12Feature.FEATURE_LEVELS, query)
    assert (code, struct.unpack("<I4xQI4x", data)[2]) == (0, answered)


@pytest.mark.parametrize(("feature", "size"), [(1, 20), (D3D12Feature.D3D12_OPTIONS, 56)])
def test_other_features_are_refused_and_recorded(feature: int, size: int) -> None:
    null = NullDevice(FULL)
    assert check_feature(null, feature, bytes(size)) == (HResult.E_INVALIDARG.signed, bytes(size))
    assert null.unexpected == [f"ID3D12Device5::CheckFeatureSupport({feature}, {size} bytes)"]


def test_there_are_no_meta_commands() -> None:
    null, count = NullDevice(FULL), UINT(7)
    arguments = ((POINTER, ctypes.addressof(count)), (POINTER, None))
    assert call(null.device.address, headers.ID3D12_DEVICE5, "EnumerateMetaCommands", RESULT, *arguments) == 0
    assert count.value == 0


def ask_for_adapter(null: NullDevice, luid: LUID) -> tuple[int, int | None]:
    """The answer and the adapter's address, by the way that DirectML takes to it."""
    factory, adapter = POINTER(), POINTER(1)
    iid = guid(headers.IDXCORE_ADAPTER_FACTORY.iid)[1]
    assert null.create_adapter_factory(iid.value, ctypes.addressof(factory)) == 0
    arguments = (
        (POINTER, ctypes.addressof(luid)),
        guid(headers.IDXCORE_ADAPTER.iid),
        (POINTER, ctypes.addressof(adapter)),
    )
    assert factory.value is not None
    code = call(factory.value, headers.IDXCORE_ADAPTER_FACTORY, "GetAdapterByLuid", RESULT, *arguments)
    return code, adapter.value


def adapter_of(null: NullDevice) -> int:
    luid = LUID(call(null.device.address, headers.ID3D12_DEVICE5, "GetAdapterLuid", LUID))
    code, adapter = ask_for_adapter(null, luid)
    assert code == 0
    assert adapter is not None
    return adapter


def test_the_adapter_is_found_by_its_luid_and_tells_its_properties() -> None:
    null = NullDevice(FULL)
    adapter = adapter_of(null)
    for name in AdapterProperty:
        size = SIZE_T()
        arguments = ((UINT, name), (POINTER, ctypes.addressof(size)))
        assert call(adapter, headers.IDXCORE_ADAPTER, "GetPropertySize", RESULT, *arguments) == 0
        memory = ctypes.create_string_buffer(size.value)
        asked = ((UINT, name), (SIZE_T, size.value), (POINTER, ctypes.addressof(memory)))
        assert call(adapter, headers.IDXCORE_ADAPTER, "GetProperty", RESULT, *asked) == 0
        if name is AdapterProperty.DRIVER_DESCRIPTION:
            assert memory.raw == DESCRIPTION
    assert null.unexpected == []


def test_a_property_that_is_not_there_or_does_not_fit_is_refused() -> None:
    null = NullDevice(FULL)
    adapter = adapter_of(null)
    memory = ctypes.create_string_buffer(64)
    for name, size in ((9, 64), (AdapterProperty.HARDWARE_ID, 8)):
        asked = ((UINT, name), (SIZE_T, size), (POINTER, ctypes.addressof(memory)))
        code = call(adapter, headers.IDXCORE_ADAPTER, "GetProperty", RESULT, *asked)
        assert code == HResult.DXGI_ERROR_UNSUPPORTED.signed
    assert null.unexpected == ["IDXCoreAdapter::GetProperty(9, 64)", "IDXCoreAdapter::GetProperty(3, 8)"]


def test_another_adapter_is_not_there_and_no_factory_of_another_kind() -> None:
    null, factory = NullDevice(FULL), POINTER(1)
    assert ask_for_adapter(null, LUID(NULL_LUID + 1)) == (HResult.E_INVALIDARG.signed, None)
    assert null.unexpected == ["IDXCoreAdapterFactory::GetAdapterByLuid of another adapter"]
    iid = guid(headers.ID3D12_DEVICE.iid)[1]
    code = null.create_adapter_factory(iid.value, ctypes.addressof(factory))
    assert (code, factory.value) == (HResult.E_NOINTERFACE.signed, None)
    assert len(null.unexpected) == 2
    assert null.create_adapter_factory(0, 0) == HResult.E_POINTER.signed
