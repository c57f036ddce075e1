"""DML_OPERATOR_NONZERO_COORDINATES."""

from __future__ import annotations

from math import prod

import torch

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._order import bits
from dml_conformance.spec.structures import NonzeroCoordinates


def nonzero_coordinates(desc: NonzeroCoordinates, tensors: Tensors) -> Tensors:
    """How many elements are not zero, and their last coordinates; rows after these are 0."""
    source = tensors["input_tensor"]
    sizes, elements = list(source.shape), prod(source.shape)
    rows = desc.output_coordinates_tensor.sizes
    first = next((d for d, size in enumerate(sizes) if size > 1), len(sizes) - 1)
    if len(rows) < 2 or not len(sizes) - first <= rows[-1] <= len(sizes):
        raise PlanError(f"OutputCoordinatesTensor has sizes {tuple(rows)}, InputTensor {tuple(sizes)}")
    columns, counts = rows[-1], [1] * len(desc.output_count_tensor.sizes)
    shape = [1] * (len(rows) - 2) + [elements, columns]
    if source.is_meta:
        count, found = (torch.empty(size, dtype=torch.int32, device=source.device) for size in (counts, shape))
        return {"output_count_tensor": count, "output_coordinates_tensor": found}
    is_nonzero = ((source if source.is_floating_point() else bits(source)) != 0).reshape(-1)
    row = is_nonzero.cumsum(0)
    count = row[-1:].to(torch.int32).view(counts)
    # An element that is zero writes a row after all others, which is dropped.
    row.sub_(1).masked_fill_(is_nonzero.logical_not_(), elements)
    found = torch.zeros((elements + 1, columns), dtype=torch.int32, device=source.device)
    for column in range(columns):
        d = len(sizes) - columns + column
        along = torch.arange(sizes[d], dtype=torch.int32, device=source.device)
        along = along.view([-1 if other == d else 1 for other in range(len(sizes))]).expand(sizes).reshape(-1)
        found[:, column].scatter_(0, row, along)
    return {"output_count_tensor": count, "output_coordinates_tensor": found[:elements].view(shape)}


OPERATORS = {"NONZERO_COORDINATES": TorchOperator(nonzero_coordinates, (), frozenset({"input_tensor"}), ranks=())}
