"""This backend's decision on a descriptor.

First come whole numbers, which cost little: the level's enumerators, types and dimension counts, each tensor on its
own, what the tensors must agree on, sizes too where all have the same. What is left is the operator's own business, and
there torch has the word: the function that executes the operator runs on meta tensors, which have sizes and no memory,
and the outputs it gives must have the sizes described. Sizes and strides are as large as an API's integers can be, so
the arithmetic here never goes through torch, whose integers end at 2^63.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.backends.torch.memory import element_type
from dml_conformance.backends.torch.operators import TorchOperator, torch_operators
from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.descriptor import Field, OperatorDesc, Slot, slots
from dml_conformance.spec.field_kinds import TENSORS, EnumKind
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator_facts import Support, operator_facts
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc

MOST_ELEMENTS = 2**32 - 1
ACCEPTED = Answer(True)
META = torch.device("meta")


def operator_of(desc: OperatorDesc) -> TorchOperator:
    """The row of a descriptor's operator.

    Raises:
        Unsupported: this backend has none.
    """
    operators = torch_operators()
    operator = operators.get(desc.operator)
    if operator is None:
        raise Unsupported(f"the torch backend has no {desc.operator}; it has {', '.join(operators)}")
    return operator


def decide(desc: OperatorDesc, level: Level) -> Answer:
    """Accept or reject a descriptor at a level.

    Raises:
        Unsupported: this backend does not have the operator.
    """
    operator = operator_of(desc)
    if level < operator_facts()[desc.operator].level:
        return Answer(False, f"{desc.operator} does not exist at level {level}")
    function = ""
    for field, kind in _enumerations(type(desc)):
        value = getattr(desc, field.attribute)
        if value not in kind.enum._value2member_map_ or kind.levels.get(value, level) > level:
            return Answer(False, f"{field.name} is {kind.to_json(value)}, which level {level} does not have")
        if field.name == "Function":
            function = kind.enum(value).name
    missing = _missing_tensor(desc)
    if missing:
        return Answer(False, f"{missing} is missing")
    rows = support_at(desc.operator, level, function)
    if rows is None:
        return Answer(False, f"{desc.operator} has no {function} at level {level}")
    tensors = list(slots(desc))
    for _, name, field, tensor in tensors:
        problem = _tensor_fault(tensor, rows[field.name], level) or (field.is_output and _output_fault(tensor))
        if problem:
            return Answer(False, f"{name} {problem}")
    for fields in (None,) if operator.ranks is None else operator.ranks:
        fault = _first_to_differ(tensors, fields, _dimension_count, lambda count: f"has {count} dimensions")
        if fault:
            return Answer(False, fault)
    for fields in operator.agree:
        fault = _first_to_differ(tensors, fields, _data_type, lambda data_type: f"is {data_type.name}")
        if fault:
            return Answer(False, fault)
    if operator.fault is not None and (fault := operator.fault(desc, level)):
        return Answer(False, fault)
    if operator.alike:
        fault = _first_to_differ(tensors, None, lambda tensor: tensor.sizes, lambda sizes: f"has sizes {sizes}")
        return Answer(False, fault) if fault else ACCEPTED
    return _dry_run(operator, desc, tensors)


@cache
def support_at(name: str, level: Level, function: str = "") -> Mapping[str, Support] | None:
    """What an operator's tensors may be at a level, by DirectML's names of the fields; None where it does not exist."""
    tables = operator_facts()[name].support_tables
    held = [table for table in tables if table.level <= level and (not table.functions or function in table.functions)]
    return max(held, key=lambda table: table.level).rows if held else None


@cache
def _enumerations(desc: type[OperatorDesc]) -> Sequence[tuple[Field, EnumKind]]:
    return [(field, field.kind) for field in desc.fields if isinstance(field.kind, EnumKind)]


def _missing_tensor(desc: OperatorDesc) -> str:
    """The first tensor that is not there and has to be; "" where none is."""
    for field in _required(type(desc)):
        value = getattr(desc, field.attribute)
        if value is None or value == ():
            return field.name
        if isinstance(value, tuple) and None in value:
            return f"{field.name}[{value.index(None)}]"
    return ""


@cache
def _required(desc: type[OperatorDesc]) -> Sequence[Field]:
    return [field for field in desc.fields if field.is_tensor and (field.kind is TENSORS or not field.optional)]


def _first_to_differ(
    tensors: Iterable[Slot],
    fields: Sequence[str] | None,
    value: Callable[[TensorDesc], Any],
    say: Callable[[Any], str],
) -> str:
    """Which of the tensors in some fields (None: in all) is not as the first of them; "" where none is."""
    first, expected = "", None
    for _, name, field, tensor in tensors:
        if fields is None or field.attribute in fields:
            found = value(tensor)
            if not first:
                first, expected = name, found
            elif found != expected:
                return f"{name} {say(found)}, {first} {say(expected)}"
    return ""


def _dimension_count(tensor: TensorDesc) -> int:
    return len(tensor.sizes)


def _data_type(tensor: TensorDesc) -> DataType:
    return tensor.data_type


def _dry_run(operator: TorchOperator, desc: OperatorDesc, tensors: Sequence[Slot]) -> Answer:
    """Run the operator without memory, and hold its outputs' sizes against those described."""
    numbers = operator.numbers
    sources = {
        key: torch.empty(tensor.sizes, dtype=element_type(tensor, field.attribute in numbers), device=META)
        for key, _, field, tensor in tensors
        if not field.is_output
    }
    try:
        results = operator.outputs(desc, sources, META)
    except NotImplementedError:  # torch has no such kernel, which says nothing of the descriptor
        raise
    except (RuntimeError, ValueError, IndexError, OverflowError) as refusal:
        return Answer(False, str(refusal).partition("\n")[0])
    for key, name, field, tensor in tensors:
        if field.is_output:
            if key not in results:
                return Answer(False, f"{desc.operator} gives no {name}")
            sizes = results[key].shape
            if sizes != tensor.sizes:
                return Answer(False, f"{desc.operator} gives sizes {tuple(sizes)}, {name} has {tensor.sizes}")
    return ACCEPTED


