"""The graphs of networks that people name; needs the onnx package.

A name says what the network is, of which elements, and how many inputs it takes at a time: `resnet50-fp16-b1`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dml_conformance.conformance.exchange.networks.bert import bert_base
from dml_conformance.conformance.exchange.networks.builder import FLOATS, NetworkGraph
from dml_conformance.conformance.exchange.networks.gpt2 import gpt2
from dml_conformance.conformance.exchange.networks.lstm import lstm_lm
from dml_conformance.conformance.exchange.networks.mobilenet import BLOCKS, mobilenetv3_large
from dml_conformance.conformance.exchange.networks.resnet import resnet50
from dml_conformance.conformance.exchange.networks.resnet_int8 import resnet50_int8
from dml_conformance.conformance.exchange.networks.unet import sd15_unet_block
from dml_conformance.conformance.exchange.networks.whisper import whisper_tiny_decoder, whisper_tiny_encoder
from dml_conformance.conformance.exchange.networks.yolox import yolox_s_head

Made = tuple[NetworkGraph, list[str]]
Make = Callable[..., Made]

# Sizes at which a whole network is executed in no time: its kinds of layers are all there, some of them less often.
_TRANSFORMER = {"layers": 2, "heads": 2, "head": 16}
_DECODER = _TRANSFORMER | {"past": 4, "vocabulary": 50, "positions": 16}
_RESNET: dict[str, Any] = {"image": 32, "width": 4, "blocks": (1, 2, 1, 1), "classes": 10}
_NARROW = [row._replace(expanded=row.expanded // 4, outputs=row.outputs // 4) for row in BLOCKS[:7]]

_OF_FLOATS: dict[str, tuple[Make, dict[str, Any]]] = {
    "resnet50": (resnet50, _RESNET),
    "mobilenetv3-large": (mobilenetv3_large, {"image": 32, "blocks": _NARROW, "classes": 10}),
    "bert-base": (bert_base, {"tokens": 8, "vocabulary": 50, "positions": 16, **_TRANSFORMER}),
    "gpt2": (gpt2, _DECODER),
    "whisper-tiny-encoder": (whisper_tiny_encoder, {"frames": 16, "mels": 8, **_TRANSFORMER}),
    "whisper-tiny-decoder": (whisper_tiny_decoder, {"audio": 8, **_DECODER}),
    "sd15-unet-block": (
        sd15_unet_block,
        {"image": 8, "width": 64, "heads": 2, "time": 16, "prompt": 5, "prompt_width": 24},
    ),
    "yolox-s-head": (yolox_s_head, {"image": 64, "channels": (8, 16, 32), "width": 8, "classes": 3}),
    "lstm-lm": (lstm_lm, {"steps": 5, "width": 16, "vocabulary": 20}),
}

_EVERY: dict[str, tuple[Make, dict[str, Any]]] = {
    f"{name}-{element}-b1": (partial(make, element), sizes)
    for name, (make, sizes) in _OF_FLOATS.items()
    for element in FLOATS
}
_EVERY["resnet50-int8-b1"] = resnet50_int8, _RESNET

NETWORKS: dict[str, Make] = {name: make for name, (make, _) in _EVERY.items()}
# The same networks at reduced size.
REDUCED: dict[str, Make] = {name: partial(make, **sizes) for name, (make, sizes) in _EVERY.items()}
