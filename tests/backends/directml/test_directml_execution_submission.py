"""What is asked of Direct3D 12 and DirectML, in which order, and what comes back. Both are made up for the purpose."""

from __future__ import annotations

import pytest
from directml_execution_fakes import (
    FREQUENCY,
    TICKS_A_QUERY,
    FakeDescriptorHeap,
    FakeDispatchable,
    FakeOperator,
    FakeResource,
    FakeTable,
    Needs,
    World,
)

from dml_conformance.backends.directml.com import ComError, HResult
from dml_conformance.backends.directml.execution import gpu as gpu_module
from dml_conformance.backends.directml.execution.gpu import WARM_UP, DeviceOutOfMemory, DeviceRemoved
from dml_conformance.backends.directml.execution.submission import Bound, Submission, time_copies
from dml_conformance.backends.directml.execution.work import Program
from dml_conformance.backends.directml.headers import HeapType

DESC = 0xD0  # nobody looks at it here


def bound(content: bytes, *, before: int = 64, after: int = 64, is_owned: bool = False) -> Bound:
    """A resource with guards around what is bound."""
    return Bound(bytearray(b"<" * before + content + b">" * after), before, len(content), is_owned)


def view(of: Bound) -> bytes:
    return bytes(of.data[of.offset : of.offset + of.size])


def run(world: World, inputs: list[Bound | None], outputs: list[Bound | None]) -> None:
    with Program(world.gpu, DESC) as program, Submission(world.gpu) as submission:
        submission.add(program, inputs, outputs)
        submission.run()


def run_one(world: World, size: int = 16) -> None:
    """One operator of one input, whose content comes to its output."""
    output = bound(b"?" * size)
    run(world, [bound(b"d" * size)], [output])
    assert view(output) == b"d" * size


def check_all_released(world: World) -> None:
    world.gpu.close()
    assert world.alive == []
    assert all(resource.mapped == 0 for resource in world.made(FakeResource))
    assert world.unexpected == []


def test_one_operator_from_upload_to_read_back() -> None:
    world = World()
    data, indices, output = bound(b"0123456789abcdef"), bound(b"i" * 16, before=16), bound(b"?" * 16)
    run(world, [data, indices], [output])
    assert world.log == [
        "heaps",
        "copy upload3+0 to default0+0, 144",
        "copy upload3+256 to default1+0, 96",
        "copy upload3+512 to default2+0, 144",
        "turn default0 0x400 0x8",
        "turn default1 0x400 0x8",
        "turn default2 0x400 0x8",
        "initialize",
        "barrier",
        "dispatch",
        "barrier",
        "turn default0 0x8 0x800",
        "turn default1 0x8 0x800",
        "turn default2 0x8 0x800",
        "copy default0+0 to readback4+0, 144",
        "copy default1+0 to readback4+256, 96",
        "copy default2+0 to readback4+512, 144",
    ]
    assert output.data == b"<" * 64 + b"0123456789abcdef" + b">" * 64
    assert data.data == b"<" * 64 + b"0123456789abcdef" + b">" * 64
    assert indices.data == b"<" * 16 + b"i" * 16 + b">" * 64
    initialization, execution = world.made(FakeTable)
    assert (initialization.dispatchable.name, execution.dispatchable.name) == ("initialize", "dispatch")
    assert "inputs" not in initialization.bound
    assert initialization.bound == {"outputs": [None]}
    names = [(resource.name, offset, size) for resource, offset, size in execution.bound["inputs"]]
    assert names == [("default0", 64, 16), ("default1", 16, 16)]
    check_all_released(world)


def test_writes_outside_what_is_bound_come_back() -> None:
    world = World()
    world.astray = True
    data, output = bound(b"0123456789abcdef"), bound(b"?" * 16)
    run(world, [data], [output])
    assert data.data == b"!" + b"<" * 63 + b"0123456789abcdef" + b">" * 64
    assert output.data == b"<" * 64 + b"0123456789abcdef" + b">" * 63 + b"!"


