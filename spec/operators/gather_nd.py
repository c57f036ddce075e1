"""DML_OPERATOR_GATHER_ND and GATHER_ND1: subblocks of the input, each addressed by a tuple of indices.

The tuples lie along the last dimension of the index tensor. GATHER_ND is GATHER_ND1 with a BatchDimensionCount of 0.
The size formula here is the corrected one (errata GATHER_ND-1, GATHER_ND1-1); it agrees with the pages' worked
examples, the printed formula does not.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import (
    Quantity,
    Rules,
    below,
    checked,
    leading_ones,
    member,
    rank,
    size_within,
    within,
)
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    IndexRule,
    Misfit,
    OperatorSpec,
    Shapes,
    no_misfit,
    operator_spec,
    output_sizes,
)
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import DML_GATHER_ND1_OPERATOR_DESC, GatherNd, WithInputDimensionCount
from dml_conformance.spec.tensor import braces


def batch_dimension_count(desc: OperatorDesc) -> int:
    return getattr(desc, "batch_dimension_count", 0)


def tuple_size(desc: WithInputDimensionCount) -> int:
    """Coordinates of one index tuple: the last size of the index tensor."""
    return desc.indices_tensor.sizes[-1]


def meaningful_input_sizes(desc: WithInputDimensionCount) -> tuple[int, ...]:
    sizes = desc.input_tensor.sizes
    return sizes[len(sizes) - desc.input_dimension_count :]


def meaningful_index_sizes(desc: WithInputDimensionCount) -> tuple[int, ...]:
    sizes = desc.indices_tensor.sizes
    return sizes[len(sizes) - desc.indices_dimension_count :]


def index_limits(desc: WithInputDimensionCount) -> tuple[int, ...]:
    """The input sizes that the coordinates of a tuple run over, in order."""
    first = batch_dimension_count(desc)
    return meaningful_input_sizes(desc)[first : first + tuple_size(desc)]


def unpadded_sizes(desc: WithInputDimensionCount) -> tuple[int, ...]:
    """Index sizes without the tuple's, then the meaningful input sizes that neither batch nor tuple addresses."""
    addressed = batch_dimension_count(desc) + tuple_size(desc)
    return meaningful_index_sizes(desc)[:-1] + meaningful_input_sizes(desc)[addressed:]


def shape(desc: GatherNd) -> Shapes | Misfit:
    """`unpadded_sizes` with leading ones up to the dimension count, unless they are too many."""
    count = len(desc.input_tensor.sizes)
    if not desc.indices_tensor.sizes:
        return Misfit("IndicesTensor.DimensionCount", "0")
    sizes = unpadded_sizes(desc)
    if len(sizes) > count:
        return Misfit("OutputTensor.DimensionCount", f"sizes {braces(sizes)} do not fit {count} dimensions")
    return {"output_tensor": (1,) * (count - len(sizes)) + sizes}


BATCHES = ("batch-dimension-count", "batch-dimension-count-meaningful")
COUNTS = ("input-dimension-count", "indices-dimension-count")
TUPLES = (*COUNTS, "tuple-size", "tuple-size-meaningful")  # what must hold before sizes follow from tuples of indices


def _addressable(desc: WithInputDimensionCount) -> int:
    return desc.input_dimension_count - batch_dimension_count(desc)


_COUNTED = (
    ("InputDimensionCount", "InputTensor", "input-dimension-count"),
    ("IndicesDimensionCount", "IndicesTensor", "indices-dimension-count"),
)


def tuple_rules(batch_rules: Rules = ()) -> Rules:
    """The rules of an operator that addresses blocks of its input by tuples of indices.

    Those on BatchDimensionCount are what the others depend on besides.
    """
    limit = "InputDimensionCount - BatchDimensionCount" if batch_rules else "InputDimensionCount"
    coordinates = " coordinates a tuple"
    return (
        *(
            within(
                field,
                1,
                rank(tensor),
                name=name,
                remedy=f"count the meaningful dimensions of {tensor}, without its leading ones",
            )
            for field, tensor, name in _COUNTED
        ),
        *batch_rules,
        *(
            leading_ones(
                tensor,
                member(field),
                name=f"leading-{what}-sizes",
                statement=f"the page calls the {what} dimensions before the last {field} irrelevant leading ones, and "
                "does not say what other sizes there mean",
                section=field,
                remedy=f"give the leading dimensions of {tensor} size 1, or raise {field}",
                after=COUNTS,
            )
            for what, (field, tensor, _) in zip(("input", "index"), _COUNTED, strict=True)
        ),
        size_within(
            "IndicesTensor",
            -1,
            0,
            rank("InputTensor")._replace(told="InputTensor has {}"),
            unit=coordinates,
            name="tuple-size",
        ),
        size_within(
            "IndicesTensor",
            -1,
            0,
            Quantity(limit, "{} meaningful dimensions to address", _addressable),
            unit=coordinates,
            name="tuple-size-meaningful",
            statement=f"a tuple of more than {limit} coordinates has no meaning, though the page's bound allows it",
            remedy=f"lower the last size of IndicesTensor to at most {limit}",
            after=(*COUNTS, *(BATCHES if batch_rules else ()), "tuple-size"),
        ),
    )


def _batch_sizes(desc: DML_GATHER_ND1_OPERATOR_DESC, level: Level) -> Breach | None:
    batch = desc.batch_dimension_count
    of_input, of_indices = meaningful_input_sizes(desc)[:batch], meaningful_index_sizes(desc)[:batch]
    if of_input == of_indices:
        return None
    return Breach(
        "BatchDimensionCount", f"batches {braces(of_input)} of the input, {braces(of_indices)} of the indices"
    )


# What BatchDimensionCount adds.
BATCH_RULES = (
    below(
        "BatchDimensionCount",
        rank("InputTensor")._replace(told="the tensors have {} dimensions"),
        name="batch-dimension-count",
    ),
    below(
        "BatchDimensionCount",
        Quantity("", "not below {}", lambda desc: min(desc.input_dimension_count, desc.indices_dimension_count)),
        name="batch-dimension-count-meaningful",
        after=(*COUNTS, "batch-dimension-count"),
    ),
    checked("batch-sizes", _batch_sizes, after=(*COUNTS, *BATCHES)),
)


def _operator(name: str, batch_rules: Rules = ()) -> OperatorSpec:
    after = (*TUPLES, *(BATCHES if batch_rules else ()))
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            *tuple_rules(batch_rules),
            checked("output-rank", no_misfit(shape), after=after),
            output_sizes(*after, "output-rank"),
        ),
        index=IndexRule("indices_tensor", "input_tensor", index_limits),
    )


SPECS = (_operator("GATHER_ND"), _operator("GATHER_ND1", BATCH_RULES))
