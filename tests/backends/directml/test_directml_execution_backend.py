"""The backend that executes, on processes made up for the purpose."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directml_fakes import GATHER, tile

from dml_conformance.backends.base import Answer, Binding, Timed, Unsupported
from dml_conformance.backends.directml import directml_backend
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.execution import backend as backend_module
from dml_conformance.backends.directml.execution.backend import DeviceBackend
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.process import DeviceProcess, ExecutionError, NoMemory
from dml_conformance.backends.directml.library import LibraryFile
from dml_conformance.backends.directml.profiles import PROFILES, Profile
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.backends.directml.structs import OPERATOR_DESC_AT
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc

L = Level.L6_2
NO_DOUBLES = tuple(sorted(t for t in DataType if t.bits >= 8 and t is not DataType.FLOAT64))
ALL_TYPES = tuple(sorted(t for t in DataType if t.bits >= 8))


class FakeDevice(DeviceProcess):
    """A process with a device that does what it is told to."""

    is_running = True

    def __init__(self, behave: Callable[[str], Any], address: int) -> None:
        self.hello = Hello(
            address=address, level=L, data_types=NO_DOUBLES, device="a made-up device", versions={"driver": "1.2"}
        )
        self.behave = behave
        self.asked: list[Any] = []

    def ask(self, block: Any) -> Reply:
        self.asked.append("ask")
        return Reply(self.act("ask") or 0, "")

    def execute(self, block: Any, inputs: Any, outputs: Any, repeats: int = 0) -> list[float]:
        kind, desc = struct.unpack_from("@IP", block, OPERATOR_DESC_AT)
        assert 0 < desc - self.hello.address < len(block), "the block is made for another address"
        self.asked.append((kind, inputs, outputs, repeats))
        self.act("execute")
        return [0.25] * repeats

    def copy(self, size: int, repeats: int) -> list[float]:
        self.act("copy")
        return [size / 1000] * repeats

    def close(self) -> None:
        self.is_running = False

    def act(self, what: str) -> Any:
        result = self.behave(what)
        if isinstance(result, LibraryCrash):
            self.is_running = False
        if isinstance(result, Exception):
            raise result
        return result


class FakeDecider:
    """A process without a device."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.hello = Hello(address=8192, level=L, data_types=ALL_TYPES if profile.doubles else NO_DOUBLES)
        self.is_closed = False
        self.code = 0

    def ask(self, block: Any) -> Reply:
        return Reply(self.code, "")

    def close(self) -> None:
        self.is_closed = True


class Processes:
    """All that were started; `behave` is what the devices do next."""

    def __init__(self) -> None:
        self.devices: list[FakeDevice] = []
        self.deciders: list[FakeDecider] = []
        self.chosen: list[tuple[str, Level | None]] = []
        self.behave: Callable[[str], Any] = lambda what: None


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes()

    def choose(word: str, level: Level | None) -> tuple[Setup, LibraryFile]:
        made.chosen.append((word, level))
        return Setup("directml.so", "d3d12.so"), LibraryFile(Path("directml.so"), "0" * 64, None)

    def start(setup: Setup) -> FakeDevice:
        made.devices.append(FakeDevice(lambda what: made.behave(what), 4096 * (1 + len(made.devices))))
        return made.devices[-1]

    def start_without_device(library: LibraryFile, profile: Profile) -> FakeDecider:
        made.deciders.append(FakeDecider(profile))
        return made.deciders[-1]

    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(backend_module, "choose", choose)
    monkeypatch.setattr(backend_module, "start", start)
    monkeypatch.setattr(backend_module.without_device, "start", start_without_device)
    return made


def binding(size: int) -> Binding:
    return Binding(np.zeros(size + 32, np.uint8), 16, size)


INPUTS = {"indices_tensor": binding(16), "input_tensor": binding(24)}
OUTPUTS = {"output_tensor": binding(32)}