def test_memory_for_directml_is_bound_where_it_is_asked_for() -> None:
    world = World(Needs(3, temporary=300, persistent=100), Needs(2, temporary=1000))
    data, output = bound(b"0123456789abcdef", is_owned=True), bound(b"?" * 16)
    run(world, [data], [output])
    sizes = {resource.name: resource.size for resource in world.made(FakeResource)}
    assert (sizes["default2"], sizes["default3"]) == (1024, 256), "sizes are multiples of 256"
    initialization, execution = world.made(FakeTable)
    temporary, persistent = (world.made(FakeResource)[n] for n in (2, 3))
    assert initialization.bound == {
        "inputs": [[(world.made(FakeResource)[0], 64, 16)]],
        "temporary": [(temporary, 0, 1024)],
        "outputs": [(persistent, 0, 256)],
    }
    assert execution.bound == {
        "inputs": [None],
        "outputs": [(world.made(FakeResource)[1], 64, 16)],
        "temporary": [(temporary, 0, 1024)],
        "persistent": [(persistent, 0, 256)],
    }
    assert view(output) == b"0123456789abcdef", "an owned tensor is given at initialization"
    check_all_released(world)


def test_a_tensor_left_out_keeps_its_place_and_not_every_input_is_owned() -> None:
    world = World()
    run(world, [bound(b"0123456789abcdef"), None], [bound(b"?" * 16), None])
    _, execution = world.made(FakeTable)
    assert (execution.bound["inputs"][1], execution.bound["outputs"][1]) == (None, None)
    world = World(Needs(3, persistent=16))
    run(world, [bound(b"0123456789abcdef"), bound(b"i" * 16, is_owned=True)], [bound(b"?" * 16)])
    initialization, execution = world.made(FakeTable)
    resources = world.made(FakeResource)
    assert initialization.bound["inputs"] == [[None, (resources[1], 64, 16)]]
    assert execution.bound["inputs"] == [(resources[0], 64, 16), None]


def test_many_operators_in_one_submission() -> None:
    world = World(Needs(3), Needs(2))
    contents = [bytes([65 + n]) * 16 for n in range(3)]
    outputs = [bound(b"?" * 16) for _ in contents]
    with Program(world.gpu, DESC) as program, Submission(world.gpu) as submission:
        for content, output in zip(contents, outputs, strict=True):
            submission.add(program, [bound(content)], [output])
        submission.run()
    assert [view(output) for output in outputs] == contents
    steps = [line for line in world.log if line in ("initialize", "dispatch", "barrier")]
    assert steps == ["initialize"] * 3 + ["barrier"] + ["dispatch"] * 3 + ["barrier"]
    ranges = [list(table.descriptors) for table in world.made(FakeTable)]
    assert ranges == [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9], [10, 11], [12, 13, 14]]
    check_all_released(world)


def test_timed_runs_come_after_a_warm_up() -> None:
    world = World()
    data, output = bound(b"0123456789abcdef"), bound(b"?" * 16)
    with Program(world.gpu, DESC) as program, Submission(world.gpu) as submission:
        submission.add(program, [data], [output])
        assert submission.time(2) == [TICKS_A_QUERY / FREQUENCY] * 2
    steps = [line for line in world.log if line.split()[0] in ("dispatch", "barrier", "time", "times")]
    timed = [["time 0", "dispatch", "barrier", "time 1"], ["time 2", "dispatch", "barrier", "time 3"]]
    assert steps == ["barrier"] + ["dispatch", "barrier"] * WARM_UP + timed[0] + timed[1] + ["times 0..4"]
    assert view(output) == b"0123456789abcdef"
    check_all_released(world)


def test_timed_copies() -> None:
    world = World()
    assert time_copies(world.gpu, 1000, 3) == [TICKS_A_QUERY / FREQUENCY] * 3
    assert world.log.count("copy default0+0 to default1+0, 1000") == WARM_UP + 3
    check_all_released(world)


def test_everything_is_released_case_by_case() -> None:
    world = World(Needs(3, temporary=300, persistent=100), Needs(2, temporary=1000))
    run_one(world)
    alive = sorted(world.alive)
    for _ in range(5):
        run_one(world)
    assert sorted(world.alive) == alive
    kept = [resource.name for resource in world.made(FakeResource) if resource.references > resource.FREE]
    assert kept == ["upload4", "readback5"], "staging buffers are used again"
    check_all_released(world)


