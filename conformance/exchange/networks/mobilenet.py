"""MobileNetV3-Large: depthwise convolutions, squeeze-and-excite, hard swish.

Layers: Howard et al., "Searching for MobileNetV3", table 1 (https://arxiv.org/abs/1905.02244); widths of what squeezes,
and 5,483,032 parameters: torchvision/models/mobilenetv3.py (https://github.com/pytorch/vision).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph

EPSILON = 1e-3


class Bottleneck(NamedTuple):
    """A row of the table; `swish` is whether its activations are hard swish, not ReLU."""

    kernel: int
    expanded: int
    outputs: int
    squeezes: bool
    swish: bool
    stride: int


BLOCKS = (
    Bottleneck(3, 16, 16, False, False, 1),
    Bottleneck(3, 64, 24, False, False, 2),
    Bottleneck(3, 72, 24, False, False, 1),
    Bottleneck(5, 72, 40, True, False, 2),
    Bottleneck(5, 120, 40, True, False, 1),
    Bottleneck(5, 120, 40, True, False, 1),
    Bottleneck(3, 240, 80, False, True, 2),
    Bottleneck(3, 200, 80, False, True, 1),
    Bottleneck(3, 184, 80, False, True, 1),
    Bottleneck(3, 184, 80, False, True, 1),
    Bottleneck(3, 480, 112, True, True, 1),
    Bottleneck(3, 672, 112, True, True, 1),
    Bottleneck(5, 672, 160, True, True, 2),
    Bottleneck(5, 960, 160, True, True, 1),
    Bottleneck(5, 960, 160, True, True, 1),
)


def mobilenetv3_large(
    element: str, batch: int = 1, *, image: int = 224, blocks: Sequence[Bottleneck] = BLOCKS, classes: int = 1000
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: images.
        image: their height and width.
        blocks: rows of the table.
        classes: that are told apart.
    """
    graph = NetworkGraph("mobilenetv3-large", element)
    channels, last = 16, blocks[-1].outputs * 6
    x = _conv(graph, "stem", graph.input("image", (batch, 3, image, image)), 3, channels, 3, stride=2)
    x = _activation(graph, x, True)
    for number, block in enumerate(blocks, 1):
        with graph.scope("features", number):
            x = _bottleneck(graph, x, channels, block)
        channels = block.outputs
    x = _activation(graph, _conv(graph, "head", x, channels, last, 1), True)
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x, name="avgpool"))
    x = _activation(graph, graph.gemm("classifier.0", x, last, last * 4 // 3), True)
    return graph, [graph.gemm("classifier.3", x, last * 4 // 3, classes)]


def _bottleneck(graph: NetworkGraph, x: str, inputs: int, block: Bottleneck) -> str:
    y, expanded = x, block.expanded
    if expanded != inputs:
        y = _activation(graph, _conv(graph, "expand", y, inputs, expanded, 1), block.swish)
    y = _conv(graph, "depthwise", y, expanded, expanded, block.kernel, stride=block.stride, groups=expanded)
    y = _activation(graph, y, block.swish)
    if block.squeezes:
        y = _squeeze_and_excite(graph, y, expanded)
    y = _conv(graph, "project", y, expanded, block.outputs, 1)
    return graph.node("Add", x, y, name="add") if block.stride == 1 and inputs == block.outputs else y


def _squeeze_and_excite(graph: NetworkGraph, x: str, channels: int) -> str:
    narrow = divisible_by_8(channels / 4)
    scale = graph.node("GlobalAveragePool", x, name="squeeze")
    scale = graph.node("Relu", graph.conv("fc1", scale, channels, narrow, bias=True))
    scale = graph.conv("fc2", scale, narrow, channels, bias=True)
    scale = graph.node("HardSigmoid", scale, alpha=1 / 6, beta=0.5, name="hardsigmoid")
    return graph.node("Mul", scale, x, name="excite")


def divisible_by_8(channels: float) -> int:
    """The nearest multiple of 8, at least 8, and at least nine tenths."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def _conv(
    graph: NetworkGraph, name: str, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> str:
    x = graph.conv(name, x, inputs, outputs, kernel, stride=stride, groups=groups)
    return graph.batch_norm(f"{name}.norm", x, outputs, EPSILON)


def _activation(graph: NetworkGraph, x: str, swish: bool) -> str:
    return graph.node("HardSwish" if swish else "Relu", x)
