"""The graphs of networks that people name; needs the onnx package.

A name says what the network is, of which elements, and how many inputs it takes at a time: `resnet50-fp16-b1`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dml_conformance.conformance.exchange.networks.bert import bert_base
from dml_conformance.conformance.exchange.networks.builder import FLOATS, NetworkGraph
from dml_conformance.conformance.exchange.networks.gpt2 import gpt2
from dml_conformance.conformance.exchange.networks.lstm import lstm_lm
from dml_conformance.conformance.exchange.networks.mobilenet import mobilenetv3_large
from dml_conformance.conformance.exchange.networks.resnet import resnet50
from dml_conformance.conformance.exchange.networks.resnet_int8 import resnet50_int8
from dml_conformance.conformance.exchange.networks.unet import sd15_unet_block
from dml_conformance.conformance.exchange.networks.whisper import whisper_tiny_decoder, whisper_tiny_encoder
from dml_conformance.conformance.exchange.networks.yolox import yolox_s_head

Made = tuple[NetworkGraph, list[str]]

_OF_FLOATS: dict[str, Callable[..., Made]] = {
    "resnet50": resnet50,
    "mobilenetv3-large": mobilenetv3_large,
    "bert-base": bert_base,
    "gpt2": gpt2,
    "whisper-tiny-encoder": whisper_tiny_encoder,
    "whisper-tiny-decoder": whisper_tiny_decoder,
    "sd15-unet-block": sd15_unet_block,
    "yolox-s-head": yolox_s_head,
    "lstm-lm": lstm_lm,
}

NETWORKS: dict[str, Callable[..., Made]] = {
    f"{name}-{element}-b1": partial(make, element) for name, make in _OF_FLOATS.items() for element in FLOATS
} | {"resnet50-int8-b1": resnet50_int8}
