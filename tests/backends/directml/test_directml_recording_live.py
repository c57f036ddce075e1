"""What the real library calls to run an operator, on the recording device. Skipped where it is not installed.

What is asserted here of the library was seen of the builds that `install` fetches, which are pinned by their digests:
these tests watch the way from an operator to its dispatch, of the first five, which need one shader and a constant for
each number. Others need more shaders or have constants of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Any

import pytest
from directml_fakes import library_or_skip
from five_operators import FIVE, GatherDesc
from msgspec.structs import replace
from recording_device.calls import (
    BindingProperties,
    CopyBufferRegion,
    CreateComputePipelineState,
    CreateRootSignature,
    CreateUnorderedAccessView,
    DescriptorRange,
    DescriptorTable,
    Dispatch,
    MakeResident,
    Recording,
    ResourceBarrier,
    RootConstants,
    SetComputeRoot32BitConstants,
    SetComputeRootDescriptorTable,
    SetComputeRootSignature,
    SetName,
    SetPipelineState,
    Transition,
    UavBarrier,
)
from recording_device.process import OperatorRefused, Recorder

from dml_conformance.backends.directml import LibraryCrash
from dml_conformance.backends.directml.profiles import PROFILES
from dml_conformance.spec import registry
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Field, OperatorDesc
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context

pytestmark = pytest.mark.directml

LEVELS = (Level.L5_0, Level.L5_2, Level.L6_2)
NEWEST = max(LEVELS)

THREADS = 256  # of a group: each writes one element of the output
MOST_GROUPS = 65535  # D3D12_CS_DISPATCH_MAX_THREAD_GROUPS_PER_DIMENSION
LEAST_ALIGNMENT = 16  # DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT
MOST_ALIGNMENT = 256  # DML_PERSISTENT_BUFFER_ALIGNMENT
DATA_VOLATILE = 0x2  # of D3D12_DESCRIPTOR_RANGE_FLAGS
APPEND = 2**32 - 1  # D3D12_DESCRIPTOR_RANGE_OFFSET_APPEND
ALL_SUBRESOURCES = 2**32 - 1
NEEDS_NOTHING = BindingProperties(0, 0, 0)
NAMES = attrgetter("name")
OPERATORS = pytest.mark.parametrize("operator", FIVE)


@pytest.fixture(scope="module", params=LEVELS, ids=str)
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    """A recorder with each installed library."""
    with Recorder(library_or_skip(request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def newest() -> Iterator[Recorder]:
    with Recorder(library_or_skip(NEWEST)) as made:
        yield made


def level_of(recorder: Recorder) -> Level:
    return Level(recorder.level)


def valid_boundary_cases(operator: str, level: Level) -> list[Any]:
    return [case.desc for case in boundary_cases(operator, level) if case.outcome is Outcome.ACCEPT]


def context_of(operator: str, level: Level) -> Context:
    return Context.at(SeededChooser("recording"), registry.operator(operator), level)


def large(operator: str, level: Level, size: int, data_type: DataType) -> Any:
    """A valid one with an output of about that many bytes."""
    return builder(operator).large(context_of(operator, level).but(data_types=(data_type,)), size)


def of_every_type(operator: str, level: Level, size: int = 1 << 12) -> Iterator[Any]:
    """Of every data type with every index type that the specification has at a level."""
    context = context_of(operator, level)
    for data_type in context.data_types:
        for index_type in context.index_types or (None,):
            indices = {} if index_type is None else {"index_types": (index_type,)}
            yield builder(operator).large(context.but(data_types=(data_type,), **indices), size)


def of_every_data_type(operator: str, level: Level) -> list[Any]:
    return [large(operator, level, 1 << 12, data_type) for data_type in context_of(operator, level).data_types]


def tensors(desc: OperatorDesc) -> list[tuple[Field, TensorDesc]]:
    """In the order of the operator's struct, which is that of its descriptors."""
    fields = registry.spec_of(desc).tensor_fields
    return [(field, getattr(desc, field.attribute)) for field in fields]


