"""DML_OPERATOR_GATHER_ND and GATHER_ND1: subblocks of the input, each addressed by a tuple of indices.

The tuples lie along the last dimension of the index tensor. GATHER_ND is GATHER_ND1 with a BatchDimensionCount of 0.
The size formula here is the corrected one (errata GATHER_ND-1, GATHER_ND1-1); it agrees with the pages' worked
examples, the printed formula does not.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._indexing import dimension_count_range_rule, indexing_execution_rules
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces


def batch_dimension_count(desc: Any) -> int:
    return getattr(desc, "batch_dimension_count", 0)


def tuple_size(desc: Any) -> int:
    """Coordinates of one index tuple: the last size of the index tensor."""
    return int(desc.indices_tensor.sizes[-1])


def meaningful_input_sizes(desc: Any) -> tuple[int, ...]:
    sizes: tuple[int, ...] = desc.input_tensor.sizes
    return sizes[len(sizes) - desc.input_dimension_count :]


def meaningful_index_sizes(desc: Any) -> tuple[int, ...]:
    sizes: tuple[int, ...] = desc.indices_tensor.sizes
    return sizes[len(sizes) - desc.indices_dimension_count :]


def index_limits(desc: Any) -> tuple[int, ...]:
    """The input sizes that the coordinates of a tuple run over, in order."""
    first = batch_dimension_count(desc)
    return meaningful_input_sizes(desc)[first : first + tuple_size(desc)]


def unpadded_sizes(desc: Any) -> tuple[int, ...]:
    """Index sizes without the tuple's, then the meaningful input sizes that neither batch nor tuple addresses."""
    addressed = batch_dimension_count(desc) + tuple_size(desc)
    return meaningful_index_sizes(desc)[:-1] + meaningful_input_sizes(desc)[addressed:]


def shape(desc: Any) -> Shapes | Misfit:
    """`unpadded_sizes` with leading ones up to the dimension count, unless they are too many."""
    count = len(desc.input_tensor.sizes)
    if not desc.indices_tensor.sizes:
        return Misfit("IndicesTensor.DimensionCount", "0")
    sizes = unpadded_sizes(desc)
    if len(sizes) > count:
        return Misfit("OutputTensor.DimensionCount", f"sizes {braces(sizes)} do not fit {count} dimensions")
    return {"output_tensor": (1,) * (count - len(sizes)) + sizes}


def tuples_comparable(operator: str) -> frozenset[str]:
    """What must hold before sizes follow from tuples of indices."""
    counts = ids(operator, "input-dimension-count", "indices-dimension-count")
    return shapes_comparable(operator) | counts | ids(operator, "tuple-size", "tuple-size-meaningful")


