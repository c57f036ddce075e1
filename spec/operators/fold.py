"""DML_OPERATOR_UNFOLD and FOLD: windows that slide over an image become a matrix's columns, and are added up again.

The image has the dimensions batch, channels and the spatial ones; the blocks have three: batch, all elements of a
window, and the windows. No build of DirectML that was asked has these operators: the pages are all the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

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
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

ARRAYS = {
    "WindowSizes": "window_sizes",
    "Strides": "strides",
    "Dilations": "dilations",
    "StartPadding": "start_padding",
    "EndPadding": "end_padding",
}
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
    spatial = image(desc).sizes[2:]
    for name, attribute in ARRAYS.items():
        if len(getattr(desc, attribute)) != len(spatial):
            return Misfit(name, f"{len(getattr(desc, attribute))} entries for {len(spatial)} spatial dimensions")
    found = []
    for d, size in enumerate(spatial):
        if not desc.window_sizes[d] or not desc.strides[d]:
            return Misfit(f"Strides[{d}]" if desc.window_sizes[d] else f"WindowSizes[{d}]", "0")
        padded = size + desc.start_padding[d] + desc.end_padding[d]
        beyond = padded - (desc.dilations[d] * (desc.window_sizes[d] - 1) + 1)
        if beyond < 0:
            return Misfit(f"WindowSizes[{d}]", f"the window has {padded - beyond} elements, the padded image {padded}")
        found.append(beyond // desc.strides[d] + 1)
    return tuple(found)


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


def _rules(operator: str, page: str, image_name: str, blocks_name: str) -> tuple[Rule, ...]:
    comparable = shapes_comparable(operator) | ids(operator, "dimension-counts")

    def data_types(desc: Any, level: Level) -> list[Breach]:
        others = (slot for slot in slots(desc) if slot.tensor.data_type is not DataType.FLOAT32)
        return [Breach(f"{slot.name}.DataType", slot.tensor.data_type.name) for slot in others]

    def blocks_dimension_count(desc: Any, level: Level) -> Breach | None:
        count = len(blocks(desc).sizes)
        return None if count == BLOCKS_RANK else Breach(f"{blocks_name}.DimensionCount", str(count))

    def array_counts(desc: Any, level: Level) -> list[Breach]:
        spatial = len(image(desc).sizes) - 2
        found = ((name, len(getattr(desc, attribute))) for name, attribute in ARRAYS.items())
        return [
            Breach(name, f"{count} entries, {spatial} spatial dimensions") for name, count in found if count != spatial
        ]

    def above_0(desc: Any, level: Level) -> list[Breach]:
        return [*_zeros("WindowSizes", desc.window_sizes), *_zeros("Strides", desc.strides)]

    def dilations(desc: Any, level: Level) -> list[Breach]:
        return _zeros("Dilations", desc.dilations)

    def window_fits(desc: Any, level: Level) -> Breach | None:
        found = windows(desc)
        return Breach(*found) if isinstance(found, Misfit) else None

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
        Rule(
            f"{operator}.array-counts",
            Category.ATTRIBUTES,
            f"every array has an entry for each spatial dimension of {image_name}, those after batch and channels",
            Source(page, "DimensionCount"),
            "give each spatial dimension its entries",
            check=array_counts,
            needs=comparable,
        ),
        Rule(
            f"{operator}.above-0",
            Category.ATTRIBUTES,
            "every entry of WindowSizes and Strides is above 0, as the formula of the blocks has no use for another",
            Source(page, "Description"),
            "use windows of 1 element and strides of 1",
            check=above_0,
            needs=ids(operator, "introduced-in"),
        ),
        Rule(
            f"{operator}.dilations",
            Category.ATTRIBUTES,
            "the page does not say what a dilation of 0 means, by which all elements of a window are one",
            Source(page, "Dilations"),
            "use 1 for windows without gaps",
            check=dilations,
            needs=ids(operator, "introduced-in"),
            erratum=f"{operator}-5",
        ),
        Rule(
            f"{operator}.window-fits",
            Category.SHAPE,
            f"the window with its dilations is no larger than {image_name} with its padding",
            Source(page, "Description"),
            "pad more, or use a smaller window",
            check=window_fits,
            needs=comparable | ids(operator, "array-counts", "above-0"),
        ),
        output_sizes_rule(
            operator,
            Source(page, "Description"),
            comparable | ids(operator, "blocks-dimension-count", "array-counts", "above-0", "window-fits"),
        ),
    )


def _zeros(name: str, entries: Sequence[int]) -> list[Breach]:
    return [Breach(f"{name}[{d}]", "0") for d, entry in enumerate(entries) if entry == 0]


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
