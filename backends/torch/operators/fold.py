"""DML_OPERATOR_FOLD and UNFOLD, in any number of spatial dimensions."""

from __future__ import annotations

from math import prod

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._windows import add_windows, cropped, window_counts, window_view
from dml_conformance.spec.structures import Fold

BLOCKS_RANK = 3


def unfold(desc: Fold, tensors: Tensors) -> Tensors:
    """A view of the padded image in which the elements overlap, made a matrix."""
    source = tensors["input_tensor"]
    batch, channels, *spatial = source.shape
    counts = window_counts(desc, desc.window_sizes, spatial)
    shape = (batch, channels * prod(desc.window_sizes), prod(counts))
    if source.is_meta:
        return {"output_tensor": source.new_empty(shape)}
    view = window_view(desc, source, desc.window_sizes, counts)
    return {"output_tensor": view.reshape(shape)}


def fold(desc: Fold, tensors: Tensors) -> Tensors:
    """Every element added to its place in the padded image, whose spatial dimensions are one row."""
    source = tensors["input_tensor"]
    if source.dim() != BLOCKS_RANK:
        raise PlanError(f"InputTensor has {source.dim()} dimensions, not 3")
    batch, elements, columns = source.shape
    spatial = desc.output_tensor.sizes[2:]
    counts = window_counts(desc, desc.window_sizes, spatial)
    window = prod(desc.window_sizes)
    if elements % window or columns != prod(counts):
        raise PlanError(
            f"{elements} elements and {columns} windows, expected a multiple of {window} and {prod(counts)}"
        )
    shape = (batch, elements // window, *spatial)
    if source.is_meta:
        return {"output_tensor": source.new_empty(shape)}
    padded = [sum(sizes) for sizes in zip(spatial, desc.start_padding, desc.end_padding, strict=True)]
    split = source.reshape(batch, elements // window, -1)
    return {"output_tensor": cropped(desc, add_windows(desc, split, desc.window_sizes, counts, padded), spatial)}


OPERATORS = {
    "FOLD": TorchOperator(
        fold,
        agree=(),
        numbers=frozenset({"input_tensor"}),
        ranks=(("input_tensor",), ("output_tensor",)),
    ),
    "UNFOLD": TorchOperator(unfold, agree=(), ranks=(("input_tensor",), ("output_tensor",))),
}
