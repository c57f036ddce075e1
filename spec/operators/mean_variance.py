"""DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2.

Elements less their mean, over the root of their variance, along axes.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, Rules, axis_of, checked, together, value_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import broadcast_misfit
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.rules import Breach, Rule
from dml_conformance.spec.structures import MeanVariance

OLDEST, NAME, NEWEST = (f"MEAN_VARIANCE_NORMALIZATION{version}" for version in ("", "1", "2"))
BROADCAST = ("ScaleTensor", "BiasTensor")
CHANNELS = 1  # the dimension of those of four


def shape(desc: MeanVariance) -> Shapes | Misfit:
    """The input's sizes, which scale and bias have too where theirs are not 1."""
    return broadcast_misfit(desc, BROADCAST) or {"output_tensor": desc.input_tensor.sizes}


def _together(desc: MeanVariance, level: Level) -> Breach | None:
    missing = [name for name in BROADCAST if value_of(desc, name) is None]
    return Breach(missing[0], "null") if len(missing) == 1 else None


def _channels(desc: MeanVariance, level: Level) -> list[Breach]:
    sizes = desc.input_tensor.sizes
    given = [(name, value_of(desc, name)) for name in BROADCAST]
    return [
        Breach(f"{name}.Sizes[{CHANNELS}]", f"{tensor.sizes[CHANNELS]}, InputTensor has {sizes[CHANNELS]}")
        for name, tensor in given
        if tensor is not None and len(sizes) == 4 and tensor.sizes[CHANNELS] != sizes[CHANNELS]
    ]


# Below the level that takes either alone.
SCALE_AND_BIAS = together(
    *BROADCAST,
    name="scale-and-bias",
    statement="below 5_2 ScaleTensor and BiasTensor are both given or both null",
    remedy="give both, or ask for level 5_2",
    until=Level.L5_2,
    check=_together,
)


def _normalization(name: str, *own: Rule | Constraint, more: Rules = ()) -> OperatorSpec:
    """One such operator, with rules before those that all of them have, and after."""
    return operator_spec(
        name,
        shape=shape,
        own_rules=(*own, *fusion_rules(), output_sizes(is_any=True, section="Tensor constraints"), *more),
    )


SPECS = (
    _normalization(OLDEST, SCALE_AND_BIAS),
    _normalization(
        NAME,
        SCALE_AND_BIAS,
        axis_of("Axes"),
        more=(checked("channels", _channels, until=Level.L4_0, after=("output-sizes",)),),
    ),
    _normalization(NEWEST, axis_of("Axes")),
)
