"""The `directml` backend on a device: it decides as the library does there, and it executes."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dml_conformance.backends.base import Answer, Bindings, Capabilities, Unsupported
from dml_conformance.backends.directml import process as without_device
from dml_conformance.backends.directml.backend import Decider, DirectmlBackend
from dml_conformance.backends.directml.errors import LibraryCrash
from dml_conformance.backends.directml.execution.loader import choose, names_device
from dml_conformance.backends.directml.execution.process import BoundResource, DeviceProcess, NoMemory, start
from dml_conformance.backends.directml.profiles import PROFILES
from dml_conformance.backends.directml.structs import Packer
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.descriptor import OperatorDesc, Role
from dml_conformance.spec.field_kinds import TENSORS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc


class DeviceBackend(DirectmlBackend):
    """The real library on a Direct3D 12 device.

    Library and device live in a process of their own. A crash, a device removed or a case that takes too long costs
    that process; the next case gets a fresh one. Descriptors are decided on in another process, without the device,
    as far as that can be had: see `_start`.

    Args:
        device: words joined by commas: `d3d12`, `d3d12=/path/libd3d12.so` or `warp`, see `loader.choose`, and, if a
            certain one is wanted, the feature level of the library (`d3d12,5_2`).

    Raises:
        ValueError: a word means nothing here.
        DirectmlError: a library cannot be had or does not run here.
    """

    def __init__(self, device: str = "d3d12") -> None:
        word, level = _read_device(device)
        self._setup, library = choose(word, level)
        self._executor: DeviceProcess | None = None
        ready = self._running().hello
        self._begin(device, library)
        self._versions |= ready.versions
        self._device_name = ready.device

    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(
            super().capabilities(),
            enforces=frozenset(Category),
            executes=True,
            accelerated=not self._setup.dxgi,  # but for Windows' software adapter
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        if isinstance(self._worker, DeviceProcess) and not self._worker.is_running:
            self._worker = None  # so that a new one is started
        return super().validate(desc, level)

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        """Run the operator once on the device.

        Raises:
            Unsupported: the device has no memory for it.
            ExecutionError: a library refused, or the device was lost.
            LibraryCrash: the process is gone.
        """
        self._run(desc, inputs, outputs, repeats=0)

    def time_execution(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        return self._run(desc, inputs, outputs, repeats)

    def time_copy(self, size: int, repeats: int) -> list[float]:
        with _explained(f"copy {size} bytes"):
            return self._running().copy(size, repeats)

    def close(self) -> None:
        """End the processes; the next case starts new ones."""
        super().close()
        if self._executor is not None:
            self._executor.close()

    def _run(self, desc: OperatorDesc, inputs: Bindings, outputs: Bindings, repeats: int) -> list[float]:
        executor = self._running()
        block = self._execution_packer.pack(desc)
        with _explained(f"execute {desc.operator} {msgspec.json.encode(desc).decode()}"):
            return executor.execute(block, *_resources(desc, inputs, outputs), repeats)

    def _running(self) -> DeviceProcess:
        """The process with the device, a new one if there is none."""
        if self._executor is None or not self._executor.is_running:
            self._executor = start(self._setup)
            self._execution_packer = Packer(self._executor.hello.address)
        return self._executor

    def _start(self) -> Decider:
        """The process that decides.

        A descriptor that takes the library down costs milliseconds in the process that has no device, and seconds in
        the one that has. So the former decides, wherever there is one and the library supports the same data types
        there: nothing else of a device is known to change decisions.
        """
        executor = self._running()
        if platform.system() == "Linux":
            for profile in PROFILES.values():
                worker = without_device.start(self._library, profile)
                if worker.hello.data_types == executor.hello.data_types:
                    return worker
                worker.close()
        return executor


@contextmanager
def _explained(task: str) -> Iterator[None]:
    """Put into a backend's words what a process could not do."""
    try:
        yield
    except NoMemory as error:
        raise Unsupported(str(error)) from None
    except LibraryCrash as crash:
        raise LibraryCrash(f"the DirectML library or the device's {crash}; it was to {task}") from None


def _resources(
    desc: OperatorDesc, inputs: Bindings, outputs: Bindings
) -> tuple[list[BoundResource | None], list[BoundResource | None]]:
    """The tensors' resources in the order of the operator's struct. A tensor left out keeps its place."""

    def resource(key: str, tensor: TensorDesc | None, bindings: Bindings) -> BoundResource | None:
        if tensor is None:
            return None
        return BoundResource(bindings[key], bool(tensor.flags & TensorFlag.OWNED_BY_DML))

    def resources(role: Role, bindings: Bindings) -> list[BoundResource | None]:
        found: list[BoundResource | None] = []
        for field in (field for field in desc.fields if field.role is role):
            key, value = field.attribute, getattr(desc, field.attribute)
            if field.kind is TENSORS:
                found += [resource(f"{key}[{n}]", tensor, bindings) for n, tensor in enumerate(value)]
            else:
                found.append(resource(key, value, bindings))
        return found

    return resources(Role.INPUT, inputs), resources(Role.OUTPUT, outputs)


def _read_device(device: str) -> tuple[str, Level | None]:
    chosen: str | None = None
    level: Level | None = None
    for word in filter(None, device.split(",")):
        if names_device(word) and chosen is None:
            chosen = word
        elif word[0].isdigit() and level is None:
            level = Level.parse(word)
        else:
            raise ValueError(f"{word!r} in {device!r}: expected one of d3d12 or warp, and at most one feature level")
    return chosen or "d3d12", level
