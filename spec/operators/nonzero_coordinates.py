"""DML_OPERATOR_NONZERO_COORDINATES: how many elements are not zero, and where they lie."""

from __future__ import annotations

from math import prod
from typing import Any

from dml_conformance.spec.constraints import same_ranks
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces, from_first_above_one

PAGE = "ns-directml-dml_nonzero_coordinates_operator_desc"


def effective_rank(sizes: tuple[int, ...]) -> int:
    """Dimensions without leading ones; 1 where the page has 0, as a row has at least one coordinate."""
    return max(len(from_first_above_one(sizes)), 1)


def shape(desc: Any) -> Shapes | Misfit:
    """One count; and a row for each element of the input, with as many coordinates as the descriptor has."""
    counts, coordinates = desc.output_count_tensor.sizes, desc.output_coordinates_tensor.sizes
    if len(coordinates) < 2:
        return Misfit("OutputCoordinatesTensor.DimensionCount", f"{len(coordinates)}, rows and columns take 2")
    rows = (1,) * (len(coordinates) - 2) + (prod(desc.input_tensor.sizes), coordinates[-1])
    return {"output_count_tensor": (1,) * len(counts), "output_coordinates_tensor": rows}


def _coordinates(desc: Any, level: Level) -> Breach | None:
    sizes, of_output = desc.input_tensor.sizes, desc.output_coordinates_tensor.sizes
    if effective_rank(sizes) <= of_output[-1] <= len(sizes):
        return None
    where = f"OutputCoordinatesTensor.Sizes[{len(of_output) - 1}]"
    return Breach(where, f"{of_output[-1]} coordinates, InputTensor has {braces(sizes)}")


_COMPARABLE = shapes_comparable("NONZERO_COORDINATES") | ids("NONZERO_COORDINATES", "dimension-counts")

NONZERO_COORDINATES = operator_spec(
    "NONZERO_COORDINATES",
    shape=shape,
    groups={"OutputCountTensor": "", "OutputCoordinatesTensor": ""},
    domains={"InputTensor": "zeros"},
    ranks={"OutputCountTensor": "count", "OutputCoordinatesTensor": "coordinates"},
    own_rules=(
        same_ranks(
            [field for field in descriptor_classes()["NONZERO_COORDINATES"].fields if field.is_tensor],
            name="same-dimension-count-before-4_0",
            statement="below 4_0 the page's older edition has all tensors share their DimensionCount, which the newer "
            "one does not say; from 4_0 on they need not, as an input of one dimension could have no coordinates",
            section="Tensor constraints",
            remedy="give all tensors the same DimensionCount, or ask for level 4_0",
            until=Level.L4_0,
            after=("introduced-in",),
            erratum="NONZERO_COORDINATES-3",
        ),
        Rule(
            "NONZERO_COORDINATES.coordinates",
            Category.SHAPE,
            "the last size of OutputCoordinatesTensor is from the dimensions of InputTensor without leading ones, at "
            "least 1, to all of them",
            Source(PAGE, "OutputCoordinatesTensor"),
            "let a row have as many coordinates as InputTensor has dimensions",
            check=_coordinates,
            needs=_COMPARABLE,
            settles=("NONZERO_COORDINATES-1",),
        ),
        output_sizes_rule(
            "NONZERO_COORDINATES",
            Source(PAGE, "OutputCoordinatesTensor"),
            _COMPARABLE,
            settles=("NONZERO_COORDINATES-2",),
        ),
    ),
    execution_rules=(
        Rule(
            "NONZERO_COORDINATES.values",
            Category.EXECUTION,
            "OutputCountTensor has the number of elements that are not zero, of either sign; the rows of "
            "OutputCoordinatesTensor before it have the last coordinates of these elements, in row-major order",
            Source(PAGE, "OutputCoordinatesTensor"),
            settles=("NONZERO_COORDINATES-5",),
        ),
    ),
    summary="counts the elements that are not zero, and lists their coordinates",
    pseudocode="coordinates[:count] = argwhere(input != 0), its last columns; count = sum(input != 0)",
)

SPECS = (NONZERO_COORDINATES,)
