"""Flags, alignments and attributes: accepted where they are wrong, refused where they are right."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.backends.base import Answer
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import RejectsValid, WrongDecision, of_role, plants, rank


@plants("tensor_seen", WrongDecision, rules=("TENSOR.flags",))
def AcceptsUnknownFlags(tensor: TensorDesc) -> TensorDesc:
    return replace(tensor, flags=tensor.flags & 1)


@plants("seen", WrongDecision, rules=("TENSOR.owned-by-dml",))
def AcceptsOwnedByDmlOutput(desc: Any) -> Any:
    changed = {slot.key: replace(slot.tensor, flags=slot.tensor.flags & ~1) for slot in of_role(desc, is_output=True)}
    return with_tensors(desc, changed)


@plants("tensor_seen", WrongDecision, rules=("TENSOR.alignment-power-of-two",))
def AcceptsOddAlignment(tensor: TensorDesc) -> TensorDesc:
    alignment = tensor.guaranteed_base_offset_alignment
    return replace(tensor, guaranteed_base_offset_alignment=0) if alignment & (alignment - 1) else tensor


@plants("tensor_seen", WrongDecision, rules=("TENSOR.alignment-element-size",))
def AcceptsAlignmentBelowElement(tensor: TensorDesc) -> TensorDesc:
    alignment = tensor.guaranteed_base_offset_alignment
    return replace(tensor, guaranteed_base_offset_alignment=0) if alignment in (1, 2, 4) else tensor


@plants("seen", WrongDecision, families=("tile",), rules=("TILE.repeats",))
def AcceptsZeroRepeats(desc: Any) -> Any:
    """Takes a repeat of 0 for none."""
    return replace(desc, repeats=tuple(max(repeat, 1) for repeat in desc.repeats))


@plants("seen", WrongDecision, families=("tile",), rules=("TILE.repeats-count",))
def AcceptsSurplusRepeats(desc: Any) -> Any:
    """Ignores repeats beyond the dimensions, and takes missing leading ones for 1."""
    count = rank(desc) if desc.input_tensor is not None else 0
    padded = (1,) * (count - len(desc.repeats)) + desc.repeats
    return replace(desc, repeats=padded[len(padded) - count :])


@plants(
    "seen",
    WrongDecision,
    since="3_0",
    families=("gather_nd",),
    has=("batch_dimension_count",),
    rules=("batch-dimension-count",),
)
def ClampsBatches(desc: Any) -> Any:
    """Takes a BatchDimensionCount that is too large for the largest there is."""
    if desc.input_tensor is None:
        return desc
    return replace(desc, batch_dimension_count=min(desc.batch_dimension_count, rank(desc) - 1))


@plants(
    "seen",
    WrongDecision,
    since="3_0",
    families=("gather_nd",),
    rules=("input-dimension-count", "indices-dimension-count"),
)
def ClampsDimensionCounts(desc: Any) -> Any:
    """Takes a count of meaningful dimensions above the dimension count for all of them."""
    if desc.input_tensor is None or desc.indices_tensor is None:
        return desc
    return replace(
        desc,
        input_dimension_count=min(desc.input_dimension_count, rank(desc)),
        indices_dimension_count=min(desc.indices_dimension_count, len(desc.indices_tensor.sizes)),
    )


@plants("validate", WrongDecision, rules=("output-sizes",))
def AcceptsEverything() -> Answer:
    return Answer(True)


@plants("tensor_refused", RejectsValid, reads=True)
def RejectsOwnedByDmlInput(tensor: TensorDesc) -> bool:
    return tensor.flags != 0


@plants("tensor_refused", RejectsValid)
def RejectsAlignmentBelow16(tensor: TensorDesc) -> bool:
    return 0 < tensor.guaranteed_base_offset_alignment < 16
