"""An operator made ready to run: compiled, with its initializer, its tensors bound, its dispatches recorded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple, Self

from dml_conformance.backends.directml.com import POINTER
from dml_conformance.backends.directml.execution import headers
from dml_conformance.backends.directml.execution.gpu import Descriptors, Gpu
from dml_conformance.backends.directml.execution.headers import BindingType
from dml_conformance.backends.directml.execution.interfaces import (
    BindingTable,
    CommandList,
    CompiledOperator,
    Dispatchable,
    DmlOperator,
    OperatorInitializer,
)
from dml_conformance.backends.directml.execution.structures import (
    BindingDesc,
    BindingProperties,
    BindingTableDesc,
    BufferArrayBinding,
    BufferBinding,
    CpuDescriptorHandle,
    GpuDescriptorHandle,
)


class Program:
    """A compiled operator with its initializer.

    Args:
        gpu: where it is to run.
        desc: address of the DML_OPERATOR_DESC.

    Raises:
        ComError: it was not created, or not compiled.
    """

    def __init__(self, gpu: Gpu, desc: int) -> None:
        dml = gpu.dml
        with ExitStack() as held:
            operator = held.enter_context(dml.create(DmlOperator, dml.create_operator, desc))
            compiled = dml.create(CompiledOperator, dml.compile_operator, operator.pointer, headers.EXECUTION_FLAG_NONE)
            self.compiled = held.enter_context(compiled)
            operators = (POINTER * 1)(compiled.pointer)
            initializer = dml.create(OperatorInitializer, dml.create_operator_initializer, 1, operators)
            self.initializer = held.enter_context(initializer)
            operator.close()  # compiled, it is needed no more
            self._held = held.pop_all()
        self.needs: BindingProperties = self.compiled.get_binding_properties()
        self.initializer_needs: BindingProperties = self.initializer.get_binding_properties()

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Operand(NamedTuple):
    """A tensor's place in memory.

    Attributes:
        binding: the range of a resource.
        is_owned: whether the tensor has DML_TENSOR_FLAG_OWNED_BY_DML: then the operator gets it once, when it is
            initialized, and not again when it is dispatched.
    """

    binding: BufferBinding
    is_owned: bool = False


class OperatorDispatch:
    """An operator with its resources on the device.

    Args:
        program: the operator; it is to live as long as this.
        inputs: its tensors in the order of its struct, None for one left out.
        outputs: likewise.
        temporary: memory for DirectML's own use, where it needs some.
        persistent: likewise, from the initialization on.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Operand | None],
        outputs: Sequence[Operand | None],
        temporary: BufferBinding | None,
        persistent: BufferBinding | None,
    ) -> None:
        self._program = program
        self._inputs = inputs
        self._outputs = outputs
        self._temporary = temporary
        self._persistent = persistent
        self.descriptor_count = (
            program.needs.RequiredDescriptorCount + program.initializer_needs.RequiredDescriptorCount
        )

    def bind(self, gpu: Gpu, descriptors: Descriptors, first: int, bindings: ExitStack) -> None:
        """Write the descriptors of both dispatches, from the one of that number on; `bindings` keeps the tables."""
        self.bind_initialization(gpu, descriptors, first, bindings)
        first += self._program.initializer_needs.RequiredDescriptorCount
        self.bind_execution(gpu, descriptors, first, bindings)

    def bind_initialization(self, gpu: Gpu, descriptors: Descriptors, first: int, bindings: ExitStack) -> None:
        """As `bind`, for the initializer alone: it gets the tensors that are owned."""
        initializer, needs = self._program.initializer, self._program.initializer_needs
        self._initialization = _table(gpu, initializer, needs, descriptors, first, bindings)
        owned = [operand.binding if operand and operand.is_owned else None for operand in self._inputs]
        if any(owned):
            buffers = [binding or BufferBinding() for binding in owned]
            array = (BufferBinding * len(buffers))(*buffers)
            _bind(self._initialization.bind_inputs, [BufferArrayBinding(len(buffers), ctypes.addressof(array))])
        if needs.TemporaryResourceSize:
            _bind_one(self._initialization.bind_temporary_resource, self._temporary)
        _bind(self._initialization.bind_outputs, [self._persistent])

    def bind_execution(self, gpu: Gpu, descriptors: Descriptors, first: int, bindings: ExitStack) -> None:
        """As `bind`, for the operator alone: it gets the tensors that are not owned."""
        compiled, needs = self._program.compiled, self._program.needs
        self._execution = _table(gpu, compiled, needs, descriptors, first, bindings)
        given = [operand.binding if operand and not operand.is_owned else None for operand in self._inputs]
        _bind(self._execution.bind_inputs, given)
        _bind(self._execution.bind_outputs, [operand and operand.binding for operand in self._outputs])
        if needs.TemporaryResourceSize:
            _bind_one(self._execution.bind_temporary_resource, self._temporary)
        if self._persistent is not None:
            _bind_one(self._execution.bind_persistent_resource, self._persistent)

    def record_initialization(self, gpu: Gpu, commands: CommandList) -> None:
        gpu.recorder.record_dispatch(commands.pointer, self._program.initializer.pointer, self._initialization.pointer)

    def record_dispatch(self, gpu: Gpu, commands: CommandList) -> None:
        gpu.recorder.record_dispatch(commands.pointer, self._program.compiled.pointer, self._execution.pointer)


def _table(
    gpu: Gpu,
    dispatchable: Dispatchable,
    needs: BindingProperties,
    descriptors: Descriptors,
    first: int,
    bindings: ExitStack,
) -> BindingTable:
    desc = BindingTableDesc(
        dispatchable.pointer,
        CpuDescriptorHandle(descriptors.cpu_start + first * descriptors.increment),
        GpuDescriptorHandle(descriptors.gpu_start + first * descriptors.increment),
        needs.RequiredDescriptorCount,
    )
    return bindings.enter_context(gpu.dml.create(BindingTable, gpu.dml.create_binding_table, ctypes.byref(desc)))


def _bind(function: Callable[..., None], bindings: Sequence[BufferBinding | BufferArrayBinding | None]) -> None:
    """Call BindInputs or BindOutputs, which read what they are given at once."""
    descs = (BindingDesc * len(bindings))(*map(_binding_desc, bindings))
    function(len(bindings), descs)


def _bind_one(function: Callable[..., None], binding: BufferBinding | None) -> None:
    function(ctypes.byref(_binding_desc(binding)))


def _binding_desc(binding: BufferBinding | BufferArrayBinding | None) -> BindingDesc:
    """The caller keeps the binding alive."""
    if binding is None:
        return BindingDesc(BindingType.NONE, None)
    kind = BindingType.BUFFER if isinstance(binding, BufferBinding) else BindingType.BUFFER_ARRAY
    return BindingDesc(kind, ctypes.addressof(binding))


def aligned(size: int) -> int:
    """A size that the next buffer for DirectML's own use may follow, or end at."""
    return (size + headers.BUFFER_ALIGNMENT - 1) & -headers.BUFFER_ALIGNMENT
