"""DML_OPERATOR_CAST."""

from __future__ import annotations

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.spec.structures import Cast


def cast(desc: Cast, tensors: Tensors) -> Tensors:
    """CAST: `output[c...] = (type of the output) input[c...]`."""
    return {"output_tensor": tensors["input_tensor"].to(NUMBERS[desc.output_tensor.data_type])}


OPERATORS = {"CAST": TorchOperator(cast, agree=(), numbers=frozenset({"input_tensor"}))}
