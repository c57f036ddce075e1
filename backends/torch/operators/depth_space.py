"""DML_OPERATOR_SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors."""

from __future__ import annotations

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DepthSpace


def space_to_depth(desc: DepthSpace, tensors: Tensors) -> Tensors:
    """Rows and columns split into blocks, whose places go before the channels or behind them, in one copy."""
    source, block = tensors["input_tensor"], _block(desc)
    height, width = source.shape[2:]
    if height % block or width % block:
        raise PlanError(f"BlockSize is {block}, the input has {height} rows and {width} columns")
    split = source.unflatten(3, (width // block, block)).unflatten(2, (height // block, block))  # type: ignore[no-untyped-call]
    moved = split.permute((0, 3, 5, 1, 2, 4) if _has_channel_last(desc) else (0, 1, 3, 5, 2, 4))
    return {"output_tensor": moved.flatten(1, 3)}


def depth_to_space(desc: DepthSpace, tensors: Tensors) -> Tensors:
    """The channels split into those of the output and the places in a block."""
    source, block = tensors["input_tensor"], _block(desc)
    channels = source.shape[1]
    if channels % (block * block):
        raise PlanError(f"BlockSize is {block}, the input has {channels} channels")
    left = channels // (block * block)
    if _has_channel_last(desc):
        moved = source.unflatten(1, (block, block, left)).permute(0, 3, 4, 1, 5, 2)  # type: ignore[no-untyped-call]
    else:
        moved = source.unflatten(1, (left, block, block)).permute(0, 1, 4, 2, 5, 3)  # type: ignore[no-untyped-call]
    return {"output_tensor": moved.flatten(4, 5).flatten(2, 3)}


def _block(desc: DepthSpace) -> int:
    block: int = desc.block_size
    if block < 1:
        raise PlanError("BlockSize is 0")
    return block


def _has_channel_last(desc: DepthSpace) -> bool:
    order = enumeration("DML_DEPTH_SPACE_ORDER").DEPTH_COLUMN_ROW
    return bool(getattr(desc, "order", order) == order)


OPERATORS = {
    "SPACE_TO_DEPTH": TorchOperator(space_to_depth),
    "DEPTH_TO_SPACE": TorchOperator(depth_to_space),
    "DEPTH_TO_SPACE1": TorchOperator(depth_to_space),
    "SPACE_TO_DEPTH1": TorchOperator(space_to_depth),
}
