"""DML_OPERATOR_REVERSE_SUBSEQUENCES: the beginning of each sequence along one axis turned round."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, sizes_follow
from dml_conformance.spec.operator import IndexRule, operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import first_sizes
from dml_conformance.spec.structures import ReverseSubsequences


def lengths_sizes(desc: ReverseSubsequences) -> tuple[int, ...]:
    """The input's sizes with 1 along Axis."""
    sizes: tuple[int, ...] = desc.input_tensor.sizes
    return (*sizes[: desc.axis], 1, *sizes[desc.axis + 1 :])


def _lengths(desc: ReverseSubsequences) -> tuple[int, ...]:
    """Lengths run from 0 to the size along Axis; larger ones mean the latter."""
    return (desc.input_tensor.sizes[desc.axis] + 1,)


SPECS = (
    operator_spec(
        "REVERSE_SUBSEQUENCES",
        shape=first_sizes,
        own_rules=(
            axis_of("Axis"),
            sizes_follow(
                "SequenceLengthsTensor",
                lengths_sizes,
                "InputTensor and Axis give",
                name="lengths-sizes",
                after=("axis-range",),
            ),
            output_sizes(),
        ),
        index=IndexRule("sequence_lengths_tensor", "input_tensor", _lengths),
    ),
)
