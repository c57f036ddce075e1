"""DML_OPERATOR_CONVOLUTION: sums of what windows see, weighted by filters, or what windows add to an image."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import Quantity, divides, size_at, size_within, sizes_follow
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.operators._windows import FIRST, Window, arrays, counts, window_rules, windows_of
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

NAME = "CONVOLUTION"
PAGE = "ns-directml-dml_convolution_operator_desc"
PRIMITIVES = ("multiply", "add")
BACKWARD = enumeration("DML_CONVOLUTION_DIRECTION").BACKWARD


def is_backward(desc: Any) -> bool:
    """Whether windows are written to, not read."""
    return bool(desc.direction == BACKWARD)


def output_channels(desc: Any) -> int:
    """Those of all groups: the filter's own, or, backward, one group's times the groups."""
    filters = desc.filter_tensor.sizes
    return int(filters[1] * desc.group_count if is_backward(desc) else filters[0])


def windows(desc: Any) -> tuple[Window, ...] | Misfit:
    """What slides along each spatial dimension."""
    spatial = len(desc.input_tensor.sizes) - FIRST
    if len(desc.filter_tensor.sizes) != spatial + FIRST or spatial < 1:
        return Misfit("FilterTensor.DimensionCount", str(len(desc.filter_tensor.sizes)))
    return windows_of(desc, desc.filter_tensor.sizes[FIRST:], spatial)


def spatial_sizes(desc: Any) -> tuple[int, ...] | Misfit:
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


def shape(desc: Any) -> Shapes | Misfit:
    """The input's batch, the output's channels, and the spatial sizes of either direction."""
    found = spatial_sizes(desc)
    if isinstance(found, Misfit):
        return found
    return {"output_tensor": (desc.input_tensor.sizes[0], output_channels(desc), *found)}


def given_channels(desc: Any) -> int:
    """Those of the input: the filter's own backward, else one group's times the groups."""
    filters = desc.filter_tensor.sizes
    return int(filters[0] if is_backward(desc) else filters[1] * desc.group_count)


def _bias_sizes(desc: Any) -> tuple[int, ...]:
    return (1, output_channels(desc), *(1,) * (len(desc.input_tensor.sizes) - FIRST))


CHANNELS = Quantity("the channels that the filter takes", "the filter takes {}", given_channels)


def _forward_output_padding(desc: Any, level: Level) -> list[Breach]:
    padding = () if is_backward(desc) else enumerate(desc.output_padding)
    return [Breach(f"OutputPadding[{d}]", str(entry)) for d, entry in padding if entry]


COMPARABLE = shapes_comparable(NAME) | ids(NAME, "dimension-counts", "enumerators")

SPECS = (
    operator_spec(
        NAME,
        shape=shape,
        own_rules=(
            *window_rules(
                NAME,
                "InputTensor",
                spatial_sizes,
                ("Strides",),
                "as windows that do not move on have no meaning",
                f"{NAME}-4",
                "the filter with its dilations is no larger than InputTensor with its padding, or, where the direction "
                "is BACKWARD, the padding smaller than what the windows cover",
            ),
            divides(
                "GroupCount",
                size_at("FilterTensor", 0),
                name="groups",
                remedy="use 1 for a single group",
                after=("dimension-counts", "enumerators"),
                settles=(f"{NAME}-2",),
            ),
            size_within(
                "InputTensor",
                1,
                CHANNELS,
                CHANNELS,
                name="filter-sizes",
                statement="the channels of InputTensor are FilterTensor.Sizes[1] * GroupCount, or "
                "FilterTensor.Sizes[0] where the direction is BACKWARD",
                remedy="give the filter the channels of one group of the input",
                after=("dimension-counts", "enumerators", "groups"),
                settles=(f"{NAME}-2",),
            ),
            sizes_follow(
                "BiasTensor",
                _bias_sizes,
                "the filters give",
                "BiasTensor has a number for each channel of the output, and size 1 along every other dimension",
                name="bias-sizes",
                after=("dimension-counts", "enumerators", "groups"),
            ),
            Rule(
                f"{NAME}.forward-output-padding",
                Category.ATTRIBUTES,
                "the page does not say what OutputPadding does where the direction is FORWARD",
                Source(PAGE, "OutputPadding"),
                "use 0, or the direction BACKWARD",
                check=_forward_output_padding,
                needs=ids(NAME, "introduced-in", "enumerators"),
                erratum=f"{NAME}-5",
            ),
            output_sizes_rule(
                NAME,
                Source(PAGE, "OutputTensor"),
                COMPARABLE | ids(NAME, "array-counts", "above-0", "window-fits", "groups"),
                settles=(f"{NAME}-1", f"{NAME}-3"),
            ),
            *fusion_rules(NAME, f"{NAME}-8", f"{NAME}-9"),
        ),
        execution_rules=(
            Rule(
                f"{NAME}.values",
                Category.EXECUTION,
                "FORWARD, every output element is the sum of the elements of the input's channels of its group that "
                "its window sees, each times its weight; BACKWARD, every input element is added, times its weights, to "
                "all elements of its window, which OutputPadding may add to at the end; the bias of its channel is "
                "added to each, and FusedActivation is computed of that; CONVOLUTION turns the filter round along all "
                "spatial dimensions; left open is what OutputPadding adds where a window or a bias reaches it, and "
                "whether the padding is 0 times an infinite weight or nothing",
                Source(PAGE, "Description"),
                settles=tuple(f"{NAME}-{n}" for n in (6, 7, 10, 11)),
            ),
            formula_rule(NAME, PRIMITIVES),
        ),
        primitives=PRIMITIVES,
        domains={"InputTensor": "sums", "FilterTensor": "sums", "BiasTensor": "sums"},
        summary="computes the sums of what windows see weighted by filters, or transposed adds them up",
        pseudocode="output[n, o, b] = sum(input[n, c, b * Strides + w * Dilations - StartPadding] * filter[o, c, w])",
    ),
)


def sizes_not_looked_at(desc: Any) -> bool:
    """Batch, channels and groups are right, and DimensionCount is from 1 to 3: all that the library looks at but for
    an output that is not larger than OutputPadding."""
    tensors = (desc.input_tensor, desc.filter_tensor, desc.output_tensor)
    lengths = {len(entries) for entries in arrays(desc).values()}
    if {len(tensor.sizes) for tensor in tensors} - {3, 4, 5} or len(lengths) != 1 or not lengths <= {1, 2, 3}:
        return False
    filters, bias, groups = desc.filter_tensor.sizes, desc.bias_tensor, desc.group_count
    if not groups or filters[0] % groups or desc.input_tensor.sizes[1] != given_channels(desc):
        return False
    if bias is not None and bias.sizes != _bias_sizes(desc):
        return False
    return bool(desc.output_tensor.sizes[:FIRST] == (desc.input_tensor.sizes[0], output_channels(desc)))


def fuses_a_slope(desc: Any) -> bool:
    activation = desc.fused_activation
    return activation is not None and activation.operator == "ACTIVATION_PARAMETERIZED_RELU"


DIVERGENCES = {
    "DIV-convolution-of-any-windows": sizes_not_looked_at,
    "DIV-convolution-dies-of-a-fused-slope": fuses_a_slope,
}
