"""Sizes, and the counts that say which of them mean something."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.operators.gather_nd import meaningful_index_sizes, tuple_size, unpadded_sizes
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.validator import decide
from strength.mutants.base import (
    REFERENCE,
    Bindings,
    RejectsValid,
    WrongDecision,
    fault,
    index_numbers,
    of_role,
    plants,
    rank,
    tensors,
)


@plants("seen", families=("gather",), rules=(ACCEPTANCE,))
def IgnoresIndexDimensions(desc: Any) -> Any:
    """Takes every dimension of the index tensor as meaningful (microsoft/DirectML#685)."""
    if desc.indices_tensor is None or desc.index_dimensions > len(desc.indices_tensor.sizes):
        return desc
    return replace(desc, index_dimensions=len(desc.indices_tensor.sizes))


@plants("seen", families=("gather",), rules=(ACCEPTANCE,))
def UsesLeadingIndexSizes(desc: Any) -> Any:
    """Takes the first IndexDimensions sizes of the index tensor where the last ones count (microsoft/DirectML#685)."""
    if desc.indices_tensor is None:
        return desc
    sizes, count = desc.indices_tensor.sizes, desc.index_dimensions
    return replace(desc, indices_tensor=replace(desc.indices_tensor, sizes=sizes[count:] + sizes[:count]))


@plants("answered", families=("gather_nd",), rules=(ACCEPTANCE,))
def PrintedSizeFormula(answer: Answer, desc: Any) -> Answer:
    """Follows the size formula as the pages print it (errata GATHER_ND-1, GATHER_ND1-1)."""
    if not answer.accepted:
        return answer
    last = desc.input_tensor.sizes[len(desc.input_tensor.sizes) - tuple_size(desc) :]
    unpadded, sizes = meaningful_index_sizes(desc)[:-1] + last, desc.output_tensor.sizes
    is_printed = sizes == (1,) * (len(sizes) - len(unpadded)) + unpadded
    return answer if is_printed else Answer(False, "OutputTensor.Sizes")


@plants("computed", families=("gather_nd",), has=("batch_dimension_count",), rules=("values",))
def IgnoresBatches(desc: Any, inputs: Bindings) -> Any:
    """Reads every tuple of indices from the first batch's dimensions on."""
    source = layout.bits(inputs["input_tensor"], desc.input_tensor)
    source = source[(0,) * (source.ndim - desc.input_dimension_count) + (...,)]
    numbers = index_numbers(desc, inputs)
    numbers = numbers[(0,) * (numbers.ndim - desc.indices_dimension_count) + (...,)]
    places = tuple(numbers[..., k] % source.shape[k] for k in range(numbers.shape[-1]))
    return np.resize(source[places], desc.output_tensor.sizes)


@plants("seen", families=("tile",), rules=(ACCEPTANCE,))
def RepeatsReversed(desc: Any) -> Any:
    return replace(desc, repeats=desc.repeats[::-1])


@plants("computed", families=("tile",), rules=("values",))
def RepeatsElements(desc: Any, inputs: Bindings) -> Any:
    """Repeats each element in place, as numpy.repeat does, instead of the whole."""
    values = layout.bits(inputs["input_tensor"], desc.input_tensor)
    for d, count in enumerate(desc.repeats):
        values = np.repeat(values, count, d)
    return values


# Of DIAGONAL_MATRIX1 it is left open what sizes the output has.
@plants("answered", WrongDecision, lacks=("diagonal_fill_begin",), rules=("output-sizes",))
def AcceptsOutputThatBroadcasts(answer: Answer, desc: Any, level: Level) -> Answer:
    """Accepts an output that is larger than what is computed where that has size 1."""
    if [rule.rpartition(".")[-1] for rule in decide(desc, level).rules] != ["output-sizes"]:
        return answer
    for key, given in ((slot.key, slot.tensor) for slot in of_role(desc, is_output=True)):
        for d in (d for d, size in enumerate(given.sizes) if size > 1):
            narrower = replace(given, sizes=(*given.sizes[:d], 1, *given.sizes[d + 1 :]))
            if REFERENCE.validate(with_tensors(desc, {key: narrower}), level).accepted:
                return Answer(True)
    return answer


@plants("answered", WrongDecision, since="3_0", families=("gather_nd",), rules=("output-rank",))
def CropsOutputSizes(answer: Answer, desc: Any) -> Answer:
    """Drops leading sizes that do not fit the dimension count, whatever they are."""
    if answer.accepted or len({len(tensor.sizes) for _, tensor in tensors(desc)}) != 1 or len(tensors(desc)) < 3:
        return answer
    count, sizes = rank(desc), unpadded_sizes(desc)
    is_in_range = max(desc.input_dimension_count, desc.indices_dimension_count) <= count <= 8
    is_cropped = is_in_range and len(sizes) > count and sizes[-count:] == desc.output_tensor.sizes
    return Answer(True) if is_cropped else answer


@plants("validate", WrongDecision, rules=("TENSOR.sizes",))
def AcceptsZeroSizes(desc: Any, level: Level) -> Answer:
    """Takes a tensor without elements for an operator with nothing to do."""
    is_empty = any(0 in tensor.sizes for _, tensor in tensors(desc))
    return Answer(True) if is_empty else REFERENCE.validate(desc, level)


@plants("refused", RejectsValid, families=("gather_nd",))
def RejectsWholeTuples(desc: Any) -> bool:
    """Refuses tuples that address every dimension, so that an element is gathered and not a block."""
    meaningful = desc.input_dimension_count - getattr(desc, "batch_dimension_count", 0)
    return bool(desc.indices_tensor.sizes[-1] == meaningful)


plants("refused", RejectsValid).each(
    RejectsIndexDimensionsZero=fault(lambda desc: bool(desc.index_dimensions == 0), since="2_1", families=("gather",)),
    RejectsRepeatsOfOne=fault(lambda desc: set(desc.repeats) == {1}, families=("tile",)),
)
