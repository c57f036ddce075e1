"""Windows that see other elements, or of which something else is computed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.operators._windows import counted, gathered, seen, windows_seen
from dml_conformance.spec.operators._windows import windows_of
from strength.mutants.base import Arrays, WrongValues, computes, fault, misreads, of_input, plants, right, wide, zeroed
from strength.mutants.sums import as_tf32, in_float16

FAMILIES = ("average_pooling", "convolution", "pooling")


plants("descriptor", WrongValues, families=FAMILIES).each(
    StrideIgnored=fault(
        lambda desc: replace(desc, strides=(1,) * len(desc.strides)),
        "Has each window begin an element after the one before.",
    ),
    DilationIgnored=fault(lambda desc: replace(desc, dilations=(1,) * len(desc.dilations)), has=("dilations",)),
    PaddingTakenForThatBehind=lambda desc: replace(
        desc, start_padding=desc.end_padding, end_padding=desc.start_padding
    ),
    StridesInReverse=fault(
        lambda desc: replace(desc, strides=desc.strides[::-1]), "Takes the last dimension's stride for the first one's."
    ),
    ModeFlipped=fault(
        lambda desc: replace(desc, mode=1 - desc.mode),
        "Turns the filter round where it is not to be, and the other way round.",
        has=("mode",),
    ),
    PaddingCounted=fault(lambda desc: replace(desc, include_padding=True), has=("include_padding",)),
    PaddingNeverCounted=fault(lambda desc: replace(desc, include_padding=False), has=("include_padding",)),
)


@computes(families=FAMILIES)
def LastColumnTwice(desc: Any, arrays: Arrays) -> Any:
    """Writes the last but one column in place of the last as well."""
    found = {key: values.copy() for key, values in right(desc, arrays).items()}
    for values in found.values():
        values[..., -1] = values[..., -2:][..., 0]
    return found


def other_mean(mean: Any, desc: Any, arrays: Arrays) -> Any:
    """Makes something else of the elements of a window, so many of which count, than their mean."""
    x, sizes = wide(desc, arrays)["input_tensor"], desc.output_tensor.sizes
    _, places = windows_seen(desc, x.shape, sizes)
    count = np.array(prod(desc.window_size)) if desc.include_padding else counted(places, x.shape[2:])
    return mean(elements=gathered(x, places).reshape(*sizes, -1), count=count)


computes(other_mean, families=("average_pooling",), has=("input_tensor",), lacks=("input_scale_tensor",)).each(
    LastWindowTermDropped=lambda elements, count: elements[..., :-1].sum(-1) / count,
    PoolingInFloat16=fault(
        lambda elements, count: in_float16(elements, -1) / count, "Adds up in FLOAT16, one element after the other."
    ),
    PoolingWithTheMantissaOfTensorCores=fault(
        lambda elements, count: as_tf32(elements).sum(-1) / count, "Takes elements with the 10 bits of TF32."
    ),
    SumNotDivided=lambda elements: elements.sum(-1),
    LargestTaken=fault(lambda elements: elements.max(-1), "Takes the greatest element, as the other pooling does."),
)


# --- convolutions -----------------------------------------------------------------------------------------------------

FACTORS = {"families": ("convolution",), "has": ("direction",)}  # those of integers are in `products`


@misreads(**FACTORS)
def FactorsOfConvolutionsInTf32(desc: Any, arrays: Arrays) -> Any:
    """Rounds input and filter to 10 bits of mantissa, as tensor cores do unless told not to."""
    return {key: as_tf32(wide(desc, arrays)[key]) for key in ("input_tensor", "filter_tensor")}


def _dealt(x: Any, desc: Any) -> Any:
    batch, channels, *sizes = x.shape
    return x.reshape(batch, channels // desc.group_count, desc.group_count, *sizes).swapaxes(1, 2)


misreads(of_input("input_tensor"), **FACTORS).each(
    NextGroupsChannels=fault(
        lambda x, desc: np.roll(x, -(x.shape[1] // desc.group_count), 1),
        "Gives each group the channels of the one behind it.",
    ),
    ChannelsDealtToGroups=fault(_dealt, "Deals the channels of the input to the groups in turn."),
)
misreads(of_input("filter_tensor"), **FACTORS).each(
    LastWeightDropped=lambda x: zeroed(x.reshape(*x.shape[:2], -1), np.s_[..., -1]),
    FilterTurnedAlongTheWidthAlone=fault(
        lambda x, desc: np.flip(x, tuple(range(2, x.ndim - 1)) if desc.mode == 0 else ()),
        "Leaves height and depth as they are where it turns a filter round.",
    ),
    FilterOfTheFirstChannel=fault(
        lambda x: np.broadcast_to(x[:1], x.shape),
        "Has one filter for all output channels of a group, or, backward, for all of the input.",
    ),
)
misreads(of_input("bias_tensor"), **FACTORS).each(
    BiasIsNotAdded=lambda x: np.zeros_like(x),
    BiasOfTheNextChannel=lambda x: np.roll(x, 1, 1),
)


@computes(**FACTORS)
def BiasByRow(desc: Any, arrays: Arrays) -> Any:
    """Adds the bias along the last dimension but one, where it belongs to channels."""
    if desc.bias_tensor is None or desc.fused_activation is not None:
        return {}
    bias = wide(desc, arrays)["bias_tensor"].reshape(-1)
    without = {key: bits for key, bits in arrays.items() if key != "bias_tensor"}
    bits = right(replace(desc, bias_tensor=None), without)["output_tensor"]
    values = bits.view(f"f{bits.itemsize}").astype(np.float64)
    return values + np.resize(bias, values.shape[-2])[:, None]


@computes(**FACTORS)
def OutputPaddingInFront(desc: Any, arrays: Arrays) -> Any:
    """Adds elements at the beginning of the output, not at its end."""
    values = right(desc, arrays)["output_tensor"]
    return np.roll(values, desc.output_padding, tuple(range(2, values.ndim)))


@computes(**FACTORS)
def ConvolutionInFloat16(desc: Any, arrays: Arrays) -> Any:
    """Adds up in FLOAT16, one product after the other."""
    if desc.direction != 0 or desc.fused_activation is not None or desc.bias_tensor is not None or desc.mode == 0:
        return {}
    x, filters = (wide(desc, arrays)[key] for key in ("input_tensor", "filter_tensor"))
    windows, sizes = windows_of(desc, filters.shape[2:], filters.ndim - 2), desc.output_tensor.sizes
    assert isinstance(windows, tuple)
    places = [seen(*each) for each in zip(windows, x.shape[2:], sizes[2:], strict=True)]
    groups, count = desc.group_count, prod(sizes[2:])
    rows = gathered(x, places).reshape(sizes[0], groups, -1, count, prod(filters.shape[2:]))
    weights = filters.reshape(1, groups, -1, 1, filters.shape[1], prod(filters.shape[2:]))
    terms = (rows.swapaxes(2, 3)[:, :, None] * weights).reshape(sizes[0], sizes[1], count, -1)
    return in_float16(terms, -1)
