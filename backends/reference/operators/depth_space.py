"""SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors: blocks of an image become channels, and back."""

from __future__ import annotations

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators.depth_space import order_of
from dml_conformance.spec.structures import DepthSpace

COLUMN_ROW_DEPTH = enumeration("DML_DEPTH_SPACE_ORDER").COLUMN_ROW_DEPTH


def space_to_depth(desc: DepthSpace, arrays: Arrays) -> Arrays:
    """output[n, (y, x, c), h, w] = input[n, c, (h, y), (w, x)]; for COLUMN_ROW_DEPTH the channels are (c, y, x)."""
    source, block = arrays["input_tensor"], desc.block_size
    batch, channels, height, width = source.shape
    split = source.reshape(batch, channels, height // block, block, width // block, block)  # n, c, h, y, w, x
    moved = split.transpose((0, 1, 3, 5, 2, 4) if order_of(desc) == COLUMN_ROW_DEPTH else (0, 3, 5, 1, 2, 4))
    return {"output_tensor": moved.reshape(desc.output_tensor.sizes)}


def depth_to_space(desc: DepthSpace, arrays: Arrays) -> Arrays:
    """output[n, c, (h, y), (w, x)] = input[n, (y, x, c), h, w]; for COLUMN_ROW_DEPTH the channels are (c, y, x)."""
    source, block = arrays["input_tensor"], desc.block_size
    batch, channels, height, width = source.shape
    if order_of(desc) == COLUMN_ROW_DEPTH:
        split = source.reshape(batch, channels // block**2, block, block, height, width)  # n, c, y, x, h, w
        moved = split.transpose(0, 1, 4, 2, 5, 3)
    else:
        split = source.reshape(batch, block, block, channels // block**2, height, width)  # n, y, x, c, h, w
        moved = split.transpose(0, 3, 4, 1, 5, 2)
    return {"output_tensor": moved.reshape(desc.output_tensor.sizes)}


OPERATORS: dict[str, Compute] = {
    "SPACE_TO_DEPTH": space_to_depth,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEPTH_TO_SPACE1": depth_to_space,
    "SPACE_TO_DEPTH1": space_to_depth,
}
