"""DML_OPERATOR_GATHER_ELEMENTS."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators import PlanError
from dml_conformance.backends.torch.operators._indexing import by_indices, in_range, valid_axis


def gather_elements(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None) -> Tensor:
    """GATHER_ELEMENTS: `output[..., i, ...] = input[..., indices[..., i, ...], ...]`."""
    axis = valid_axis(desc, source)
    for d, (size, index_size) in enumerate(zip(source.shape, indices.shape, strict=True)):
        if d != axis and size != index_size:  # torch.gather itself would take fewer indices than elements
            raise PlanError(f"dimension {d} has size {size} in InputTensor, {index_size} in IndicesTensor")
    return torch.gather(source, axis, in_range(indices, source.shape[axis]), out=out)


OPERATORS = {"GATHER_ELEMENTS": by_indices(gather_elements, plans.gather_elements)}
