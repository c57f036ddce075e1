"""The `directml` backend on a device: it decides as the library does there, and it executes."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from typing import NoReturn, TypeVar

import msgspec

from dml_conformance.backends.base import Bindings, Capabilities, OutOfMemory
from dml_conformance.backends.directml import process as without_device
from dml_conformance.backends.directml.backend import Decider, DirectmlBackend
from dml_conformance.backends.directml.com import ComError
from dml_conformance.backends.directml.execution.gpu import DeviceOutOfMemory, DeviceRemoved
from dml_conformance.backends.directml.execution.loader import choose, names_device
from dml_conformance.backends.directml.execution.opening import ExecutionDevice, open_device
from dml_conformance.backends.directml.execution.submission import Bound, Submission, time_copies
from dml_conformance.backends.directml.execution.work import Program
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.backends.directml.structs import BLOCK_SIZE, OPERATOR_DESC_AT, Packer
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.descriptor import OperatorDesc, Role
from dml_conformance.spec.field_kinds import TENSORS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc

DEVICE_REMOVED = 70  # exit status

_T = TypeVar("_T")


class DeviceBackend(DirectmlBackend):
    """The real library on a Direct3D 12 device.

    Library and device live in this process: what ends them, or leaves the device of no use, ends it too. Descriptors
    are decided on in another process, without the device, as far as that can be had: see `_start`.

    Args:
        device: words joined by commas: `d3d12`, `d3d12=/path/libd3d12.so` or `warp`, see `loader.choose`, and, if a
            certain one is wanted, the feature level of the library (`d3d12,5_2`).

    Raises:
        ValueError: a word means nothing here.
        DirectmlError, ComError: a library cannot be had or does not run here.
    """

    def __init__(self, device: str = "d3d12") -> None:
        word, level = _read_device(device)
        self._setup, library = choose(word, level)
        self._opened = open_device(self._setup)
        self._memory = ctypes.create_string_buffer(BLOCK_SIZE)
        self._execution_packer = Packer(ctypes.addressof(self._memory))
        self._begin(device, library)
        self._versions |= self._opened.versions
        self._device_name = self._opened.name

    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(
            super().capabilities(),
            enforces=frozenset(Category),
            executes=True,
            accelerated=not self._setup.dxgi,  # but for Windows' software adapter
        )

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        """Run the operator once on the device.

        Raises:
            OutOfMemory: the device has no memory for it.
            ComError: a library refused.
        """
        self._submit(desc, inputs, outputs, Submission.run)

    def time_execution(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        return self._submit(desc, inputs, outputs, lambda submission: submission.time(repeats))

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return self._on_device(lambda: time_copies(self._opened.gpu, size, repeats))

    def _submit(self, desc: OperatorDesc, inputs: Bindings, outputs: Bindings, work: Callable[[Submission], _T]) -> _T:
        _receive(self._memory, self._execution_packer.pack(desc))
        address = ctypes.addressof(self._memory) + OPERATOR_DESC_AT
        gpu = self._opened.gpu

        def submit() -> _T:
            with Program(gpu, address) as program, Submission(gpu) as submission:
                submission.add(program, *_resources(desc, inputs, outputs))
                return work(submission)

        return self._on_device(submit)

    def _on_device(self, work: Callable[[], _T]) -> _T:
        """Have the device do something, and end this process where that costs the device."""
        try:
            return work()
        except DeviceOutOfMemory as error:
            raise OutOfMemory(str(error)) from None
        except DeviceRemoved as removed:
            _end_process(str(removed))
        except ComError as error:
            try:
                self._opened.gpu.check_alive()
            except DeviceRemoved as removed:
                _end_process(f"{error}; {removed}")
            raise

    def _start(self) -> Decider:
        """What decides.

        A descriptor that takes the library down costs milliseconds in the process that has no device, and seconds in
        the one that has. So the former decides, wherever there is one and the library supports the same data types
        there: nothing else of a device is known to change decisions.
        """
        here = DeviceDecider(self._opened)
        if platform.system() == "Linux":
            for feature_set in FEATURE_SETS.values():
                worker = without_device.start(self._library, feature_set)
                if worker.hello.data_types == here.hello.data_types:
                    return worker
                worker.close()
        return here


class DeviceDecider:
    """Decides on a device, in this process."""

    def __init__(self, opened: ExecutionDevice) -> None:
        self._directml = opened.directml
        self._memory = ctypes.create_string_buffer(BLOCK_SIZE)
        self.hello = Hello(
            address=ctypes.addressof(self._memory),
            level=self._directml.level(),
            data_types=tuple(sorted(self._directml.data_types())),
        )

    def ask(self, block: memoryview) -> Reply:
        _receive(self._memory, block)
        return Reply(self._directml.create_operator(self.hello.address + OPERATOR_DESC_AT), "")

    def close(self) -> None:
        """The device stays open."""


def _end_process(why: str) -> NoReturn:
    os.write(2, f"{why}\n".encode())
    os._exit(DEVICE_REMOVED)


def _receive(memory: ctypes.Array[ctypes.c_char], block: memoryview) -> None:
    memoryview(memory).cast("B")[: len(block)] = block


def _resources(
    desc: OperatorDesc, inputs: Bindings, outputs: Bindings
) -> tuple[list[Bound | None], list[Bound | None]]:
    """The tensors' resources in the order of the operator's struct. A tensor left out keeps its place."""

    def resource(key: str, tensor: TensorDesc | None, bindings: Bindings) -> Bound | None:
        if tensor is None:
            return None
        return Bound(*bindings[key], bool(tensor.flags & TensorFlag.OWNED_BY_DML))

    def resources(role: Role, bindings: Bindings) -> list[Bound | None]:
        found: list[Bound | None] = []
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
