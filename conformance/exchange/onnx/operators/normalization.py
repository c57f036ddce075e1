"""Normalizations: by statistics that are given, or that are found along axes."""

from __future__ import annotations

from typing import Any

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, maps, shape_of
from dml_conformance.conformance.exchange.onnx.node import (
    LEAST_RANK,
    Mapped,
    ModelNode,
    ModelValue,
    NotMapped,
    Operation,
    Sizes,
    View,
    broadcast,
    from_first,
    operation,
    padded,
    view,
)
from dml_conformance.conformance.exchange.onnx.operators.windows import along_channels
from dml_conformance.spec.tensor import TensorDesc


@maps("BatchNormalization", "BATCH_NORMALIZATION")
def batch_normalization(node: ModelNode) -> Mapped:
    """Batch and channels come first; dimensions that are missing follow."""
    if node.attribute("training_mode", 0) or any(node.outputs[1:]):
        raise NotMapped("it is in training mode")
    sizes = node.input(0).sizes
    whole = (*sizes, *(1,) * (LEAST_RANK - len(sizes)))
    spatial = bool(node.attribute("spatial", 1))
    # ONNX has scale, bias, mean and variance in this order.
    scale, bias, mean, variance = (
        along_channels(node.input(n), len(whole)) if spatial else view(node.input(n), (1, *whole[1:]))
        for n in range(1, 5)
    )
    yield operation(
        "BATCH_NORMALIZATION",
        input_tensor=view(node.input(0), whole),
        mean_tensor=mean,
        variance_tensor=variance,
        scale_tensor=scale,
        bias_tensor=bias,
        output_tensor=view(node.result, whole),
        spatial=spatial,
        epsilon=node.attribute("epsilon", 1e-5),
    )


def mean_variance(
    node: ModelNode,
    given: View,
    output: View,
    axes: tuple[int, ...],
    scale: View | None = None,
    bias: View | None = None,
    epsilon: float | None = None,
) -> Operation:
    """A normalization of mean and variance along axes of tensors that have all their dimensions."""
    return operation(
        "MEAN_VARIANCE_NORMALIZATION1",
        input_tensor=given,
        scale_tensor=scale,
        bias_tensor=bias,
        output_tensor=output,
        axes=axes,
        normalize_variance=True,
        epsilon=node.attribute("epsilon", 1e-5) if epsilon is None else epsilon,
    )


@maps("InstanceNormalization", "MEAN_VARIANCE_NORMALIZATION1 MEAN_VARIANCE_NORMALIZATION")
def instance_normalization(node: ModelNode) -> Mapped:
    """Along all dimensions after batch and channels; those that are missing follow."""
    sizes = node.input(0).sizes
    whole = (*sizes, *(1,) * (LEAST_RANK - len(sizes)))
    given, output = view(node.input(0), whole), view(node.result, whole)
    scale, bias = along_channels(node.input(1), len(whole)), along_channels(node.input(2), len(whole))
    if node.has("MEAN_VARIANCE_NORMALIZATION1"):
        yield mean_variance(node, given, output, tuple(range(2, len(whole))), scale, bias)
        return
    yield operation(
        "MEAN_VARIANCE_NORMALIZATION",
        input_tensor=given,
        scale_tensor=scale,
        bias_tensor=bias,
        output_tensor=output,
        cross_channel=False,
        normalize_variance=True,
        epsilon=node.attribute("epsilon", 1e-5),
    )


@maps("MeanVarianceNormalization", "MEAN_VARIANCE_NORMALIZATION1")
def own_mean_and_variance(node: ModelNode) -> Mapped:
    """ONNX's function adds 1e-9."""
    rank = len(node.input(0).sizes)
    axes = sorted(from_first(axis, rank) for axis in node.attribute("axes", (0, 2, 3)))
    shifted = tuple(max(LEAST_RANK - rank, 0) + axis for axis in axes)
    yield mean_variance(node, view(node.input(0)), view(node.result), shifted, epsilon=1e-9)


@maps("LayerNormalization", "MEAN_VARIANCE_NORMALIZATION1")
def layer_normalization(node: ModelNode) -> Mapped:
    if any(node.outputs[1:]):
        raise NotMapped("its mean or deviation is asked for")
    bias = node.optional(2)
    yield _along_last(node, view(node.input(0)), node.input(1), bias)


def _along_last(node: ModelNode, given: View, scale: ModelValue, bias: ModelValue | None) -> Operation:
    """Along all dimensions from an axis on, by a scale and bias that have these."""
    rank, own = len(given.tensor.sizes), len(node.result.sizes)
    axis = node.axis(own, -1)
    return mean_variance(
        node,
        given,
        view(node.result),
        tuple(range(rank - own + axis, rank)),
        view(scale, padded(scale.sizes, rank)),
        None if bias is None else view(bias, padded(bias.sizes, rank)),
    )


