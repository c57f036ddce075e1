"""DML_OPERATOR_UPSAMPLE_2D, RESAMPLE and its successors: an image at another size, by nearest neighbour or linearly.

RESAMPLE has the offsets of pixel centres, RESAMPLE1 takes offsets, RESAMPLE2 says in which direction coordinates are
rounded, RESAMPLE3 whether what shrinks is antialiased. The output's sizes are free: what lies beyond is cropped, what
is missing repeats the edge. UPSAMPLE_2D multiplies height and width by whole numbers, which its output must have.

Linear interpolation is along every dimension at once; UPSAMPLE_2D's is of pixel centres, as RESAMPLE's is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dml_conformance.spec.constraints import Constraint, count, entries, rank
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import UINT32_MAX

LEAST_SCALE = 2.0**-23  # that the library takes


def is_nearest(desc: Any) -> bool:
    """Whether a descriptor asks for the nearest neighbour, and so for values that are the input's own."""
    return bool(desc.interpolation_mode == enumeration("DML_INTERPOLATION_MODE").NEAREST_NEIGHBOR)


def arrays(desc: Any) -> dict[str, tuple[float, ...]]:
    """The arrays with an entry for each dimension, by DirectML's name."""
    found = {"Scales": desc.scales}
    if hasattr(desc, "input_pixel_offsets"):
        found |= {"InputPixelOffsets": desc.input_pixel_offsets, "OutputPixelOffsets": desc.output_pixel_offsets}
    return found


def pixel_offsets(desc: Any) -> tuple[Sequence[float], Sequence[float]]:
    """Those of the input and of the output; RESAMPLE's are the pixels' centres."""
    if hasattr(desc, "input_pixel_offsets"):
        return desc.input_pixel_offsets, desc.output_pixel_offsets
    return (0.5,) * len(desc.scales), (-0.5,) * len(desc.scales)


def resample_shape(desc: Any) -> Shapes | Misfit:
    """The output's own sizes, as the pages let them be anything."""
    output, count = desc.output_tensor.sizes, len(desc.input_tensor.sizes)
    if len(output) != count:
        return Misfit("OutputTensor.DimensionCount", f"{len(output)}, InputTensor has {count} dimensions")
    wrong = _wrong_counts(desc)
    return Misfit(*wrong[0]) if wrong else {"output_tensor": output}


def _wrong_counts(desc: Any) -> list[Breach]:
    count = len(desc.input_tensor.sizes)
    return [
        Breach(name, f"{len(entries)} entries, InputTensor has {count} dimensions")
        for name, entries in arrays(desc).items()
        if len(entries) != count
    ]


OFFSETS = ("InputPixelOffsets", "OutputPixelOffsets")


def _resample_rules(operator: str) -> tuple[Constraint, ...]:
    offsets = () if operator == "RESAMPLE" else OFFSETS
    rules = [
        count(
            ("Scales", *offsets),
            rank("InputTensor"),
            statement="there is an entry for each dimension of InputTensor in "
            + ("every array" if offsets else "Scales"),
            section="DimensionCount" if offsets else "ScaleCount",
            remedy="use 1 as the scale of a dimension that keeps its size",
        ),
        entries(
            "Scales",
            lambda scale: math.isfinite(scale) and scale > 0,
            (0.0, -1.0, math.inf, -math.inf, math.nan),
            "the page says what scales above and below 1 do, and not what 0, negative ones or such that are not finite "
            "would mean",
            remedy="use finite scales above 0",
            erratum=f"{operator}-1",
        ),
    ]
    if offsets:
        rules.append(
            entries(
                offsets,
                math.isfinite,
                (math.inf, -math.inf, math.nan),
                "the page does not say what an offset would mean that is not finite",
                name="pixel-offsets",
                remedy="use finite offsets",
                erratum=f"{operator}-2",
            )
        )
    return tuple(rules)


def upsample_shape(desc: Any) -> Shapes | Misfit:
    """The last two sizes times their scales."""
    sizes, scale = desc.input_tensor.sizes, desc.scale_size
    if len(sizes) < 2:
        return Misfit("InputTensor.DimensionCount", str(len(sizes)))
    *leading, height, width = sizes
    return {"output_tensor": (*leading, height * scale.height, width * scale.width)}


def _upsample_rules(operator: str, page: str) -> tuple[Rule, ...]:
    comparable = shapes_comparable(operator) | ids(operator, "dimension-counts")

    def scale_size(desc: Any, level: Level) -> list[Breach]:
        *_, height, width = desc.input_tensor.sizes
        return [
            Breach(f"ScaleSize.{name}", f"{scale}, the input has size {size}")
            for name, scale, size in (
                ("Width", desc.scale_size.width, width),
                ("Height", desc.scale_size.height, height),
            )
            if not 0 < scale * size <= UINT32_MAX
        ]

    return (
        Rule(
            f"{operator}.scale-size",
            Category.ATTRIBUTES,
            "both scales are above 0, and small enough for their products with the input's sizes to be a UINT",
            Source(page, "ScaleSize"),
            "use 1 for what keeps its size",
            check=scale_size,
            needs=comparable,
        ),
        output_sizes_rule(
            operator,
            Source(page, "OutputTensor"),
            comparable | ids(operator, "scale-size"),
            settles=("UPSAMPLE_2D-2",),
        ),
    )


