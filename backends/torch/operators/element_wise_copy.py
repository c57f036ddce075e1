"""DML_OPERATOR_ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import scale
from dml_conformance.spec.descriptor import inputs
from dml_conformance.spec.structures import ElementWiseCopy


def identity(desc: ElementWiseCopy, tensors: Tensors) -> Tensors:
    """ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY: `output[c...] = input[c...]`, scaled where there is a ScaleBias."""
    source = tensors["input_tensor"]
    if getattr(desc, "scale_bias", None) is None:
        return {"output_tensor": source}
    return {"output_tensor": scale(desc, source.view(NUMBERS[inputs(desc)[0].tensor.data_type]))}


def choose(desc: ElementWiseCopy, tensors: Tensors) -> Tensors:
    """ELEMENT_WISE_IF: `output[c...] = condition[c...] != 0 ? a[c...] : b[c...]`."""
    condition, a, b = tensors["condition_tensor"], tensors["a_tensor"], tensors["b_tensor"]
    return {"output_tensor": torch.where(condition != 0, a, b)}


OPERATORS = {
    "ELEMENT_WISE_IDENTITY": TorchOperator(identity, alike=True),
    "ACTIVATION_IDENTITY": TorchOperator(identity, alike=True),
    "ELEMENT_WISE_IF": TorchOperator(choose, agree=(("a_tensor", "b_tensor", "output_tensor"),), alike=True),
}
