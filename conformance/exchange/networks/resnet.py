"""ResNet-50, with the stride in the 3x3 convolutions.

Layers: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", table 1 (https://arxiv.org/abs/1512.03385);
where the stride is, and 25,557,032 parameters: torchvision/models/resnet.py (https://github.com/pytorch/vision).
"""

from __future__ import annotations

from collections.abc import Sequence

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph

EXPANSION = 4  # output channels of a bottleneck, as a multiple of its own
BLOCKS = (3, 4, 6, 3)


def resnet50(
    element: str,
    batch: int = 1,
    *,
    image: int = 224,
    width: int = 64,
    blocks: Sequence[int] = BLOCKS,
    classes: int = 1000,
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: images.
        image: their height and width.
        width: channels of the first convolution.
        blocks: bottlenecks of each stage.
        classes: that are told apart.
    """
    graph = NetworkGraph("resnet50", element)
    x = graph.input("image", (batch, 3, image, image))
    x = _conv_norm(graph, "conv1", x, 3, width, 7, 2)
    x = graph.node("Relu", x, name="relu")
    x = graph.node("MaxPool", x, name="maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage, number in enumerate(blocks):
        for block in range(number):
            with graph.scope(f"layer{stage + 1}", block):
                x = _bottleneck(graph, x, channels, width << stage, 2 if stage and not block else 1)
            channels = (width << stage) * EXPANSION
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x, name="avgpool"))
    return graph, [graph.gemm("fc", x, channels, classes)]


def _bottleneck(graph: NetworkGraph, x: str, inputs: int, width: int, stride: int) -> str:
    outputs, shortcut = width * EXPANSION, x
    y = graph.node("Relu", _conv_norm(graph, "conv1", x, inputs, width, 1))
    y = graph.node("Relu", _conv_norm(graph, "conv2", y, width, width, 3, stride))
    y = _conv_norm(graph, "conv3", y, width, outputs, 1)
    if inputs != outputs or stride > 1:
        shortcut = _conv_norm(graph, "downsample", x, inputs, outputs, 1, stride)
    return graph.node("Relu", graph.node("Add", y, shortcut, name="add"))


def _conv_norm(graph: NetworkGraph, name: str, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1) -> str:
    x = graph.conv(name, x, inputs, outputs, kernel, stride=stride)
    return graph.batch_norm(f"{name}.norm", x, outputs)
