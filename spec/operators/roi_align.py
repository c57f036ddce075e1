"""DML_OPERATOR_ROI_ALIGN, ROI_ALIGN1 and their gradient: regions of images at another size, sampled between elements.

Each region is divided into as many parts as the output has elements, and each part has samples along height and width:
the region's size over the output's, but not below MinimumSamplesPerOutput or above MaximumSamplesPerOutput. ROI_ALIGN
has the offsets of pixel centres, ROI_ALIGN1 takes offsets. ROI_ALIGN_GRAD gives each element of the gradient to where
its samples came from, and may say besides how corners of regions move the result.
"""

from __future__ import annotations

import math

from dml_conformance.spec import structures
from dml_conformance.spec.constraints import (
    Constraint,
    any_of,
    checked,
    entries,
    exists,
    finite,
    leading_ones,
    member,
    size_at,
    size_within,
    within,
)
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, operator_spec, output_sizes
from dml_conformance.spec.rules import Breach, Category

FUNCTION = enumeration("DML_REDUCE_FUNCTION")
FUNCTIONS = (int(FUNCTION.AVERAGE), int(FUNCTION.MAX))
COLUMNS = 4  # x1, y1, x2, y2
REGIONS = size_at("ROITensor", -2)


def offsets(desc: structures.RoiAlign | structures.RoiAlignGrad) -> tuple[float, float]:
    """Those of the input's and of the output's pixels; ROI_ALIGN's are their centres."""
    return getattr(desc, "input_pixel_offset", 0.5), getattr(desc, "output_pixel_offset", -0.5)


def shape(desc: structures.RoiAlign) -> Shapes | Misfit:
    """An image of any size for each region, of as many channels as the input."""
    sizes, regions = desc.output_tensor.sizes, desc.roi_tensor.sizes
    if len(regions) < 2:
        return Misfit("ROITensor.DimensionCount", str(len(regions)))
    return {"output_tensor": (regions[-2], *desc.input_tensor.sizes[1:2], *sizes[2:])}


def region_rules(name: str) -> tuple[Constraint, ...]:
    """What the operators with regions, batch indices and samples have in common."""
    pixel_offsets = finite(("InputPixelOffset", "OutputPixelOffset"), name="pixel-offsets")
    return (
        leading_ones("ROITensor", 2, name="leading-roi-sizes"),
        size_within("ROITensor", -1, COLUMNS, COLUMNS, name="roi-columns"),
        leading_ones("BatchIndicesTensor", 1, name="leading-batch-index-sizes"),
        size_within("BatchIndicesTensor", -1, REGIONS, REGIONS, name="batch-index-count", after=("dimension-counts",)),
        entries(
            "ReductionFunction",
            FUNCTIONS.__contains__,
            tuple(int(function) for function in FUNCTION if int(function) not in FUNCTIONS),
            after=("enumerators",),
        ),
        within("MinimumSamplesPerOutput", 1, member("MaximumSamplesPerOutput"), name="sample-range"),
        finite(("SpatialScaleX", "SpatialScaleY"), 0.0, name="spatial-scales"),
        *((pixel_offsets,) if name != "ROI_ALIGN" else ()),
    )


def _align(name: str) -> OperatorSpec:
    return operator_spec(
        name,
        shape=shape,
        own_rules=(*region_rules(name), output_sizes("dimension-counts", "leading-roi-sizes")),
        lengths={"BatchIndicesTensor": lambda desc: desc.input_tensor.sizes[0] - 1},
    )


def grad_shape(desc: structures.RoiAlignGrad) -> Shapes | Misfit:
    """The sizes of InputTensor, or any image of as many channels as the gradient; and those of ROITensor."""
    found, gradient = {}, desc.output_gradient_tensor
    if gradient is not None:
        channels, sizes = desc.input_gradient_tensor.sizes[1:2], gradient.sizes
        source = desc.input_tensor
        found["output_gradient_tensor"] = (*sizes[:1], *channels, *sizes[2:]) if source is None else source.sizes
    if desc.output_roi_gradient_tensor is not None:
        found["output_roi_gradient_tensor"] = desc.roi_tensor.sizes
    return found


GRAD = "ROI_ALIGN_GRAD"


def _input_given(desc: structures.RoiAlignGrad, level: Level) -> Breach | None:
    is_needed = desc.output_roi_gradient_tensor is not None or desc.reduction_function == FUNCTION.MAX
    return Breach("InputTensor", "null") if is_needed and desc.input_tensor is None else None


def _channels(desc: structures.RoiAlignGrad, level: Level) -> Breach | None:
    found = desc.input_gradient_tensor.sizes[1]
    if desc.input_tensor is None or desc.input_tensor.sizes[1] == found:
        return None
    return Breach("InputGradientTensor.Sizes[1]", f"{found}, InputTensor has {desc.input_tensor.sizes[1]} channels")


SPECS = (
    _align("ROI_ALIGN"),
    _align("ROI_ALIGN1"),
    operator_spec(
        GRAD,
        shape=grad_shape,
        own_rules=(
            *region_rules(GRAD),
            any_of("OutputGradientTensor", "OutputROIGradientTensor", name="outputs"),
            checked(
                "input-given",
                _input_given,
                Category.AGREEMENT,
                exists,
                after=("enumerators", "reduction-function"),
            ),
            size_within("InputGradientTensor", 0, REGIONS, REGIONS, name="gradient-count", after=("dimension-counts",)),
            checked("channels", _channels, after=("dimension-counts",)),
            output_sizes("dimension-counts", "channels"),
        ),
        lengths={"BatchIndicesTensor": lambda desc: (desc.input_tensor or desc.output_gradient_tensor).sizes[0] - 1},
    ),
)


def accepts_scales(desc: structures.RoiAlign | structures.RoiAlignGrad) -> bool:
    """Whether both scales are such as the library takes; NaN is."""
    scales = desc.spatial_scale_x, desc.spatial_scale_y
    return not any(scale < 0 or math.isinf(scale) for scale in scales)


CONDITIONS = {f"{name}.spatial-scales": accepts_scales for name in ("ROI_ALIGN", "ROI_ALIGN1", GRAD)}
