"""This backend's decision on a descriptor.

First come whole numbers, which cost little: the level's types and dimension counts, each tensor on its own, what the
tensors must agree on. What is left is the operator's own business, and there torch has the word: the function that
executes the operator runs on meta tensors, which have sizes and no memory, and the output it gives must have the
sizes described. Sizes and strides are as large as an API's integers can be, so the arithmetic here never goes
through torch, whose integers end at 2^63.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import UINT32_MAX, PlanError
from dml_conformance.backends.torch.tables import OPERATORS, TensorSupport, TorchOperator, support_at
from dml_conformance.spec.datatypes import TensorFlag, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc

MOST_ELEMENTS = 2**32 - 1
ACCEPTED = Answer(True)


def operator_of(desc: OperatorDesc) -> TorchOperator:
    """The row of a descriptor's operator.

    Raises:
        Unsupported: this backend has none.
    """
    operator = OPERATORS.get(desc.operator)
    if operator is None:
        raise Unsupported(f"the torch backend has no {desc.operator}; it has {', '.join(OPERATORS)}")
    return operator


def decide(desc: OperatorDesc, level: Level) -> Answer:
    """Accept or reject a descriptor at a level.

    Raises:
        Unsupported: this backend does not have the operator.
    """
    operator = operator_of(desc)
    support = support_at(operator, level)
    if support is None:
        return Answer(False, f"{desc.operator} does not exist at level {level}")
    inputs: list[TensorDesc] = []
    for attribute in operator.inputs:
        tensor = getattr(desc, attribute)
        types = support.index_types if attribute == operator.indices else support.data_types
        fault = _tensor_fault(tensor, types, support)
        if fault:
            return _rejected(attribute, fault)
        inputs.append(tensor)
    output = getattr(desc, operator.output)
    fault = _tensor_fault(output, support.data_types, support) or _output_fault(output)
    if fault:
        return _rejected(operator.output, fault)
    data_type, count = output.data_type, len(output.sizes)
    for attribute, tensor in zip(operator.inputs, inputs, strict=True):
        if len(tensor.sizes) != count:
            return _rejected(attribute, f"has {len(tensor.sizes)} dimensions, the output {count}")
        if attribute != operator.indices and tensor.data_type != data_type:
            return _rejected(attribute, f"is {tensor.data_type.name}, the output {data_type.name}")
    return _dry_run(operator, desc, inputs, output)


def _dry_run(operator: TorchOperator, desc: OperatorDesc, inputs: Sequence[TensorDesc], output: TensorDesc) -> Answer:
    """Run the operator without memory, and hold its output's sizes against those described."""
    elements = BITS[output.data_type.size]
    sources = [
        torch.empty(tensor.sizes, dtype=torch.int64 if attribute == operator.indices else elements, device="meta")
        for attribute, tensor in zip(operator.inputs, inputs, strict=True)
    ]
    try:
        result = operator.run(desc, *sources)
    except (PlanError, RuntimeError) as refusal:
        return Answer(False, str(refusal).partition("\n")[0])
    if result.shape == output.sizes:
        return ACCEPTED
    return Answer(False, f"{desc.operator} gives sizes {tuple(result.shape)}, OutputTensor has {output.sizes}")


def _tensor_fault(tensor: TensorDesc | None, types: frozenset[object], support: TensorSupport) -> str:
    """What is wrong with a tensor on its own, "" if nothing is."""
    if tensor is None:
        return "is missing"
    if tensor.type != TensorType.BUFFER:
        return f"is of type {tensor.type!r}, not a buffer"
    if tensor.flags not in (TensorFlag.NONE, TensorFlag.OWNED_BY_DML):
        return f"has flags {tensor.flags:#x} that mean nothing"
    if tensor.data_type not in types:
        return f"has data type {tensor.data_type!r}, which is not taken at this level"
    sizes, strides = tensor.sizes, tensor.strides
    if len(sizes) not in support.dimension_counts:
        return f"has {len(sizes)} dimensions, which are not taken at this level"
    if min(sizes) < 1:
        return f"has a size of 0 in {sizes}"
    count = math.prod(sizes)
    if count > MOST_ELEMENTS:
        return f"has {count} elements"
    if strides is None:
        span = count
    elif len(strides) != len(sizes) or min(strides) < 0 or max(strides) > UINT32_MAX:
        return f"has strides {strides} that do not go with sizes {sizes}"
    else:
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    # Memory is bound in units of 4 bytes, so a part of a unit at the end is not there.
    needed, bound = span * tensor.data_type.size, tensor.total_tensor_size_in_bytes & ~3
    if bound < needed:
        return f"needs {needed} bytes, TotalTensorSizeInBytes gives {bound} in whole units of 4"
    alignment = tensor.guaranteed_base_offset_alignment
    if alignment and (alignment & (alignment - 1) or alignment < tensor.data_type.size):
        return f"has alignment {alignment}, not a power of two that holds an element"
    return ""


def _output_fault(output: TensorDesc) -> str:
    if output.flags & TensorFlag.OWNED_BY_DML:
        return "is OWNED_BY_DML, which only an input can be"
    if output.strides is not None and 0 in output.strides:
        for size, stride in zip(output.sizes, output.strides, strict=True):
            if stride == 0 and size > 1:  # torch refuses to write such a tensor
                return f"has several elements in one place, by strides {output.strides}"
    return ""


def _rejected(attribute: str, fault: str) -> Answer:
    return Answer(False, f"{attribute.title().replace('_', '')} {fault}")
