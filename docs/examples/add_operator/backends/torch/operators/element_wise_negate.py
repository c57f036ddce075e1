"""DML_OPERATOR_ELEMENT_WISE_NEGATE."""

from __future__ import annotations

from typing import Any

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator


def negate(desc: Any, tensors: Tensors) -> Tensors:
    """`output[c...] = -input[c...]`."""
    return {"output_tensor": torch.neg(tensors["input_tensor"])}


OPERATORS = {"ELEMENT_WISE_NEGATE": TorchOperator(negate, numbers=frozenset({"input_tensor"}))}
