"""Normalizations, their gradients, and an optimizer: arithmetic in FLOAT32 where ONNX has no node of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dml_conformance.backends.onnxruntime.forms._fused import activated
from dml_conformance.backends.onnxruntime.forms._rows import attributes_of, row_of
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormValue, NoForm


class Arithmetic:
    """Nodes of two inputs and one output, short."""

    def __init__(self, graph: FormGraph) -> None:
        self._graph = graph

    def number(self, value: float) -> FormValue:
        return self._graph.constant(value, "FLOAT32")

    def of(self, op_type: str, *values: FormValue | float) -> FormValue:
        inputs = [self.number(each) if isinstance(each, int | float) else each for each in values]
        return self._graph.node(op_type, *inputs)

    def mean(self, value: FormValue, axes: Sequence[int]) -> FormValue:
        return self._along("ReduceMean", value, axes)

    def sum(self, value: FormValue, axes: Sequence[int]) -> FormValue:
        return self._along("ReduceSum", value, axes)

    def _along(self, op_type: str, value: FormValue, axes: Sequence[int]) -> FormValue:
        constant = self._graph.constant(list(axes))
        return self._graph.node(op_type, value, constant, keepdims=1, noop_with_empty_axes=1)

    def root(self, variance: FormValue, epsilon: float) -> FormValue:
        return self.of("Sqrt", self.of("Add", variance, epsilon))


def _ones(sizes: Sequence[int]) -> list[int]:
    return [d for d, size in enumerate(sizes) if size == 1]


def normalized_by_batch(graph: FormGraph, desc: Any) -> None:
    """One node where there is a number for each channel."""
    keys = ("scale_tensor", "bias_tensor", "mean_tensor", "variance_tensor")
    sizes = desc.input_tensor.sizes
    channels = (1, sizes[1], *[1] * (len(sizes) - 2)) if len(sizes) > 1 else None
    if all(getattr(desc, key).sizes == channels for key in keys):
        read = graph.input if desc.fused_activation is None else graph.number
        row = row_of(desc)
        inputs = (read(key, sizes=(sizes[1],)) for key in keys)
        found = graph.node(row.op_type, read("input_tensor"), *inputs, **attributes_of(desc, row))
    else:
        do = Arithmetic(graph)
        scale, bias, mean, variance = map(graph.number, keys)
        difference = do.of("Sub", graph.number("input_tensor"), mean)
        quotient = do.of("Div", difference, do.root(variance, desc.epsilon))
        found = do.of("Add", do.of("Mul", quotient, scale), bias)
    graph.output("output_tensor", activated(graph, found, desc.fused_activation))


def _moments(do: Arithmetic, x: FormValue, axes: Sequence[int]) -> tuple[FormValue, FormValue, FormValue]:
    """The mean, the differences from it, and the mean of their squares."""
    mean = do.mean(x, axes)
    difference = do.of("Sub", x, mean)
    return mean, difference, do.mean(do.of("Mul", difference, difference), axes)


def trained(graph: FormGraph, desc: Any) -> None:
    do, axes = Arithmetic(graph), _ones(desc.scale_tensor.sizes)
    mean, difference, variance = _moments(do, graph.number("input_tensor"), axes)
    quotient = do.of("Div", difference, do.root(variance, desc.epsilon))
    found = do.of("Add", do.of("Mul", quotient, graph.number("scale_tensor")), graph.number("bias_tensor"))
    if desc.fused_add_tensor is not None:
        found = do.of("Add", found, graph.number("fused_add_tensor"))
    graph.output("output_mean_tensor", mean)
    graph.output("output_variance_tensor", variance)
    graph.output("output_tensor", activated(graph, found, desc.fused_activation))


def batch_gradient(graph: FormGraph, desc: Any) -> None:
    do, axes = Arithmetic(graph), _ones(desc.scale_tensor.sizes)
    keys = ("input_tensor", "input_gradient_tensor", "mean_tensor", "variance_tensor", "scale_tensor")
    x, gradient, mean, variance, scale = map(graph.number, keys)
    root = do.root(variance, desc.epsilon)
    difference = do.of("Sub", x, mean)
    factor = do.of("Div", scale, root)
    if desc.operator == "BATCH_NORMALIZATION_TRAINING_GRAD":
        apart = do.of("Sub", x, do.mean(x, axes))
        shared = do.mean(do.of("Mul", gradient, apart), axes)
        part = do.of("Div", do.of("Mul", apart, shared), do.of("Add", variance, desc.epsilon))
        found = do.of("Sub", do.of("Sub", gradient, do.mean(gradient, axes)), part)
    else:
        found = gradient
    graph.output("output_gradient_tensor", do.of("Mul", found, factor))
    products = do.sum(do.of("Mul", gradient, difference), axes)
    graph.output("output_scale_gradient_tensor", do.of("Div", products, root))
    graph.output("output_bias_gradient_tensor", do.sum(gradient, axes))


def normalized(graph: FormGraph, desc: Any) -> None:
    """Of MEAN_VARIANCE_NORMALIZATION; one node where ONNX has one."""
    rank = len(desc.input_tensor.sizes)
    if hasattr(desc, "axes"):
        axes = list(desc.axes)
        if len(set(axes)) < len(axes):
            raise NoForm(f"{desc.operator} along an axis that is named twice")
    else:
        axes = [1, 2, 3] if desc.cross_channel else [2, 3]
    is_centred = getattr(desc, "use_mean", True)
    is_scaled = desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance
    read = graph.input if desc.fused_activation is None else graph.number
    scale, bias = desc.scale_tensor, desc.bias_tensor
    channels = (1, desc.input_tensor.sizes[1], *[1] * (rank - 2)) if rank > 2 else None
    if is_centred and is_scaled and scale is not None and bias is not None:
        sizes = desc.input_tensor.sizes
        if sorted(axes) == list(range(2, rank)) and scale.sizes == bias.sizes == channels:
            inputs = [read(key, sizes=(sizes[1],)) for key in ("scale_tensor", "bias_tensor")]
            found = graph.node("InstanceNormalization", read("input_tensor"), *inputs, epsilon=desc.epsilon)
            graph.output("output_tensor", activated(graph, found, desc.fused_activation))
            return
        first = rank - len(axes)
        trailing = (*[1] * first, *sizes[first:])
        if axes and sorted(axes) == list(range(first, rank)) and scale.sizes == bias.sizes == trailing:
            inputs = [read(key, sizes=sizes[first:]) for key in ("scale_tensor", "bias_tensor")]
            x = read("input_tensor")
            found = graph.node("LayerNormalization", x, *inputs, axis=first, epsilon=desc.epsilon)
            graph.output("output_tensor", activated(graph, found, desc.fused_activation))
            return
    do, x = Arithmetic(graph), graph.number("input_tensor")
    _, difference, variance = _moments(do, x, axes)
    found = difference if is_centred else x
    if is_scaled:
        found = do.of("Div", found, do.root(variance, desc.epsilon))
    if scale is not None:
        found = do.of("Mul", found, graph.number("scale_tensor"))
    if bias is not None:
        found = do.of("Add", found, graph.number("bias_tensor"))
    if found is x:
        found = do.of("Add", x, 0.0)
    graph.output("output_tensor", activated(graph, found, desc.fused_activation))


def by_local_response(graph: FormGraph, desc: Any) -> None:
    """ONNX has regions of channels alone, and the runtime of an odd number of them."""
    size = desc.local_size
    channels = desc.input_tensor.sizes[1]
    is_plain = size % 2 and size <= 2 * channels + 1 and min(desc.alpha, desc.beta) > 0
    if desc.cross_channel and is_plain:
        row = row_of(desc)
        graph.output("output_tensor", graph.node(row.op_type, graph.input("input_tensor"), **attributes_of(desc, row)))
        return
    do, sizes = Arithmetic(graph), _regions(desc)
    x = graph.number("input_tensor", sizes=sizes)
    base = do.of("Add", do.of("Mul", _sums(graph, desc, do.of("Mul", x, x)), _alpha(desc)), desc.bias)
    graph.output("output_tensor", do.of("Div", x, do.of("Pow", base, desc.beta)))


def by_local_response_gradient(graph: FormGraph, desc: Any) -> None:
    """An element is in its own quotient, and in the base of all whose region it is in."""
    do, sizes = Arithmetic(graph), _regions(desc)
    x, gradient = (graph.number(key, sizes=sizes) for key in ("input_tensor", "input_gradient_tensor"))
    base = do.of("Add", do.of("Mul", _sums(graph, desc, do.of("Mul", x, x)), _alpha(desc)), desc.bias)
    quotient = do.of("Div", gradient, do.of("Pow", base, desc.beta))
    shares = _sums(graph, desc, do.of("Div", do.of("Mul", quotient, x), base), is_mirrored=True)
    part = do.of("Mul", do.of("Mul", x, shares), 2 * _alpha(desc) * desc.beta)
    graph.output("output_gradient_tensor", do.of("Sub", quotient, part))


def _regions(desc: Any) -> tuple[int, ...]:
    """The sizes of arrays whose last two dimensions the regions are of."""
    count, channels, *spatial = desc.input_tensor.sizes
    return (count, 1, channels, math.prod(spatial)) if desc.cross_channel else desc.input_tensor.sizes


def _alpha(desc: Any) -> float:
    """What the sum of a region is multiplied by."""
    return float(desc.alpha / desc.local_size ** (1 if desc.cross_channel else 2))


def _sums(graph: FormGraph, desc: Any, value: FormValue, is_mirrored: bool = False) -> FormValue:
    """The sums of regions, or of all regions that an element is in."""
    around = (desc.input_tensor.sizes[1], 0) if desc.cross_channel else desc.input_tensor.sizes[2:]
    parts = ((desc.local_size - 1) // 2, desc.local_size // 2)
    before, behind = ([min(part, most) for most in around] for part in (parts[::-1] if is_mirrored else parts))
    window = [start + end + 1 for start, end in zip(before, behind, strict=True)]
    mean = graph.node("AveragePool", value, kernel_shape=window, pads=[*before, *behind], count_include_pad=1)
    return graph.node("Mul", mean, graph.constant(math.prod(window), "FLOAT32"))


def by_norm(graph: FormGraph, desc: Any) -> None:
    """ONNX has no epsilon."""
    if desc.epsilon == 0:
        x = graph.input("input_tensor")
        graph.output("output_tensor", graph.node("LpNormalization", x, axis=desc.axis, p=desc.p))
        return
    do, x = Arithmetic(graph), graph.number("input_tensor")
    norm = graph.node(f"ReduceL{desc.p}", x, graph.constant([desc.axis]), keepdims=1)
    graph.output("output_tensor", do.of("Div", x, do.of("Add", norm, desc.epsilon)))


def scaled_values(graph: FormGraph, desc: Any) -> None:
    do, x = Arithmetic(graph), graph.number("input_tensor")
    biases = graph.constant([[[bias]] for bias in desc.bias], "FLOAT32")
    graph.output("output_tensor", do.of("Add", do.of("Mul", x, desc.scale), biases))


def adam(graph: FormGraph, desc: Any) -> None:
    do = Arithmetic(graph)
    parameters = graph.number("input_parameters_tensor")
    gradient = graph.number("gradient_tensor")
    step = graph.cast(graph.input("training_step_tensor"), "FLOAT32")

    def moment(key: str, beta: float, value: FormValue) -> FormValue:
        return do.of("Add", do.of("Mul", graph.number(key), beta), do.of("Mul", value, do.of("Sub", 1.0, beta)))

    def left(beta: float) -> FormValue:
        return do.of("Sub", 1.0, do.of("Pow", beta, step))

    first = moment("input_first_moment_tensor", desc.beta1, gradient)
    second = moment("input_second_moment_tensor", desc.beta2, do.of("Mul", gradient, gradient))
    rate = do.of("Div", do.of("Mul", desc.learning_rate, do.of("Sqrt", left(desc.beta2))), left(desc.beta1))
    change = do.of("Div", do.of("Mul", rate, first), do.of("Add", do.of("Sqrt", second), desc.epsilon))
    graph.output("output_parameters_tensor", do.of("Sub", parameters, change))
    graph.output("output_first_moment_tensor", first)
    graph.output("output_second_moment_tensor", second)


FORMS = {
    "BATCH_NORMALIZATION": normalized_by_batch,
    "BATCH_NORMALIZATION_TRAINING": trained,
    **dict.fromkeys(("BATCH_NORMALIZATION_GRAD", "BATCH_NORMALIZATION_TRAINING_GRAD"), batch_gradient),
    **{f"MEAN_VARIANCE_NORMALIZATION{number}": normalized for number in ("", "1", "2")},
    "LOCAL_RESPONSE_NORMALIZATION": by_local_response,
    "LOCAL_RESPONSE_NORMALIZATION_GRAD": by_local_response_gradient,
    "LP_NORMALIZATION": by_norm,
    "VALUE_SCALE_2D": scaled_values,
    "ADAM_OPTIMIZER": adam,
}
