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
    if data_type.is_float:
        start, delta = float(desc.value_start), float(desc.value_delta)
        kind, wide = NUMBERS[data_type], torch.float64
    else:
        start, delta = bits_of(desc.value_start, data_type), bits_of(desc.value_delta, data_type)
        kind, wide = BITS[data_type.size], torch.int64
    rows = torch.arange(math.prod(outer)).mul_(columns).to(wide).mul_(delta).add_(start)
    within_row = torch.arange(columns).to(wide).mul_(delta)
    sequence = rows.to(kind).unsqueeze(1) + within_row.to(kind)
    return {"output_tensor": sequence.view(desc.output_tensor.sizes)}


OPERATORS = {
    "FILL_VALUE_CONSTANT": TorchOperator(fill_value_constant, agree=(), fault=value_fault, alike=True),
    "FILL_VALUE_SEQUENCE": TorchOperator(fill_value_sequence, agree=(), fault=value_fault, alike=True),
}
