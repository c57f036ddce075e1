"""DML_OPERATOR_GATHER."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators._indexing import by_indices, in_range, take_rows, valid_axis
from dml_conformance.backends.torch.views import last_dimensions
from dml_conformance.spec.structures import Gather

LEAST_ROW = 64  # bytes; with shorter rows, numbering them costs more than torch.gather's element by element


def gather(desc: Gather, source: Tensor, indices: Tensor, out: Tensor | None) -> Tensor:
    """GATHER: `output[before, i..., after] = input[before, indices[i...], after]`, right-aligned."""
    axis = valid_axis(desc, source)
    chosen = last_dimensions(indices, desc.index_dimensions, "IndexDimensions", least=0)
    before, after = source.shape[:axis], source.shape[axis + 1 :]
    shape = (*before, *chosen.shape, *after)
    surplus = len(shape) - source.dim()
    # Where a size above 1 were cropped, elements are left over and torch refuses the shape.
    aligned = shape[surplus:] if surplus > 0 else (1,) * -surplus + shape
    if math.prod(before) == 1 or math.prod(after) * source.itemsize >= LEAST_ROW:
        return take_rows(source, [*(None for _ in before), chosen], (*before, *chosen.shape), aligned, out)
    index = in_range(chosen, source.shape[axis]).reshape((-1,) + (1,) * len(after)).expand(*before, -1, *after)
    if out is None:
        return torch.gather(source, axis, index).reshape(aligned)
    torch.gather(source, axis, index, out=out.view(index.shape))
    return out


OPERATORS = {"GATHER": by_indices(gather, plans.gather)}
