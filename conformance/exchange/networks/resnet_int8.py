"""ResNet-50 in 8 bits: unsigned activations, signed weights with a scale for each channel, normalization folded.

Layers: as `resnet`; the form: resnet50-v1-12-int8 of https://github.com/onnx/models, in operators of ONNX itself, so
sums are made of dequantized numbers. A convolution that quantizes to a zero point of 0 has its ReLU by saturating.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph
from dml_conformance.conformance.exchange.networks.resnet import BLOCKS, EXPANSION

RELU, SIGNED = 0, 128  # zero points of what is not negative, and of what may be


def resnet50_int8(
    batch: int = 1, *, image: int = 224, width: int = 64, blocks: Sequence[int] = BLOCKS, classes: int = 1000
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs; arguments as of `resnet.resnet50`."""
    net = _Quantized(NetworkGraph("resnet50-int8", "fp32"))
    graph = net.graph
    x = net.quantize("image", graph.input("image", (batch, 3, image, image)), SIGNED)
    x = net.conv("conv1", x, 3, width, 7, stride=2)
    pooled = graph.node("MaxPool", x, name="maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x, channels = net.same_scale(pooled, x), width
    for stage, number in enumerate(blocks):
        for block in range(number):
            with graph.scope(f"layer{stage + 1}", block):
                x = _bottleneck(net, x, channels, width << stage, 2 if stage and not block else 1)
            channels = (width << stage) * EXPANSION
    x = graph.node("Flatten", graph.node("GlobalAveragePool", net.dequantize("avgpool.in", x), name="avgpool"))
    x = net.linear("fc", net.quantize("avgpool", x, RELU), channels, classes)
    return graph, [x]


def _bottleneck(net: _Quantized, x: str, inputs: int, width: int, stride: int) -> str:
    outputs, shortcut, graph = width * EXPANSION, x, net.graph
    y = net.conv("conv1", x, inputs, width, 1)
    y = net.conv("conv2", y, width, width, 3, stride=stride)
    y = net.conv("conv3", y, width, outputs, 1, zero_point=SIGNED)
    if inputs != outputs or stride > 1:
        shortcut = net.conv("downsample", x, inputs, outputs, 1, stride=stride, zero_point=SIGNED)
    y = graph.node("Add", net.dequantize("add.left", y), net.dequantize("add.right", shortcut), name="add")
    return net.quantize("relu", graph.node("Relu", y), RELU)


class _Quantized:
    """A graph whose tensors of 8 bits have a scale and a zero point, by the tensor's name."""

    def __init__(self, graph: NetworkGraph) -> None:
        self.graph = graph
        self._scales: dict[str, tuple[str, str]] = {}

    def same_scale(self, x: str, of: str) -> str:
        """`x`, whose numbers are those of another tensor."""
        self._scales[x] = self._scales[of]
        return x

    def quantize(self, name: str, x: str, zero_point: int) -> str:
        to = self._scale(name, zero_point)
        return self._noted(self.graph.node("QuantizeLinear", x, *to, name=f"{name}.quantize"), to)

    def dequantize(self, name: str, x: str) -> str:
        return self.graph.node("DequantizeLinear", x, *self._scales[x], name=f"{name}.dequantize")

    def conv(
        self, name: str, x: str, inputs: int, outputs: int, kernel: int, *, stride: int = 1, zero_point: int = RELU
    ) -> str:
        graph, to = self.graph, self._scale(name, zero_point)
        weight = graph.weight(f"{name}.weight", outputs, inputs, kernel, kernel, element=TensorProto.INT8)
        scale, zero = (
            graph.buffer(f"{name}.weight_scale", outputs),
            graph.constant(0, outputs, element=TensorProto.INT8),
        )
        bias = graph.weight(f"{name}.bias", outputs, element=TensorProto.INT32)
        made = graph.node(
            "QLinearConv", x, *self._scales[x], weight, scale, zero, *to, bias, name=name,
            kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4,
        )  # fmt: skip
        return self._noted(made, to)

    def linear(self, name: str, x: str, inputs: int, outputs: int) -> str:
        graph, to = self.graph, self._scale(name, SIGNED)
        weight = graph.weight(f"{name}.weight", inputs, outputs, element=TensorProto.INT8)
        of_weight = graph.buffer(f"{name}.weight_scale"), graph.constant(0, element=TensorProto.INT8)
        product = graph.node("QLinearMatMul", x, *self._scales[x], weight, *of_weight, *to, name=name)
        product = self.dequantize(name, self._noted(product, to))
        return graph.node("Add", product, graph.weight(f"{name}.bias", outputs), name=f"{name}.add")

    def _scale(self, name: str, zero_point: int) -> tuple[str, str]:
        return self.graph.buffer(f"{name}.scale"), self.graph.constant(zero_point, element=TensorProto.UINT8)

    def _noted(self, x: str, scale: tuple[str, str]) -> str:
        self._scales[x] = scale
        return x
