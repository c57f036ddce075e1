"""Recording, in the process that has the library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from dml_conformance.backends.directml.com import ComError
from dml_conformance.backends.directml.device import DirectmlDevice
from dml_conformance.backends.directml.execution.gpu import DeviceRemoved, Gpu
from dml_conformance.backends.directml.execution.interfaces import Device, DmlDevice, StructReturn
from dml_conformance.backends.directml.execution.structures import BindingProperties, BufferBinding
from dml_conformance.backends.directml.execution.work import Operand, Program, Work, aligned
from dml_conformance.backends.directml.recording import calls
from dml_conformance.backends.directml.recording.device import RecordingNullDevice
from dml_conformance.backends.directml.recording.protocol import (
    Answer,
    Failed,
    Operator,
    Recorded,
    Refused,
    Request,
    Tensor,
)
from dml_conformance.backends.directml.structs import OPERATOR_DESC_AT


class Session:
    """Records on one device of DirectML.

    Args:
        null: the recording device.
        directml: DirectML on it; at the end it is closed.
        memory: the address for which blocks are made.
    """

    def __init__(self, null: RecordingNullDevice, directml: DirectmlDevice, memory: int) -> None:
        self._null = null
        self._journal = null.journal
        self._directml = directml
        self._memory = memory

    def answer(self, request: Request) -> Answer:
        """Record every operator of a request, then release everything, DirectML's device too."""
        try:
            with self._gpu() as gpu:
                answer = self._record_all(gpu, request)
        except (ComError, DeviceRemoved) as error:
            answer = Failed(str(error))
        self._directml.close()
        if unexpected := "; ".join(self._journal.unexpected):
            return Failed(f"calls that the recording device does not provide for: {unexpected}")
        unreturned = self._journal.unreturned()
        if unreturned and not isinstance(answer, Failed):
            return Failed(f"objects and their references after all were released: {', '.join(unreturned)}")
        return answer

    @contextmanager
    def _gpu(self) -> Iterator[Gpu]:
        how = StructReturn.VALUE
        with ExitStack() as held:
            devices = (Device(self._null.device.address, how), DmlDevice(self._directml.address, how))
            for device in devices:
                device.add_ref()  # it has two owners now
                held.enter_context(device)
            gpu = Gpu(*devices)
            held.pop_all()  # they are the Gpu's own from now on
        try:
            yield gpu
        finally:
            gpu.close()

    def _record_all(self, gpu: Gpu, request: Request) -> Answer:
        recordings = []
        for index, operator in enumerate(request.operators):
            try:
                recordings.append(self._record(gpu, operator, request.offset))
            except ComError as error:
                return Refused(index, str(error))
        return Recorded(tuple(recordings))

    def _record(self, gpu: Gpu, operator: Operator, offset: int) -> calls.Recording:
        ctypes.memmove(self._memory, operator.block, len(operator.block))
        self._journal.take()
        with ExitStack() as held:
            program = held.enter_context(Program(gpu, self._memory + OPERATOR_DESC_AT))
            compilation = self._journal.take()
            needs, initializer_needs = program.needs, program.initializer_needs
            temporary = max(needs.TemporaryResourceSize, initializer_needs.TemporaryResourceSize)
            work = Work(
                program,
                self._operands(gpu, operator.inputs, offset, held),
                self._operands(gpu, operator.outputs, offset, held),
                self._scratch(gpu, "temporary", temporary, held),
                self._scratch(gpu, "persistent", needs.PersistentResourceSize, held),
            )
            descriptors = gpu.descriptors(work.descriptor_count)
            with gpu.recording() as commands:
                work.bind_initialization(gpu, descriptors, 0, held)
                work.record_initialization(gpu, commands)
                initialization = calls.Stage(_properties(initializer_needs), self._journal.take())
                work.bind_execution(gpu, descriptors, initializer_needs.RequiredDescriptorCount, held)
                work.record_dispatch(gpu, commands)
                execution = calls.Stage(_properties(needs), self._journal.take())
        return calls.Recording(operator.name, compilation, initialization, execution)

    def _operands(
        self, gpu: Gpu, tensors: Sequence[Tensor | None], offset: int, held: ExitStack
    ) -> list[Operand | None]:
        return [
            None
            if tensor is None
            else Operand(self._buffer(gpu, tensor.name, offset, tensor.size, held), tensor.is_owned)
            for tensor in tensors
        ]

    def _scratch(self, gpu: Gpu, name: str, size: int, held: ExitStack) -> BufferBinding | None:
        return self._buffer(gpu, name, 0, aligned(size), held) if size else None

    def _buffer(self, gpu: Gpu, name: str, offset: int, size: int, held: ExitStack) -> BufferBinding:
        resource = held.enter_context(gpu.buffer(offset + aligned(size)))
        self._journal.rename(resource.pointer, name)
        return BufferBinding(resource.pointer, offset, size)


def _properties(of: BindingProperties) -> calls.BindingProperties:
    return calls.BindingProperties(of.RequiredDescriptorCount, of.TemporaryResourceSize, of.PersistentResourceSize)
