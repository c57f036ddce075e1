"""The calls that DirectML makes on the way to the GPU, as values.

Names are those of d3d12.h: a call has its function's name and its arguments', a struct its members'. Objects are told
by the names that `Journal` gives them, descriptors by their place in the heap. Functions that only ask (GetDesc,
GetDevice, GetType, ...) are no calls here.
"""

from __future__ import annotations

import msgspec

# --- what calls are made of ---------------------------------------------------------------------------------------


class _Part(msgspec.Struct, frozen=True, rename="pascal"):
    """Part of a call."""


class DescriptorRange(_Part, frozen=True):
    """`D3D12_DESCRIPTOR_RANGE1`: descriptors that a shader sees side by side. Types are "SRV", "UAV", ..."""

    range_type: str
    num_descriptors: int
    base_shader_register: int
    register_space: int
    flags: int
    offset_in_descriptors_from_table_start: int


class DescriptorTable(_Part, frozen=True, tag_field="ParameterType", tag="DESCRIPTOR_TABLE"):
    """A root parameter that is a pointer into the heap of descriptors."""

    ranges: tuple[DescriptorRange, ...]


class RootConstants(_Part, frozen=True, tag_field="ParameterType", tag="32BIT_CONSTANTS"):
    """A root parameter that is numbers in place."""

    shader_register: int
    register_space: int
    num_32bit_values: int = msgspec.field(name="Num32BitValues")


class Shader(_Part, frozen=True):
    """A compiled shader: a container of parts, among them DXIL.

    Attributes:
        size: in bytes.
        sha256: of its bytes, in hexadecimal.
        parts: what the parts are called, in order.
    """

    size: int
    sha256: str
    parts: tuple[str, ...]


class Transition(_Part, frozen=True, tag_field="Type", tag="TRANSITION"):
    """A resource that is going to be used otherwise than before. States are "COPY_DEST", "UNORDERED_ACCESS", ..."""

    resource: str
    subresource: int
    state_before: str
    state_after: str


class UavBarrier(_Part, frozen=True, tag_field="Type", tag="UAV"):
    """All writes to a resource (None: to any) are to be done."""

    resource: str | None


# --- calls --------------------------------------------------------------------------------------------------------


class _Call(msgspec.Struct, frozen=True, rename="pascal", tag_field="Call", tag=True):
    """A call; its class has the function's name."""


class CreateRootSignature(_Call, frozen=True):
    """What a shader gets from outside, from the blob that D3D12SerializeVersionedRootSignature made.

    Attributes:
        name: of the root signature created.
        version: `1_1`: `D3D_ROOT_SIGNATURE_VERSION`.
        parameters: in order; calls name them by their index.
        num_static_samplers: how many samplers it has in it.
        flags: `D3D12_ROOT_SIGNATURE_FLAGS`.
        node_mask: which of several GPUs.
    """

    name: str
    version: str
    parameters: tuple[DescriptorTable | RootConstants, ...]
    num_static_samplers: int
    flags: int
    node_mask: int


class CreateComputePipelineState(_Call, frozen=True):
    """A shader made ready to run. `name` is the pipeline's."""

    name: str
    root_signature: str
    shader: Shader
    node_mask: int
    flags: int


class SetName(_Call, frozen=True):
    """`name` is what DirectML calls an object, `object` the journal's name for it."""

    object: str
    name: str


class MakeResident(_Call, frozen=True):
    """Objects are to be in the GPU's memory, which they may have left."""

    objects: tuple[str, ...]


class Evict(_Call, frozen=True):
    """Objects may leave the GPU's memory."""

    objects: tuple[str, ...]


class CreateUnorderedAccessView(_Call, frozen=True):
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


class SetDescriptorHeaps(_Call, frozen=True):
    descriptor_heaps: tuple[str, ...]


class SetPipelineState(_Call, frozen=True):
    pipeline_state: str


class SetComputeRootSignature(_Call, frozen=True):
    root_signature: str


class SetComputeRootDescriptorTable(_Call, frozen=True):
    """`base_descriptor` is the place in the heap of the table's first."""

    root_parameter_index: int
    base_descriptor: int


class SetComputeRoot32BitConstants(_Call, frozen=True):
    """`dest_offset_in_32bit_values` is where in the parameter the values go."""

    root_parameter_index: int
    src_data: tuple[int, ...]
    dest_offset_in_32bit_values: int = msgspec.field(name="DestOffsetIn32BitValues")


class Dispatch(_Call, frozen=True):
    """The shader runs, in so many groups of threads."""

    thread_group_count_x: int
    thread_group_count_y: int
    thread_group_count_z: int


class CopyBufferRegion(_Call, frozen=True):
    """Sizes and offsets are in bytes."""

    dst_buffer: str
    dst_offset: int
    src_buffer: str
    src_offset: int
    num_bytes: int


class ResourceBarrier(_Call, frozen=True):
    barriers: tuple[Transition | UavBarrier, ...]


Call = (
    CreateRootSignature
    | CreateComputePipelineState
    | SetName
    | MakeResident
    | Evict
    | CreateUnorderedAccessView
    | SetDescriptorHeaps
    | SetPipelineState
    | SetComputeRootSignature
    | SetComputeRootDescriptorTable
    | SetComputeRoot32BitConstants
    | Dispatch
    | CopyBufferRegion
    | ResourceBarrier
)


# --- recordings ---------------------------------------------------------------------------------------------------


class BindingProperties(_Part, frozen=True):
    """`DML_BINDING_PROPERTIES`: descriptors, and bytes of memory for DirectML's own use."""

    required_descriptor_count: int
    temporary_resource_size: int
    persistent_resource_size: int


class Stage(msgspec.Struct, frozen=True):
    """Something that DirectML dispatches: what it needs, and the calls by which it is bound and recorded."""

    binding_properties: BindingProperties
    calls: tuple[Call, ...]


class Recording(msgspec.Struct, frozen=True):
    """All calls for one operator.

    Attributes:
        operator: its name.
        compilation: the calls of CompileOperator and CreateOperatorInitializer.
        initialization: the operator's initializer, bound and recorded.
        execution: the operator, bound and recorded.
    """

    operator: str
    compilation: tuple[Call, ...]
    initialization: Stage
    execution: Stage
