"""The graphs of named networks: layers and parameters as published, and what runtimes make of them."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator
from small_networks import SMALL, random_feeds, small_network

from dml_conformance.conformance.exchange.networks.catalogue import NETWORKS

# By network: operators of the published table as nodes, and learned parameters.
PUBLISHED = {
    # 1 + 3 * (3 + 4 + 6 + 3) convolutions and 4 of shortcuts; 25.6M
    "resnet50": ({"Conv": 53, "Gemm": 1, "BatchNormalization": 53, "Add": 16}, 25_557_032),
    # 15 bottlenecks, the first of which does not expand; 8 of them squeeze by two convolutions; 5.4M
    "mobilenetv3-large": ({"Conv": 2 + 15 * 3 - 1 + 8 * 2, "Gemm": 2, "HardSigmoid": 8}, 5_483_032),
    # 12 layers of 6 products with weights and 2 of attention; 110M
    "bert-base": ({"MatMul": 12 * 8, "LayerNormalization": 25, "Softmax": 12, "Erf": 12, "Gemm": 1}, 109_482_240),
    # 12 layers of 4 products with weights and 2 of attention; 124M
    "gpt2": ({"MatMul": 12 * 6, "LayerNormalization": 25, "Softmax": 12, "Concat": 24, "Gemm": 1}, 124_439_808),
    # Together 37,184,640; 39M with the tables of positions as the paper counts. The encoder: 8 products a layer, 2 for
    # the decoder's layer; the decoder: 6 and 4.
    "whisper-tiny-encoder": ({"Conv": 2, "MatMul": 4 * 10, "LayerNormalization": 9, "Softmax": 4}, 8_813_568),
    "whisper-tiny-decoder": ({"Gemm": 1, "MatMul": 4 * 12, "LayerNormalization": 13, "Softmax": 8}, 28_371_072),
    # Residual block: 2 * 640 + 2 * 921,920 + 409,920. Transformer: 2 attentions of 4 products with weights and 2
    # without, 2 products of the feed-forward layer.
    "sd15-unet-block": ({"Conv": 4, "Gemm": 1, "MatMul": 14, "InstanceNormalization": 3, "Softmax": 2}, 4_801_280),
    # At each of 3 scales a stem, 2 + 2 convolutions and 3 predictions.
    "yolox-s-head": ({"Conv": 3 * 8, "BatchNormalization": 3 * 5, "Sigmoid": 3 * 7}, 1_920_895),
    # 20M
    "lstm-lm": ({"LSTM": 2, "Gemm": 1, "Gather": 1}, 19_780_400),
    # Those of ResNet-50, whose normalization is a bias.
    "resnet50-int8": ({"QLinearConv": 53, "QLinearMatMul": 1}, 25_557_032 - 26_560),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_the_layers_and_parameters_that_are_published(name: str) -> None:
    network = name if name in PUBLISHED else name.removesuffix("-b1").rpartition("-")[0]
    operators, parameters = PUBLISHED[name.removesuffix("-b1") if "int8" in name else network]
    graph, outputs = NETWORKS[name]()
    model = graph.model(*outputs)
    found = Counter(node.op_type for node in model.graph.node)
    assert {operator: found[operator] for operator in operators} == operators
    assert sum(prod(shape) for shape in graph.weights.values()) == parameters


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_a_small_file_whose_nodes_have_names_and_whose_tensors_have_shapes(name: str) -> None:
    graph, outputs = NETWORKS[name]()
    model = graph.model(*outputs)
    assert len(model.SerializeToString()) < 100_000
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
    shapes = {value.name: value.type.tensor_type.shape for value in (*model.graph.value_info, *model.graph.output)}
    results = [result for node in model.graph.node for result in node.output]
    assert all(dim.dim_value > 0 for result in results for dim in shapes[result].dim)
    assert [value.name for value in model.graph.output] == outputs


@pytest.mark.parametrize("name", [name for name in NETWORKS if "fp16" in name])
def test_a_network_of_float16_has_no_other_floats(name: str) -> None:
    graph, outputs = NETWORKS[name]()
    model = graph.model(*outputs).graph
    elements = {value.type.tensor_type.elem_type for value in (*model.input, *model.value_info, *model.output)}
    assert elements <= {TensorProto.FLOAT16, TensorProto.INT64}


def test_embeddings_are_a_fifth_of_bert() -> None:
    graph, _ = NETWORKS["bert-base-fp32-b1"]()
    assert sum(prod(of) for name, of in graph.weights.items() if name.startswith("embeddings.")) == 23_837_184


def test_the_last_product_of_gpt2_reads_the_table_of_words() -> None:
    graph, outputs = NETWORKS["gpt2-fp32-b1"]()
    (head,) = [node for node in graph.model(*outputs).graph.node if node.name == "lm_head"]
    assert head.input[1] == "wte"


@pytest.mark.parametrize("name", SMALL)
def test_runtimes_agree_on_a_small_network_with_random_weights(name: str) -> None:
    model = small_network(name)
    feeds = random_feeds(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    evaluated = ReferenceEvaluator(model).run(None, feeds)
    for value, one, other in zip(model.graph.output, evaluated, session.run(None, feeds), strict=True):
        assert np.std(one) > 0.1, f"{value.name} hardly depends on the data"
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4, err_msg=value.name)
