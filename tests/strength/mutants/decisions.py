"""Flags, alignments and attributes: accepted where they are wrong, refused where they are right."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.backends.base import Answer
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import RejectsValid, WrongDecision, edit_tensors, rank, tensors


class AcceptsUnknownFlags(WrongDecision):
    rules = ("TENSOR.flags",)

    def seen(self, desc: Any, level: Level) -> Any:
        return edit_tensors(desc, lambda tensor: replace(tensor, flags=tensor.flags & 1))


class AcceptsOwnedByDmlOutput(WrongDecision):
    rules = ("TENSOR.owned-by-dml",)

    def seen(self, desc: Any, level: Level) -> Any:
        output = desc.output_tensor
        return desc if output is None else replace(desc, output_tensor=replace(output, flags=output.flags & ~1))


class AcceptsOddAlignment(WrongDecision):
    rules = ("TENSOR.alignment-power-of-two",)

    def seen(self, desc: Any, level: Level) -> Any:
        def even(tensor: TensorDesc) -> TensorDesc:
            alignment = tensor.guaranteed_base_offset_alignment
            return replace(tensor, guaranteed_base_offset_alignment=0) if alignment & (alignment - 1) else tensor

        return edit_tensors(desc, even)


class AcceptsAlignmentBelowElement(WrongDecision):
    rules = ("TENSOR.alignment-element-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        def enough(tensor: TensorDesc) -> TensorDesc:
            alignment = tensor.guaranteed_base_offset_alignment
            return replace(tensor, guaranteed_base_offset_alignment=0) if alignment in (1, 2, 4) else tensor

        return edit_tensors(desc, enough)


class AcceptsZeroRepeats(WrongDecision):
    """Takes a repeat of 0 for none."""

    has = ("repeats",)
    rules = ("TILE.repeats",)

    def seen(self, desc: Any, level: Level) -> Any:
        return replace(desc, repeats=tuple(max(repeat, 1) for repeat in desc.repeats))


class AcceptsSurplusRepeats(WrongDecision):
    """Ignores repeats beyond the dimensions, and takes missing leading ones for 1."""

    has = ("repeats",)
    rules = ("TILE.repeats-count",)

    def seen(self, desc: Any, level: Level) -> Any:
        count = rank(desc) if desc.input_tensor is not None else 0
        padded = (1,) * (count - len(desc.repeats)) + desc.repeats
        return replace(desc, repeats=padded[len(padded) - count :])


class ClampsBatches(WrongDecision):
    """Takes a BatchDimensionCount that is too large for the largest there is."""

    has = ("batch_dimension_count",)
    rules = ("batch-dimension-count",)
    since = "3_0"

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.input_tensor is None:
            return desc
        return replace(desc, batch_dimension_count=min(desc.batch_dimension_count, rank(desc) - 1))


class ClampsDimensionCounts(WrongDecision):
    """Takes a count of meaningful dimensions above the dimension count for all of them."""

    has = ("input_dimension_count",)
    rules = ("input-dimension-count", "indices-dimension-count")
    since = "3_0"

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.input_tensor is None or desc.indices_tensor is None:
            return desc
        return replace(
            desc,
            input_dimension_count=min(desc.input_dimension_count, rank(desc)),
            indices_dimension_count=min(desc.indices_dimension_count, len(desc.indices_tensor.sizes)),
        )


class AcceptsEverything(WrongDecision):
    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        return Answer(True)


class RejectsOwnedByDmlInput(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return any(tensor.flags for _, tensor in tensors(desc))


class RejectsAlignmentBelow16(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return any(0 < tensor.guaranteed_base_offset_alignment < 16 for _, tensor in tensors(desc))
