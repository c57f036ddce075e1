"""DML_OPERATOR_UPSAMPLE_2D, RESAMPLE, its successors and their gradients: an image at another size, by nearest
neighbour or linearly.

RESAMPLE has the offsets of pixel centres, RESAMPLE1 takes offsets, RESAMPLE2 says in which direction coordinates are
rounded, RESAMPLE3 whether what shrinks is antialiased. The output's sizes are free: what lies beyond is cropped, what
is missing repeats the edge. UPSAMPLE_2D multiplies height and width by whole numbers, which its output must have.

Linear interpolation is along every dimension at once; UPSAMPLE_2D's is of pixel centres, as RESAMPLE's is.

RESAMPLE_GRAD is the gradient of RESAMPLE1, RESAMPLE_GRAD1 that of RESAMPLE2: each element of the input's gradient goes
to where its value came from, in parts where it was an average. Their input has the sizes of the forward output.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml_conformance.spec import structures
from dml_conformance.spec.constraints import Constraint, checked, count, finite, rank
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.field_kinds import FLOATS, enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, inputs, operator_spec, output_sizes, outputs
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.tensor import UINT32_MAX

LEAST_SCALE = 2.0**-23  # that the library takes


def is_nearest(
    desc: structures.Resample | structures.ResampleGrad | structures.RoiAlign | structures.RoiAlignGrad,
) -> bool:
    """Whether a descriptor asks for the nearest neighbour, and so for values that are the input's own."""
    return bool(desc.interpolation_mode == enumeration("DML_INTERPOLATION_MODE").NEAREST_NEIGHBOR)


def arrays(desc: OperatorDesc) -> dict[str, tuple[float, ...]]:
    """The arrays with an entry for each dimension, by DirectML's name."""
    return {field.name: getattr(desc, field.attribute) for field in desc.fields if field.kind is FLOATS}


def pixel_offsets(desc: structures.WithScales) -> tuple[Sequence[float], Sequence[float]]:
    """Those of the input and of the output; RESAMPLE's are the pixels' centres."""
    if desc.operator == "RESAMPLE":
        return (0.5,) * len(desc.scales), (-0.5,) * len(desc.scales)
    return desc.input_pixel_offsets, desc.output_pixel_offsets


def resample_shape(desc: OperatorDesc) -> Shapes | Misfit:
    """The output's own sizes, as the pages let them be anything."""
    (source, *_), (output, *_) = inputs(desc), outputs(desc)
    count, sizes = len(source.tensor.sizes), output.tensor.sizes
    if len(sizes) != count:
        return Misfit(f"{output.name}.DimensionCount", f"{len(sizes)}, {source.name} has {count} dimensions")
    for name, array in arrays(desc).items():
        if len(array) != count:
            return Misfit(name, f"{len(array)} entries, {source.name} has {count} dimensions")
    return {output.key: sizes}


OFFSETS = ("InputPixelOffsets", "OutputPixelOffsets")


def _resample(name: str) -> OperatorSpec:
    tensor = "InputGradientTensor" if "GRAD" in name else "InputTensor"
    offsets = () if name == "RESAMPLE" else OFFSETS
    rules: list[Constraint] = [
        count(
            ("Scales", *offsets),
            rank(tensor),
            statement=f"there is an entry for each dimension of {tensor} in "
            + ("every array" if offsets else "Scales"),
            section="DimensionCount" if offsets else "ScaleCount",
            remedy="use 1 as the scale of a dimension that keeps its size",
        ),
        finite("Scales", 0.0, is_above=True),
    ]
    if offsets:
        rules.append(finite(offsets, name="pixel-offsets"))
    return operator_spec(name, shape=resample_shape, own_rules=tuple(rules))


def upsample_shape(desc: structures.DML_UPSAMPLE_2D_OPERATOR_DESC) -> Shapes | Misfit:
    """The last two sizes times their scales."""
    sizes, scale = desc.input_tensor.sizes, desc.scale_size
    if len(sizes) < 2:
        return Misfit("InputTensor.DimensionCount", str(len(sizes)))
    *leading, height, width = sizes
    return {"output_tensor": (*leading, height * scale.height, width * scale.width)}


def _scale_size(desc: structures.DML_UPSAMPLE_2D_OPERATOR_DESC, level: Level) -> list[Breach]:
    *_, height, width = desc.input_tensor.sizes
    return [
        Breach(f"ScaleSize.{name}", f"{scale}, the input has size {size}")
        for name, scale, size in (
            ("Width", desc.scale_size.width, width),
            ("Height", desc.scale_size.height, height),
        )
        if not 0 < scale * size <= UINT32_MAX
    ]


RESAMPLING = ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3", "RESAMPLE_GRAD", "RESAMPLE_GRAD1")
SPECS = (
    operator_spec(
        "UPSAMPLE_2D",
        shape=upsample_shape,
        own_rules=(
            checked("scale-size", _scale_size, Category.ATTRIBUTES, after=("dimension-counts",)),
            output_sizes("dimension-counts", "scale-size"),
        ),
    ),
    *(_resample(name) for name in RESAMPLING),
)


def accepts_scales(desc: structures.WithScales) -> bool:
    """Whether every scale is one that the library takes; infinity is."""
    return all(scale >= LEAST_SCALE for scale in desc.scales)


def tiny_scale(desc: structures.WithScales) -> bool:
    return any(0 < scale < LEAST_SCALE for scale in desc.scales)


def fewer_dimensions_at_5_0(desc: structures.DML_RESAMPLE_OPERATOR_DESC) -> bool:
    """Tensors of fewer than 4 dimensions, which the table of 5_1 allows first."""
    tensors = (desc.input_tensor, desc.output_tensor)
    return None not in tensors and all(1 <= len(tensor.sizes) < 4 for tensor in tensors)


DIVERGENCES = {
    "DIV-resample-tiny-scale": tiny_scale,
    "DIV-resample-fewer-dimensions-at-5_0": fewer_dimensions_at_5_0,
}
OBSERVED = ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE_GRAD", "RESAMPLE_GRAD1")
CONDITIONS = {f"{name}.scales": accepts_scales for name in OBSERVED}
