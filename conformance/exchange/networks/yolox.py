"""The detection head of YOLOX-S: three scales of a 640x640 image, decoupled classes and boxes, decoded.

Layers: Ge et al., "YOLOX: Exceeding YOLO Series in 2021", section 2.1 (https://arxiv.org/abs/2107.08430);
yolox/models/yolo_head.py and exps/default/yolox_s.py of https://github.com/Megvii-BaseDetection/YOLOX (Apache-2.0):
half the width, so 128, 256 and 512 channels come in, 128 inside, 80 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph

STRIDES = (8, 16, 32)
EPSILON = 1e-3


def yolox_s_head(
    element: str,
    batch: int = 1,
    *,
    image: int = 640,
    channels: Sequence[int] = (128, 256, 512),
    width: int = 128,
    classes: int = 80,
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs: of each anchor the box, how sure it is that there is a thing, and the classes.

    Args:
        element: a key of `builder.FLOATS`.
        batch: images.
        image: their height and width, a multiple of 32.
        channels: of what comes in at each scale.
        width: channels inside.
        classes: that are told apart.
    """
    graph, scales = NetworkGraph("yolox-s-head", element), []
    for scale, (stride, inputs) in enumerate(zip(STRIDES, channels, strict=True)):
        size = image // stride
        x = graph.input(f"features.{scale}", (batch, inputs, size, size))
        with graph.scope("head", scale):
            x = _conv(graph, "stem", x, inputs, width, 1)
            kind = _conv(graph, "cls_convs.1", _conv(graph, "cls_convs.0", x, width, width, 3), width, width, 3)
            box = _conv(graph, "reg_convs.1", _conv(graph, "reg_convs.0", x, width, width, 3), width, width, 3)
            parts = [
                graph.conv("reg_pred", box, width, 4, bias=True),
                graph.node("Sigmoid", graph.conv("obj_pred", box, width, 1, bias=True)),
                graph.node("Sigmoid", graph.conv("cls_pred", kind, width, classes, bias=True)),
            ]
            together = graph.node("Concat", *parts, axis=1, name="concat")
            scales.append(graph.node("Reshape", together, graph.integers(batch, 5 + classes, -1)))
    anchors = sum((image // stride) ** 2 for stride in STRIDES)
    x = graph.node("Transpose", graph.node("Concat", *scales, axis=2, name="scales"), perm=[0, 2, 1])
    with graph.scope("decode"):
        grid, strides = graph.buffer("grid", 1, anchors, 2), graph.buffer("strides", 1, anchors, 1)
        parts = graph.nodes("Split", x, graph.integers(2, 2, 1 + classes), outputs=3, axis=-1, name="split")
        centre = graph.node("Mul", graph.node("Add", parts[0], grid), strides, name="centre")
        size_of = graph.node("Mul", graph.node("Exp", parts[1]), strides, name="size")
        return graph, [graph.node("Concat", centre, size_of, parts[2], axis=-1, name="concat")]


def _conv(graph: NetworkGraph, name: str, x: str, inputs: int, outputs: int, kernel: int) -> str:
    x = graph.batch_norm(f"{name}.norm", graph.conv(name, x, inputs, outputs, kernel), outputs, EPSILON)
    return graph.node("Mul", x, graph.node("Sigmoid", x))
