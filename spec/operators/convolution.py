"""Sums of what windows see, weighted by filters, or what windows add to an image; also of integers.

Integers may stand for numbers by scales and zero points: one for all of a tensor, or of the filter one for each channel
of the output.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import (
    Constraint,
    Quantity,
    Rules,
    broadcastable,
    checked,
    divides,
    exists,
    same_sizes,
    size_at,
    size_within,
    sizes_follow,
    value_of,
)
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, operator_spec, output_sizes, slots
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.operators._windows import FIRST, Window, arrays, counts, window_rules, windows_of
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.structures import DML_CONVOLUTION_OPERATOR_DESC, Convolution

NAME = "CONVOLUTION"
INTEGER, LINEAR = "CONVOLUTION_INTEGER", "QUANTIZED_LINEAR_CONVOLUTION"
BACKWARD = enumeration("DML_CONVOLUTION_DIRECTION").BACKWARD


def is_backward(desc: Convolution) -> bool:
    """Whether windows are written to, not read."""
    return bool(getattr(desc, "direction", None) == BACKWARD)


def output_channels(desc: Convolution) -> int:
    """Those of all groups: the filter's own, or, backward, one group's times the groups."""
    filters = desc.filter_tensor.sizes
    return filters[1] * desc.group_count if is_backward(desc) else filters[0]


def windows(desc: Convolution) -> tuple[Window, ...] | Misfit:
    """What slides along each spatial dimension."""
    spatial = len(desc.input_tensor.sizes) - FIRST
    if len(desc.filter_tensor.sizes) != spatial + FIRST or spatial < 1:
        return Misfit("FilterTensor.DimensionCount", str(len(desc.filter_tensor.sizes)))
    return windows_of(desc, desc.filter_tensor.sizes[FIRST:], spatial)


def spatial_sizes(desc: Convolution) -> tuple[int, ...] | Misfit:
    """Those of the output: as many as there are windows, or all that windows cover, without the padding."""
    found, sizes = windows(desc), desc.input_tensor.sizes[FIRST:]
    if isinstance(found, Misfit):
        return found
    added = tuple(window.added for window in found)
    if not is_backward(desc):
        seen = counts(found, sizes, "FilterTensor.Sizes", FIRST)
        return seen if isinstance(seen, Misfit) else tuple(map(sum, zip(seen, added, strict=True)))
    covered = tuple(window.covered(size) for window, size in zip(found, sizes, strict=True))
    for d, size in enumerate(covered):
        if size - added[d] < 1:
            return Misfit(f"StartPadding[{d}]", f"the windows cover {size - added[d]} elements more than the padding")
    return covered


def shape(desc: Convolution) -> Shapes | Misfit:
    """The input's batch, the output's channels, and the spatial sizes of either direction."""
    found = spatial_sizes(desc)
    if isinstance(found, Misfit):
        return found
    return {"output_tensor": (desc.input_tensor.sizes[0], output_channels(desc), *found)}


def given_channels(desc: Convolution) -> int:
    """Those of the input: the filter's own backward, else one group's times the groups."""
    filters = desc.filter_tensor.sizes
    return filters[0] if is_backward(desc) else filters[1] * desc.group_count


def _bias_sizes(desc: Convolution) -> tuple[int, ...]:
    return (1, output_channels(desc), *(1,) * (len(desc.input_tensor.sizes) - FIRST))


CHANNELS = Quantity("the channels that the filter takes", "the filter takes {}", given_channels)


def _forward_output_padding(desc: DML_CONVOLUTION_OPERATOR_DESC, level: Level) -> list[Breach]:
    padding = () if is_backward(desc) else enumerate(desc.output_padding)
    return [Breach(f"OutputPadding[{d}]", str(entry)) for d, entry in padding if entry]


def convolution(name: str, *own_rules: Rule | Constraint, activation: Rules = ()) -> OperatorSpec:
    """One of the operators.

    Args:
        name: its name.
        own_rules: of its descriptors, besides those of windows, channels and the output.
        activation: the rules on what it fuses.
    """
    counted = ("dimension-counts", "enumerators")
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            *window_rules(name, "InputTensor", spatial_sizes, ("Strides",)),
            divides("GroupCount", size_at("FilterTensor", 0), name="groups", after=counted),
            size_within("InputTensor", 1, CHANNELS, CHANNELS, name="filter-sizes", after=(*counted, "groups")),
            *own_rules,
            output_sizes(*counted, "array-counts", "above-0", "window-fits", "groups"),
            *activation,
        ),
    )


BIAS = sizes_follow("BiasTensor", _bias_sizes, "the filters give", after=("dimension-counts", "enumerators", "groups"))


# --- of integers ------------------------------------------------------------------------------------------------------


def along_channels(desc: Convolution, rank: int) -> tuple[int, ...]:
    """The sizes of a filter's scale, or zero point, of so many dimensions for each channel of the output."""
    return (1, output_channels(desc), 1, 1)[:rank]


