"""What this backend supports: for each operator its function, its tensors, and the types that each level takes.

To add an operator, write its function in `operators` and give it a row here; a plan for a kernel can come later.

Source: the "Tensor support" tables of the operators' pages, and DML_TENSOR_DIMENSION_COUNT_MAX (5) and
DML_TENSOR_DIMENSION_COUNT_MAX1 (8, from level 3_0 on) on the page of DirectML's constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from torch import Tensor

from dml_conformance.backends.torch import operators
from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.kernels.plans import Plan
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level

FLOAT = frozenset({DataType.FLOAT32, DataType.FLOAT16})
TO_32_BIT = FLOAT | {DataType[f"{kind}{bits}"] for kind in ("INT", "UINT") for bits in (8, 16, 32)}
INTEGER_TO_64_BIT = TO_32_BIT | {DataType.INT64, DataType.UINT64}
TO_64_BIT = INTEGER_TO_64_BIT | {DataType.FLOAT64}
UINT32 = frozenset({DataType.UINT32})
INDEX = frozenset({DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64})
NONE: frozenset[DataType] = frozenset()

FOUR = range(4, 5)
ANY = range(1, 9)


@dataclass(frozen=True, slots=True)
class TensorSupport:
    """What one level takes: dimension counts of all tensors, data types, and types of an index tensor."""

    dimension_counts: range
    data_types: frozenset[DataType]
    index_types: frozenset[DataType] = NONE


@dataclass(frozen=True, eq=False, slots=True)
class TorchOperator:
    """One operator of this backend.

    Attributes:
        run: `run(desc, *inputs, out)`; see `operators`.
        inputs: the descriptor's attributes that hold the input tensors, in the order of the function's parameters.
        support: by level; a level that is not listed has what the next lower one has.
        indices: which of the inputs is an index tensor, if one is.
        output: the attribute that holds the output tensor.
        plan: `plan(desc, *inputs, out)`, of a kernel that does the same; see `kernels.plans`. None: there is none.
    """

    run: Callable[..., Tensor]
    inputs: tuple[str, ...]
    support: Mapping[Level, TensorSupport]
    indices: str = ""
    output: str = "output_tensor"
    plan: Callable[..., Plan | None] | None = None


FROM_3_0 = {
    Level.L3_0: TensorSupport(ANY, TO_32_BIT, INDEX),
    Level.L4_1: TensorSupport(ANY, TO_64_BIT, INDEX),
}
FROM_2_1 = {Level.L2_1: TensorSupport(FOUR, TO_32_BIT, UINT32), **FROM_3_0}


def _by_indices(
    run: Callable[..., Tensor], plan: Callable[..., Plan | None], support: Mapping[Level, TensorSupport]
) -> TorchOperator:
    """An operator that takes elements by the indices in a second tensor."""
    return TorchOperator(run, ("input_tensor", "indices_tensor"), support, indices="indices_tensor", plan=plan)


OPERATORS: Mapping[str, TorchOperator] = {
    "GATHER": _by_indices(operators.gather, plans.gather, {Level.L1_0: TensorSupport(FOUR, FLOAT, UINT32), **FROM_2_1}),
    "TILE": TorchOperator(
        operators.tile,
        ("input_tensor",),
        {
            Level.L1_0: TensorSupport(FOUR, FLOAT),
            Level.L2_1: TensorSupport(FOUR, TO_32_BIT),
            Level.L3_1: TensorSupport(ANY, TO_32_BIT),
            Level.L4_1: TensorSupport(ANY, INTEGER_TO_64_BIT),
        },
        plan=plans.tile,
    ),
    "GATHER_ELEMENTS": _by_indices(operators.gather_elements, plans.gather_elements, FROM_2_1),
    "GATHER_ND": _by_indices(operators.gather_nd, plans.gather_nd, FROM_2_1),
    "GATHER_ND1": _by_indices(operators.gather_nd, plans.gather_nd, FROM_3_0),
}


@cache
def support_at(operator: TorchOperator, level: Level) -> TensorSupport | None:
    """What the operator takes at a level; None below the level that introduced it."""
    at_or_below = [listed for listed in operator.support if listed <= level]
    return operator.support[max(at_or_below)] if at_or_below else None
