"""The named networks at sizes that are executed in no time, and random numbers to execute them on."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper

from dml_conformance.conformance.exchange.networks import (
    bert,
    gpt2,
    lstm,
    mobilenet,
    resnet,
    resnet_int8,
    unet,
    whisper,
    yolox,
)

_TRANSFORMER = {"layers": 2, "heads": 2}
_DECODER = _TRANSFORMER | {"past": 4, "vocabulary": 50, "positions": 16}
_RESNET = {"image": 32, "width": 8, "blocks": (1, 2, 1, 1), "classes": 10}

SMALL = {
    "resnet50": partial(resnet.resnet50, "fp32", **_RESNET),
    "resnet50-int8": partial(resnet_int8.resnet50_int8, **_RESNET),
    "mobilenetv3-large": partial(mobilenet.mobilenetv3_large, "fp32", image=32, blocks=mobilenet.BLOCKS[:7]),
    "bert-base": partial(bert.bert_base, "fp32", tokens=8, vocabulary=50, positions=16, **_TRANSFORMER),
    "gpt2": partial(gpt2.gpt2, "fp32", **_DECODER),
    "whisper-tiny-encoder": partial(whisper.whisper_tiny_encoder, "fp32", frames=16, mels=8, **_TRANSFORMER),
    "whisper-tiny-decoder": partial(whisper.whisper_tiny_decoder, "fp32", audio=8, **_DECODER),
    "sd15-unet-block": partial(
        unet.sd15_unet_block, "fp32", image=8, width=64, heads=2, time=16, prompt=5, prompt_width=24
    ),
    "yolox-s-head": partial(yolox.yolox_s_head, "fp32", image=64, channels=(8, 16, 32), width=8, classes=3),
    "lstm-lm": partial(lstm.lstm_lm, "fp32", steps=5, width=16, vocabulary=20),
}


def small_network(name: str) -> onnx.ModelProto:
    """The model of a small network."""
    graph, outputs = SMALL[name]()
    return graph.model(*outputs)


def random_feeds(model: onnx.ModelProto, seed: int = 0) -> dict[str, Any]:
    """Numbers for every input of a model, of sizes at which activations neither vanish nor grow."""
    generator = np.random.default_rng(seed)
    return {value.name: _random(value, generator) for value in model.graph.input}


def _random(value: onnx.ValueInfoProto, generator: np.random.Generator) -> Any:
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if kind.kind == "i":
        low, high = {"int8": (-127, 128), "int32": (-100, 100)}.get(kind.name, (0, 2))  # of tokens two are enough
        return np.array(generator.integers(low, high, shape), kind)
    drawn = np.array(generator.normal(size=shape))
    if value.name.endswith("scale"):
        return np.array(2e-2 * (1 + np.abs(drawn)) / (4 if "weight" in value.name else 1), kind)
    if value.name.endswith("running_var"):
        return np.array(0.5 + np.abs(drawn), kind)
    if value.name.endswith((".weight", ".w", ".r")) and len(shape) > 1:
        drawn = drawn / np.sqrt(np.prod(shape[:-1] if len(shape) == 2 else shape[1:]))
    return drawn.astype(kind)