def tuple_rules(
    operator: str,
    page: str,
    leading: str,
    meaningless: str,
    batch_rules: tuple[Rule, ...] = (),
    **more: Any,
) -> tuple[Rule, ...]:
    """The rules of an operator that addresses blocks of its input by tuples of indices.

    Args:
        operator: name of the operator.
        page: its page.
        leading: the erratum on sizes before those that count.
        meaningless: the erratum on tuples of more coordinates than there are dimensions to address.
        batch_rules: what BatchDimensionCount adds, on which the others depend.
        more: of the rules on the two counts.
    """
    comparable = shapes_comparable(operator)
    counts = ids(operator, "input-dimension-count", "indices-dimension-count")
    batches = frozenset(rule.id for rule in batch_rules if rule.category is Category.ATTRIBUTES)

    def leading_input_sizes(desc: Any, level: Level) -> Breach | None:
        leading = desc.input_tensor.sizes[: len(desc.input_tensor.sizes) - desc.input_dimension_count]
        return Breach("InputTensor.Sizes", f"leading sizes {braces(leading)}") if set(leading) - {1} else None

    def leading_index_sizes(desc: Any, level: Level) -> Breach | None:
        leading = desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.indices_dimension_count]
        return Breach("IndicesTensor.Sizes", f"leading sizes {braces(leading)}") if set(leading) - {1} else None

    def tuple_size_check(desc: Any, level: Level) -> Breach | None:
        size, count = tuple_size(desc), len(desc.input_tensor.sizes)
        if size <= count:
            return None
        return Breach(f"IndicesTensor.Sizes[{count - 1}]", f"{size} coordinates a tuple, InputTensor has {count}")

    def tuple_size_meaningful(desc: Any, level: Level) -> Breach | None:
        size, most = tuple_size(desc), desc.input_dimension_count - batch_dimension_count(desc)
        if size <= most:
            return None
        where = f"IndicesTensor.Sizes[{len(desc.indices_tensor.sizes) - 1}]"
        return Breach(where, f"{size} coordinates a tuple, {most} meaningful dimensions to address")

    limit = "InputDimensionCount - BatchDimensionCount" if batch_rules else "InputDimensionCount"
    return (
        dimension_count_range_rule(operator, page, "InputTensor", "InputDimensionCount", **more),
        dimension_count_range_rule(operator, page, "IndicesTensor", "IndicesDimensionCount", **more),
        *batch_rules,
        Rule(
            f"{operator}.leading-input-sizes",
            Category.SHAPE,
            "the page calls the input dimensions before the last InputDimensionCount irrelevant leading ones, and does "
            "not say what other sizes there mean",
            Source(page, "InputDimensionCount"),
            "give the leading dimensions of InputTensor size 1, or raise InputDimensionCount",
            check=leading_input_sizes,
            needs=comparable | counts,
            erratum=leading,
        ),
        Rule(
            f"{operator}.leading-index-sizes",
            Category.SHAPE,
            "the page calls the index dimensions before the last IndicesDimensionCount irrelevant leading ones, and "
            "does not say what other sizes there mean",
            Source(page, "IndicesDimensionCount"),
            "give the leading dimensions of IndicesTensor size 1, or raise IndicesDimensionCount",
            check=leading_index_sizes,
            needs=comparable | counts,
            erratum=leading,
        ),
        Rule(
            f"{operator}.tuple-size",
            Category.SHAPE,
            "the last size of IndicesTensor, the coordinates of one tuple, is at most InputTensor.DimensionCount",
            Source(page, "IndicesTensor"),
            "lower the last size of IndicesTensor",
            check=tuple_size_check,
            needs=comparable,
        ),
        Rule(
            f"{operator}.tuple-size-meaningful",
            Category.SHAPE,
            f"a tuple of more than {limit} coordinates has no meaning, though the page's bound allows it",
            Source(page, "IndicesTensor"),
            f"lower the last size of IndicesTensor to at most {limit}",
            check=tuple_size_meaningful,
            needs=comparable | counts | batches | ids(operator, "tuple-size"),
            erratum=meaningless,
        ),
    )


def gather_nd_rules(operator: str, page: str, batch_rules: tuple[Rule, ...] = ()) -> tuple[Rule, ...]:
    """The rules of GATHER_ND; GATHER_ND1 has these and `batch_rules`, on which its sizes depend."""
    batches = frozenset(rule.id for rule in batch_rules if rule.category is Category.ATTRIBUTES)
    shape_needs = tuples_comparable(operator) | batches

    def output_rank(desc: Any, level: Level) -> Breach | None:
        found = shape(desc)
        return Breach(*found) if isinstance(found, Misfit) else None

    meaningless = f"{operator}-3" if batch_rules else f"{operator}-2"
    return (
        *tuple_rules(operator, page, f"{operator}-8", meaningless, batch_rules),
        Rule(
            f"{operator}.output-rank",
            Category.SHAPE,
            "the sizes that the inputs give fit the dimension count; none is cropped",
            Source(page, "OutputTensor"),
            "pad all tensors with leading dimensions of size 1",
            check=output_rank,
            needs=shape_needs,
        ),
        output_sizes_rule(
            operator,
            Source(page, "OutputTensor"),
            shape_needs | ids(operator, "output-rank"),
            settles=(f"{operator}-1",),
        ),
    )


