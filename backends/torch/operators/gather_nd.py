"""DML_OPERATOR_GATHER_ND and GATHER_ND1, with the corrected size formulas."""

from __future__ import annotations

from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators import PlanError
from dml_conformance.backends.torch.operators._indexing import by_indices, take_rows
from dml_conformance.backends.torch.views import batch_dimensions, last_dimensions
from dml_conformance.spec.structures import GatherNd


def gather_nd(desc: GatherNd, source: Tensor, indices: Tensor, out: Tensor | None) -> Tensor:
    """GATHER_ND: `output[i..., rest] = input[indices[i..., :], rest]`; GATHER_ND1: the same with `b...` before each.

    GATHER_ND is GATHER_ND1 without batches.
    """
    rank, batch = source.dim(), batch_dimensions(desc)
    source = last_dimensions(source, desc.input_dimension_count, "InputDimensionCount")
    tuples = last_dimensions(indices, desc.indices_dimension_count, "IndicesDimensionCount")
    sizes, index_sizes = source.shape, tuples.shape
    addressed = batch + index_sizes[-1]
    if batch >= len(index_sizes) or addressed > len(sizes):
        raise PlanError(
            f"{batch} batch dimensions and tuples of {index_sizes[-1]} coordinates do not fit "
            f"{len(sizes)} input and {len(index_sizes)} index dimensions"
        )
    if sizes[:batch] != index_sizes[:batch]:
        raise PlanError(
            f"batches are {tuple(sizes[:batch])} in InputTensor, {tuple(index_sizes[:batch])} in the indices"
        )
    grid, rest = index_sizes[:-1], sizes[addressed:]
    coordinates = [*(None for _ in range(batch)), *tuples.unbind(-1)]
    return take_rows(source, coordinates, grid, (1,) * (rank - len(grid) - len(rest)) + grid + rest, out)


OPERATORS = dict.fromkeys(("GATHER_ND", "GATHER_ND1"), by_indices(gather_nd, plans.gather_nd))
