"""A recording from request to answer, with a DirectML made up for the purpose; and the words for a person to read."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from directml_fakes import tile
from directml_recording_fakes import GROUPS, ON_LINUX, D3d12, FakeDirectml, call

from dml_conformance.backends.directml import headers as base
from dml_conformance.backends.directml.com import POINTER, RESULT, SIZE_T, HResult
from dml_conformance.backends.directml.execution.structures import BindingProperties
from dml_conformance.backends.directml.recording import calls
from dml_conformance.backends.directml.recording.protocol import (
    Answer,
    Failed,
    Operator,
    Recorded,
    Refused,
    Request,
    Tensor,
)
from dml_conformance.backends.directml.recording.session import Session
from dml_conformance.backends.directml.recording.text import lines, told
from dml_conformance.backends.directml.structs import BLOCK_SIZE, Packer
from dml_conformance.spec.datatypes import DataType

pytestmark = ON_LINUX

IN, OUT = Tensor("InputTensor", 40, False), Tensor("OutputTensor", 80, False)
OWNED = Tensor("InputTensor", 40, True)


@pytest.fixture
def dml() -> FakeDirectml:
    return FakeDirectml(D3d12())


def record(dml: FakeDirectml, *operators: tuple[Tensor | None, Tensor | None], offset: int = 0) -> Answer:
    memory = ctypes.create_string_buffer(BLOCK_SIZE)
    block = bytes(Packer(ctypes.addressof(memory)).pack(tile(DataType.FLOAT32)))
    wanted = tuple(Operator("TILE", block, (source,), (target,)) for source, target in operators)
    session: Any = Session(dml.d3d12.null, dml, ctypes.addressof(memory))  # type: ignore[arg-type]  # a stand-in
    answer: Answer = session.answer(Request(wanted, offset))
    return answer


def recorded(dml: FakeDirectml, *operators: tuple[Tensor | None, Tensor | None], offset: int = 0) -> list[Any]:
    answer = record(dml, *operators, offset=offset)
    assert isinstance(answer, Recorded), answer
    return list(answer.recordings)


def of_kind(kind: type[Any], stage: calls.Stage) -> list[Any]:
    return [each for each in stage.calls if isinstance(each, kind)]


def bound(stage: calls.Stage) -> list[tuple[str | None, int, int, int]]:
    views = of_kind(calls.CreateUnorderedAccessView, stage)
    return [(each.resource, each.descriptor, each.first_element, each.num_elements) for each in views]


def test_an_operator_from_compiling_to_its_dispatch(dml: FakeDirectml) -> None:
    (recording,) = recorded(dml, (IN, OUT))
    assert dml.descs == [(70).to_bytes(4, "little")]
    assert recording.operator == "TILE"
    assert [type(each) for each in recording.compilation] == [
        calls.CreateRootSignature,
        calls.CreateComputePipelineState,
    ]
    assert recording.initialization == calls.Stage(calls.BindingProperties(0, 0, 0), ())
    assert recording.execution.binding_properties == calls.BindingProperties(2, 0, 0)
    assert bound(recording.execution) == [("InputTensor", 0, 0, 10), ("OutputTensor", 1, 0, 20)]
    assert recording.execution.calls[2:] == (
        calls.SetPipelineState("pipeline 0"),
        calls.SetComputeRootDescriptorTable(0, 0),
        calls.Dispatch(GROUPS, 1, 1),
    )


def test_tensors_start_where_they_are_told_to(dml: FakeDirectml) -> None:
    (recording,) = recorded(dml, (IN, OUT), offset=256)
    assert bound(recording.execution) == [("InputTensor", 0, 64, 10), ("OutputTensor", 1, 64, 20)]


def test_a_tensor_left_out_is_not_bound(dml: FakeDirectml) -> None:
    (recording,) = recorded(dml, (None, OUT))
    assert [resource for resource, *_ in bound(recording.execution)] == ["OutputTensor"]


def test_directmls_own_memory_is_given_where_it_asks_for_some(dml: FakeDirectml) -> None:
    dml.needs = BindingProperties(3, 100, 40)
    (recording,) = recorded(dml, (OWNED, OUT))
    assert recording.execution.binding_properties == calls.BindingProperties(3, 100, 40)
    # What is asked for is rounded up to what buffers for DirectML's own use must be multiples of.
    assert [(resource, elements) for resource, _, _, elements in bound(recording.execution)] == [
        ("OutputTensor", 20),
        ("temporary", 64),
        ("persistent", 64),
    ]


def test_an_initializers_descriptors_come_first(dml: FakeDirectml) -> None:
    dml.initializer_needs = BindingProperties(5, 0, 0)
    (recording,) = recorded(dml, (IN, OUT))
    assert recording.initialization.binding_properties == calls.BindingProperties(5, 0, 0)
    (table,) = of_kind(calls.SetComputeRootDescriptorTable, recording.initialization)
    assert table.base_descriptor == 0
    assert [descriptor for _, descriptor, _, _ in bound(recording.execution)] == [5, 6]
    (table,) = of_kind(calls.SetComputeRootDescriptorTable, recording.execution)
    assert table.base_descriptor == 5


def test_each_recording_has_its_own_calls(dml: FakeDirectml) -> None:
    first, second = recorded(dml, (IN, OUT), (OUT, IN))
    assert (len(first.compilation), len(second.compilation)) == (2, 0)
    assert bound(second.execution) == [("OutputTensor", 0, 0, 20), ("InputTensor", 1, 0, 10)]


@pytest.mark.parametrize("refused", ["CreateOperator", "CompileOperator", "CreateOperatorInitializer"])
def test_what_the_library_refuses_is_told(dml: FakeDirectml, refused: str) -> None:
    dml.refuses = {refused}
    assert record(dml, (IN, OUT)) == Refused(0, f"IDMLDevice::{refused} answered E_INVALIDARG")
    assert dml.d3d12.null.journal.unreturned() == []


def test_which_operator_was_refused_is_told(dml: FakeDirectml) -> None:
    compiled: list[int] = []

    def refuse_the_second() -> None:
        compiled.append(1)
        if len(compiled) == 2:
            dml.refuses = {"CompileOperator"}

    dml.while_compiling = refuse_the_second
    assert record(dml, (IN, OUT), (IN, OUT)) == Refused(1, "IDMLDevice::CompileOperator answered E_INVALIDARG")


def sampler(dml: FakeDirectml) -> Callable[[], object]:
    arguments = ((POINTER, None), (SIZE_T, 0))
    return lambda: call(dml.d3d12.device, base.ID3D12_DEVICE5, "CreateSampler", RESULT, *arguments)


@pytest.mark.parametrize("refuses", [set(), {"CompileOperator"}])
def test_a_call_that_is_not_provided_for_fails_the_recording(dml: FakeDirectml, refuses: set[str]) -> None:
    """Also where the library then gives up: what it was not given is the reason."""
    dml.while_compiling = sampler(dml)
    dml.refuses = refuses
    assert record(dml, (IN, OUT)) == Failed(
        "calls that the recording device does not provide for: ID3D12Device5::CreateSampler (slot 22)"
    )


def test_what_the_library_keeps_fails_the_recording(dml: FakeDirectml) -> None:
    dml.keeps = True
    assert record(dml, (IN, OUT)) == Failed("objects and their references after all were released: pipeline 0: 2")


def test_a_device_that_was_removed_fails_the_recording(dml: FakeDirectml) -> None:
    dml.removed = HResult.E_INVALIDARG
    answer = record(dml, (IN, OUT))
    assert isinstance(answer, Failed)
    assert answer.problem.startswith("the device was removed: ")


def test_a_library_without_a_command_recorder_fails_the_recording(dml: FakeDirectml) -> None:
    dml.refuses = {"CreateCommandRecorder"}
    answer = record(dml, (IN, OUT))
    assert answer == Failed("IDMLDevice::CreateCommandRecorder answered E_INVALIDARG")


# --- words --------------------------------------------------------------------------------------------------------


def test_a_recording_in_words(dml: FakeDirectml) -> None:
    (recording,) = recorded(dml, (IN, OUT))
    text = [" ".join(line.split()) for line in lines(recording)]
    assert text[0] == "compiled"
    assert text[1] == (
        "CreateRootSignature root signature 0, version 1_1: 0 is a table of 2 UAVs from register 0 on; "
        "1 is 55 constants at b0"
    )
    assert text[2].startswith("CreateComputePipelineState pipeline 0 with root signature 0: a shader of ")
    assert text[3:] == [
        "initialized, with 0 descriptors, 0 bytes of temporary and 0 of persistent memory",
        "no calls",
        "dispatched, with 2 descriptors, 0 bytes of temporary and 0 of persistent memory",
        "CreateUnorderedAccessView descriptor 0: 10 elements of 4 bytes from 0 on of InputTensor",
        "CreateUnorderedAccessView descriptor 1: 20 elements of 4 bytes from 0 on of OutputTensor",
        "SetPipelineState pipeline 0",
        "SetComputeRootDescriptorTable parameter 0: from descriptor 0 on",
        f"Dispatch {GROUPS} x 1 x 1 groups",
    ]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (calls.SetName("pipeline 0", "Tile_256"), "pipeline 0: Tile_256"),
        (calls.MakeResident(("pipeline 0", "pipeline 1")), "pipeline 0, pipeline 1"),
        (calls.Evict(("pipeline 0",)), "pipeline 0"),
        (calls.SetDescriptorHeaps(("descriptor heap 0",)), "descriptor heap 0"),
        (calls.SetComputeRootSignature("root signature 1"), "root signature 1"),
        (calls.SetComputeRoot32BitConstants(1, (7,), 53), "parameter 1: 1 value from 53 on: 7"),
        (calls.SetComputeRoot32BitConstants(1, (7, 8), 0), "parameter 1: 2 values from 0 on: 7 8"),
        (calls.CopyBufferRegion("a", 4, "b", 8, 16), "16 bytes, b at 8 to a at 4"),
        (
            calls.CreateUnorderedAccessView(None, 3, "R8_UINT", 5, 1, 0, 0, 0),
            "descriptor 3: 1 element R8_UINT from 5 on of nothing",
        ),
        (
            calls.ResourceBarrier((calls.Transition("a", 0, "COMMON", "COPY_DEST"), calls.UavBarrier("b"))),
            "a from COMMON to COPY_DEST; writes to b are done",
        ),
        (calls.ResourceBarrier((calls.UavBarrier(None),)), "writes to everything are done"),
        (
            calls.CreateRootSignature("r", "1_1", (calls.RootConstants(2, 3, 4),), 0, 0, 0),
            "r, version 1_1: 0 is 4 constants at b2, space 3",
        ),
    ],
)
def test_calls_in_words(one: calls.Call, words: str) -> None:
    assert told(one) == words