def _quantization_sizes(name: str) -> Constraint:
    """One element, or of the filter's one for each channel of the output."""
    is_each, after = name.startswith("Filter"), ("dimension-counts",)

    def wanted(desc: Convolution) -> tuple[int, ...]:
        found = value_of(desc, name)
        rank = 0 if found is None else len(found.sizes)
        return along_channels(desc, rank) if is_each else (1,) * rank

    if not is_each:
        return sizes_follow(
            name, wanted, "it has", f"{name} has one element", remedy="give it one element", after=after
        )
    return broadcastable(
        name,
        wanted,
        "for each channel",
        statement=f"all sizes of {name} are 1, or the second one is the channels of the output",
        remedy="give it one element, or one for each channel of the output",
        after=after,
    )


SPECS = (
    convolution(
        NAME,
        BIAS,
        checked("forward-output-padding", _forward_output_padding, Category.ATTRIBUTES, exists, after=("enumerators",)),
        activation=fusion_rules(),
    ),
    convolution(INTEGER, *(_quantization_sizes(f"{prefix}ZeroPointTensor") for prefix in ("Input", "Filter"))),
    convolution(
        LINEAR,
        *(
            _quantization_sizes(f"{prefix}{kind}Tensor")
            for prefix in ("Input", "Filter", "Output")
            for kind in ("Scale", "ZeroPoint")
        ),
        same_sizes(
            "FilterZeroPointTensor",
            "FilterScaleTensor",
            name="filter-zero-points-as-scales",
            after=("filter-zero-point-sizes", "filter-scale-sizes"),
        ),
        BIAS,
    ),
)


def _channels_fit(desc: Convolution, ranks: frozenset[int]) -> bool:
    """Batch, channels and groups are right, and tensors have one of these dimension counts."""
    tensors = (desc.input_tensor, desc.filter_tensor, desc.output_tensor)
    if {len(tensor.sizes) for tensor in tensors} - ranks:
        return False
    groups, (batch, channels) = desc.group_count, desc.input_tensor.sizes[:FIRST]
    if not groups or desc.filter_tensor.sizes[0] % groups or channels != given_channels(desc):
        return False
    return desc.output_tensor.sizes[:FIRST] == (batch, output_channels(desc))


def sizes_not_looked_at(desc: DML_CONVOLUTION_OPERATOR_DESC) -> bool:
    """Batch, channels and groups are right, and DimensionCount is from 1 to 3: all that the library looks at but for
    an output that is not larger than OutputPadding."""
    lengths = {len(entries) for entries in arrays(desc).values()}
    if len(lengths) != 1 or not lengths <= {1, 2, 3} or not _channels_fit(desc, frozenset({3, 4, 5})):
        return False
    return desc.bias_tensor is None or bool(desc.bias_tensor.sizes == _bias_sizes(desc))


def fuses_a_slope(desc: DML_CONVOLUTION_OPERATOR_DESC) -> bool:
    activation = desc.fused_activation
    return activation is not None and activation.operator == "ACTIVATION_PARAMETERIZED_RELU"


def sizes_of_integers_not_looked_at(desc: Convolution) -> bool:
    """Batch, channels, groups, scales and zero points are right, and each zero point is of its scale's sizes: all that
    the library looks at of integers."""
    if not _channels_fit(desc, frozenset({3, 4})):
        return False
    beside = [slot for slot in slots(desc) if slot.name.endswith(("ScaleTensor", "ZeroPointTensor"))]
    for slot in beside:
        rank = len(slot.tensor.sizes)
        is_each = slot.name.startswith("Filter") and slot.tensor.sizes == along_channels(desc, rank)
        if slot.tensor.sizes != (1,) * rank and not is_each:
            return False
    for prefix in ("Input", "Filter", "Output"):
        if len({slot.tensor.sizes for slot in beside if slot.name.startswith(prefix)}) > 1:
            return False
    bias = getattr(desc, "bias_tensor", None)
    return bias is None or bool(bias.sizes == along_channels(desc, len(bias.sizes)))


DIVERGENCES = {
    "DIV-integer-convolution-of-any-windows": sizes_of_integers_not_looked_at,
    "DIV-convolution-of-any-windows": sizes_not_looked_at,
    "DIV-convolution-dies-of-a-fused-slope": fuses_a_slope,
}