LINEAR_ERRATA = {
    "UPSAMPLE_2D": "UPSAMPLE_2D-3",
    "RESAMPLE": "RESAMPLE-4",
    "RESAMPLE1": "RESAMPLE1-5",
    "RESAMPLE2": "RESAMPLE2-5",
    "RESAMPLE3": "RESAMPLE3-4",
}
PRIMITIVES = ("divide", "add", "multiply")  # of coordinates, and of weights
OPEN = {
    "RESAMPLE3": "; anything is right next to what is not finite, and where Antialiased is set and a scale is below 1",
}


def _values_rule(
    operator: str, page: str, statement: str, linear: str, settles: tuple[str, ...] = ()
) -> tuple[Rule, ...]:
    statement = (
        f"by nearest neighbour {statement}; linearly it is the average of the two input elements next to its "
        f"coordinate along every dimension{linear}, weighted by how near they are, those beyond the ends being at "
        "them, and of integers either of the two next to it"
        + OPEN.get(operator, "; anything is right next to what is not finite")
    )
    return (
        Rule(f"{operator}.values", Category.EXECUTION, statement, Source(page, "InterpolationMode"), settles=settles),
        formula_rule(operator, PRIMITIVES),
    )


def _resample(name: str, rounding: str, settles: tuple[str, ...], pseudocode: str) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=resample_shape,
        own_rules=_resample_rules(name),
        execution_rules=_values_rule(
            name,
            page,
            f"every output element is, bit for bit, the input element at its coordinate {rounding}, or at the edge "
            "nearest to it; where rounding in FLOAT32 decides between two, any input element will do",
            "",
            (*settles, LINEAR_ERRATA[name]),
        ),
        primitives=PRIMITIVES,
        summary="resamples the input along every dimension",
        pseudocode=pseudocode,
    )


_BACK = "(c[d] - OutputPixelOffsets[d]) / Scales[d] - InputPixelOffsets[d]"

SPECS = (
    operator_spec(
        "UPSAMPLE_2D",
        shape=upsample_shape,
        own_rules=_upsample_rules("UPSAMPLE_2D", "ns-directml-dml_upsample_2d_operator_desc"),
        execution_rules=_values_rule(
            "UPSAMPLE_2D",
            "ns-directml-dml_upsample_2d_operator_desc",
            "every output element is, bit for bit, the input element of its block of ScaleSize",
            " of the last two, from centre to centre",
            (LINEAR_ERRATA["UPSAMPLE_2D"],),
        ),
        primitives=PRIMITIVES,
        summary="repeats the input along height and width, or interpolates between its elements",
        pseudocode="output[..., y, x] = input[..., y / ScaleSize.Height, x / ScaleSize.Width]",
    ),
    _resample(
        "RESAMPLE",
        "rounded to the nearest, halves up",
        ("RESAMPLE-2",),
        "output[c...] = input[clamp(round((c[d] + 0.5) / Scales[d] - 0.5)) for each d]",
    ),
    _resample(
        "RESAMPLE1",
        "rounded to the nearest, halves up",
        ("RESAMPLE1-3",),
        f"output[c...] = input[clamp(round({_BACK})) for each d]",
    ),
    _resample(
        "RESAMPLE2",
        "rounded in RoundingDirection",
        ("RESAMPLE2-3",),
        f"output[c...] = input[clamp(floor or ceil({_BACK})) for each d]",
    ),
    _resample(
        "RESAMPLE3",
        "rounded in RoundingDirection",
        ("RESAMPLE3-3",),
        f"output[c...] = input[clamp(floor or ceil({_BACK})) for each d]",
    ),
)


def accepts_scales(desc: Any) -> bool:
    """Whether every scale is one that the library takes; infinity is."""
    return all(scale >= LEAST_SCALE for scale in desc.scales)


def tiny_scale(desc: Any) -> bool:
    return any(0 < scale < LEAST_SCALE for scale in desc.scales)


def fewer_dimensions_at_5_0(desc: Any) -> bool:
    """Tensors of fewer than 4 dimensions, which the table of 5_1 allows first."""
    tensors = (desc.input_tensor, desc.output_tensor)
    return None not in tensors and all(1 <= len(tensor.sizes) < 4 for tensor in tensors)


DIVERGENCES = {
    "DIV-resample-tiny-scale": tiny_scale,
    "DIV-resample-fewer-dimensions-at-5_0": fewer_dimensions_at_5_0,
}
CONDITIONS = {f"{name}.scales": accepts_scales for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2")}
