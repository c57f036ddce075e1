"""The calls that DirectML makes on the way to the GPU, as values.

Names are those of d3d12.h: a call has its function's name and its arguments', a struct its members'. Objects are told
by the names that `device.Journal` gives them, descriptors by their place in the heap. Functions that only ask (GetDesc,
GetDevice, GetType, ...) are no calls here.
"""

from __future__ import annotations

import msgspec

# --- what calls are made of ---------------------------------------------------------------------------------------


class DescriptorRange(msgspec.Struct, frozen=True):
    """`D3D12_DESCRIPTOR_RANGE1`: descriptors that a shader sees side by side. Types are "SRV", "UAV", ..."""

    range_type: str
    num_descriptors: int
    base_shader_register: int
    register_space: int
    flags: int
    offset_in_descriptors_from_table_start: int


class DescriptorTable(msgspec.Struct, frozen=True):
    """A root parameter that is a pointer into the heap of descriptors."""

    ranges: tuple[DescriptorRange, ...]


class RootConstants(msgspec.Struct, frozen=True):
    """A root parameter that is numbers in place."""

    shader_register: int
    register_space: int
    num_32bit_values: int


class Shader(msgspec.Struct, frozen=True):
    """A compiled shader: the SHA-256 of its bytes, and what the parts of its container are called, in order."""

    sha256: str
    parts: tuple[str, ...]


class Transition(msgspec.Struct, frozen=True):
    """A resource that is going to be used otherwise than before. States are "COPY_DEST", "UNORDERED_ACCESS", ..."""

    resource: str
    subresource: int
    state_before: str
    state_after: str


class UavBarrier(msgspec.Struct, frozen=True):
    """All writes to a resource (None: to any) are to be done."""

    resource: str | None


# --- calls --------------------------------------------------------------------------------------------------------


class CreateRootSignature(msgspec.Struct, frozen=True):
    """What a shader gets from outside, from the blob that D3D12SerializeVersionedRootSignature made.

    Attributes:
        name: of the root signature created.
        version: `1_1`: `D3D_ROOT_SIGNATURE_VERSION`.
        parameters: in order; calls name them by their index.
        num_static_samplers: how many samplers it has in it.
        flags: `D3D12_ROOT_SIGNATURE_FLAGS`.
    """

    name: str
    version: str
    parameters: tuple[DescriptorTable | RootConstants, ...]
    num_static_samplers: int
    flags: int


class CreateComputePipelineState(msgspec.Struct, frozen=True):
    """A shader made ready to run. `name` is the pipeline's."""

    name: str
    root_signature: str
    shader: Shader


class SetName(msgspec.Struct, frozen=True):
    """`name` is what DirectML calls an object, `object` the journal's name for it."""

    object: str
    name: str


class MakeResident(msgspec.Struct, frozen=True):
    """Objects are to be in the GPU's memory, which they may have left."""

    objects: tuple[str, ...]


class Evict(msgspec.Struct, frozen=True):
    """Objects may leave the GPU's memory."""

    objects: tuple[str, ...]


class CreateUnorderedAccessView(msgspec.Struct, frozen=True):
    """A descriptor of a buffer that a shader reads and writes.

    Attributes:
        resource: the buffer; None for a descriptor of nothing.
        descriptor: its place in the heap.
        format: `DXGI_FORMAT`; UNKNOWN for a buffer of structures.
        first_element: where the view starts, in elements.
        num_elements: how many there are.
        structure_byte_stride: bytes of an element; 0 where the format says it.
        counter_offset_in_bytes: of the counter, which these views do not have.
        flags: `D3D12_BUFFER_UAV_FLAGS`.
    """

    resource: str | None
    descriptor: int
    format: str
    first_element: int
    num_elements: int
    structure_byte_stride: int
    counter_offset_in_bytes: int
    flags: int


class SetDescriptorHeaps(msgspec.Struct, frozen=True):
    descriptor_heaps: tuple[str, ...]


class SetPipelineState(msgspec.Struct, frozen=True):
    pipeline_state: str


class SetComputeRootSignature(msgspec.Struct, frozen=True):
    root_signature: str


class SetComputeRootDescriptorTable(msgspec.Struct, frozen=True):
    """`base_descriptor` is the place in the heap of the table's first."""

    root_parameter_index: int
    base_descriptor: int


class SetComputeRoot32BitConstants(msgspec.Struct, frozen=True):
    """`dest_offset_in_32bit_values` is where in the parameter the values go."""

    root_parameter_index: int
    src_data: tuple[int, ...]
    dest_offset_in_32bit_values: int


class Dispatch(msgspec.Struct, frozen=True):
    """The shader runs, in so many groups of threads."""

    thread_group_count_x: int
    thread_group_count_y: int
    thread_group_count_z: int


class CopyBufferRegion(msgspec.Struct, frozen=True):
    """Sizes and offsets are in bytes."""

    dst_buffer: str
    dst_offset: int
    src_buffer: str
    src_offset: int
    num_bytes: int


class ResourceBarrier(msgspec.Struct, frozen=True):
    barriers: tuple[Transition | UavBarrier, ...]


# --- recordings ---------------------------------------------------------------------------------------------------


class BindingProperties(msgspec.Struct, frozen=True):
    """`DML_BINDING_PROPERTIES`: descriptors, and bytes of memory for DirectML's own use."""

    required_descriptor_count: int
    temporary_resource_size: int
    persistent_resource_size: int


class Stage(msgspec.Struct, frozen=True):
    """Something that DirectML dispatches: what it needs, and the calls by which it is bound and recorded."""

    binding_properties: BindingProperties
    calls: tuple[object, ...]


class Recording(msgspec.Struct, frozen=True):
    """All calls for one operator.

    Attributes:
        operator: its name.
        compilation: the calls of CompileOperator and CreateOperatorInitializer.
        initialization: the operator's initializer, bound and recorded.
        execution: the operator, bound and recorded.
    """

    operator: str
    compilation: tuple[object, ...]
    initialization: Stage
    execution: Stage