def _tensor_fault(tensor: TensorDesc, support: Support, level: Level) -> str:
    """What is wrong with a tensor on its own, "" if nothing is."""
    if tensor.type != TensorType.BUFFER:
        return f"is of type {tensor.type!r}, not a buffer"
    if tensor.flags not in (TensorFlag.NONE, TensorFlag.OWNED_BY_DML):
        return f"has flags {tensor.flags:#x} that mean nothing"
    data_type = tensor.data_type
    if data_type not in support.data_types and (support.data_types or not data_type.bits):
        return f"has data type {data_type!r}, which is not taken at this level"
    sizes, strides = tensor.sizes, tensor.strides
    if len(sizes) not in (support.dimension_counts or _any_dimension_counts(level)):
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
    needed, bound = -(-span * data_type.bits // 8), tensor.total_tensor_size_in_bytes & ~3
    if bound < needed:
        return f"needs {needed} bytes, TotalTensorSizeInBytes gives {bound} in whole units of 4"
    alignment = tensor.guaranteed_base_offset_alignment
    if alignment and (alignment & (alignment - 1) or alignment < data_type.size):
        return f"has alignment {alignment}, not a power of two that holds an element"
    return ""


def _any_dimension_counts(level: Level) -> range:
    """What every tensor may have, where a page names no dimension counts."""
    return range(1, 9 if level >= Level.L3_0 else 6)


def _output_fault(output: TensorDesc) -> str:
    if output.flags & TensorFlag.OWNED_BY_DML:
        return "is OWNED_BY_DML, which only an input can be"
    if output.strides is not None and 0 in output.strides:
        for size, stride in zip(output.sizes, output.strides, strict=True):
            if stride == 0 and size > 1:  # torch refuses to write such a tensor
                return f"has several elements in one place, by strides {output.strides}"
    return ""