def is_owned(tensor: TensorDesc) -> bool:
    return bool(tensor.flags & TensorFlag.OWNED_BY_DML)


# --- what holds for every recording -------------------------------------------------------------------------------


def check_recording(recording: Recording, desc: OperatorDesc, offset: int = 0) -> None:
    """Everything that is known of the calls for a valid descriptor, on a device that claims all."""
    check_sound(recording)
    root_signature = check_compilation(recording, len(tensors(desc)))
    places = check_initialization(recording, desc, offset)
    count = recording.execution.binding_properties.required_descriptor_count
    assert count == len(tensors(desc))
    assert recording.execution.binding_properties.temporary_resource_size == 0
    views = [call for call in recording.execution.calls if isinstance(call, CreateUnorderedAccessView)]
    check_views(views, desc, places, offset)
    _, constants = root_signature.parameters
    assert isinstance(constants, RootConstants)
    output = getattr(desc, registry.spec_of(desc).output_fields[0].attribute)
    check_commands(recording.execution.calls[len(views) :], constants.num_32bit_values, output.element_count)


def check_sound(recording: Recording) -> None:
    """What Direct3D 12 demands of any list of commands: all that a shader needs is set, and is what it was made for."""
    made = {call.name: call for call in recording.compilation if isinstance(call, CreateRootSignature)}
    pipelines = {call.name: call for call in recording.compilation if isinstance(call, CreateComputePipelineState)}
    written: set[int] = set()
    pipeline = root_signature = last = ""
    given: dict[int, int] = {}
    is_done = True
    for call in recording.execution.calls:
        match call:
            case CreateUnorderedAccessView():
                written.add(call.descriptor)
            case SetPipelineState():
                pipeline = call.pipeline_state
            case SetComputeRootSignature():
                root_signature, given = call.root_signature, {}
            case SetComputeRootDescriptorTable(index, base):
                (views,) = made[root_signature].parameters[index].ranges  # type: ignore[union-attr]
                assert set(range(base, base + views.num_descriptors)) <= written
                given[index] = views.num_descriptors
            case SetComputeRoot32BitConstants(index, values, offset):
                count = made[root_signature].parameters[index].num_32bit_values  # type: ignore[union-attr]
                assert offset + len(values) <= count
                given[index] = max(len(values), given.get(index, 0))
                assert given[index] == count, "a constant is not given"
            case ResourceBarrier():
                is_done = call.barriers == (UavBarrier(None),)
            case Dispatch(x, y, z):
                assert pipelines[pipeline].root_signature == root_signature
                assert set(given) == set(range(len(made[root_signature].parameters)))
                assert 0 < x <= MOST_GROUPS
                assert (y, z) == (1, 1)
                assert is_done or last == pipeline, "a shader may read what another has not written yet"
                last, is_done = pipeline, False
            case _:
                pytest.fail(f"{call} while the operator runs")
    assert len(written) == recording.execution.binding_properties.required_descriptor_count


def check_compilation(recording: Recording, tensor_count: int) -> CreateRootSignature:
    """One root signature, one pipeline, which gets a name."""
    root_signature, pipeline, name = recording.compilation
    assert isinstance(root_signature, CreateRootSignature)
    table, constants = root_signature.parameters
    assert table == DescriptorTable((DescriptorRange("UAV", tensor_count, 0, 0, DATA_VOLATILE, APPEND),))
    assert isinstance(constants, RootConstants)
    assert (constants.shader_register, constants.register_space) == (0, 0)
    assert (root_signature.version, root_signature.num_static_samplers, root_signature.flags) == ("1_1", 0, 0)
    assert isinstance(pipeline, CreateComputePipelineState)
    assert pipeline.root_signature == root_signature.name
    assert "DXIL" in pipeline.shader.parts
    assert isinstance(name, SetName)
    assert name.object == pipeline.name
    assert re.fullmatch(rf"[A-Z]\w+_{THREADS}_\w+", name.name), name
    return root_signature


