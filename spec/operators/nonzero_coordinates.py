"""DML_OPERATOR_NONZERO_COORDINATES: how many elements are not zero, and where they lie."""

from __future__ import annotations

from math import prod

from dml_conformance.spec.constraints import checked, same_ranks
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import NonzeroCoordinates
from dml_conformance.spec.tensor import braces, from_first_above_one


def effective_rank(sizes: tuple[int, ...]) -> int:
    """Dimensions without leading ones; 1 where the page has 0, as a row has at least one coordinate."""
    return max(len(from_first_above_one(sizes)), 1)


def shape(desc: NonzeroCoordinates) -> Shapes | Misfit:
    """One count; and a row for each element of the input, with as many coordinates as the descriptor has."""
    counts, coordinates = desc.output_count_tensor.sizes, desc.output_coordinates_tensor.sizes
    if len(coordinates) < 2:
        return Misfit("OutputCoordinatesTensor.DimensionCount", f"{len(coordinates)}, rows and columns take 2")
    rows = (1,) * (len(coordinates) - 2) + (prod(desc.input_tensor.sizes), coordinates[-1])
    return {"output_count_tensor": (1,) * len(counts), "output_coordinates_tensor": rows}


def _coordinates(desc: NonzeroCoordinates, level: Level) -> Breach | None:
    sizes, of_output = desc.input_tensor.sizes, desc.output_coordinates_tensor.sizes
    if effective_rank(sizes) <= of_output[-1] <= len(sizes):
        return None
    where = f"OutputCoordinatesTensor.Sizes[{len(of_output) - 1}]"
    return Breach(where, f"{of_output[-1]} coordinates, InputTensor has {braces(sizes)}")


NAME = "NONZERO_COORDINATES"
SPECS = (
    operator_spec(
        NAME,
        shape=shape,
        own_rules=(
            same_ranks(
                [field for field in descriptor_classes()[NAME].fields if field.is_tensor],
                name="same-dimension-count-before-4_0",
                until=Level.L4_0,
                after=("introduced-in",),
            ),
            checked("coordinates", _coordinates, after=("dimension-counts",)),
            output_sizes("dimension-counts"),
        ),
    ),
)
