"""DML_OPERATOR_REVERSE_SUBSEQUENCES: the beginning of each sequence along one axis turned round."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, sizes_follow
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Shapes,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_reverse_subsequences_desc"


def shape(desc: Any) -> Shapes:
    """The sizes of the input."""
    return {"output_tensor": desc.input_tensor.sizes}


def lengths_sizes(desc: Any) -> tuple[int, ...]:
    """The input's sizes with 1 along Axis."""
    sizes: tuple[int, ...] = desc.input_tensor.sizes
    return (*sizes[: desc.axis], 1, *sizes[desc.axis + 1 :])


def _lengths(desc: Any) -> tuple[int, ...]:
    """Lengths run from 0 to the size along Axis; larger ones mean the latter."""
    return (desc.input_tensor.sizes[desc.axis] + 1,)


_COMPARABLE = shapes_comparable("REVERSE_SUBSEQUENCES")

REVERSE_SUBSEQUENCES = operator_spec(
    "REVERSE_SUBSEQUENCES",
    source=Source(PAGE),
    shape=shape,
    groups={"SequenceLengthsTensor": INDICES},
    own_rules=(
        axis_of("Axis"),
        sizes_follow(
            "SequenceLengthsTensor",
            lengths_sizes,
            "InputTensor and Axis give",
            "SequenceLengthsTensor has the sizes of InputTensor, and 1 along Axis",
            name="lengths-sizes",
            remedy="give one length for each sequence",
            after=("axis-range",),
        ),
        output_sizes_rule("REVERSE_SUBSEQUENCES", Source(PAGE, "OutputTensor"), _COMPARABLE),
    ),
    execution_rules=(
        Rule(
            "REVERSE_SUBSEQUENCES.values",
            Category.EXECUTION,
            "of each sequence along Axis the first elements, as many as its length says, are in reverse order; the "
            "others stay, bit for bit",
            Source(PAGE),
        ),
        Rule(
            "REVERSE_SUBSEQUENCES.out-of-range-indices",
            Category.EXECUTION,
            "a length above the size along Axis means that size",
            Source(PAGE, "SequenceLengthsTensor"),
        ),
    ),
    summary="reverses the beginning of each sequence along Axis, as far as its length says",
    pseudocode="output[..., i, ...] = input[..., n - 1 - i if i < n else i, ...], n = min(lengths[..., 0, ...], size)",
    index=IndexRule("sequence_lengths_tensor", "input_tensor", _lengths),
)

SPECS = (REVERSE_SUBSEQUENCES,)
