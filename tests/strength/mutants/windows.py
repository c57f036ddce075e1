"""Windows that see other elements, or of which something else is computed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.backends.reference.operators._windows import counted, gathered, seen
from dml_conformance.spec.operators._windows import windows_of
from strength.mutants.base import Arrays, Mutant, WrongValues, plants, right
from strength.mutants.sums import as_tf32, in_float16, rounded

FAMILIES = ("average_pooling", "convolution", "pooling")


class OtherWindows(WrongValues, abstract=True):
    """Sees other windows than the descriptor's."""

    families = FAMILIES

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(self.other(desc), arrays)

    def other(self, desc: Any) -> Any:
        """The descriptor that it takes it for."""
        raise NotImplementedError


@plants("other", OtherWindows)
def StrideIgnored(desc: Any) -> Any:
    """Has each window begin an element after the one before."""
    return replace(desc, strides=(1,) * len(desc.strides))


@plants("other", OtherWindows, has=("dilations",))
def DilationIgnored(desc: Any) -> Any:
    return replace(desc, dilations=(1,) * len(desc.dilations))


@plants("other", OtherWindows)
def PaddingTakenForThatBehind(desc: Any) -> Any:
    return replace(desc, start_padding=desc.end_padding, end_padding=desc.start_padding)


@plants("other", OtherWindows)
def StridesInReverse(desc: Any) -> Any:
    """Takes the last dimension's stride for the first one's."""
    return replace(desc, strides=desc.strides[::-1])


@plants("other", OtherWindows, has=("mode",))
def ModeFlipped(desc: Any) -> Any:
    """Turns the filter round where it is not to be, and the other way round."""
    return replace(desc, mode=1 - desc.mode)


@plants("other", OtherWindows, has=("include_padding",))
def PaddingCounted(desc: Any) -> Any:
    return replace(desc, include_padding=True)


@plants("other", OtherWindows, has=("include_padding",))
def PaddingNeverCounted(desc: Any) -> Any:
    return replace(desc, include_padding=False)


class LastColumnTwice(WrongValues):
    """Writes the last but one column in place of the last as well."""

    families = FAMILIES

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        found = {key: values.copy() for key, values in right(desc, arrays).items()}
        for values in found.values():
            values[..., -1] = values[..., -2:][..., 0]
        return found