def check_initialization(recording: Recording, desc: OperatorDesc, offset: int) -> dict[str, int]:
    """Nothing, but for tensors that the operator owns: those are copied, one after the other.

    Returns:
        Where in the persistent memory each of them lies.
    """
    stage = recording.initialization
    assert stage.binding_properties == NEEDS_NOTHING
    owned = [(field, tensor) for field, tensor in tensors(desc) if is_owned(tensor)]
    assert len(stage.calls) == 3 * len(owned)
    places, end = {}, 0
    for n, (field, tensor) in enumerate(owned):
        before, copy, after = stage.calls[3 * n : 3 * n + 3]
        assert before == turned(field.name, "UNORDERED_ACCESS", "COPY_SOURCE", "COPY_DEST")
        assert isinstance(copy, CopyBufferRegion)
        assert (copy.dst_buffer, copy.src_buffer, copy.src_offset) == ("persistent", field.name, offset)
        assert copy.num_bytes == tensor.total_tensor_size_in_bytes
        assert copy.dst_offset >= end
        alignment = max(LEAST_ALIGNMENT, tensor.guaranteed_base_offset_alignment)
        assert copy.dst_offset % min(alignment, MOST_ALIGNMENT) == 0
        assert after == ResourceBarrier(tuple(map(backwards, before.barriers)))
        places[field.name] = copy.dst_offset
        end = copy.dst_offset + copy.num_bytes
    assert end <= recording.execution.binding_properties.persistent_resource_size < end + 4
    return places


def turned(tensor: str, before: str, source: str, target: str) -> ResourceBarrier:
    return ResourceBarrier(
        (
            Transition(tensor, ALL_SUBRESOURCES, before, source),
            Transition("persistent", ALL_SUBRESOURCES, before, target),
        )
    )


def backwards(barrier: Any) -> Transition:
    return Transition(barrier.resource, barrier.subresource, barrier.state_after, barrier.state_before)


def check_views(
    views: list[CreateUnorderedAccessView], desc: OperatorDesc, places: dict[str, int], offset: int
) -> None:
    """One for each tensor, of all its bytes; of the persistent memory where the operator owns the tensor."""
    views = sorted(views, key=lambda view: view.descriptor)
    for n, (view, (field, tensor)) in enumerate(zip(views, tensors(desc), strict=True)):
        size = tensor.data_type.size
        start, total = offset, tensor.total_tensor_size_in_bytes
        if field.name in places:  # there, tensors are of whole words
            start, total = places[field.name], (total + 3) & ~3
        assert view == CreateUnorderedAccessView(
            resource="persistent" if field.name in places else field.name,
            descriptor=n,
            format="R8_UINT" if size == 1 else "UNKNOWN",
            first_element=start // size,
            num_elements=total // size,
            structure_byte_stride=0 if size == 1 else size,
            counter_offset_in_bytes=0,
            flags=0,
        )
        assert start % size == 0


def check_commands(commands: tuple[Any, ...], constants: int, elements: int) -> None:
    """No barrier, no heap: all constants once, then dispatches, each with the element that it starts at."""
    assert commands[:3] == (
        SetPipelineState("pipeline 0"),
        SetComputeRootSignature("root signature 0"),
        SetComputeRootDescriptorTable(0, 0),
    )
    every, *rest = commands[3:]
    assert isinstance(every, SetComputeRoot32BitConstants)
    assert (every.root_parameter_index, every.dest_offset_in_32bit_values) == (1, 0)
    assert len(every.src_data) == constants
    assert every.src_data[-1] == elements
    assert rest == [call for start, groups in parts(elements) for call in dispatch(constants - 2, start, groups)]


