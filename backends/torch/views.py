"""What operators and kernels take of a tensor, as its descriptor says."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.structures import DML_MULTIHEAD_ATTENTION_OPERATOR_DESC, Attention


class PlanError(ValueError):
    """An attribute or a shape that the operator cannot work with."""


def check_sizes(name: str, tensor: Tensor, wanted: Sequence[int]) -> None:
    """Raise PlanError where a tensor has other sizes than those."""
    if tuple(tensor.shape) != tuple(wanted):
        raise PlanError(f"{name} has sizes {tuple(tensor.shape)}, not {tuple(wanted)}")


def batch_dimensions(desc: OperatorDesc) -> int:
    """How many leading dimensions input and indices share: GATHER_ND1's BatchDimensionCount, of GATHER_ND none."""
    count: int = getattr(desc, "batch_dimension_count", 0)
    return count


def head_counts(desc: Attention) -> tuple[int, int]:
    """The heads of attention's queries, and those of its keys and values, which MULTIHEAD_ATTENTION has as many of."""
    if isinstance(desc, DML_MULTIHEAD_ATTENTION_OPERATOR_DESC):
        return desc.head_count, desc.head_count
    return desc.query_head_count, desc.key_value_head_count


def last_dimensions(tensor: Tensor, count: int, attribute: str, *, least: int = 1) -> Tensor:
    """The last `count` dimensions; torch refuses the view where one before them is not 1."""
    if not least <= count <= tensor.dim():
        raise PlanError(f"{attribute} is {count}, expected {least} to {tensor.dim()}")
    return tensor if count == tensor.dim() else tensor.view(tensor.shape[tensor.dim() - count :])