@maps("RMSNormalization", "MEAN_VARIANCE_NORMALIZATION2")
@maps("SimplifiedLayerNormalization", "MEAN_VARIANCE_NORMALIZATION2", MICROSOFT, shape_of(0))
def root_mean_square(node: ModelNode) -> Mapped:
    """Without a mean."""
    if any(node.outputs[1:]):
        raise NotMapped("its deviation is asked for")
    yield _root_mean_square(node, view(node.input(0)), node.input(1))


def _root_mean_square(node: ModelNode, given: View, scale: ModelValue) -> Operation:
    rank, own = len(given.tensor.sizes), len(node.result.sizes)
    return operation(
        "MEAN_VARIANCE_NORMALIZATION2",
        input_tensor=given,
        scale_tensor=view(scale, padded(scale.sizes, rank)),
        output_tensor=view(node.result),
        axes=tuple(range(rank - own + node.axis(own, -1), rank)),
        use_mean=False,
        use_variance=True,
        epsilon=node.attribute("epsilon", 1e-5),
    )


def _skip_sizes(node: ModelNode) -> list[Sizes]:
    sizes = node.input(0).sizes
    return [sizes, (), (), sizes][: len(node.outputs)]


@maps("SkipLayerNormalization", "ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION1", MICROSOFT, _skip_sizes)
@maps("SkipSimplifiedLayerNormalization", "ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION2", MICROSOFT, _skip_sizes)
def skip_layer_normalization(node: ModelNode) -> Mapped:
    """The sum of two inputs, and of a bias, is normalized; it may be an output too."""
    if node.output(1) is not None or node.output(2) is not None:
        raise NotMapped("its mean or deviation is asked for")
    is_simplified = node.op_type.startswith("SkipSimplified")
    given, skip, added = node.input(0), node.input(1), node.optional(3 if is_simplified else 4)
    sizes, total = given.sizes, node.output(3)
    summed = view(total, padded(sizes)) if total is not None else node.between(0, given.data_type, sizes)
    first = summed if added is None else node.between(1, given.data_type, sizes)
    yield operation("ELEMENT_WISE_ADD", a_tensor=view(given), b_tensor=broadcast(skip, sizes), output_tensor=first)
    if added is not None:
        yield operation("ELEMENT_WISE_ADD", a_tensor=first, b_tensor=broadcast(added, sizes), output_tensor=summed)
    if is_simplified:
        yield _root_mean_square(node, summed, node.input(2))
    else:
        yield _along_last(node, summed, node.input(2), node.optional(3))


@maps("GroupNorm", "MEAN_VARIANCE_NORMALIZATION1 ACTIVATION_SIGMOID ELEMENT_WISE_MULTIPLY", MICROSOFT, shape_of(0))
def group_normalization(node: ModelNode) -> Mapped:
    """Channels come last; strides put each group's before the pixels."""
    if node.attribute("channels_last", 1) != 1:
        raise NotMapped("channels do not come last")
    batch, height, width, channels = node.input(0).sizes
    groups, pixels = node.attribute("groups"), height * width
    each = channels // groups
    sizes = (batch, each, pixels, groups)

    def grouped(value: str, tensor: TensorDesc, strides: Sizes) -> View:
        return View(value, TensorDesc.of(tensor.data_type, sizes, strides))

    strides = (channels * pixels, 1, channels, each)
    scale, bias = (grouped(value.name, view(value).tensor, (0, 1, 0, each)) for value in (node.input(1), node.input(2)))
    given = grouped(node.input(0).name, view(node.input(0)).tensor, strides)
    output = grouped(node.result.name, view(node.result).tensor, strides)
    if not node.attribute("activation", 0):
        yield mean_variance(node, given, output, (1, 2), scale, bias)
        return
    normal = grouped(f"{node.result.name}#0", output.tensor, strides)
    gate = grouped(f"{node.result.name}#1", output.tensor, strides)
    yield mean_variance(node, given, normal, (1, 2), scale, bias)
    yield operation("ACTIVATION_SIGMOID", input_tensor=normal, output_tensor=gate)
    yield operation("ELEMENT_WISE_MULTIPLY", a_tensor=normal, b_tensor=gate, output_tensor=output)


@maps("LRN", "LOCAL_RESPONSE_NORMALIZATION")
def local_response(node: ModelNode) -> Mapped:
    yield operation(
        "LOCAL_RESPONSE_NORMALIZATION",
        input_tensor=view(node.input(0)),
        output_tensor=view(node.result),
        cross_channel=True,
        local_size=node.attribute("size"),
        **{name: node.attribute(name, default) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))},
    )


@maps("LpNormalization", "LP_NORMALIZATION")
def lp_normalization(node: ModelNode) -> Mapped:
    """With the provider's epsilon; ONNX has none."""
    sizes = node.input(0).sizes
    axis = max(LEAST_RANK - len(sizes), 0) + node.axis(len(sizes), -1)
    fields: dict[str, Any] = {"axis": axis, "epsilon": 1e-5, "p": node.attribute("p", 2)}
    yield operation("LP_NORMALIZATION", input_tensor=view(node.input(0)), output_tensor=view(node.result), **fields)