def parts(elements: int) -> Iterator[tuple[int, int]]:
    """Where each dispatch starts, and of how many groups it is: no more than Direct3D 12 allows."""
    for start in range(0, elements, MOST_GROUPS * THREADS):
        yield start, min(MOST_GROUPS, -(-(elements - start) // THREADS))


def dispatch(place: int, start: int, groups: int) -> tuple[SetComputeRoot32BitConstants, Dispatch]:
    return SetComputeRoot32BitConstants(1, (start,), place), Dispatch(groups, 1, 1)


# --- every operator -----------------------------------------------------------------------------------------------


@pytest.mark.few(4)
@OPERATORS
def test_every_data_type_and_index_type(recorder: Recorder, operator: str) -> None:
    level = level_of(recorder)
    descs = list(of_every_type(operator, level))
    for desc in descs:
        (recording,) = recorder.record([desc])
        check_recording(recording, desc)
    table = registry.operator(operator).table_at(level)
    assert table is not None
    for field in registry.operator(operator).tensor_fields:
        assert {getattr(desc, field.attribute).data_type for desc in descs} == set(table[field.name].data_types)


@pytest.mark.few(1, 2)
@OPERATORS
def test_every_boundary_case_that_the_library_takes(newest: Recorder, operator: str) -> None:
    """What the library refuses or dies of though it is valid is the audit's matter."""
    descs, recorded, owned = valid_boundary_cases(operator, NEWEST), 0, 0
    for desc in descs:
        try:
            (recording,) = newest.record([desc])
        except (OperatorRefused, LibraryCrash):
            continue
        check_recording(recording, desc)
        recorded += 1
        owned += any(is_owned(tensor) for _, tensor in tensors(desc))
    assert recorded > 0.5 * len(descs)
    assert owned > 10


@OPERATORS
@pytest.mark.parametrize("data_type", [DataType.UINT8, DataType.FLOAT16, DataType.UINT64], ids=NAMES)
def test_dispatches_grow_with_the_output(recorder: Recorder, operator: str, data_type: DataType) -> None:
    """A group of 256 threads for each 256 elements, and a dispatch more for each 65,535 groups."""
    counts = []
    for size in (1 << 14, 1 << 20, 1 << 26, 1 << 30):
        desc = large(operator, level_of(recorder), size, data_type)
        (recording,) = recorder.record([desc])
        check_recording(recording, desc)
        counts.append([call for call in recording.execution.calls if isinstance(call, Dispatch)])
    groups = [sum(call.thread_group_count_x for call in calls) for calls in counts]
    assert all(fewer < more for fewer, more in pairwise(groups))
    assert len(counts[0]) == 1
    assert len(counts[-1]) > 1


@OPERATORS
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.INT16, DataType.INT64], ids=NAMES)
@pytest.mark.parametrize("offset", [16, 1 << 16])
def test_views_start_where_the_tensor_does(recorder: Recorder, operator: str, data_type: DataType, offset: int) -> None:
    desc = large(operator, level_of(recorder), 1 << 12, data_type)
    (recording,) = recorder.record([desc], offset=offset)
    check_recording(recording, desc, offset)


@OPERATORS
def test_tensors_that_the_operator_owns_are_copied_once(recorder: Recorder, operator: str) -> None:
    desc = large(operator, level_of(recorder), 1 << 12, DataType.FLOAT32)
    inputs = [field.attribute for field in registry.operator(operator).input_fields]
    for names in (inputs[:1], inputs[1:], inputs):
        owned = {name: replace(getattr(desc, name), flags=TensorFlag.OWNED_BY_DML) for name in names}
        changed = replace(desc, **owned)
        (recording,) = recorder.record([changed], offset=32)
        check_recording(recording, changed, offset=32)
        given = [name for name in inputs if name not in names]
        resources = [view.resource for view in recording.execution.calls if isinstance(view, CreateUnorderedAccessView)]
        assert resources.count("persistent") == len(names)
        assert len(resources) == len(names) + len(given) + 1


