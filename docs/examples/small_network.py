"""Writes small_network.onnx: convolutions of an image, a pooling, a classifier, and boxes of which some are chosen."""

import numpy as np
import onnx
from onnx import TensorProto, helper

rng = np.random.default_rng(7)
WEIGHTS = {
    "first": (16, 3, 3, 3),
    "second": (16, 16, 3, 3),
    "third": (16, 16, 3, 3),
    "classes": (16 * 8 * 8, 10),
}


def weight(name: str) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(rng.standard_normal(WEIGHTS[name], np.float32), name)


def described(name: str, *sizes: object, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, sizes)


node = helper.make_node
graph = helper.make_graph(
    [
        node("Conv", ["image", "first"], ["a"], name="stem", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"], name="stem_relu"),
        node("Conv", ["b", "second"], ["c"], name="body_1", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["d"], name="body_1_relu"),
        node("Conv", ["d", "third"], ["e"], name="body_2", pads=[1, 1, 1, 1]),
        node("Add", ["e", "b"], ["f"], name="skip"),
        node("MaxPool", ["f"], ["g"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["g"], ["h"], name="flatten"),
        node("MatMul", ["h", "classes"], ["scores"], name="classifier"),
        node("Softmax", ["scores"], ["found"], name="softmax", axis=-1),
        node("NonMaxSuppression", ["boxes", "confidence"], ["chosen"], name="choose"),
    ],
    "small_network",
    [
        described("image", "batch", 3, 16, 16),
        described("boxes", "batch", 6, 4),
        described("confidence", "batch", 1, 6),
    ],
    [described("found", "batch", 10), described("chosen", "count", 3, kind=TensorProto.INT64)],
    [weight(name) for name in WEIGHTS],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, "small_network.onnx")
