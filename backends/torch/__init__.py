"""PyTorch as a backend, on the CPU and on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Mapping

try:
    import torch
except ImportError as error:
    raise ImportError("the torch backend needs PyTorch; run: pip install 'dml-conformance[torch]'") from error

from backends.base import Answer, Binding, Capabilities
from backends.torch.decisions import decide, operator_of
from backends.torch.device import describe, find_device, versions
from backends.torch.memory import DeviceResources, HostResources, element_type
from backends.torch.tables import OPERATORS
from backends.torch.timing import seconds
from spec.levels import Level
from spec.operator import OperatorDesc
from spec.rules import Category

__all__ = ["TorchBackend"]


class TorchBackend:
    """The operators by torch's own kernels, bit for bit.

    On the CPU resources are worked on where they lie; on CUDA they are copied to the device whole, and those of
    outputs back.

    Args:
        device: `cpu`, `cuda`, `cuda:0`; "" is CUDA if there is any, else the CPU.

    Raises:
        ValueError: there is no such device.
    """

    def __init__(self, device: str = "") -> None:
        self._device = find_device(device)
        self._on_cuda = self._device.type == "cuda"

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name=f"torch:{self._device}",
            device=describe(self._device),
            versions=versions(self._device),
            levels=tuple(Level),
            operators=tuple(OPERATORS),
            enforces=frozenset(Category),
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return decide(desc, level)

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        with torch.inference_mode():  # a fifth of the time of a small case is what autograd keeps account of
            resources = self._resources(inputs, outputs)
            _prepare(desc, resources, inputs, outputs)()
            resources.write_back(outputs.values())

    def time_execution(
        self,
        desc: OperatorDesc,
        level: Level,
        inputs: Mapping[str, Binding],
        outputs: Mapping[str, Binding],
        repeats: int,
    ) -> list[float]:
        with torch.inference_mode():
            resources = self._resources(inputs, outputs)
            found = seconds(_prepare(desc, resources, inputs, outputs), repeats, self._device)
            resources.write_back(outputs.values())
        return found

    def time_copy(self, size: int, repeats: int) -> list[float]:
        source = torch.ones(size, dtype=torch.uint8, device=self._device)
        target = torch.zeros_like(source)
        return seconds(lambda: target.copy_(source), repeats, self._device)

    def _resources(
        self, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> HostResources | DeviceResources:
        if self._on_cuda:
            return DeviceResources((*inputs.values(), *outputs.values()), self._device)
        return HostResources(outputs.values())


def _prepare(
    desc: OperatorDesc,
    resources: HostResources | DeviceResources,
    inputs: Mapping[str, Binding],
    outputs: Mapping[str, Binding],
) -> Callable[[], object]:
    """Everything but the work itself: the returned function reads the inputs' views and writes the output's."""
    operator = operator_of(desc)
    sources = []
    for attribute in operator.inputs:
        tensor = getattr(desc, attribute)
        dtype = element_type(tensor, attribute == operator.indices)
        sources.append(resources.view(inputs[attribute], tensor, dtype))
    tensor = getattr(desc, operator.output)
    target = resources.view(outputs[operator.output], tensor, element_type(tensor, False))
    if target.is_contiguous():
        return lambda: operator.run(desc, *sources, out=target)
    return lambda: target.copy_(operator.run(desc, *sources))