def batch_rules(operator: str, page: str) -> tuple[Rule, ...]:
    """What BatchDimensionCount adds."""
    comparable = shapes_comparable(operator)
    counts = ids(operator, "input-dimension-count", "indices-dimension-count")

    def batch_range(desc: Any, level: Level) -> Breach | None:
        batch, count = desc.batch_dimension_count, len(desc.input_tensor.sizes)
        return None if batch < count else Breach("BatchDimensionCount", f"{batch}, the tensors have {count} dimensions")

    def batch_meaningful(desc: Any, level: Level) -> Breach | None:
        batch, most = desc.batch_dimension_count, min(desc.input_dimension_count, desc.indices_dimension_count)
        return None if batch < most else Breach("BatchDimensionCount", f"{batch}, not below {most}")

    def batch_sizes(desc: Any, level: Level) -> Breach | None:
        batch = desc.batch_dimension_count
        of_input, of_indices = meaningful_input_sizes(desc)[:batch], meaningful_index_sizes(desc)[:batch]
        if of_input == of_indices:
            return None
        found = f"batches {braces(of_input)} of the input, {braces(of_indices)} of the indices"
        return Breach("BatchDimensionCount", found)

    return (
        Rule(
            f"{operator}.batch-dimension-count",
            Category.ATTRIBUTES,
            "BatchDimensionCount is below the DimensionCount of InputTensor and IndicesTensor",
            Source(page, "BatchDimensionCount"),
            "lower BatchDimensionCount",
            check=batch_range,
            needs=comparable,
        ),
        Rule(
            f"{operator}.batch-dimension-count-meaningful",
            Category.ATTRIBUTES,
            "a BatchDimensionCount of InputDimensionCount or IndicesDimensionCount and above has no meaning, though "
            "the page's bound allows it",
            Source(page, "BatchDimensionCount"),
            "lower BatchDimensionCount below InputDimensionCount and IndicesDimensionCount",
            check=batch_meaningful,
            needs=comparable | counts | ids(operator, "batch-dimension-count"),
            erratum="GATHER_ND1-2",
        ),
        Rule(
            f"{operator}.batch-sizes",
            Category.SHAPE,
            "no page says that the batch sizes of input and indices are equal, or what unequal ones mean",
            Source(page, "BatchDimensionCount"),
            "give the first BatchDimensionCount meaningful dimensions of both the same sizes",
            check=batch_sizes,
            needs=comparable | counts | ids(operator, "batch-dimension-count", "batch-dimension-count-meaningful"),
            erratum="GATHER_ND1-6",
        ),
    )


def _operator(name: str, silent: str, batches: tuple[Rule, ...] = (), **stated: Any) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=shape,
        groups={"IndicesTensor": INDICES},
        own_rules=gather_nd_rules(name, page, batches),
        execution_rules=indexing_execution_rules(name, page, "the dimension that it addresses", silent=(silent,)),
        index=IndexRule("indices_tensor", "input_tensor", index_limits),
        **stated,
    )


SPECS = (
    _operator(
        "GATHER_ND",
        "GATHER_ND-4",
        summary="gathers subblocks of the input, each addressed by a tuple of indices",
        pseudocode="output[i..., rest] = input[indices[i..., :], rest]",
    ),
    _operator(
        "GATHER_ND1",
        "GATHER_ND1-6",
        batch_rules("GATHER_ND1", "ns-directml-dml_gather_nd1_operator_desc"),
        summary="gathers subblocks of the input, each addressed by a tuple of indices, batch by batch",
        pseudocode="output[b..., i..., rest] = input[b..., indices[b..., i..., :], rest]",
    ),
)
