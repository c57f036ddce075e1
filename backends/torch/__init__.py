"""PyTorch as a backend, on the CPU and on CUDA.

On CUDA there are two ways to do an operator's work: a kernel of this backend's own (`kernels`), or eager torch. There
is a backend for each, to measure and to test them, and one that takes the faster one. Which way is taken is known
before anything is executed, and is part of what a backend says of itself: none stands in for another one unsaid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic, sleep
from typing import ClassVar, TypeVar

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise ImportError("the torch backend needs PyTorch; run: pip install 'dml-conformance[torch]'") from error

from dml_conformance.backends.base import Answer, Bindings, Capabilities, Execution, OutOfMemory
from dml_conformance.backends.torch import batch, kernels
from dml_conformance.backends.torch.decisions import decide, operator_of
from dml_conformance.backends.torch.device import describe, devices_for, find_device, in_full_precision, versions
from dml_conformance.backends.torch.kernels import Work
from dml_conformance.backends.torch.memory import (
    DeviceResources,
    HostResources,
    Resources,
    UnpackedElements,
    element_type,
    fill,
    held_in_bytes,
)
from dml_conformance.backends.torch.operators import Tensors, TorchOperator, torch_operators
from dml_conformance.backends.torch.timing import seconds, seconds_cold
from dml_conformance.spec.descriptor import slots
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc

__all__ = ["TorchBackend", "TorchEagerBackend", "TorchKernelsBackend"]

_T = TypeVar("_T")

# Bytes of an output. Below, both ways take as long as launches do, and a kernel has to be compiled first.
WORTH_A_KERNEL = 2**20
# Bytes of the elements of a case whose work may need more of the device's memory than there is.
LARGE_CASE = 2**26
# Bytes of that memory that a process keeps for its next case, as others judge on the same device.
MOST_KEPT = 2**28
MOST_WAITING = 60.0  # seconds for a device that has no room
# Seconds, of these, that tensors stay there and wait for room beside them: to bring them takes about as long.
MOST_HOLDING = 2.0
EAGER = "eager PyTorch"


class _Torch:
    """The operators on torch tensors, bit for bit.

    On the CPU resources are worked on where they lie; on CUDA they are copied to the device whole, and those of
    outputs back.

    Args:
        device: `cpu`, `cuda`, `cuda:0`; "" is CUDA if there is any, else the CPU.

    Raises:
        ValueError: there is no such device.
    """

    family: ClassVar[str]
    least_bytes: ClassVar[int | None]  # of an output that a kernel makes; None where none is to

    def __init__(self, device: str = "") -> None:
        self._device = find_device(device)
        in_full_precision()
        self._on_cuda = self._device.type == "cuda"
        self._without_kernels = self._why_without_kernels()

    @staticmethod
    def devices(device: str) -> list[str]:
        return devices_for(device)

    def _why_without_kernels(self) -> str:
        """Why nothing is done by kernels; "" where something is."""
        if self.least_bytes is None:
            return "as asked for"
        if not self._on_cuda:
            return "as kernels are for CUDA"
        missing = kernels.missing(self._device)
        return missing and f"as there are no kernels here: {missing}"

    def _paths(self) -> dict[str, str]:
        if self._without_kernels:
            return {"everything": f"{EAGER}, {self._without_kernels}"}
        kernel = f"Triton {kernels.version()} kernels, {EAGER} where no kernel takes the operator or layout"
        return {f"outputs of {WORTH_A_KERNEL:,} bytes and more": kernel, "smaller outputs": EAGER}

    def _operators(self) -> Iterable[str]:
        return torch_operators()

    @property
    def device(self) -> torch.device:
        """Where work is done."""
        return self._device

    def capabilities(self) -> Capabilities:
        found = versions(self._device)
        if not self._without_kernels:
            found["triton"] = str(kernels.version())
        return Capabilities(
            name=f"{self.family}:{self._device}",
            device=describe(self._device),
            versions=found,
            levels=tuple(Level),
            operators=tuple(self._operators()),
            enforces=frozenset(Category),
            accelerated=self._on_cuda,
            paths=self._paths(),
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return decide(desc, level)

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        self._run(desc, inputs, outputs, lambda work: work())

    def time_execution(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        return self._run(desc, inputs, outputs, lambda work: seconds(work, repeats, self._device))

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return seconds(self._copy(size), repeats, self._device)

    def time_execution_cold(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        return self._run(desc, inputs, outputs, lambda work: seconds_cold(work, repeats, self._device))

    def time_copy_cold(self, size: int, repeats: int) -> list[float]:
        return seconds_cold(self._copy(size), repeats, self._device)

    def _run(self, desc: OperatorDesc, inputs: Bindings, outputs: Bindings, how: Callable[[Work], _T]) -> _T:
        """Bring the resources to the device, have the work done there in some way, and bring them back.

        Where the device has no room it is waited for: other processes judge on it too, and give back what they had.

        Raises:
            OutOfMemory: there is none for long.
        """
        try:
            return _with_room(partial(self._run_now, desc, inputs, outputs, how), MOST_WAITING, 1.0)
        except torch.OutOfMemoryError as error:
            raise OutOfMemory(str(error)) from None

    def _run_now(self, desc: OperatorDesc, inputs: Bindings, outputs: Bindings, how: Callable[[Work], _T]) -> _T:
        with torch.inference_mode():  # a fifth of the time of a small case is what autograd keeps account of
            resources = self._resources(desc, inputs, outputs)
            work = self._prepare(desc, resources, inputs, outputs)
            is_large = self._on_cuda and _element_bytes(desc) > LARGE_CASE
            # In place, work that is broken off may have written what it reads.
            is_tried_again = is_large and not _share_memory(inputs, outputs)
            found = _with_room(partial(how, work), MOST_HOLDING, 0.1) if is_tried_again else how(work)
            if is_large:
                torch.cuda.empty_cache()  # of what the work took, before results go back, which takes longer than it
            resources.write_back(outputs.values())
        if self._on_cuda:
            is_much = torch.cuda.memory_reserved(self._device) > MOST_KEPT
            del resources, work
            if is_much:
                torch.cuda.empty_cache()
        return found

    def execute_on_device(self, desc: OperatorDesc, inputs: Tensors, outputs: Tensors) -> None:
        """Do what `execute` does, on tensors that lie on the device already.

        Args:
            desc: a descriptor that `validate` accepts.
            inputs: by slot, of the described sizes, elements of any type of their width.
            outputs: likewise; they are written.
        """
        types = self._element_types(desc)
        with torch.inference_mode():
            sources, targets = (
                {key: tensor.view(types[key]) for key, tensor in part.items()} for part in (inputs, outputs)
            )
            self._work(desc, sources, targets)()

    def _copy(self, size: int) -> Work:
        source = torch.ones(size, dtype=torch.uint8, device=self._device)
        target = torch.zeros_like(source)
        return lambda: target.copy_(source)

    def _resources(self, desc: OperatorDesc, inputs: Bindings, outputs: Bindings) -> HostResources | DeviceResources:
        if self._on_cuda:
            bound = {**inputs, **outputs}
            return DeviceResources([(bound[slot.key], slot.tensor) for slot in slots(desc)], self._device)
        return HostResources(outputs.values())

    def _prepare(self, desc: OperatorDesc, resources: Resources, inputs: Bindings, outputs: Bindings) -> Work:
        """Everything but the work itself: what is returned reads the inputs' views and writes the outputs'."""
        types = self._element_types(desc)
        sources: dict[str, torch.Tensor] = {}
        targets: dict[str, torch.Tensor] = {}
        packed: dict[str, tuple[TensorDesc, torch.Tensor]] = {}
        for key, _, field, tensor in slots(desc):
            views, bound = (targets, outputs) if field.is_output else (sources, inputs)
            if tensor.data_type.shares_bytes:
                packed[key] = tensor, resources.view(bound[key], held_in_bytes(tensor), torch.uint8)
            else:
                views[key] = resources.view(bound[key], tensor, types[key])
        if not packed:
            return self._work(desc, sources, targets)

        def work() -> None:
            unpacked = {key: UnpackedElements(resource, tensor) for key, (tensor, resource) in packed.items()}
            elements = {key: each.elements.view(types[key]) for key, each in unpacked.items()}
            read = {key: elements[key] for key in elements.keys() & inputs.keys()}
            written = {key: elements[key] for key in elements.keys() & outputs.keys()}
            self._work(desc, {**sources, **read}, {**targets, **written})()
            for key in written:
                unpacked[key].write_back()

        return work

    def _element_types(self, desc: OperatorDesc) -> dict[str, torch.dtype]:
        """By slot, what the operator takes the elements for: outputs are bits."""
        numbers = operator_of(desc).numbers
        return {
            key: element_type(tensor, not field.is_output and field.attribute in numbers)
            for key, _, field, tensor in slots(desc)
        }

    def _work(self, desc: OperatorDesc, sources: Tensors, targets: Mapping[str, Tensor]) -> Work:
        operator = operator_of(desc)
        if operator.plan is not None and len(targets) == 1 and not self._without_kernels:
            (target,) = targets.values()
            if target.nbytes >= (self.least_bytes or 0):
                kernel = kernels.prepared(operator.plan, desc, list(sources.values()), target)
                if kernel is not None:
                    return kernel
        return self._eager(operator, desc, sources, targets)

    def _eager(
        self, operator: TorchOperator, desc: OperatorDesc, sources: Tensors, targets: Mapping[str, Tensor]
    ) -> Work:
        parts = [
            (read, written, {key: of for key, of in written.items() if of.is_contiguous()} if operator.fills else None)
            for read, written in operator.parts(desc, sources, targets)
        ]

        def work() -> None:
            for read, written, packed in parts:
                results = operator.outputs(desc, read, self._device, packed)
                for key, target in written.items():
                    fill(target, results[key])

        return work


def _element_bytes(desc: OperatorDesc) -> int:
    """Bytes of all elements of a case: they may share memory; what is made of them does not."""
    return sum(slot.tensor.element_count * slot.tensor.data_type.bits for slot in slots(desc)) // 8


def _share_memory(inputs: Bindings, outputs: Bindings) -> bool:
    written = {id(binding.buffer) for binding in outputs.values()}
    return any(id(binding.buffer) in written for binding in inputs.values())


def _with_room(act: Callable[[], _T], most_seconds: float, pause: float) -> _T:
    """Do something again until the device has room for it, or raise torch.OutOfMemoryError after so many seconds."""
    give_up = monotonic() + most_seconds
    while True:
        try:
            return act()
        except torch.OutOfMemoryError as error:
            lacking = str(error)  # not the error: its traceback has what there was room for, and this frame
        torch.cuda.empty_cache()
        if monotonic() > give_up:
            raise torch.OutOfMemoryError(lacking)
        sleep(pause)


class TorchBackend(_Torch):
    """By whichever is faster: on CUDA by kernels where the output is large enough, else by eager torch."""

    family = "torch"
    least_bytes = WORTH_A_KERNEL

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        """Run many cases in one resource; see `batch.run`."""
        with torch.inference_mode():
            batch.run(executions, self._device, self._prepare)


class TorchEagerBackend(_Torch):
    """By eager torch alone."""

    family = "torch-eager"
    least_bytes = None


class TorchKernelsBackend(_Torch):
    """By kernels, however small the work is: to test them, on the CPU in Triton's interpreter.

    A kernel that cannot be made is an error. Eager torch does what none takes: other strides, or more dimensions.

    Raises:
        ValueError: no kernel can run on the device.
    """

    family = "torch-kernels"
    least_bytes = 0

    def __init__(self, device: str = "") -> None:
        super().__init__(device)
        if not kernels.run_on(self._device):
            if kernels.version() is None:
                what = "install Triton 3.2 or newer, as PyTorch for CUDA brings it: pip install triton"
            else:
                what = f"use cuda, or set the environment variable {kernels.INTERPRET} to 1 for Triton's interpreter"
            raise ValueError(f"no kernels run on {str(self._device)!r} here; {what}")

    def _why_without_kernels(self) -> str:
        return ""

    def _operators(self) -> Iterable[str]:
        return (name for name, operator in torch_operators().items() if operator.plan is not None)

    def _paths(self) -> dict[str, str]:
        where = "" if self._on_cuda else ", interpreted"
        return {
            "operators": f"Triton {kernels.version()} kernels{where}",
            "indices and outputs with strides": "copied by PyTorch, before and after",
            "types, strides or dimension counts that no kernel takes": "PyTorch",
        }
