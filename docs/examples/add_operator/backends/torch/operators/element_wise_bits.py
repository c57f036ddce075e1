"""DML_OPERATOR_ELEMENT_WISE_BIT_NOT."""

from __future__ import annotations

from typing import Any

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator


def bit_not(desc: Any, tensors: Tensors) -> Tensors:
    """`output[c...] = ~input[c...]`."""
    return {"output_tensor": torch.bitwise_not(tensors["input_tensor"])}


OPERATORS = {"ELEMENT_WISE_BIT_NOT": TorchOperator(bit_not)}
