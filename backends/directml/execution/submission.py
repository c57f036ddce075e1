"""What runs on the device in one go: operators with their data, recorded into one list of commands.

The list copies the resources to the device, initializes the operators, dispatches them, and copies the resources back;
each is copied whole, so that what was written outside the bound range is seen.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple, Self

from dml_conformance.backends.base import Bytes
from dml_conformance.backends.directml.com import POINTER
from dml_conformance.backends.directml.execution.gpu import Gpu, all_writes_done, barrier, transition
from dml_conformance.backends.directml.execution.interfaces import Interface
from dml_conformance.backends.directml.execution.structures import BufferBinding
from dml_conformance.backends.directml.execution.work import Operand, OperatorDispatch, Program, aligned
from dml_conformance.backends.directml.headers import HeapType, ResourceState


class Bound(NamedTuple):
    """A resource with the range of it that is bound to a tensor.

    Attributes:
        data: all its bytes; they are replaced by what the device leaves there.
        offset: of the range, in bytes.
        size: of the range, in bytes.
        is_owned: whether the tensor has DML_TENSOR_FLAG_OWNED_BY_DML: then the operator gets it once, when it is
            initialized, and not again when it is dispatched.
    """

    data: Bytes | bytearray
    offset: int
    size: int
    is_owned: bool = False


class Submission:
    """Pieces of work that run together; all that they need on the device is released at the end of `with`.

    Args:
        gpu: where to run them; nothing else runs there meanwhile.
    """

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._held = ExitStack()
        self._works: list[OperatorDispatch] = []
        self._resources: list[_StagedResource] = []
        self._staged = 0  # bytes of all resources, each from an aligned place on

    def add(self, program: Program, inputs: Sequence[Bound | None], outputs: Sequence[Bound | None]) -> None:
        """Add a dispatch of an operator.

        Args:
            program: the operator; it is to live as long as this.
            inputs: its tensors' resources in the order of its struct, None for a tensor left out. Bindings that share
                data share a resource of the device.
            outputs: likewise.

        Raises:
            OutOfMemory, ComError: see `Gpu.buffer`.
        """
        needs, initializer_needs = program.needs, program.initializer_needs
        temporary = max(needs.TemporaryResourceSize, initializer_needs.TemporaryResourceSize)
        work = OperatorDispatch(
            program,
            [self._operand(bound) for bound in inputs],
            [self._operand(bound) for bound in outputs],
            self._scratch(temporary),
            self._scratch(needs.PersistentResourceSize),
        )
        self._works.append(work)

    def run(self) -> None:
        """Initialize every operator, dispatch each once, and bring the data back.

        Raises:
            DeviceRemoved, OutOfMemory, ComError: see `Gpu.recording` and `Gpu.buffer`.
        """
        self._run(self._dispatch)

    def time(self, repeats: int) -> list[float]:
        """As `run`, dispatching everything several times after a warm-up.

        Returns:
            Seconds of each repeat, by the device's own clock, transfers excluded.

        Raises:
            DeviceRemoved, OutOfMemory, ComError: see `run`.
        """
        with self._gpu.timestamps(repeats) as stamps:
            self._run(lambda commands: stamps.record(commands, self._dispatch))
            return stamps.seconds()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._works.clear()
        self._resources.clear()
        self._held.close()
        self._gpu.trim()

    # --- memory ---------------------------------------------------------------------------------------------------

    def _operand(self, bound: Bound | None) -> Operand | None:
        if bound is None:
            return None
        resource = next((placed.resource for placed in self._resources if placed.bound.data is bound.data), None)
        if resource is None:
            resource = self._held.enter_context(self._gpu.buffer(len(bound.data)))
            self._resources.append(_StagedResource(bound, resource, self._staged))
            self._staged += aligned(len(bound.data))
        return Operand(BufferBinding(resource.pointer, bound.offset, bound.size), bound.is_owned)

    def _scratch(self, size: int) -> ctypes.Structure | None:
        """DML_BUFFER_BINDING of a buffer for DirectML's own use, None where it needs none."""
        if not size:
            return None
        resource = self._held.enter_context(self._gpu.buffer(aligned(size)))
        return BufferBinding(resource.pointer, 0, aligned(size))

    # --- commands -------------------------------------------------------------------------------------------------

    def _run(self, dispatch: Callable[[Interface], None]) -> None:
        gpu, resources = self._gpu, self._resources
        upload = gpu.staging(HeapType.UPLOAD, self._staged)
        readback = gpu.staging(HeapType.READBACK, self._staged)
        for placed in resources:
            data = placed.bound.data
            ctypes.memmove(upload.address + placed.staged_at, _address(data), len(data))
        with ExitStack() as bindings:
            descriptors = gpu.descriptors(sum(work.descriptor_count for work in self._works))
            taken = 0
            for work in self._works:
                work.bind(gpu, descriptors, taken, bindings)
                taken += work.descriptor_count
            with gpu.recording() as commands:
                commands.SetDescriptorHeaps(1, (POINTER * 1)(descriptors.heap.pointer))
                for placed in resources:
                    size = len(placed.bound.data)
                    commands.CopyBufferRegion(
                        placed.resource.pointer, 0, upload.resource.pointer, placed.staged_at, size
                    )
                self._turn(commands, ResourceState.COPY_DEST, ResourceState.UNORDERED_ACCESS)
                for work in self._works:
                    work.record_initialization(gpu, commands)
                barrier(commands, [all_writes_done()])
                dispatch(commands)
                self._turn(commands, ResourceState.UNORDERED_ACCESS, ResourceState.COPY_SOURCE)
                for placed in resources:
                    size = len(placed.bound.data)
                    commands.CopyBufferRegion(
                        readback.resource.pointer, placed.staged_at, placed.resource.pointer, 0, size
                    )
        for placed in resources:
            data = placed.bound.data
            ctypes.memmove(_address(data), readback.address + placed.staged_at, len(data))

    def _dispatch(self, commands: Interface) -> None:
        for work in self._works:
            work.record_dispatch(self._gpu, commands)
        barrier(commands, [all_writes_done()])

    def _turn(self, commands: Interface, before: ResourceState, after: ResourceState) -> None:
        barrier(commands, [transition(placed.resource, before, after) for placed in self._resources])


def time_copies(gpu: Gpu, size: int, repeats: int) -> list[float]:
    """Seconds of each of several copies from device memory to device memory, by the device's own clock.

    Args:
        size: bytes of each copy.

    Raises:
        DeviceRemoved, OutOfMemory, ComError: see `Submission.run`.
    """
    with gpu.buffer(size) as source, gpu.buffer(size) as target, gpu.timestamps(repeats) as stamps:

        def copy(commands: Interface) -> None:
            commands.CopyBufferRegion(target.pointer, 0, source.pointer, 0, size)
            # Copies into the same place wait for each other only if they are told to.
            barrier(commands, [transition(target, ResourceState.COPY_DEST, ResourceState.COPY_SOURCE)])
            barrier(commands, [transition(target, ResourceState.COPY_SOURCE, ResourceState.COPY_DEST)])

        with gpu.recording() as commands:
            stamps.record(commands, copy)
        return stamps.seconds()


class _StagedResource(NamedTuple):
    """A bound resource on the device, and where it lies in the staging buffers."""

    bound: Bound
    resource: Interface
    staged_at: int


def _address(data: Bytes | bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(data))  # type: ignore[arg-type]  # an array is a buffer
