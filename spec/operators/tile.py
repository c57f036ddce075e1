"""DML_OPERATOR_TILE: the input repeated along each dimension."""

from __future__ import annotations

from dml_conformance.spec.constraints import above_0, count, rank
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes, slots
from dml_conformance.spec.structures import Tile


def shape(desc: Tile) -> Shapes | Misfit:
    """Each size times its repeat."""
    sizes, repeats = desc.input_tensor.sizes, desc.repeats
    if len(repeats) != len(sizes):
        return Misfit("RepeatsCount", f"{len(repeats)}, InputTensor has {len(sizes)} dimensions")
    return {"output_tensor": tuple([size * repeat for size, repeat in zip(sizes, repeats, strict=True)])}


SPECS = (
    operator_spec(
        "TILE",
        shape=shape,
        own_rules=(
            count("Repeats", rank("InputTensor"), at="RepeatsCount", name="repeats-count"),
            above_0("Repeats", name="repeats"),
            output_sizes("repeats-count", "repeats"),
        ),
    ),
)


def _float64(desc: Tile) -> bool:
    return all(slot.tensor.data_type is DataType.FLOAT64 for slot in slots(desc))


def _sizes_in_32_bits(desc: Tile) -> bool:
    source, output = desc.input_tensor.sizes, desc.output_tensor.sizes
    if not len(desc.repeats) == len(source) == len(output):
        return False
    tiled = tuple(size * repeat for size, repeat in zip(source, desc.repeats, strict=True))
    return tiled != output == tuple(size % 2**32 for size in tiled)


DIVERGENCES = {"DIV-tile-float64": _float64, "DIV-tile-sizes-in-32-bits": _sizes_in_32_bits}