@OPERATORS
def test_a_pipeline_is_made_once(recorder: Recorder, operator: str) -> None:
    """The second operator with the same shader has the first one's kept in the GPU's memory, and is run the same."""
    desc = large(operator, level_of(recorder), 1 << 12, DataType.FLOAT32)
    first, second = recorder.record([desc, desc])
    assert second.compilation == (MakeResident(("pipeline 0",)),)
    assert (second.initialization, second.execution) == (first.initialization, first.execution)


@OPERATORS
def test_every_recording_starts_anew(recorder: Recorder, operator: str) -> None:
    desc = large(operator, level_of(recorder), 1 << 12, DataType.FLOAT32)
    assert recorder.record([desc]) == recorder.record([desc])


# --- what the device claims ---------------------------------------------------------------------------------------

# Sizes of the data types for which the library then uses other shaders than on a device that claims all.
OTHER_SHADERS = {"no-16-bit": {2}, "least": {1}}


def shaders(recording: Recording) -> list[str]:
    return [call.shader.sha256 for call in recording.compilation if isinstance(call, CreateComputePipelineState)]


@pytest.mark.few(6, 12)
@pytest.mark.parametrize("profile", PROFILES)
@OPERATORS
def test_what_the_device_claims_decides_on_shaders(newest: Recorder, operator: str, profile: str) -> None:
    others, refused = set(), set()
    descs = of_every_data_type(operator, NEWEST)
    with Recorder(library_or_skip(NEWEST), PROFILES[profile]) as recorder:
        for desc in descs:
            data_type = desc.input_tensor.data_type
            try:
                (recording,) = recorder.record([desc])
            except OperatorRefused:
                refused.add(data_type)
                continue
            check_sound(recording)
            (usual,) = newest.record([desc])
            if shaders(recording) != shaders(usual):
                others.add(data_type.size)
            else:
                check_recording(recording, desc)
        supported = {DataType(value) for value in recorder.data_types}
    assert others == OTHER_SHADERS.get(profile, set())
    assert refused == {desc.input_tensor.data_type for desc in descs} - supported


@OPERATORS
def test_without_typed_views_bytes_are_widened_first(operator: str) -> None:
    """Three shaders or more then share temporary memory, and what one writes is waited for before the next reads it."""
    with Recorder(library_or_skip(NEWEST), PROFILES["least"]) as recorder:
        (recording,) = recorder.record([large(operator, NEWEST, 1 << 12, DataType.UINT8)])
    check_sound(recording)
    assert len(shaders(recording)) >= 3
    assert recording.execution.binding_properties.temporary_resource_size >= 4 << 12
    barriers = [call for call in recording.execution.calls if isinstance(call, ResourceBarrier)]
    assert barriers == [ResourceBarrier((UavBarrier(None),))] * (len(shaders(recording)) - 1)


# --- what goes wrong ----------------------------------------------------------------------------------------------


def test_what_the_library_rejects_is_refused(recorder: Recorder) -> None:
    for operator in FIVE:
        desc = large(operator, level_of(recorder), 1 << 12, DataType.FLOAT32)
        invalid = replace(desc, output_tensor=replace(desc.output_tensor, data_type=DataType.INT32))
        with pytest.raises(OperatorRefused, match=r"^IDMLDevice::CreateOperator answered E_INVALIDARG$") as told:
            recorder.record([desc, invalid])
        assert told.value.index == 1


def test_a_crash_of_the_library_costs_one_recording(recorder: Recorder) -> None:
    """With more index dimensions than Axis + 1 GATHER's validation writes before its own memory."""
    ones, indices = TensorDesc.of(DataType.FLOAT32, (1, 1)), TensorDesc.of(DataType.UINT32, (1, 1))
    guilty = GatherDesc(ones, indices, ones, 0, 2)
    valid = replace(guilty, index_dimensions=1)
    for _ in range(2):
        with pytest.raises(LibraryCrash, match=r"SIG(ABRT|SEGV).*it was to record GATHER$"):
            recorder.record([guilty])
        check_recording(*recorder.record([valid]), valid)
