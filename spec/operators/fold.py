"""DML_OPERATOR_UNFOLD and FOLD: windows that slide over an image become a matrix's columns, and are added up again.

The image has the dimensions batch, channels and the spatial ones; the blocks have three: batch, all elements of a
window, and the windows. No build of DirectML that was asked has these operators: the pages are all the evidence.
"""

from __future__ import annotations

from math import prod

from dml_conformance.spec.constraints import TYPES_COMPARABLE, checked, exists
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    ShapeFunction,
    Shapes,
    operator_spec,
    output_sizes,
    slots,
)
from dml_conformance.spec.operators._windows import FIRST, counts, window_rules, windows_of
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import Fold
from dml_conformance.spec.tensor import TensorDesc

BLOCKS_RANK = 3


def image(desc: Fold) -> TensorDesc:
    """The tensor with spatial dimensions: UNFOLD's input, FOLD's output."""
    return desc.input_tensor if desc.operator == "UNFOLD" else desc.output_tensor


def blocks(desc: Fold) -> TensorDesc:
    """The tensor whose columns are windows."""
    return desc.output_tensor if desc.operator == "UNFOLD" else desc.input_tensor


def windows(desc: Fold) -> tuple[int, ...] | Misfit:
    """How many windows there are along each spatial dimension of the image."""
    spatial = image(desc).sizes[FIRST:]
    return counts(windows_of(desc, desc.window_sizes, len(spatial)), spatial, "WindowSizes")


def unfold_shape(desc: Fold) -> Shapes | Misfit:
    """Batch, the channels times a window's elements, all windows."""
    if len(image(desc).sizes) < BLOCKS_RANK:
        return Misfit("InputTensor.DimensionCount", str(len(image(desc).sizes)))
    found = windows(desc)
    if isinstance(found, Misfit):
        return found
    batch, channels = image(desc).sizes[:2]
    return {"output_tensor": (batch, channels * prod(desc.window_sizes), prod(found))}


def fold_shape(desc: Fold) -> Shapes | Misfit:
    """Batch, the channels that the windows' elements come from, and the output's own spatial sizes."""
    if len(blocks(desc).sizes) != BLOCKS_RANK or len(image(desc).sizes) < BLOCKS_RANK:
        return Misfit("InputTensor.DimensionCount", str(len(blocks(desc).sizes)))
    found = windows(desc)
    if isinstance(found, Misfit):
        return found
    batch, elements, count = blocks(desc).sizes
    if elements % prod(desc.window_sizes):
        return Misfit("InputTensor.Sizes[1]", f"{elements} elements in windows of {prod(desc.window_sizes)}")
    if count != prod(found):
        return Misfit("InputTensor.Sizes[2]", f"{count}, the output has {prod(found)} windows")
    return {"output_tensor": (batch, elements // prod(desc.window_sizes), *image(desc).sizes[2:])}


def _data_types(desc: Fold, level: Level) -> list[Breach]:
    others = (slot for slot in slots(desc) if slot.tensor.data_type is not DataType.FLOAT32)
    return [Breach(f"{slot.name}.DataType", slot.tensor.data_type.name) for slot in others]


def _blocks_dimension_count(desc: Fold, level: Level) -> Breach | None:
    count, name = len(blocks(desc).sizes), "OutputTensor" if desc.operator == "UNFOLD" else "InputTensor"
    return None if count == BLOCKS_RANK else Breach(f"{name}.DimensionCount", str(count))


def _operator(name: str, image_name: str, shape: ShapeFunction) -> OperatorSpec:
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            checked(
                "unnamed-data-types",
                _data_types,
                Category.LEVEL_SUPPORT,
                lambda operator: exists(operator) | TYPES_COMPARABLE,
            ),
            checked("blocks-dimension-count", _blocks_dimension_count, after=("dimension-counts",)),
            *window_rules(name, image_name, windows, ("WindowSizes", "Strides")),
            output_sizes("dimension-counts", "blocks-dimension-count", "array-counts", "above-0", "window-fits"),
        ),
    )


SPECS = (_operator("FOLD", "OutputTensor", fold_shape), _operator("UNFOLD", "InputTensor", unfold_shape))