@pytest.mark.parametrize(
    ("device", "chosen"),
    [
        ("d3d12", ("d3d12", None)),
        ("d3d12,5_2", ("d3d12", Level.L5_2)),
        ("6_2,d3d12=/lib/x.so", ("d3d12=/lib/x.so", Level.L6_2)),
        ("warp", ("warp", None)),
    ],
)
def test_a_device_word_makes_a_backend_that_executes(
    processes: Processes, device: str, chosen: tuple[str, Level | None]
) -> None:
    backend = directml_backend(device)
    assert type(backend) is DeviceBackend
    assert isinstance(backend, Timed)
    assert processes.chosen == [chosen]
    said = backend.capabilities()
    assert (said.name, said.device, said.executes) == (f"directml:{device}", "a made-up device", True)
    assert said.enforces == frozenset(Category)
    assert said.versions["driver"] == "1.2"
    assert said.decides_at == L
    assert max(said.levels) == L


@pytest.mark.parametrize("device", ["d3d12,warp", "d3d12,no-doubles", "d3d12,6_2,5_2", "d3d12,9_9"])
def test_words_that_do_not_go_together_are_told(processes: Processes, device: str) -> None:
    with pytest.raises(ValueError, match=r"expected one of d3d12 or warp, and at most one feature level|9_9"):
        directml_backend(device)


def test_decisions_come_from_a_process_without_a_device_that_supports_the_same_types(processes: Processes) -> None:
    backend = directml_backend("d3d12")
    assert [decider.profile.name for decider in processes.deciders] == ["full", "no-doubles"]
    full, like_device = processes.deciders
    assert (full.is_closed, like_device.is_closed) == (True, False)
    assert backend.validate(GATHER, L) == Answer(True)
    like_device.code = -2147024809
    assert backend.validate(GATHER, L) == Answer(False, "E_INVALIDARG")
    with pytest.raises(Unsupported, match="FLOAT64"):
        backend.validate(tile(DataType.FLOAT64), L)
    assert processes.devices[0].asked == []


def test_where_no_profile_is_like_the_device_it_decides_itself(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "PROFILES", {"full": PROFILES["full"]})
    backend = directml_backend("d3d12")
    assert backend.validate(GATHER, L) == Answer(True)
    assert processes.devices[0].asked == ["ask"]


def test_on_windows_the_device_decides_and_is_started_again_after_a_crash(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    backend = directml_backend("d3d12")
    assert processes.deciders == []
    processes.behave = lambda what: LibraryCrash("died of SIGSEGV")
    with pytest.raises(LibraryCrash, match=r"the DirectML library died of SIGSEGV; it was asked for GATHER \{"):
        backend.validate(GATHER, L)
    processes.behave = lambda what: None
    assert backend.validate(GATHER, L) == Answer(True)
    assert [device.asked for device in processes.devices] == [["ask"], ["ask"]]
    processes.devices[-1].close()  # as when an execution took it down
    assert backend.validate(GATHER, L) == Answer(True)
    assert len(processes.devices) == 3


def test_resources_go_over_in_the_order_of_the_struct(processes: Processes) -> None:
    backend = directml_backend("d3d12")
    backend.execute(GATHER, L, INPUTS, OUTPUTS)
    ((kind, inputs, outputs, repeats),) = processes.devices[0].asked
    assert kind == 67
    assert inputs[0].binding is INPUTS["input_tensor"]
    assert inputs[1].binding is INPUTS["indices_tensor"]
    assert outputs[0].binding is OUTPUTS["output_tensor"]
    assert [resource.is_owned for resource in (*inputs, *outputs)] == [False] * 3
    assert repeats == 0


def test_owned_tensors_are_marked_and_one_left_out_keeps_its_place(processes: Processes) -> None:
    owned = TensorDesc.of(DataType.UINT32, (1, 4), flags=TensorFlag.OWNED_BY_DML)
    backend = directml_backend("d3d12")
    backend.execute(
        descriptor_classes()["GATHER"](GATHER.input_tensor, owned, GATHER.output_tensor, 0, 1), L, INPUTS, OUTPUTS
    )
    desc = descriptor_classes()["GATHER"](None, GATHER.indices_tensor, None, 0, 1)  # type: ignore[arg-type]
    backend.execute(desc, L, {"indices_tensor": INPUTS["indices_tensor"]}, {})
    (_, inputs, _, _), (_, others, outputs, _) = processes.devices[0].asked
    assert [resource.is_owned for resource in inputs] == [False, True]
    assert (others[0], outputs) == (None, [None])
    assert others[1].binding is INPUTS["indices_tensor"]


def test_roles_are_the_facts_and_not_told_by_names(processes: Processes) -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (1,))
    made = descriptor_classes()["QUANTIZED_LINEAR_CONVOLUTION"]
    values: dict[str, Any] = {
        field.attribute: tensor if field.is_tensor else (1,) if field.count_field else 1 for field in made.fields
    }
    values |= {"bias_tensor": None, "output_zero_point_tensor": None}
    bound = {field.attribute: INPUTS["input_tensor"] for field in made.fields if field.is_tensor}
    read = {"output_scale_tensor": OUTPUTS["output_tensor"]}
    directml_backend("d3d12").execute(made(**values), L, bound | read, OUTPUTS)
    ((_, inputs, outputs, _),) = processes.devices[0].asked
    assert [resource is not None for resource in inputs] == [True] * 6 + [False, True, False]
    assert inputs[7].binding is read["output_scale_tensor"]
    assert len(outputs) == 1


