"""The backend that executes, on a device and a library made up for the purpose."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directml_execution_fakes import World
from directml_fakes import GATHER, tile
from places import SUPPORT

from dml_conformance.backends.base import Answer, Binding, OutOfMemory, Timed, Unsupported
from dml_conformance.backends.directml import directml_backend
from dml_conformance.backends.directml.com import HResult
from dml_conformance.backends.directml.execution import backend as backend_module
from dml_conformance.backends.directml.execution.backend import DEVICE_REMOVED, DeviceBackend, _resources
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.opening import ExecutionDevice
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS, FeatureSet
from dml_conformance.backends.directml.library import LibraryFile
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc

L = Level.L6_2
E_INVALIDARG = -2147024809
NO_DOUBLES = tuple(sorted(t for t in DataType if t.bits >= 8 and t is not DataType.FLOAT64))
ALL_TYPES = tuple(sorted(t for t in DataType if t.bits >= 8))


class FakeDirectml:
    """Takes operators of one kind; `kinds` are those that it was asked for."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.kinds: list[int] = []

    def level(self) -> Level:
        return L

    def data_types(self) -> frozenset[DataType]:
        return frozenset(map(DataType, NO_DOUBLES))

    def create_operator(self, desc: int) -> int:
        self.kinds.append(ctypes.c_uint32.from_address(desc).value)
        return 0 if self.kinds[-1] == self.takes else E_INVALIDARG


class FakeDecider:
    """A process without a device."""

    def __init__(self, feature_set: FeatureSet) -> None:
        self.feature_set = feature_set
        self.hello = Hello(address=8192, level=L, data_types=ALL_TYPES if feature_set.doubles else NO_DOUBLES)
        self.is_closed = False
        self.code = 0

    def ask(self, block: Any) -> Reply:
        return Reply(self.code, "")

    def close(self) -> None:
        self.is_closed = True


class Machine:
    """What there is, and what was started on it."""

    def __init__(self) -> None:
        self.world = World()
        self.directml = FakeDirectml(GATHER.type_value)
        self.deciders: list[FakeDecider] = []
        self.chosen: list[tuple[str, Level | None]] = []


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()

    def choose(word: str, level: Level | None) -> tuple[Setup, LibraryFile]:
        made.chosen.append((word, level))
        return Setup("directml.so", "d3d12.so"), LibraryFile(Path("directml.so"), "0" * 64, None)

    def start_without_device(library: LibraryFile, feature_set: FeatureSet) -> FakeDecider:
        made.deciders.append(FakeDecider(feature_set))
        return made.deciders[-1]

    opened = ExecutionDevice(made.world.gpu, made.directml, "a made-up device", {"driver": "1.2"}, ())  # type: ignore[arg-type]
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(backend_module, "choose", choose)
    monkeypatch.setattr(backend_module, "open_device", lambda setup: opened)
    monkeypatch.setattr(backend_module.without_device, "start", start_without_device)
    return made


def device_backend() -> DeviceBackend:
    made = directml_backend("d3d12")
    assert isinstance(made, DeviceBackend)
    return made


def binding(content: bytes) -> Binding:
    """A range in the middle of a resource."""
    return Binding(np.frombuffer(b"<" * 16 + content + b">" * 16, np.uint8).copy(), 16, len(content))


INPUTS = {"indices_tensor": binding(b"i" * 16), "input_tensor": binding(b"d" * 24)}
OUTPUTS = {"output_tensor": binding(b"?" * 32)}


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
    machine: Machine, device: str, chosen: tuple[str, Level | None]
) -> None:
    backend = directml_backend(device)
    assert type(backend) is DeviceBackend
    assert isinstance(backend, Timed)
    assert machine.chosen == [chosen]
    said = backend.capabilities()
    assert (said.name, said.device, said.executes) == (f"directml:{device}", "a made-up device", True)
    assert said.enforces == frozenset(Category)
    assert said.versions["driver"] == "1.2"
    assert said.decides_at == L
    assert max(said.levels) == L


@pytest.mark.parametrize("device", ["d3d12,warp", "d3d12,no-doubles", "d3d12,6_2,5_2", "d3d12,9_9"])
def test_words_that_do_not_go_together_are_told(machine: Machine, device: str) -> None:
    with pytest.raises(ValueError, match=r"expected one of d3d12 or warp, and at most one feature level|9_9"):
        directml_backend(device)


def test_decisions_come_from_a_process_without_a_device_that_supports_the_same_types(machine: Machine) -> None:
    backend = directml_backend("d3d12")
    assert [decider.feature_set.name for decider in machine.deciders] == ["full", "no-doubles"]
    full, like_device = machine.deciders
    assert (full.is_closed, like_device.is_closed) == (True, False)
    assert backend.validate(GATHER, L) == Answer(True)
    like_device.code = E_INVALIDARG
    assert backend.validate(GATHER, L) == Answer(False, "E_INVALIDARG")
    with pytest.raises(Unsupported, match="FLOAT64"):
        backend.validate(tile(DataType.FLOAT64), L)
    assert machine.directml.kinds == []
    backend.close()
    assert like_device.is_closed
    backend.execute(GATHER, L, INPUTS, OUTPUTS)


