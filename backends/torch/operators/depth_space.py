"""DML_OPERATOR_SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors."""

from __future__ import annotations

from typing import Any

from torch.nn import functional

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.field_kinds import enumeration


def space_to_depth(desc: Any, tensors: Tensors) -> Tensors:
    """torch's pixel_unshuffle has the channel before the places of the block; DEPTH_COLUMN_ROW wants it behind them."""
    source, block = tensors["input_tensor"], _block(desc)
    channels, height, width = source.shape[1:]
    if height % block or width % block:
        raise PlanError(f"BlockSize is {block}, the input has {height} rows and {width} columns")
    moved = functional.pixel_unshuffle(source, block)
    if _has_channel_last(desc):
        moved = moved.unflatten(1, (channels, block * block)).transpose(1, 2).flatten(1, 2)
    return {"output_tensor": moved}


def depth_to_space(desc: Any, tensors: Tensors) -> Tensors:
    """torch's pixel_shuffle, after which the same holds."""
    source, block = tensors["input_tensor"], _block(desc)
    channels = source.shape[1]
    if channels % (block * block):
        raise PlanError(f"BlockSize is {block}, the input has {channels} channels")
    if _has_channel_last(desc):
        source = source.unflatten(1, (block * block, channels // (block * block))).transpose(1, 2).flatten(1, 2)
    return {"output_tensor": functional.pixel_shuffle(source, block)}


def _block(desc: Any) -> int:
    block: int = desc.block_size
    if block < 1:
        raise PlanError("BlockSize is 0")
    return block


def _has_channel_last(desc: Any) -> bool:
    order = enumeration("DML_DEPTH_SPACE_ORDER").DEPTH_COLUMN_ROW
    return bool(getattr(desc, "order", order) == order)


OPERATORS = {
    "SPACE_TO_DEPTH": TorchOperator(space_to_depth),
    "DEPTH_TO_SPACE": TorchOperator(depth_to_space),
    "DEPTH_TO_SPACE1": TorchOperator(depth_to_space),
    "SPACE_TO_DEPTH1": TorchOperator(space_to_depth),
}
