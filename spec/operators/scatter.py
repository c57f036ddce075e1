"""DML_OPERATOR_SCATTER and SCATTER_ND: the input with some of its elements, or blocks, replaced by updates.

SCATTER (also called SCATTER_ELEMENTS) has an index along Axis for each update; SCATTER_ND a tuple of indices for each
block of updates, as GATHER_ND has for what it reads. Its sizes of the updates are the corrected ones (SCATTER_ND-1).
"""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, same_sizes, same_sizes_off, size_along, size_within, sizes_follow
from dml_conformance.spec.operator import IndexRule, operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import first_sizes
from dml_conformance.spec.operators._indexing import axis_limit
from dml_conformance.spec.operators.gather_nd import TUPLES, index_limits, tuple_rules, unpadded_sizes
from dml_conformance.spec.structures import DML_SCATTER_ND_OPERATOR_DESC, WithInputDimensionCount


def updates_sizes(desc: WithInputDimensionCount) -> tuple[int, ...]:
    """Of SCATTER_ND: `unpadded_sizes` with leading ones up to the dimension count; too many where they do not fit."""
    sizes = unpadded_sizes(desc)
    return (1,) * (len(desc.input_tensor.sizes) - len(sizes)) + sizes


SPECS = (
    operator_spec(
        "SCATTER",
        shape=first_sizes,
        own_rules=(
            axis_of("Axis"),
            same_sizes_off("Axis", "IndicesTensor", "InputTensor", after=("axis-range",)),
            size_within(
                "IndicesTensor",
                "Axis",
                0,
                size_along("InputTensor", "Axis")._replace(told="InputTensor has {} elements"),
                unit=" indices",
                name="indices-along-axis",
                after=("axis-range",),
            ),
            same_sizes("UpdatesTensor", "IndicesTensor"),
            output_sizes(),
        ),
        index=IndexRule("indices_tensor", "output_tensor", axis_limit, has_duplicates=False),
    ),
    operator_spec(
        "SCATTER_ND",
        shape=first_sizes,
        own_rules=(
            *tuple_rules(),
            sizes_follow("UpdatesTensor", updates_sizes, "input and indices give", after=TUPLES),
            output_sizes(),
        ),
        index=IndexRule("indices_tensor", "output_tensor", index_limits, has_duplicates=False),
    ),
)


def _dimension_counts_differ(desc: DML_SCATTER_ND_OPERATOR_DESC) -> bool:
    """Input and output have as many dimensions, and all is as it should be but for leading ones of the others."""
    source, indices, updates = desc.input_tensor.sizes, desc.indices_tensor.sizes, desc.updates_tensor.sizes
    counts = desc.input_dimension_count, desc.indices_dimension_count
    if not (1 <= counts[0] <= len(source) and 1 <= counts[1] <= len(indices) and desc.output_tensor.sizes == source):
        return False
    leading = source[: len(source) - counts[0]] + indices[: len(indices) - counts[1]]
    if set(leading) - {1} or indices[-1] > counts[0]:
        return False
    expected = unpadded_sizes(desc)
    return len(updates) >= len(expected) and updates == (1,) * (len(updates) - len(expected)) + expected


def _index_is_repeated(desc: DML_SCATTER_ND_OPERATOR_DESC) -> bool:
    """Indices of a stride of 0 along several elements."""
    indices = desc.indices_tensor
    return any(stride == 0 for stride, size in zip(indices.effective_strides, indices.sizes, strict=True) if size > 1)


def _tuple_takes_all_dimensions(desc: DML_SCATTER_ND_OPERATOR_DESC) -> bool:
    """What tuples of too many coordinates take away is no more than the indices' dimensions add."""
    if not desc.indices_tensor.sizes:
        return False
    left = desc.input_dimension_count - desc.indices_tensor.sizes[-1]
    return left < 0 <= left + desc.indices_dimension_count - 1


DIVERGENCES = {
    "DIV-scatter-nd-dimension-counts": _dimension_counts_differ,
    "DIV-scatter-nd-repeated-indices": _index_is_repeated,
    "DIV-scatter-nd-tuple-beyond-input": _tuple_takes_all_dimensions,
}