@pytest.mark.parametrize("system", ["Windows", "Linux"])
def test_where_no_process_is_like_the_device_it_decides_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(backend_module, "FEATURE_SETS", {"full": FEATURE_SETS["full"]})
    backend = directml_backend("d3d12")
    for _ in range(2):
        assert backend.validate(GATHER, L) == Answer(True)
        assert backend.validate(tile(DataType.FLOAT32), L) == Answer(False, "E_INVALIDARG")
        backend.close()
    assert machine.directml.kinds == [GATHER.type_value, tile(DataType.FLOAT32).type_value] * 2
    assert all(decider.is_closed for decider in machine.deciders)


def test_what_the_device_leaves_in_resources_comes_back(machine: Machine) -> None:
    data, output = binding(b"0123456789abcdef"), binding(b"?" * 16)
    inputs = {"input_tensor": data, "indices_tensor": binding(b"i" * 16)}
    device_backend().execute(GATHER, L, inputs, {"output_tensor": output})
    assert output.buffer.tobytes() == b"<" * 16 + b"0123456789abcdef" + b">" * 16
    assert data.buffer.tobytes() == b"<" * 16 + b"0123456789abcdef" + b">" * 16


def test_owned_tensors_are_marked_and_one_left_out_keeps_its_place() -> None:
    made = descriptor_classes()["GATHER"]
    owned = TensorDesc.of(DataType.UINT32, (1, 4), flags=TensorFlag.OWNED_BY_DML)
    inputs, _ = _resources(made(GATHER.input_tensor, owned, GATHER.output_tensor, 0, 1), INPUTS, OUTPUTS)
    assert [resource and resource.is_owned for resource in inputs] == [False, True]
    desc = made(None, GATHER.indices_tensor, None, 0, 1)  # type: ignore[arg-type]
    inputs, outputs = _resources(desc, {"indices_tensor": INPUTS["indices_tensor"]}, {})
    assert (inputs[0], outputs) == (None, [None])
    assert inputs[1] == (*INPUTS["indices_tensor"], False)


def test_roles_are_the_facts_and_not_told_by_names() -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (1,))
    made = descriptor_classes()["QUANTIZED_LINEAR_CONVOLUTION"]
    values: dict[str, Any] = {
        field.attribute: tensor if field.is_tensor else (1,) if field.count_field else 1 for field in made.fields
    }
    values |= {"bias_tensor": None, "output_zero_point_tensor": None}
    bound = {field.attribute: INPUTS["input_tensor"] for field in made.fields if field.is_tensor}
    read = {"output_scale_tensor": OUTPUTS["output_tensor"]}
    inputs, outputs = _resources(made(**values), bound | read, OUTPUTS)
    assert [resource is not None for resource in inputs] == [True] * 6 + [False, True, False]
    assert inputs[7] == (*read["output_scale_tensor"], False)
    assert len(outputs) == 1


def test_an_array_of_tensors_has_a_resource_for_each() -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (1,))
    bound = {"input_tensors[0]": INPUTS["input_tensor"], "input_tensors[1]": INPUTS["indices_tensor"]}
    inputs, outputs = _resources(descriptor_classes()["JOIN"]((tensor, tensor), tensor, 0), bound, OUTPUTS)
    assert inputs == [(*each, False) for each in bound.values()]
    assert len(outputs) == 1


def test_timing(machine: Machine) -> None:
    backend = device_backend()
    assert backend.time_execution(GATHER, L, INPUTS, OUTPUTS, 3) == [0.025] * 3
    assert backend.time_copy(500, 2) == [0.025, 0.025]
    machine.world.fails = {"CreateCommittedResource": HResult.E_OUTOFMEMORY}
    with pytest.raises(OutOfMemory, match="the device has no memory for a buffer of 500 bytes"):
        backend.time_copy(500, 2)


@pytest.mark.parametrize("fails", ["", "CompileOperator"])
def test_a_device_that_is_gone_ends_the_process(fails: str) -> None:
    script = f"""
import sys
sys.path[:] = {[str(SUPPORT), str(Path(__file__).parent), *sys.path]!r}
from test_directml_execution_backend import *
made = DeviceBackend.__new__(DeviceBackend)
world = World()
world.removed = HResult.DXGI_ERROR_DEVICE_REMOVED
world.fails = dict.fromkeys(filter(None, [{fails!r}]), HResult.E_FAIL)
made._opened = ExecutionDevice(world.gpu, None, "", {{}}, ())
made._memory = ctypes.create_string_buffer(backend_module.BLOCK_SIZE)
made._execution_packer = backend_module.Packer(ctypes.addressof(made._memory))
made.execute(GATHER, L, INPUTS, OUTPUTS)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == DEVICE_REMOVED, done.stderr
    assert "the device was removed: ID3D12Device::GetDeviceRemovedReason answered DXGI_ERROR_DEVICE_R" in done.stderr
    assert ("CompileOperator answered E_FAIL" in done.stderr) is bool(fails)
