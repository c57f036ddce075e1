"""DML_OPERATOR_PADDING and PADDING1: the input with more elements at the ends of each dimension.

PADDING1 states the value of a constant padding in the tensors' own type, where PADDING has a FLOAT for all of them.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import Constraint, type_of
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    is_whole,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._arrays import array_lengths, uneven_array
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

MODE = enumeration("DML_PADDING_MODE")


def shape(desc: Any) -> Shapes | Misfit:
    """Each size with what is added before and behind."""
    misfit = uneven_array(desc)
    if misfit:
        return misfit
    sizes = zip(desc.input_tensor.sizes, desc.start_padding, desc.end_padding, strict=True)
    return {"output_tensor": tuple(map(sum, sizes))}


def _reflection_of_one(desc: Any, level: Level) -> list[Breach]:
    if desc.padding_mode != MODE.REFLECTION:
        return []
    sizes = zip(desc.input_tensor.sizes, desc.start_padding, desc.end_padding, strict=True)
    return [
        Breach(f"InputTensor.Sizes[{d}]", f"1, padded by {start} and {end}")
        for d, (size, start, end) in enumerate(sizes)
        if size == 1 and (start or end)
    ]


def _padding_value_data_type(desc: Any, level: Level) -> Breach | None:
    given, needed = desc.padding_value_data_type, desc.output_tensor.data_type
    return None if given == needed else Breach("PaddingValueDataType", f"{given}, OutputTensor is {needed.name}")


def _operator(
    name: str, value: tuple[Constraint, ...], constant: str, settles: tuple[str, ...], summary: str
) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    arrays = shapes_comparable(name) | ids(name, "array-lengths")
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            array_lengths(name),
            output_sizes_rule(name, Source(page, "OutputTensor"), arrays),
            Rule(
                f"{name}.reflection-of-one",
                Category.SHAPE,
                "reflection leaves out the edges, and no page says what that makes of a padded dimension of size 1",
                Source(page, "PaddingMode"),
                "use SYMMETRIC, EDGE or WRAP",
                check=_reflection_of_one,
                needs=arrays | ids(name, "enumerators"),
                erratum=f"{name}-3" if name == "PADDING" else f"{name}-4",
            ),
            *value,
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                "every output element is the input element at its coordinates less StartPadding, bit for bit; outside "
                "of the input it is the padding value, or the element that the coordinate comes to by clamping, by "
                "mirroring without or with the edge, or by wrapping round, over and over where it has to" + constant,
                Source(page, "PaddingMode"),
                settles=settles,
            ),
        ),
        pseudocode="output[c...] = input[inside(c[d] - StartPadding[d]) for each d], or PaddingValue outside",
        summary=summary,
    )


def _sizes_in_32_bits(desc: Any) -> bool:
    if not is_whole(desc):
        return False
    sizes = shape(desc)
    if isinstance(sizes, Misfit):
        return False
    padded, described = sizes["output_tensor"], desc.output_tensor.sizes
    return bool(padded != described == tuple(size % 2**32 for size in padded))


DIVERGENCES = {"DIV-padding-sizes-in-32-bits": _sizes_in_32_bits}

SPECS = (
    _operator(
        "PADDING",
        (),
        "; the padding value of integers is cut to a whole number, that of FLOAT16 is one of the numbers next to it, "
        "and what it is beyond the range of a type is left open",
        ("PADDING-1", "PADDING-4"),
        "puts elements before and behind the input along each dimension: a FLOAT, or what is mirrored",
    ),
    _operator(
        "PADDING1",
        (
            type_of(
                "PaddingValueDataType",
                category=Category.ATTRIBUTES,
                statement="PaddingValueDataType is OutputTensor.DataType",
                remedy="state the padding value in the type of the tensors",
                check=_padding_value_data_type,
            ),
        ),
        "",
        ("PADDING1-3",),
        "puts elements before and behind the input along each dimension: a value of its type, or what is mirrored",
    ),
)