class OtherMean(WrongValues, abstract=True):
    """Makes something else of the elements of a window than their mean."""

    families = ("average_pooling",)
    has = ("input_tensor",)
    lacks = ("input_scale_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type, lengths = desc.input_tensor.data_type, desc.input_tensor.sizes[2:]
        sizes = desc.output_tensor.sizes
        windows = windows_of(desc, desc.window_size, len(lengths))
        assert isinstance(windows, tuple)
        places = [seen(*each) for each in zip(windows, lengths, sizes[2:], strict=True)]
        numbers = as_numbers(arrays["input_tensor"], data_type).astype(np.float64)
        elements = gathered(numbers, places).reshape(*sizes, -1)
        count = np.array(prod(desc.window_size)) if desc.include_padding else counted(places, lengths)
        with np.errstate(all="ignore"):
            return {"output_tensor": rounded(np.asarray(self.mean(elements, count)), desc)}

    def mean(self, elements: Any, count: Any) -> Any:
        """Of the elements along the last axis, so many of which count."""
        raise NotImplementedError


@plants("mean", OtherMean)
def LastWindowTermDropped(elements: Any, count: Any) -> Any:
    return elements[..., :-1].sum(-1) / count


@plants("mean", OtherMean)
def PoolingInFloat16(elements: Any, count: Any) -> Any:
    """Adds up in FLOAT16, one element after the other."""
    return in_float16(elements, -1) / count


@plants("mean", OtherMean)
def PoolingWithTheMantissaOfTensorCores(elements: Any, count: Any) -> Any:
    """Takes elements with the 10 bits of TF32."""
    return as_tf32(elements).sum(-1) / count


@plants("mean", OtherMean)
def SumNotDivided(elements: Any, count: Any) -> Any:
    return elements.sum(-1)


@plants("mean", OtherMean)
def LargestTaken(elements: Any, count: Any) -> Any:
    """Takes the greatest element, as the other pooling does."""
    return elements.max(-1)


# --- convolutions -----------------------------------------------------------------------------------------------------


class OtherFactors(WrongValues, abstract=True):
    """Multiplies other elements with each other, or adds another bias; those of integers are in `products`."""

    families = ("convolution",)
    has = ("direction",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = {key: as_numbers(bits, desc.input_tensor.data_type) for key, bits in arrays.items()}
        with np.errstate(all="ignore"):
            changed = {key: np.ascontiguousarray(value) for key, value in self.taken(desc, numbers).items()}
        bits = {key: value.astype(numbers[key].dtype).view(arrays[key].dtype) for key, value in changed.items()}
        return right(desc, {**arrays, **bits})

    def taken(self, desc: Any, numbers: Arrays) -> Arrays:
        """What it takes in place of some inputs."""
        raise NotImplementedError


def factors(function: Any) -> type[Mutant]:
    return plants("taken", OtherFactors)(function)


@factors
def FactorsOfConvolutionsInTf32(desc: Any, numbers: Arrays) -> Arrays:
    """Rounds input and filter to 10 bits of mantissa, as tensor cores do unless told not to."""
    return {key: as_tf32(numbers[key].astype(np.float64)) for key in ("input_tensor", "filter_tensor")}


@factors
def NextGroupsChannels(desc: Any, numbers: Arrays) -> Arrays:
    """Gives each group the channels of the one behind it."""
    source = numbers["input_tensor"]
    return {"input_tensor": np.roll(source, -(source.shape[1] // desc.group_count), 1)}


@factors
def ChannelsDealtToGroups(desc: Any, numbers: Arrays) -> Arrays:
    """Deals the channels of the input to the groups in turn."""
    source = numbers["input_tensor"]
    batch, channels, *sizes = source.shape
    dealt = source.reshape(batch, channels // desc.group_count, desc.group_count, *sizes).swapaxes(1, 2)
    return {"input_tensor": dealt.reshape(source.shape)}


@factors
def LastWeightDropped(desc: Any, numbers: Arrays) -> Arrays:
    filters = numbers["filter_tensor"].copy()
    filters.reshape(*filters.shape[:2], -1)[..., -1] = 0
    return {"filter_tensor": filters}


@factors
def FilterTurnedAlongTheWidthAlone(desc: Any, numbers: Arrays) -> Arrays:
    """Leaves height and depth as they are where it turns a filter round."""
    filters = numbers["filter_tensor"]
    axes = tuple(range(2, filters.ndim - 1)) if desc.mode == 0 else ()
    return {"filter_tensor": np.flip(filters, axes)}


@factors
def FilterOfTheFirstChannel(desc: Any, numbers: Arrays) -> Arrays:
    """Has one filter for all output channels of a group, or, backward, for all of the input."""
    filters = numbers["filter_tensor"]
    return {"filter_tensor": np.broadcast_to(filters[:1], filters.shape)}


@factors
def BiasIsNotAdded(desc: Any, numbers: Arrays) -> Arrays:
    return {"bias_tensor": np.zeros_like(numbers["bias_tensor"])} if "bias_tensor" in numbers else {}


@factors
def BiasOfTheNextChannel(desc: Any, numbers: Arrays) -> Arrays:
    return {"bias_tensor": np.roll(numbers["bias_tensor"], 1, 1)} if "bias_tensor" in numbers else {}


class BiasByRow(WrongValues):
    """Adds the bias along the last dimension but one, where it belongs to channels."""

    families = ("convolution",)
    has = ("direction",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.bias_tensor is None or desc.fused_activation is not None:
            return {}
        bias = as_numbers(arrays["bias_tensor"], desc.input_tensor.data_type).astype(np.float64).reshape(-1)
        without = {key: bits for key, bits in arrays.items() if key != "bias_tensor"}
        bits = right(replace(desc, bias_tensor=None), without)["output_tensor"]
        with np.errstate(all="ignore"):
            values = as_numbers(bits, desc.input_tensor.data_type).astype(np.float64)
            return {"output_tensor": rounded(values + np.resize(bias, values.shape[-2])[:, None], desc)}


class OutputPaddingInFront(WrongValues):
    """Adds elements at the beginning of the output, not at its end."""

    families = ("convolution",)
    has = ("direction",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        values, axes = right(desc, arrays)["output_tensor"], tuple(range(2, len(desc.output_tensor.sizes)))
        return {"output_tensor": np.roll(values, desc.output_padding, axes)}


class ConvolutionInFloat16(WrongValues):
    """Adds up in FLOAT16, one product after the other."""

    families = ("convolution",)
    has = ("direction",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.direction != 0 or desc.fused_activation is not None or desc.bias_tensor is not None or desc.mode == 0:
            return {}
        numbers, filters = (
            as_numbers(arrays[key], desc.input_tensor.data_type).astype(np.float64)
            for key in ("input_tensor", "filter_tensor")
        )
        windows, sizes = windows_of(desc, filters.shape[2:], filters.ndim - 2), desc.output_tensor.sizes
        assert isinstance(windows, tuple)
        places = [seen(*each) for each in zip(windows, numbers.shape[2:], sizes[2:], strict=True)]
        groups, count = desc.group_count, prod(sizes[2:])
        rows = gathered(numbers, places).reshape(sizes[0], groups, -1, count, prod(filters.shape[2:]))
        weights = filters.reshape(1, groups, -1, 1, filters.shape[1], prod(filters.shape[2:]))
        with np.errstate(all="ignore"):
            terms = (rows.swapaxes(2, 3)[:, :, None] * weights).reshape(sizes[0], sizes[1], count, -1)
            return {"output_tensor": rounded(in_float16(terms, -1).reshape(sizes), desc)}
