"""An operator made ready to run: compiled, with its initializer, its tensors bound, its dispatches recorded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import POINTER
from dml_conformance.backends.directml.execution.gpu import Descriptors, Gpu
from dml_conformance.backends.directml.execution.interfaces import Interface
from dml_conformance.backends.directml.execution.structures import (
    BindingDesc,
    BindingTableDesc,
    BufferArrayBinding,
    BufferBinding,
    CpuDescriptorHandle,
    GpuDescriptorHandle,
)
from dml_conformance.backends.directml.headers import IDML_OPERATOR, BindingType


class Program:
    """A compiled operator with its initializer.

    Args:
        gpu: where it is to run.
        desc: address of the DML_OPERATOR_DESC.

    Raises:
        ComError: it was not created, or not compiled.

    Attributes:
        compiled: the IDMLCompiledOperator.
        initializer: the IDMLOperatorInitializer.
        needs: DML_BINDING_PROPERTIES of the operator.
        initializer_needs: of the initializer.
    """

    def __init__(self, gpu: Gpu, desc: int) -> None:
        dml = gpu.dml
        with ExitStack() as held:
            enter = held.enter_context
            operator = enter(dml.create(IDML_OPERATOR, "CreateOperator", desc))
            what = (operator.pointer, headers.EXECUTION_FLAG_NONE)
            self.compiled = enter(dml.create(headers.IDML_COMPILED_OPERATOR, "CompileOperator", *what))
            operators = (1, (POINTER * 1)(self.compiled.pointer))
            table = headers.IDML_OPERATOR_INITIALIZER
            self.initializer = enter(dml.create(table, "CreateOperatorInitializer", *operators))
            operator.close()  # compiled, it is needed no more
            self._held = held.pop_all()
        self.needs: Any = self.compiled.GetBindingProperties()
        self.initializer_needs: Any = self.initializer.GetBindingProperties()

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Operand(NamedTuple):
    """A tensor's place in memory.

    Attributes:
        binding: DML_BUFFER_BINDING, the range of a resource.
        is_owned: whether the tensor has DML_TENSOR_FLAG_OWNED_BY_DML: then the operator gets it once, when it is
            initialized, and not again when it is dispatched.
    """

    binding: ctypes.Structure
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
        temporary: ctypes.Structure | None,
        persistent: ctypes.Structure | None,
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
            _bind(self._initialization.BindInputs, [BufferArrayBinding(len(buffers), ctypes.addressof(array))])
        if needs.TemporaryResourceSize:
            _bind_one(self._initialization.BindTemporaryResource, self._temporary)
        _bind(self._initialization.BindOutputs, [self._persistent])

    def bind_execution(self, gpu: Gpu, descriptors: Descriptors, first: int, bindings: ExitStack) -> None:
        """As `bind`, for the operator alone: it gets the tensors that are not owned."""
        compiled, needs = self._program.compiled, self._program.needs
        self._execution = _table(gpu, compiled, needs, descriptors, first, bindings)
        given = [operand.binding if operand and not operand.is_owned else None for operand in self._inputs]
        _bind(self._execution.BindInputs, given)
        _bind(self._execution.BindOutputs, [operand and operand.binding for operand in self._outputs])
        if needs.TemporaryResourceSize:
            _bind_one(self._execution.BindTemporaryResource, self._temporary)
        if self._persistent is not None:
            _bind_one(self._execution.BindPersistentResource, self._persistent)

    def record_initialization(self, gpu: Gpu, commands: Interface) -> None:
        gpu.recorder.RecordDispatch(commands.pointer, self._program.initializer.pointer, self._initialization.pointer)

    def record_dispatch(self, gpu: Gpu, commands: Interface) -> None:
        gpu.recorder.RecordDispatch(commands.pointer, self._program.compiled.pointer, self._execution.pointer)


def _table(
    gpu: Gpu, dispatchable: Interface, needs: Any, descriptors: Descriptors, first: int, bindings: ExitStack
) -> Interface:
    desc = BindingTableDesc(
        dispatchable.pointer,
        CpuDescriptorHandle(descriptors.cpu_start + first * descriptors.increment),
        GpuDescriptorHandle(descriptors.gpu_start + first * descriptors.increment),
        needs.RequiredDescriptorCount,
    )
    table = gpu.dml.create(headers.IDML_BINDING_TABLE, "CreateBindingTable", ctypes.byref(desc))
    return bindings.enter_context(table)


def _bind(function: Callable[..., None], bindings: Sequence[ctypes.Structure | None]) -> None:
    """Call BindInputs or BindOutputs, which read what they are given at once."""
    descs = (BindingDesc * len(bindings))(*map(_binding_desc, bindings))
    function(len(bindings), descs)


def _bind_one(function: Callable[..., None], binding: ctypes.Structure | None) -> None:
    function(ctypes.byref(_binding_desc(binding)))


def _binding_desc(binding: ctypes.Structure | None) -> ctypes.Structure:
    """DML_BINDING_DESC; the caller keeps the binding alive."""
    if binding is None:
        return BindingDesc(BindingType.NONE, None)
    kind = BindingType.BUFFER if isinstance(binding, BufferBinding) else BindingType.BUFFER_ARRAY
    return BindingDesc(kind, ctypes.addressof(binding))


def aligned(size: int) -> int:
    """A size that the next buffer for DirectML's own use may follow, or end at."""
    return (size + headers.BUFFER_ALIGNMENT - 1) & -headers.BUFFER_ALIGNMENT
