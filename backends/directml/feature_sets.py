"""What the null device claims to be. DirectML takes fewer data types on a device that claims less.

A feature set is named on the command line (`directml:no-doubles`). What each claim changes was measured on the
libraries that `install` fetches; `docs/directml.md` has the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

FEATURE_LEVEL_12_1 = 0xC100
FEATURE_LEVEL_1_0_CORE = 0x1000
SHADER_MODEL_6_0 = 0x60
SHADER_MODEL_6_6 = 0x66


@dataclass(frozen=True)
class FeatureSet:
    """A device's claims, as far as DirectML asks for them. The defaults are those of a GPU of today.

    Attributes:
        name: as on the command line.
        feature_level: `D3D_FEATURE_LEVEL`, the highest supported.
        shader_model: `D3D_SHADER_MODEL`, the highest supported.
        doubles: D3D12_OPTIONS.DoublePrecisionFloatShaderOps.
        min_precision_16_bit: D3D12_OPTIONS.MinPrecisionSupport has the bit for 16 bits.
        typed_uav_loads: D3D12_OPTIONS.TypedUAVLoadAdditionalFormats.
        wave_operations: D3D12_OPTIONS1.WaveOps, 32 lanes a wave.
        int64: D3D12_OPTIONS1.Int64ShaderOps.
        native_16_bit: D3D12_OPTIONS4.Native16BitShaderOpsSupported.
    """

    name: str
    feature_level: int = FEATURE_LEVEL_12_1
    shader_model: int = SHADER_MODEL_6_6
    doubles: bool = True
    min_precision_16_bit: bool = True
    typed_uav_loads: bool = True
    wave_operations: bool = True
    int64: bool = True
    native_16_bit: bool = True


FULL = FeatureSet("full")
LEAST = FeatureSet(
    "least",
    feature_level=FEATURE_LEVEL_1_0_CORE,
    shader_model=SHADER_MODEL_6_0,
    doubles=False,
    min_precision_16_bit=False,
    typed_uav_loads=False,
    wave_operations=False,
    int64=False,
    native_16_bit=False,
)

FEATURE_SETS = {
    feature_set.name: feature_set
    for feature_set in (
        FULL,
        replace(FULL, name="no-doubles", doubles=False),
        replace(FULL, name="no-16-bit", min_precision_16_bit=False, native_16_bit=False),
        replace(FULL, name="no-typed-uav-loads", typed_uav_loads=False),
        replace(FULL, name="no-wave-operations", wave_operations=False),
        replace(FULL, name="no-int64", int64=False),
        LEAST,
    )
}
