"""DML_OPERATOR_SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors: blocks of an image become channels, and back.

The successors let the order of the new channels be chosen; the older ones have DEPTH_COLUMN_ROW. The sizes of
SPACE_TO_DEPTH here are the corrected ones (errata SPACE_TO_DEPTH-1, SPACE_TO_DEPTH1-1): the pages print those of the
opposite operator.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import checked, within
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, no_misfit, operator_spec, output_sizes
from dml_conformance.spec.structures import DepthSpace

RANK = 4  # batch, channels, height, width


def order_of(desc: DepthSpace) -> int:
    """The successors' Order; DEPTH_COLUMN_ROW of the operators that have none."""
    return int(getattr(desc, "order", enumeration("DML_DEPTH_SPACE_ORDER").DEPTH_COLUMN_ROW))


def shape(desc: DepthSpace) -> Shapes | Misfit:
    """Height and width shrink by BlockSize and the channels grow by its square, or the other way round."""
    sizes, block = desc.input_tensor.sizes, desc.block_size
    if len(sizes) != RANK:
        return Misfit("InputTensor.DimensionCount", str(len(sizes)))
    if not block:
        return Misfit("BlockSize", "0")
    batch, channels, height, width = sizes
    if desc.operator.startswith("SPACE_TO_DEPTH"):
        if height % block or width % block:
            return Misfit("BlockSize", f"{block} does not divide the input's height and width, {height} and {width}")
        return {"output_tensor": (batch, channels * block * block, height // block, width // block)}
    if channels % (block * block):
        return Misfit("BlockSize", f"{block} squared does not divide the input's {channels} channels")
    return {"output_tensor": (batch, channels // (block * block), height * block, width * block)}


def _operator(name: str) -> OperatorSpec:
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            within("BlockSize", 1, None, name="block-size"),
            checked("divisible", no_misfit(shape), after=("dimension-counts", "block-size")),
            output_sizes("dimension-counts", "block-size", "divisible"),
        ),
    )


SPECS = tuple(map(_operator, ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "DEPTH_TO_SPACE1", "SPACE_TO_DEPTH1")))


def block_size_squared_in_32_bits(desc: DepthSpace) -> bool:
    """The sizes fit where BlockSize squared and the products with it are cut to 32 bits."""
    block, squared = desc.block_size, desc.block_size**2 % 2**32
    if None in (desc.input_tensor, desc.output_tensor) or not squared or squared == block * block:
        return False
    if len(desc.input_tensor.sizes) != RANK:
        return False
    batch, channels, height, width = desc.input_tensor.sizes
    fitting = (batch, channels // squared, height * block % 2**32, width * block % 2**32)
    return channels % squared == 0 and bool(desc.output_tensor.sizes == fitting)


def division_by_block_size_squared(desc: DepthSpace) -> bool:
    """BlockSize squared is 0 in 32 bits, BlockSize is not."""
    return bool(desc.block_size and desc.block_size % 2**16 == 0)


DIVERGENCES = {
    "DIV-depth-to-space-block-in-32-bits": block_size_squared_in_32_bits,
    "DIV-depth-to-space-divides-by-zero": division_by_block_size_squared,
}
