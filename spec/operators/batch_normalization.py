"""DML_OPERATOR_BATCH_NORMALIZATION, _TRAINING, and the gradients of both.

Elements less a mean, over the root of a variance, which the one is given and the other computes.
"""

from __future__ import annotations

from dml_conformance.spec import structures
from dml_conformance.spec.constraints import checked, sizes_of, value_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import broadcast_misfit
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.tensor import braces

NAME = "BATCH_NORMALIZATION"
STATISTICS = ("MeanTensor", "VarianceTensor")
BROADCAST = (*STATISTICS, "ScaleTensor", "BiasTensor")
IMAGE = (2, 3)  # height and width of tensors of four dimensions


def axes_of(desc: structures.BatchNormalization | structures.BatchNormalizationGrad) -> tuple[int, ...]:
    """The dimensions along which elements are taken together: those of which ScaleTensor has one."""
    return tuple(d for d, size in enumerate(desc.scale_tensor.sizes) if size == 1)


def _alike(
    desc: structures.BatchNormalization | structures.BatchNormalizationGrad, other: str, *names: str
) -> Misfit | None:
    """The first tensor, of those that are there, that has other sizes than another one."""
    wanted = sizes_of(desc, other)
    for name in names:
        tensor = value_of(desc, name)
        if tensor is not None and tensor.sizes != wanted:
            return Misfit(f"{name}.Sizes", f"{braces(tensor.sizes)}, {other} has {braces(wanted)}")
    return None


def shape(desc: structures.DML_BATCH_NORMALIZATION_OPERATOR_DESC) -> Shapes | Misfit:
    """The input's sizes, which all others have too where theirs are not 1."""
    return broadcast_misfit(desc, BROADCAST) or {"output_tensor": desc.input_tensor.sizes}


def training_shape(desc: structures.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC) -> Shapes | Misfit:
    """The input's sizes; mean and variance have those of the scale."""
    scale = desc.scale_tensor.sizes
    return (
        broadcast_misfit(desc, ("ScaleTensor",))
        or _alike(desc, "ScaleTensor", "BiasTensor")
        or _alike(desc, "InputTensor", "FusedAddTensor")
        or {"output_tensor": desc.input_tensor.sizes, "output_mean_tensor": scale, "output_variance_tensor": scale}
    )


def gradient_shape(desc: structures.BatchNormalizationGrad) -> Shapes | Misfit:
    """The input's sizes; the gradients of scale and bias have those of the scale."""
    scale = desc.scale_tensor.sizes
    return (
        broadcast_misfit(desc, ("MeanTensor",))
        or _alike(desc, "MeanTensor", "VarianceTensor", "ScaleTensor")
        or _alike(desc, "InputTensor", "InputGradientTensor")
        or {
            "output_gradient_tensor": desc.input_tensor.sizes,
            "output_scale_gradient_tensor": scale,
            "output_bias_gradient_tensor": scale,
        }
    )


def _spatial(desc: structures.DML_BATCH_NORMALIZATION_OPERATOR_DESC, level: Level) -> list[Breach]:
    sizes = desc.input_tensor.sizes
    if desc.spatial or len(sizes) != 4:
        return []
    return [
        Breach(f"{name}.Sizes[{d}]", f"{found[d]}, InputTensor has {sizes[d]}")
        for name in STATISTICS
        for d in IMAGE
        if (found := sizes_of(desc, name))[d] != sizes[d]
    ]


def _spatial_dimensions(desc: structures.DML_BATCH_NORMALIZATION_OPERATOR_DESC, level: Level) -> Breach | None:
    count = len(desc.input_tensor.sizes)
    return None if desc.spatial or count == 4 else Breach("Spatial", f"FALSE, InputTensor has {count} dimensions")


OUTPUT_SIZES = output_sizes(is_any=True, section="Tensor constraints")
SPECS = (
    operator_spec(
        NAME,
        shape=shape,
        own_rules=(
            *fusion_rules(),
            OUTPUT_SIZES,
            checked("spatial", _spatial, until=Level.L4_0, after=("output-sizes",)),
            checked(
                "spatial-dimensions",
                _spatial_dimensions,
                since=Level.L3_1,
                until=Level.L4_0,
                after=("output-sizes",),
            ),
        ),
    ),
    operator_spec(f"{NAME}_TRAINING", shape=training_shape, own_rules=(*fusion_rules(), OUTPUT_SIZES)),
    operator_spec(f"{NAME}_GRAD", shape=gradient_shape, own_rules=(OUTPUT_SIZES,)),
    operator_spec(f"{NAME}_TRAINING_GRAD", shape=gradient_shape, own_rules=(OUTPUT_SIZES,)),
)
