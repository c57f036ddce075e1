"""Recording: the real library, driven by the product's execution path on the recording device, in its own process.

A copy of that process answers each request. So every recording starts with a device that has compiled nothing before,
and a crash of the library costs one recording.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.com import ComError
from dml_conformance.backends.directml.device import DirectmlDevice
from dml_conformance.backends.directml.errors import LibraryCrash
from dml_conformance.backends.directml.execution.gpu import Gpu
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn
from dml_conformance.backends.directml.execution.structures import BufferBinding
from dml_conformance.backends.directml.execution.work import Operand, OperatorDispatch, Program, aligned
from dml_conformance.backends.directml.headers import ID3D12_DEVICE, IDML_DEVICE
from dml_conformance.backends.directml.library import LibraryFile, cache_folder
from dml_conformance.backends.directml.profiles import FULL, PROFILES, Profile
from dml_conformance.backends.directml.structs import BLOCK_SIZE, OPERATOR_DESC_AT, Packer
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.operator import Field, OperatorDesc
from dml_conformance.spec.registry import spec_of
from recording_device import calls
from recording_device.device import RecordingNullDevice

ANSWER_SECONDS = 60


class OperatorRefused(ValueError):
    """The library does not take an operator: which call failed and how, and which of the operators it was."""

    def __init__(self, problem: str, index: int) -> None:
        super().__init__(problem, index)
        self.index = index

    def __str__(self) -> str:
        return str(self.args[0])


class Recorder:
    """Records what DirectML calls to run operators.

    Attributes:
        level: what the library says it speaks.
        data_types: what it says it supports on the device, as numbers.
    """

    def __init__(self, library: LibraryFile, profile: Profile = FULL) -> None:
        context = get_context("spawn")
        self._pipe, other = context.Pipe()
        arguments = (other, library.path, stubs.build(cache_folder()), profile.name)
        self._process = context.Process(target=_serve, args=arguments)
        self._process.start()
        other.close()
        self.level, self.data_types = self._pipe.recv()

    def record(self, descs: Sequence[OperatorDesc], offset: int = 0) -> tuple[calls.Recording, ...]:
        """Have operators created, compiled, initialized and dispatched, one after the other, on a device of their own.

        Args:
            descs: in this order. Those after the first may find pipelines that an earlier one has made.
            offset: where in its buffer each tensor starts, in bytes.

        Raises:
            OperatorRefused: the library rejects one.
            RuntimeError: the library calls something that is not provided for, or keeps something.
            LibraryCrash: the library took its process down; the next call has another.
        """
        self._pipe.send((list(descs), offset))
        answer = self._pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return tuple(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, library: Path, folder: Path, profile: str) -> None:
    """Load the library, and have copies of this process answer until the requests end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = RecordingNullDevice(PROFILES[profile])
    kept = stubs.load(folder, null.create_adapter_factory, null.serialize_versioned_root_signature)
    directml = DirectmlDevice(library, null.device.address)
    pipe.send((directml.level(), sorted(directml.data_types())))
    while True:
        try:
            descs, offset = pipe.recv()
        except EOFError:
            break
        copy = os.fork()
        if copy == 0:
            signal.alarm(ANSWER_SECONDS)
            pipe.send(_answer(null, directml, descs, offset))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        if code:
            name = signal.Signals(-code).name if code < 0 else f"code {code}"
            names = ", ".join(desc.operator for desc in descs)
            pipe.send(LibraryCrash(f"died of {name}; it was to record {names}"))
    directml.close()
    del kept


def _answer(null: RecordingNullDevice, directml: DirectmlDevice, descs: list[OperatorDesc], offset: int) -> Any:
    """The recordings, or what is to be raised. Everything is released then, DirectML's device too."""
    try:
        answer = _record_all(null, directml, descs, offset)
    except OperatorRefused as refused:
        answer = refused
    except Exception as error:
        answer = RuntimeError(str(error))
    directml.close()
    if null.unexpected:
        return RuntimeError(f"calls that the recording device does not provide for: {'; '.join(null.unexpected)}")
    if unreturned := null.journal.unreturned():
        return RuntimeError(f"objects and their references after all were released: {', '.join(unreturned)}")
    return answer


def _record_all(null: RecordingNullDevice, directml: DirectmlDevice, descs: list[OperatorDesc], offset: int) -> Any:
    how = StructReturn.VALUE
    devices = Interface(ID3D12_DEVICE, null.device.address, how), Interface(IDML_DEVICE, directml.address, how)
    for device in devices:
        device.AddRef()  # it has two owners now
    gpu = Gpu(*devices)
    recordings = []
    try:
        for index, desc in enumerate(descs):
            try:
                recordings.append(_record(null, gpu, desc, offset))
            except ComError as error:
                raise OperatorRefused(str(error), index) from None
    finally:
        gpu.close()
    return recordings


def _record(null: RecordingNullDevice, gpu: Gpu, desc: OperatorDesc, offset: int) -> calls.Recording:
    memory = ctypes.create_string_buffer(BLOCK_SIZE)
    address = ctypes.addressof(memory)
    block = bytes(Packer(address).pack(desc))
    ctypes.memmove(memory, block, len(block))
    journal = null.journal
    journal.take()
    with ExitStack() as held:

        def buffer(name: str, start: int, size: int) -> ctypes.Structure:
            made = held.enter_context(gpu.buffer(start + aligned(size)))
            journal.rename(made.pointer, name)
            return BufferBinding(made.pointer, start, size)

        def operand(field: Field) -> Operand | None:
            tensor = getattr(desc, field.attribute)
            if tensor is None:
                return None
            bound = buffer(field.name, offset, tensor.total_tensor_size_in_bytes)
            return Operand(bound, bool(tensor.flags & TensorFlag.OWNED_BY_DML))

        def scratch(name: str, size: int) -> ctypes.Structure | None:
            return buffer(name, 0, aligned(size)) if size else None

        program = held.enter_context(Program(gpu, address + OPERATOR_DESC_AT))
        compilation = journal.take()
        needs, initializer_needs = program.needs, program.initializer_needs
        work = OperatorDispatch(
            program,
            list(map(operand, spec_of(desc).input_fields)),
            list(map(operand, spec_of(desc).output_fields)),
            scratch("temporary", max(needs.TemporaryResourceSize, initializer_needs.TemporaryResourceSize)),
            scratch("persistent", needs.PersistentResourceSize),
        )
        descriptors = gpu.descriptors(work.descriptor_count)
        with gpu.recording() as commands:
            work.bind_initialization(gpu, descriptors, 0, held)
            work.record_initialization(gpu, commands)
            initialization = calls.Stage(_properties(initializer_needs), journal.take())
            work.bind_execution(gpu, descriptors, initializer_needs.RequiredDescriptorCount, held)
            work.record_dispatch(gpu, commands)
            execution = calls.Stage(_properties(needs), journal.take())
    return calls.Recording(desc.operator, compilation, initialization, execution)


def _properties(of: Any) -> calls.BindingProperties:
    return calls.BindingProperties(of.RequiredDescriptorCount, of.TemporaryResourceSize, of.PersistentResourceSize)