def test_an_array_of_tensors_has_a_resource_for_each(processes: Processes) -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (1,))
    bound = {"input_tensors[0]": INPUTS["input_tensor"], "input_tensors[1]": INPUTS["indices_tensor"]}
    desc = descriptor_classes()["JOIN"]((tensor, tensor), tensor, 0)
    directml_backend("d3d12").execute(desc, L, bound, OUTPUTS)
    ((_, inputs, outputs, _),) = processes.devices[0].asked
    assert [resource.binding for resource in inputs] == list(bound.values())
    assert len(outputs) == 1


def test_timing(processes: Processes) -> None:
    backend = directml_backend("d3d12")
    assert isinstance(backend, DeviceBackend)
    assert backend.time_execution(GATHER, L, INPUTS, OUTPUTS, 3) == [0.25] * 3
    assert backend.time_copy(500, 2) == [0.5, 0.5]
    processes.behave = lambda what: NoMemory("none left")
    with pytest.raises(Unsupported, match="none left"):
        backend.time_copy(500, 2)
    processes.behave = lambda what: LibraryCrash("died of SIGSEGV")
    with pytest.raises(LibraryCrash, match="died of SIGSEGV; it was to copy 500 bytes"):
        backend.time_copy(500, 2)


def test_what_goes_wrong_in_an_execution(processes: Processes) -> None:
    backend = directml_backend("d3d12")
    for error, told, known in (
        (NoMemory("none left"), Unsupported, "none left"),
        (ExecutionError("refused"), ExecutionError, "refused"),
        (LibraryCrash("died of SIGSEGV"), LibraryCrash, r"died of SIGSEGV; it was to execute GATHER \{"),
    ):
        assert len(processes.devices) == 1
        processes.behave = lambda what, error=error: error  # type: ignore[misc]
        with pytest.raises(told, match=known):
            backend.execute(GATHER, L, INPUTS, OUTPUTS)
    processes.behave = lambda what: None
    backend.execute(GATHER, L, INPUTS, OUTPUTS)
    assert [len(device.asked) for device in processes.devices] == [3, 1], "a fresh device for the next case"
    assert backend.capabilities().device == "a made-up device"


def test_closing_ends_both_processes_and_more_can_be_asked_afterwards(processes: Processes) -> None:
    backend = directml_backend("d3d12")
    backend.close()
    assert not processes.devices[0].is_running
    assert processes.deciders[-1].is_closed
    backend.execute(GATHER, L, INPUTS, OUTPUTS)
    assert backend.validate(GATHER, L) == Answer(True)
    assert len(processes.devices) == 2


def test_a_library_that_cannot_be_had_is_told(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(setup: Setup) -> FakeDevice:
        raise DirectmlError("no such device")

    monkeypatch.setattr(backend_module, "start", refuse)
    with pytest.raises(DirectmlError, match="no such device"):
        directml_backend("d3d12")
