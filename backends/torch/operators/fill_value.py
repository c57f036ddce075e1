"""DML_OPERATOR_FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE."""

from __future__ import annotations

import math

import torch

from dml_conformance.backends.torch.memory import BITS, NUMBERS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._scalars import bits_of, value_fault
from dml_conformance.spec import structures


def fill_value_constant(desc: structures.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """FILL_VALUE_CONSTANT: `output[c...] = Value`."""
    output = desc.output_tensor
    value = torch.full((), bits_of(desc.value, output.data_type), dtype=BITS[output.data_type.size])
    return {"output_tensor": value.expand(output.sizes)}


def fill_value_sequence(desc: structures.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """FILL_VALUE_SEQUENCE: `output[element n] = ValueStart + n * ValueDelta`, row by row in the type itself.

    Integers wrap round in the signed type of their width. Where floats are exact, so is each of the two parts.
    """
    *outer, columns = desc.output_tensor.sizes
    data_type = desc.output_tensor.data_type
    rows = torch.arange(math.prod(outer)).unsqueeze(1) * columns
    if data_type.is_float:
        start, delta, kind = float(desc.value_start), float(desc.value_delta), NUMBERS[data_type]
        rows, within_row = rows.to(torch.float64), torch.arange(columns).to(torch.float64)
    else:
        start, delta = bits_of(desc.value_start, data_type), bits_of(desc.value_delta, data_type)
        kind, within_row = BITS[data_type.size], torch.arange(columns)
    sequence = (rows * delta + start).to(kind) + (within_row * delta).to(kind)
    return {"output_tensor": sequence.view(desc.output_tensor.sizes)}


OPERATORS = {
    "FILL_VALUE_CONSTANT": TorchOperator(fill_value_constant, agree=(), fault=value_fault, alike=True),
    "FILL_VALUE_SEQUENCE": TorchOperator(fill_value_sequence, agree=(), fault=value_fault, alike=True),
}
