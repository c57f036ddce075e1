"""From structs of Direct3D 12 in memory to the values that calls are made of."""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, TypeVar

from dml_conformance.backends.directml.execution.structures import ResourceBarrier
from dml_conformance.backends.directml.headers import BarrierType, ResourceState
from recording_device import calls, structures
from recording_device.structures import DescriptorRangeType, Format, RootParameterType

SHADER_MAGIC = b"DXBC"
# Of the container: the magic number, a digest of 16 bytes, the version, the size of all, how many parts; then the
# offset of each part, which starts with its name.
SHADER_HEADER = struct.Struct("<4s16sIII")


class Undecodable(ValueError):
    """A struct has something in it that DirectML was not seen to use; the message says what."""


def root_signature(address: int) -> calls.CreateRootSignature:
    """A `D3D12_VERSIONED_ROOT_SIGNATURE_DESC`, which has no name yet.

    Raises:
        Undecodable: it is of another version than 1.1, or has parameters of an unknown type.
    """
    versioned = structures.VersionedRootSignatureDesc.from_address(address)
    if versioned.Version != structures.ROOT_SIGNATURE_VERSION_1_1:
        raise Undecodable(f"a root signature of version {versioned.Version}")
    desc = versioned.Desc_1_1
    parameters = tuple(map(_parameter, array(structures.RootParameter1, desc.NumParameters, desc.pParameters)))
    return calls.CreateRootSignature("", "1_1", parameters, desc.NumStaticSamplers, desc.Flags)


def _parameter(parameter: Any) -> calls.DescriptorTable | calls.RootConstants:
    match parameter.ParameterType:
        case RootParameterType.DESCRIPTOR_TABLE:
            table = parameter.DescriptorTable
            ranges = array(structures.DescriptorRange1, table.NumDescriptorRanges, table.pDescriptorRanges)
            return calls.DescriptorTable(tuple(map(_range, ranges)))
        case RootParameterType.CONSTANTS_32BIT:
            constants = parameter.Constants
            return calls.RootConstants(constants.ShaderRegister, constants.RegisterSpace, constants.Num32BitValues)
        case other:
            raise Undecodable(f"a root parameter of type {other}")


def _range(of: Any) -> calls.DescriptorRange:
    return calls.DescriptorRange(
        _name(DescriptorRangeType, of.RangeType),
        of.NumDescriptors,
        of.BaseShaderRegister,
        of.RegisterSpace,
        of.Flags,
        of.OffsetInDescriptorsFromTableStart,
    )


def shader(code: bytes) -> calls.Shader:
    """A compiled shader.

    Raises:
        Undecodable: it is no container of parts.
    """
    if not code.startswith(SHADER_MAGIC):
        raise Undecodable(f"a shader that starts with {code[:4]!r}")
    try:
        *_, size, count = SHADER_HEADER.unpack_from(code)
        offsets = struct.unpack_from(f"<{count}I", code, SHADER_HEADER.size)
        parts = tuple(struct.unpack_from("4s", code, offset)[0].decode("ascii") for offset in offsets)
    except (struct.error, UnicodeDecodeError) as error:
        raise Undecodable(f"a shader whose parts cannot be found: {error}") from None
    if size != len(code):
        raise Undecodable(f"a shader of {len(code)} bytes that says that it has {size}")
    return calls.Shader(hashlib.sha256(code).hexdigest(), parts)


def unordered_access_view(address: int, resource: str | None, descriptor: int) -> calls.CreateUnorderedAccessView:
    """A `D3D12_UNORDERED_ACCESS_VIEW_DESC`.

    Raises:
        Undecodable: it is of something else than a buffer.
    """
    desc = structures.UnorderedAccessViewDesc.from_address(address)
    if desc.ViewDimension != structures.UAV_DIMENSION_BUFFER:
        raise Undecodable(f"a view of dimension {desc.ViewDimension}")
    buffer = desc.Buffer
    return calls.CreateUnorderedAccessView(
        resource=resource,
        descriptor=descriptor,
        format=_name(Format, desc.Format),
        first_element=buffer.FirstElement,
        num_elements=buffer.NumElements,
        structure_byte_stride=buffer.StructureByteStride,
        counter_offset_in_bytes=buffer.CounterOffsetInBytes,
        flags=buffer.Flags,
    )


def barriers(count: int, address: int, name_of: Callable[[int], str]) -> calls.ResourceBarrier:
    """An array of `D3D12_RESOURCE_BARRIER`.

    Args:
        name_of: a resource's name, by its address.

    Raises:
        Undecodable: one is of an unknown type.
    """
    return calls.ResourceBarrier(tuple(_barrier(each, name_of) for each in array(ResourceBarrier, count, address)))


def _barrier(barrier: Any, name_of: Callable[[int], str]) -> calls.Transition | calls.UavBarrier:
    transition = barrier.Transition  # a UAV barrier has its resource in the same place
    match barrier.Type:
        case BarrierType.TRANSITION:
            return calls.Transition(
                name_of(transition.pResource),
                transition.Subresource,
                _state(transition.StateBefore),
                _state(transition.StateAfter),
            )
        case BarrierType.UAV:
            return calls.UavBarrier(name_of(transition.pResource) if transition.pResource else None)
        case other:
            raise Undecodable(f"a barrier of type {other}")


_S = TypeVar("_S", bound=ctypes.Structure)


def array(kind: type[_S], count: int, address: int | None) -> Iterable[_S]:
    """An array in memory; a null pointer is one of none."""
    return (kind * count).from_address(address) if address else ()


def _name(kind: type[IntEnum], value: int) -> str:
    """A number's name in the header; the number where it has none here."""
    return kind(value).name if value in kind._value2member_map_ else str(value)


def _state(value: int) -> str:
    return ResourceState(value).name or str(value)
