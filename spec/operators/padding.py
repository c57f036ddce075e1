"""DML_OPERATOR_PADDING and PADDING1: the input with more elements at the ends of each dimension.

PADDING1 states the value of a constant padding in the tensors' own type, where PADDING has a FLOAT for all of them.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, checked, type_of
from dml_conformance.spec.field_kinds import INT32_MAX, enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, is_whole, operator_spec, output_sizes
from dml_conformance.spec.operators._arrays import array_lengths, uneven_array
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import DML_PADDING1_OPERATOR_DESC, Padding

MODE = enumeration("DML_PADDING_MODE")


def shape(desc: Padding) -> Shapes | Misfit:
    """Each size with what is added before and behind."""
    misfit = uneven_array(desc)
    if misfit:
        return misfit
    sizes = zip(desc.input_tensor.sizes, desc.start_padding, desc.end_padding, strict=True)
    return {"output_tensor": tuple(map(sum, sizes))}


def _reflection_of_one(desc: Padding, level: Level) -> list[Breach]:
    if desc.padding_mode != MODE.REFLECTION:
        return []
    sizes = zip(desc.input_tensor.sizes, desc.start_padding, desc.end_padding, strict=True)
    return [
        Breach(f"InputTensor.Sizes[{d}]", f"1, padded by {start} and {end}")
        for d, (size, start, end) in enumerate(sizes)
        if size == 1 and (start or end)
    ]


def _padding_value_data_type(desc: DML_PADDING1_OPERATOR_DESC, level: Level) -> Breach | None:
    given, needed = desc.padding_value_data_type, desc.output_tensor.data_type
    return None if given == needed else Breach("PaddingValueDataType", f"{given}, OutputTensor is {needed.name}")


def _operator(name: str, *value: Constraint) -> OperatorSpec:
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            array_lengths(name),
            output_sizes("array-lengths"),
            checked("reflection-of-one", _reflection_of_one, after=("array-lengths", "enumerators")),
            *value,
        ),
    )


def _sizes_in_32_bits(desc: Padding) -> bool:
    if not is_whole(desc):
        return False
    sizes = shape(desc)
    if isinstance(sizes, Misfit):
        return False
    padded, described = sizes["output_tensor"], desc.output_tensor.sizes
    return padded != described == tuple(size % 2**32 for size in padded)


def _input_beyond_int(desc: Padding) -> bool:
    return desc.input_tensor is not None and max(desc.input_tensor.sizes, default=0) > INT32_MAX


DIVERGENCES = {
    "DIV-padding-sizes-in-32-bits": _sizes_in_32_bits,
    "DIV-padding-input-beyond-int": _input_beyond_int,
}

SPECS = (
    _operator("PADDING"),
    _operator(
        "PADDING1",
        type_of("PaddingValueDataType", category=Category.ATTRIBUTES, check=_padding_value_data_type),
    ),
)
