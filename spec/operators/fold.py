"""DML_OPERATOR_UNFOLD and FOLD: windows that slide over an image become a matrix's columns, and are added up again.

The image has the dimensions batch, channels and the spatial ones; the blocks have three: batch, all elements of a
window, and the windows. No build of DirectML that was asked has these operators: the pages are all the evidence.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dml_conformance.spec.constraints import Rules
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
    slots,
)
from dml_conformance.spec.operators._windows import FIRST, counts, window_rules, windows_of
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

BLOCKS_RANK = 3


def image(desc: Any) -> TensorDesc:
    """The tensor with spatial dimensions: UNFOLD's input, FOLD's output."""
    tensor: TensorDesc = desc.input_tensor if desc.operator == "UNFOLD" else desc.output_tensor
    return tensor


def blocks(desc: Any) -> TensorDesc:
    """The tensor whose columns are windows."""
    tensor: TensorDesc = desc.output_tensor if desc.operator == "UNFOLD" else desc.input_tensor
    return tensor


def windows(desc: Any) -> tuple[int, ...] | Misfit:
    """How many windows there are along each spatial dimension of the image."""
    spatial = image(desc).sizes[FIRST:]
    return counts(windows_of(desc, desc.window_sizes, len(spatial)), spatial, "WindowSizes")


def unfold_shape(desc: Any) -> Shapes | Misfit:
    """Batch, the channels times a window's elements, all windows."""
    if len(image(desc).sizes) < BLOCKS_RANK:
        return Misfit("InputTensor.DimensionCount", str(len(image(desc).sizes)))
    found = windows(desc)
    if isinstance(found, Misfit):
        return found
    batch, channels = image(desc).sizes[:2]
    return {"output_tensor": (batch, channels * prod(desc.window_sizes), prod(found))}


def fold_shape(desc: Any) -> Shapes | Misfit:
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


def _rules(operator: str, page: str, image_name: str, blocks_name: str) -> Rules:
    comparable = shapes_comparable(operator) | ids(operator, "dimension-counts")

    def data_types(desc: Any, level: Level) -> list[Breach]:
        others = (slot for slot in slots(desc) if slot.tensor.data_type is not DataType.FLOAT32)
        return [Breach(f"{slot.name}.DataType", slot.tensor.data_type.name) for slot in others]

    def blocks_dimension_count(desc: Any, level: Level) -> Breach | None:
        count = len(blocks(desc).sizes)
        return None if count == BLOCKS_RANK else Breach(f"{blocks_name}.DimensionCount", str(count))

    return (
        Rule(
            f"{operator}.unnamed-data-types",
            Category.LEVEL_SUPPORT,
            "the table names no data types; the examples have FLOAT32, and every other type is left open",
            Source(page, "Tensor support"),
            "use FLOAT32",
            check=data_types,
            needs=ids(operator, "introduced-in") | {"TENSOR.type", "TENSOR.data-type"},
            erratum=f"{operator}-1",
        ),
        Rule(
            f"{operator}.blocks-dimension-count",
            Category.SHAPE,
            f"{blocks_name} has 3 dimensions in the description and every example, while table and constraint ask for "
            "as many as the other tensor has; other counts are left open",
            Source(page, "Tensor constraints"),
            "use 3 dimensions: batch, the elements of a window, the windows",
            check=blocks_dimension_count,
            needs=comparable,
            erratum=f"{operator}-2",
        ),
        *window_rules(
            operator,
            image_name,
            windows,
            ("WindowSizes", "Strides"),
            "as the formula of the blocks has no use for another",
            f"{operator}-5",
        ),
        output_sizes_rule(
            operator,
            Source(page, "Description"),
            comparable | ids(operator, "blocks-dimension-count", "array-counts", "above-0", "window-fits"),
        ),
    )


def _operator(name: str, image_name: str, blocks_name: str, values: str, **stated: Any) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        groups={"OutputTensor": ""},  # no page asks for the same type
        ranks={blocks_name: "blocks"},
        own_rules=_rules(name, page, image_name, blocks_name),
        execution_rules=(Rule(f"{name}.values", Category.EXECUTION, values, Source(page)),),
        **stated,
    )


SPECS = (
    _operator(
        "FOLD",
        "OutputTensor",
        "InputTensor",
        "every output element is the sum of all window elements that stand at its place, 0 where there is none; stated "
        "for whole numbers whose sums are exact in any order",
        shape=fold_shape,
        domains={"InputTensor": "small integers"},
        summary="adds up windows, each a column, where they stand on an image",
        pseudocode="output = 0; output[n, c, b * Strides + w * Dilations - StartPadding] += input[n, (c, w), b]",
    ),
    _operator(
        "UNFOLD",
        "InputTensor",
        "OutputTensor",
        "every output element is, bit for bit, the input element at its place in its window, or 0 in the padding",
        shape=unfold_shape,
        summary="makes each window that slides over an image a column",
        pseudocode="output[n, (c, w), b] = input[n, c, b * Strides + w * Dilations - StartPadding]",
    ),
)
