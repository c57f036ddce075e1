"""DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1: elements less their mean, over the root of their variance, along axes."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, together
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators._fused import FUSED_ACTIVATIONS, flat_softplus, fusion_rules, newer_activation
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces

NAME = "MEAN_VARIANCE_NORMALIZATION1"
PAGE = "ns-directml-dml_mean_variance_normalization1_operator_desc"
BROADCAST = {"ScaleTensor": "scale_tensor", "BiasTensor": "bias_tensor"}
CHANNELS = 1  # the dimension of those of four
PRIMITIVES = ("add", "multiply", "divide", "sqrt")


def shape(desc: Any) -> Shapes | Misfit:
    """The input's sizes, which scale and bias have too where theirs are not 1."""
    sizes = desc.input_tensor.sizes
    for name, attribute in BROADCAST.items():
        found = getattr(desc, attribute)
        if found is not None and any(size not in (1, full) for size, full in zip(found.sizes, sizes, strict=False)):
            return Misfit(f"{name}.Sizes", f"{braces(found.sizes)}, InputTensor has {braces(sizes)}")
    return {"output_tensor": sizes}


def _together(desc: Any, level: Level) -> Breach | None:
    missing = [name for name, attribute in BROADCAST.items() if getattr(desc, attribute) is None]
    return Breach(missing[0], "null") if len(missing) == 1 else None


def _channels(desc: Any, level: Level) -> list[Breach]:
    sizes = desc.input_tensor.sizes
    given = [(name, getattr(desc, attribute)) for name, attribute in BROADCAST.items()]
    return [
        Breach(f"{name}.Sizes[{CHANNELS}]", f"{tensor.sizes[CHANNELS]}, InputTensor has {sizes[CHANNELS]}")
        for name, tensor in given
        if tensor is not None and len(sizes) == 4 and tensor.sizes[CHANNELS] != sizes[CHANNELS]
    ]


NORMALIZATION = operator_spec(
    NAME,
    shape=shape,
    own_rules=(
        together(
            *BROADCAST,
            name="scale-and-bias",
            statement="below 5_2 ScaleTensor and BiasTensor are both given or both null",
            remedy="give both, or ask for level 5_2",
            until=Level.L5_2,
            check=_together,
        ),
        axis_of("Axes"),
        *fusion_rules(NAME),
        output_sizes_rule(NAME, Source(PAGE, "Tensor constraints"), shapes_comparable(NAME), is_any=True),
        Rule(
            f"{NAME}.channels",
            Category.SHAPE,
            "below 4_0 ScaleTensor and BiasTensor have the channels of InputTensor, also where a size of 1 would do",
            Source(PAGE, "ScaleTensor"),
            "give both the channels of the input, with a stride of 0, or ask for level 4_0",
            until=Level.L4_0,
            check=_channels,
            needs=shapes_comparable(NAME) | ids(NAME, "output-sizes"),
        ),
    ),
    execution_rules=(
        Rule(
            f"{NAME}.values",
            Category.EXECUTION,
            "every output element is FusedActivation of the input element less the mean of the elements along Axes, "
            "with NormalizeVariance divided by the root of the sum of their variance, which is the mean of the squares "
            "of such differences, and Epsilon, then times the element of ScaleTensor, plus that of BiasTensor, "
            "of which sizes of 1 are broadcast; the scale may be divided by the root first, the variance may be the "
            "mean of the squares less the square of the mean, and in FLOAT16 an activation may be that of the rounded "
            "result; left open where an axis is named twice",
            Source(PAGE, "Description"),
            settles=(f"{NAME}-1", f"{NAME}-2"),
            also=(FUSED_ACTIVATIONS,),
        ),
        formula_rule(NAME, PRIMITIVES),
    ),
    primitives=PRIMITIVES,
    domains=dict.fromkeys(("InputTensor", "ScaleTensor", "BiasTensor"), "sums"),
    summary="takes the mean along some axes from every element, and divides by the root of the variance",
    pseudocode="output[c] = activation(scale[c] * (input[c] - mean) / sqrt(variance + Epsilon) + bias[c])",
)
SPECS = (NORMALIZATION,)
DIVERGENCES = {
    "DIV-fused-activations-newer-than-the-list": newer_activation,
    "DIV-fused-softplus-of-any-steepness": flat_softplus,
}
