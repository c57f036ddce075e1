"""DML_OPERATOR_AVERAGE_POOLING1: the means of what windows see that slide over an image."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import (
    Misfit,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators._windows import FIRST, counts, window_rules, windows_of
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

NAME = "AVERAGE_POOLING1"
PAGE = "ns-directml-dml_average_pooling1_operator_desc"
PRIMITIVES = ("add", "divide")


def windows(desc: Any) -> tuple[int, ...] | Misfit:
    """How many windows there are along each spatial dimension."""
    spatial = desc.input_tensor.sizes[FIRST:]
    return counts(windows_of(desc, desc.window_size, len(spatial)), spatial, "WindowSize")


def shape(desc: Any) -> Shapes | Misfit:
    """Batch and channels of the input, and as many windows as there are."""
    found = windows(desc)
    return found if isinstance(found, Misfit) else {"output_tensor": (*desc.input_tensor.sizes[:FIRST], *found)}


SPECS = (
    operator_spec(
        NAME,
        shape=shape,
        own_rules=(
            *window_rules(
                NAME,
                "InputTensor",
                windows,
                ("WindowSize", "Strides"),
                "as the formula of the sizes divides by strides, and there is no average of nothing",
                f"{NAME}-4",
            ),
            output_sizes_rule(
                NAME,
                Source(PAGE, "OutputTensor"),
                shapes_comparable(NAME) | ids(NAME, "dimension-counts", "array-counts", "above-0", "window-fits"),
                settles=(f"{NAME}-1", f"{NAME}-2"),
            ),
        ),
        execution_rules=(
            Rule(
                f"{NAME}.values",
                Category.EXECUTION,
                "every output element is the sum of what its window sees divided by the number of its elements; those "
                "in the padding are 0, and are counted where IncludePadding says so; of a window that counts none the "
                "average is a NaN or 0",
                Source(PAGE, "IncludePadding"),
                settles=(f"{NAME}-3",),
            ),
            formula_rule(NAME, PRIMITIVES),
        ),
        primitives=PRIMITIVES,
        domains={"InputTensor": "sums"},
        summary="computes the means of what windows see that slide over an image",
        pseudocode="output[n, c, b] = mean(input[n, c, b * Strides + w * Dilations - StartPadding] for each w)",
    ),
)


def sizes_not_looked_at(desc: Any) -> bool:
    """Batch and channels are right, and each array has its entries: all that the library looks at."""
    input_tensor, output_tensor = desc.input_tensor, desc.output_tensor
    spatial = len(input_tensor.sizes) - FIRST
    return bool(input_tensor.sizes[:FIRST] == output_tensor.sizes[:FIRST] and len(desc.strides) == spatial)


DIVERGENCES = {"DIV-average-pooling-of-any-windows": sizes_not_looked_at}