def test_the_operator_is_released_once_it_is_compiled() -> None:
    world = World()
    with Program(world.gpu, DESC):
        assert [made.references for made in world.made(FakeOperator)] == [FakeOperator.FREE]
        assert [made.references for made in world.made(FakeDispatchable)] == [FakeDispatchable.FREE + 1] * 2


def test_staging_buffers_grow_and_are_given_back_when_unusually_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_module, "LEAST_STAGING", 1 << 10)
    monkeypatch.setattr(gpu_module, "MOST_STAGING_KEPT", 1 << 12)
    world = World()

    def kept() -> list[tuple[HeapType, int]]:
        resources = (r for r in world.made(FakeResource) if r.references > r.FREE)
        return [(resource.heap, resource.size) for resource in resources]

    for size, expected in ((16, 1 << 10), (1000, 1 << 12), (16, 1 << 12), (5000, None), (16, 1 << 10)):
        run_one(world, size)
        staging = [] if expected is None else [(HeapType.UPLOAD, expected), (HeapType.READBACK, expected)]
        assert kept() == staging, size
    check_all_released(world)


def test_the_heap_of_descriptors_grows() -> None:
    world = World(Needs(200), Needs(200))
    run_one(world)
    world.needs = Needs(100)
    run_one(world)
    assert [(heap.count, heap.is_visible) for heap in world.made(FakeDescriptorHeap)] == [(512, True)]
    world.needs = Needs(500)
    run_one(world)
    assert [heap.count for heap in world.made(FakeDescriptorHeap)] == [512, 1024]
    check_all_released(world)


# --- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", ["CreateOperator", "CompileOperator", "CreateOperatorInitializer", "CreateBindingTable"]
)
def test_a_refusal_is_told_and_leaves_nothing(function: str) -> None:
    world = World()
    world.fails[function] = HResult.E_INVALIDARG
    with pytest.raises(ComError, match=f"IDMLDevice::{function} answered E_INVALIDARG"):
        run_one(world)
    del world.fails[function]
    run_one(world)
    check_all_released(world)


def test_a_device_without_memory_is_told() -> None:
    world = World()
    world.fails["CreateCommittedResource"] = HResult.E_OUTOFMEMORY
    with pytest.raises(DeviceOutOfMemory, match="no memory for a buffer of 144 bytes"):
        run_one(world)
    world.fails["CreateCommittedResource"] = HResult.E_FAIL
    with pytest.raises(ComError, match="ID3D12Device::CreateCommittedResource answered E_FAIL"):
        run_one(world)
    check_all_released(world)


def test_commands_that_do_not_close_are_told_and_others_run_after_them() -> None:
    world = World()
    world.fails["Close"] = HResult.E_INVALIDARG
    with pytest.raises(ComError, match="ID3D12GraphicsCommandList::Close answered E_INVALIDARG"):
        run_one(world)
    assert world.log == []
    del world.fails["Close"]
    run_one(world)
    check_all_released(world)


def test_an_error_while_recording_closes_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    with pytest.raises(KeyError), world.gpu.recording():
        raise KeyError
    with world.gpu.recording():
        pass
    check_all_released(world)


@pytest.mark.parametrize("fails", [{}, {"Close": HResult.E_FAIL}])
def test_a_device_that_is_gone_is_told(fails: dict[str, HResult]) -> None:
    world = World()
    world.removed, world.fails = HResult.DXGI_ERROR_DEVICE_REMOVED, fails
    with pytest.raises(DeviceRemoved, match=r"the device was removed: .*RemovedReason answered DXGI_ERROR_DEVICE"):
        run_one(world)
    check_all_released(world)


@pytest.mark.parametrize("function", ["CreateCommandList", "CreateFence", "CreateCommandRecorder"])
def test_a_device_that_lacks_something_is_left_as_it_was(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.gpu.close()
    world.device.references = world.dml.references = 1
    world.fails[function] = HResult.E_NOTIMPL
    with pytest.raises(ComError, match=f"{function} answered E_NOTIMPL"):
        world.open_gpu()
    assert world.alive == ["FakeDevice", "FakeDml"]
