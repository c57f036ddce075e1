"""Sizes, and the counts that say which of them mean something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import layout
from dml_conformance.documents.consistency.printed import printed_sizes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._gather_nd import unpadded_sizes
from dml_conformance.spec.rules import ACCEPTANCE
from strength.mutants.base import (
    Mutant,
    RejectsValid,
    WrongDecision,
    index_numbers,
    rank,
    tensors,
)


class IgnoresIndexDimensions(Mutant):
    """Takes every dimension of the index tensor as meaningful (microsoft/DirectML#685)."""

    has = ("index_dimensions",)
    rules = (ACCEPTANCE,)

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.indices_tensor is None or desc.index_dimensions > len(desc.indices_tensor.sizes):
            return desc
        return replace(desc, index_dimensions=len(desc.indices_tensor.sizes))


class UsesLeadingIndexSizes(Mutant):
    """Takes the first IndexDimensions sizes of the index tensor where the last ones count (microsoft/DirectML#685)."""

    has = ("index_dimensions",)
    rules = (ACCEPTANCE,)

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.indices_tensor is None:
            return desc
        sizes, count = desc.indices_tensor.sizes, desc.index_dimensions
        return replace(desc, indices_tensor=replace(desc.indices_tensor, sizes=sizes[count:] + sizes[:count]))


class PrintedSizeFormula(Mutant):
    """Follows the size formula as the pages print it (errata GATHER_ND-1, GATHER_ND1-1)."""

    has = ("input_dimension_count",)
    rules = (ACCEPTANCE,)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted and printed_sizes(desc) != desc.output_tensor.sizes:
            return Answer(False, "OutputTensor.Sizes")
        return answer


class IgnoresBatches(Mutant):
    """Reads every tuple of indices from the first batch's dimensions on."""

    has = ("batch_dimension_count",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source = layout.bits(inputs["input_tensor"], desc.input_tensor)
        source = source[(0,) * (source.ndim - desc.input_dimension_count) + (...,)]
        numbers = index_numbers(desc, inputs)
        numbers = numbers[(0,) * (numbers.ndim - desc.indices_dimension_count) + (...,)]
        places = tuple(numbers[..., k] % source.shape[k] for k in range(numbers.shape[-1]))
        return np.resize(source[places], desc.output_tensor.sizes)


class RepeatsReversed(Mutant):
    has = ("repeats",)
    rules = (ACCEPTANCE,)

    def seen(self, desc: Any, level: Level) -> Any:
        return replace(desc, repeats=desc.repeats[::-1])


class RepeatsElements(Mutant):
    """Repeats each element in place, as numpy.repeat does, instead of the whole."""

    has = ("repeats",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        values = layout.bits(inputs["input_tensor"], desc.input_tensor)
        for d, count in enumerate(desc.repeats):
            values = np.repeat(values, count, d)
        return values


class AcceptsOutputThatBroadcasts(WrongDecision):
    """Accepts an output that is larger than what is computed where that has size 1."""

    rules = ("output-sizes",)
    also = ("TENSOR.element-count",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted or desc.output_tensor is None:
            return answer
        given = desc.output_tensor.sizes
        narrower = [(*given[:d], 1, *given[d + 1 :]) for d, size in enumerate(given) if size > 1]
        outputs = [replace(desc.output_tensor, sizes=sizes) for sizes in narrower]
        fits = any(
            super(Mutant, self).validate(replace(desc, output_tensor=output), level).accepted for output in outputs
        )
        return Answer(True) if fits else answer


class CropsOutputSizes(WrongDecision):
    """Drops leading sizes that do not fit the dimension count, whatever they are."""

    has = ("input_dimension_count",)
    rules = ("output-rank",)
    since = "3_0"

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted or len({len(tensor.sizes) for _, tensor in tensors(desc)}) != 1 or len(tensors(desc)) < 3:
            return answer
        count, sizes = rank(desc), unpadded_sizes(desc)
        is_in_range = max(desc.input_dimension_count, desc.indices_dimension_count) <= count <= 8
        is_cropped = is_in_range and len(sizes) > count and sizes[-count:] == desc.output_tensor.sizes
        return Answer(True) if is_cropped else answer


class AcceptsZeroSizes(WrongDecision):
    """Takes a tensor without elements for an operator with nothing to do."""

    rules = ("TENSOR.sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        is_empty = any(0 in tensor.sizes for _, tensor in tensors(desc))
        return Answer(True) if is_empty else super().validate(desc, level)


class RejectsWholeTuples(RejectsValid):
    """Refuses tuples that address every dimension, so that an element is gathered and not a block."""

    has = ("input_dimension_count",)

    def refused(self, desc: Any) -> bool:
        meaningful = desc.input_dimension_count - getattr(desc, "batch_dimension_count", 0)
        return bool(desc.indices_tensor.sizes[-1] == meaningful)


class RejectsIndexDimensionsZero(RejectsValid):
    since = "2_1"
    has = ("index_dimensions",)

    def refused(self, desc: Any) -> bool:
        return bool(desc.index_dimensions == 0)


class RejectsRepeatsOfOne(RejectsValid):
    has = ("repeats",)

    def refused(self, desc: Any) -> bool:
        return set(desc.repeats) == {1}
