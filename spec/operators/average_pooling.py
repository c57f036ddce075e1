"""DML_OPERATOR_AVERAGE_POOLING, AVERAGE_POOLING1, QUANTIZED_LINEAR_AVERAGE_POOLING and the gradient: the means of what
windows see that slide over an image."""

from __future__ import annotations

from math import prod

from dml_conformance.spec.constraints import RANKS_COMPARABLE, checked
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, shapes_comparable
from dml_conformance.spec.operators._pooling import image, pooling, sizes_not_looked_at, windows
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import (
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
    AveragePoolingGrad,
)
from dml_conformance.spec.tensor import TensorDesc, braces


def gradient_shape(desc: AveragePoolingGrad) -> Shapes | Misfit:
    """Batch and channels of the input, and the output's own spatial sizes, over which as many windows slide as the
    input has elements."""
    given, found = desc.input_gradient_tensor.sizes, windows(desc)
    if isinstance(found, Misfit):
        return found
    if given[FIRST:] != found:
        return Misfit("InputGradientTensor.Sizes", f"{braces(given)}, the output has {braces(found)} windows")
    return {"output_gradient_tensor": (*given[:FIRST], *image(desc).sizes[FIRST:])}


# --- quantized --------------------------------------------------------------------------------------------------------

QUANTIZED = "QUANTIZED_LINEAR_AVERAGE_POOLING"
SCALES = ("InputScaleTensor", "OutputScaleTensor")
ZERO_POINTS = ("InputZeroPointTensor", "OutputZeroPointTensor")


def quantization(desc: OperatorDesc) -> list[tuple[str, TensorDesc]]:
    """The scales and zero points that are there, by DirectML's name."""
    every = [
        (field.name, getattr(desc, field.attribute)) for field in desc.fields if field.name in SCALES + ZERO_POINTS
    ]
    return [(name, tensor) for name, tensor in every if tensor is not None]


def per_channel(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC) -> tuple[int, ...]:
    """Sizes with a number for each channel."""
    sizes = desc.input_tensor.sizes
    return (1, *sizes[1:FIRST], *(1,) * (len(sizes) - FIRST))


def _quantization_sizes(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, level: Level) -> list[Breach]:
    wanted = per_channel(desc)
    return [
        Breach(f"{name}.Sizes", f"{braces(tensor.sizes)}, of channels {braces(wanted)}")
        for name, tensor in quantization(desc)
        if len(tensor.sizes) == len(wanted) and prod(tensor.sizes) > 1 and tensor.sizes != wanted
    ]


def _quantization_rank(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, level: Level) -> list[Breach]:
    rank = len(desc.input_tensor.sizes)
    return [
        Breach(f"{name}.DimensionCount", f"{len(tensor.sizes)}, InputTensor has {rank}")
        for name, tensor in quantization(desc)
        if len(tensor.sizes) != rank and prod(tensor.sizes) > 1
    ]


def _zero_point_sizes(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, level: Level) -> list[Breach]:
    found = dict(quantization(desc))
    pairs = [
        (name, found[name], found[scale]) for scale, name in zip(SCALES, ZERO_POINTS, strict=True) if name in found
    ]
    return [
        Breach(f"{name}.Sizes", f"{braces(tensor.sizes)}, the scale has {braces(scale.sizes)}")
        for name, tensor, scale in pairs
        if tensor.sizes != scale.sizes
    ]


SPECS = (
    pooling("AVERAGE_POOLING"),
    pooling("AVERAGE_POOLING1"),
    pooling(
        QUANTIZED,
        checked("quantization-sizes", _quantization_sizes, after=("dimension-counts",)),
        checked(
            "quantization-dimension-count",
            _quantization_rank,
            needs=lambda operator: RANKS_COMPARABLE | shapes_comparable(operator),
            after=("dimension-counts",),
        ),
        checked("zero-point-sizes", _zero_point_sizes),
    ),
    pooling("AVERAGE_POOLING_GRAD", shape=gradient_shape),
)


def differs_in_types(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC) -> bool:
    return desc.input_tensor.data_type != desc.output_tensor.data_type


DIVERGENCES = {
    "DIV-average-pooling-of-any-windows": sizes_not_looked_at,
    "DIV-quantized-average-pooling-of-any-sizes": sizes_not_looked_at,
    "DIV-quantized-average-pooling-of-two-types": differs_in_types,
}
