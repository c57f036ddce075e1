"""DML_OPERATOR_GATHER_ELEMENTS."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators._indexing import by_indices, check_off_axis, in_range, valid_axis
from dml_conformance.spec.structures import GatherElements


def gather_elements(desc: GatherElements, source: Tensor, indices: Tensor, out: Tensor | None) -> Tensor:
    """GATHER_ELEMENTS: `output[..., i, ...] = input[..., indices[..., i, ...], ...]`."""
    axis = valid_axis(desc, source)
    check_off_axis(source, indices, axis)
    return torch.gather(source, axis, in_range(indices, source.shape[axis]), out=out)


OPERATORS = {"GATHER_ELEMENTS": by_indices(gather_elements, plans.gather_elements)}
