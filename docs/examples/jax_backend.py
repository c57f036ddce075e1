"""JAX as a backend: a table says which of its functions computes which operator.

    pip install jax
    dml-conformance certify --backend jax_backend.py:JaxBackend --level 6_4 --budget quick --out jax
    dml-conformance certify --backend jax_backend.py:JaxBackend:cuda --level 6_4 --budget quick --out jax-cuda

It decides nothing, as DirectML's rules are not JAX's. It claims to compute every valid descriptor in its scopes.
"""

import os
import platform
from functools import lru_cache, partial
from math import prod
from types import SimpleNamespace

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else each process takes most of a GPU's memory
import jax
import jax.numpy as jnp
import jaxlib
from jax import lax, nn

from dml_conformance import Answer, Capabilities, Category, DataType, Level, Scope
from dml_conformance.spec.field_kinds import ScaleBias, enumeration

jax.config.update("jax_enable_x64", True)  # else JAX makes numbers of 64 bits such of 32
jax.config.update("jax_default_matmul_precision", "highest")  # else a GPU multiplies in TF32

SCOPES = (
    Scope(("CONVOLUTION",), attributes={"Direction": ("FORWARD",)}),
    Scope(("MAX_POOLING1", "MAX_POOLING2"), data_types={"OutputIndicesTensor": ()}),
)
MOST_PROGRAMS = 200  # that are kept; each takes some 1.5 MB
LEAST_ROW = 64  # elements


class JaxBackend:
    """The operators of the tables, on one of JAX's devices.

    Args:
        device: `cpu`, `cuda`, or one of several, `cuda:1`.

    Raises:
        ValueError: there is no such device.
    """

    def __init__(self, device="cpu"):
        kind, _, number = device.partition(":")
        try:
            self._device = jax.devices(kind)[int(number or 0)]
        except (RuntimeError, ValueError, IndexError) as error:
            raise ValueError(f"JAX has no device {device!r}: {error}") from error
        self._name = f"jax:{device}"

    def capabilities(self):
        is_host = self._device.platform == "cpu"
        return Capabilities(
            name=self._name,
            device=f"host processor ({platform.machine()})" if is_host else self._device.device_kind,
            versions={"jax": jax.__version__, "jaxlib": jaxlib.__version__},
            levels=tuple(Level),
            operators=tuple(OPERATORS),
            enforces=frozenset({Category.EXECUTION}),
            accelerated=not is_host,
            scopes=SCOPES,
        )

    def validate(self, desc, level):
        return Answer(True)

    def execute(self, desc, level, inputs, outputs):
        name = desc.operator
        if name == "ELEMENT_WISE_IDENTITY" and desc.scale_bias is None:
            name = "ACTIVATION_IDENTITY"  # which moves its elements
        read = [elements(binding, tensor_at(desc, key), name in MOVED) for key, binding in inputs.items()]
        written = [elements(binding, tensor_at(desc, key), name in MOVED) for key, binding in outputs.items()]
        arrays = [as_row(each) if is_flat(name) else np.array(each, order="C") for each in read]
        made = tuple((() if is_flat(name) else each.shape, each.dtype) for each in written)
        fixed, numbers = attributes(desc)
        run = program(name, fixed, tuple((each.shape, each.dtype) for each in arrays), made)
        with jax.default_device(self._device):
            results = run(numbers, jax.device_put(arrays, self._device))
        for target, result in zip(written, results, strict=True):
            target[...] = np.asarray(result).ravel()[: target.size].reshape(target.shape)


def is_flat(name):
    """Whether an operator goes element by element, so that sizes and their number do not matter."""
    is_along_axes = name.rstrip("1").endswith(("SOFTMAX", "HARDMAX"))
    return name.startswith(("ELEMENT_WISE_", "ACTIVATION_", "CAST")) and not is_along_axes


def tensor_at(desc, key):
    """The tensor that is bound as `input_tensor` or as `input_tensors[2]`."""
    name, _, number = key.rstrip("]").partition("[")
    return getattr(desc, name)[int(number)] if number else getattr(desc, name)


def elements(binding, tensor, is_moved):
    """The elements where they lie in the bound memory: as numbers, or floats as bit patterns where they are moved."""
    size, kind = tensor.data_type.size, tensor.data_type.name.lower()
    kind = kind.replace("float", "uint") if is_moved else kind
    return np.ndarray(tensor.sizes, kind, binding.view, strides=[stride * size for stride in tensor.effective_strides])


def as_row(array):
    """The elements one after another, and zeros up to a power of two: XLA compiles for each size that it meets."""
    row = np.zeros(max(LEAST_ROW, 1 << (array.size - 1).bit_length()), array.dtype)
    row[: array.size] = array.ravel()
    return row


def attributes(desc):
    """What a program is compiled with, as pairs of a name and a value, and by name the numbers that it is run with."""
    fixed, numbers = {"operator": desc.operator}, {}
    for field in type(desc).fields:
        name, value = field.attribute, getattr(desc, field.attribute)
        if field.is_tensor:
            fixed[name] = value is not None
        elif field.typed_by:  # of the type that another field names
            numbers[name] = np.dtype(DataType(getattr(desc, field.typed_by)).name.lower()).type(value)
        elif isinstance(value, float):
            numbers[name] = np.float32(value)
        elif isinstance(value, ScaleBias):
            numbers[name] = (np.float32(value.scale), np.float32(value.bias))
        elif hasattr(value, "operator"):  # a fused activation
            fixed[name], numbers[name] = attributes(value)
        else:
            fixed[name] = value
    return tuple(fixed.items()), numbers


def described(fixed, numbers):
    """An object that has the attributes again."""
    found = SimpleNamespace(**{**dict(fixed), **numbers})
    if "fused_activation" in numbers:
        found.fused_activation = described(dict(fixed)["fused_activation"], numbers["fused_activation"])
    return found


@lru_cache(MOST_PROGRAMS)
def program(name, fixed, given, made):
    """What XLA makes of an operator for these sizes and types of inputs and outputs, and these attributes."""

    def run(numbers, arrays):
        d = described(fixed, numbers)
        d.made = [jax.ShapeDtypeStruct(*each) for each in made]
        if name in ROUNDED:  # in FLOAT32, so that FLOAT16 is rounded once
            arrays = [each.astype(jnp.float32) if each.dtype == jnp.float16 else each for each in arrays]
        if getattr(d, "scale_bias", None):
            arrays[0] = arrays[0] * d.scale_bias[0] + d.scale_bias[1]
        results = OPERATORS[name](d, *arrays)
        results = results if isinstance(results, (tuple, list)) else [results]
        return [result.astype(each.dtype) for result, each in zip(results, d.made, strict=True)]

    return jax.jit(run)


# --- what takes more than one of JAX's functions; d has the attributes of the descriptor ------------------------------

REDUCE = enumeration("DML_REDUCE_FUNCTION")
DECREASING = enumeration("DML_AXIS_DIRECTION").DECREASING
TRANSPOSE = enumeration("DML_MATRIX_TRANSFORM").TRANSPOSE
FLIPPED = enumeration("DML_CONVOLUTION_MODE").CONVOLUTION
PADDING_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")  # in the order of DML_PADDING_MODE
ROUNDINGS = (jnp.round, jnp.trunc, lax.round)  # of DML_ROUNDING_MODE; the last one takes halves away from zero
INFINITIES = (jnp.isinf, jnp.isposinf, jnp.isneginf)  # of DML_IS_INFINITY_MODE


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def alone(function, d, *arrays):
    """A function that needs no attributes."""
    return function(*arrays)


def mean(a, b):
    return (a + b) / 2 if is_float(a) else lax.div(a.astype(jnp.int64) + b.astype(jnp.int64), 2)


def power(x, exponent):
    if not is_float(x):
        x = x.astype(jnp.float64 if is_float(exponent) else jnp.int64)
    return jnp.power(x, exponent.astype(x.dtype))


def shrink(d, x):
    wide = x if is_float(x) else x.astype(jnp.float64)
    return jnp.where(wide > d.threshold, wide - d.bias, jnp.where(wide < -d.threshold, wide + d.bias, 0))


def clip(d, x):
    return jnp.minimum(jnp.maximum(x, d.min.astype(x.dtype)), d.max.astype(x.dtype))


def clip_gradient(d, x, gradient):
    return jnp.where((x > d.min.astype(x.dtype)) & (x < d.max.astype(x.dtype)), gradient, 0)


def quantized(d, x, scale, zero_point=0):
    limits = jnp.iinfo(d.made[0].dtype)
    return jnp.clip(jnp.round(x.astype(jnp.float32) / scale) + zero_point, limits.min, limits.max)


def dequantized(d, x, scale, zero_point=0):
    return (x.astype(jnp.int64) - zero_point).astype(jnp.float32) * scale


def activated(d, x):
    """The fused activation of a result, or that itself where there is none."""
    return OPERATORS[d.fused_activation.operator](d.fused_activation, x) if d.fused_activation else x


def axes_of(d, x):
    """Axes, each once; of an operator that has none the last dimension."""
    return tuple(sorted(set(getattr(d, "axes", (x.ndim - 1,)))))


def place(find, d, x):
    """Where an extreme of the elements along Axes is: the first one, or the last one."""
    axes = axes_of(d, x)
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*rest, *axes).reshape(*(x.shape[axis] for axis in rest), -1)
    if getattr(d, "axis_direction", None) == DECREASING:
        return rows.shape[-1] - 1 - find(jnp.flip(rows, -1), -1)
    return find(rows, -1)


def hardmax(d, x):
    axes = axes_of(d, x)
    sizes = [size if axis in axes else 1 for axis, size in enumerate(x.shape)]
    return jnp.arange(prod(sizes)).reshape(sizes) == jnp.expand_dims(place(jnp.argmax, d, x), axes)


def reduce(d, x):
    if d.function in (REDUCE.ARGMAX, REDUCE.ARGMIN):
        return place(jnp.argmax if d.function == REDUCE.ARGMAX else jnp.argmin, d, x)
    return REDUCTIONS[d.function](x, axes_of(d, x)).astype(x.dtype)


def cumulative(scan, empty, is_exclusive, d, x):
    x = jnp.flip(x, d.axis) if d.axis_direction == DECREASING else x
    if getattr(d, is_exclusive):
        first = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=d.axis), empty)
        x = jnp.concatenate([first, lax.slice_in_dim(x, 0, x.shape[d.axis] - 1, axis=d.axis)], d.axis)
    found = scan(x, d.axis, dtype=x.dtype)
    return jnp.flip(found, d.axis) if d.axis_direction == DECREASING else found


def gemm(d, a, b, c=None):
    found = d.alpha * jnp.matmul(a.mT if d.trans_a == TRANSPOSE else a, b.mT if d.trans_b == TRANSPOSE else b)
    return activated(d, found if c is None else found + d.beta * c)


def convolution(d, x, filters, bias=0):
    filters = jnp.flip(filters, range(2, x.ndim)) if d.mode == FLIPPED else filters
    padding = list(zip(d.start_padding, d.end_padding, strict=True))
    groups = {"feature_group_count": d.group_count}
    found = lax.conv_general_dilated(x, filters, d.strides, padding, None, d.dilations, **groups)
    return activated(d, jnp.pad(found, [(0, 0), (0, 0), *((0, more) for more in d.output_padding)]) + bias)


def windows(d, x, start, combine):
    """What is combined of each window, from a start on."""
    padding = [(0, 0), (0, 0), *zip(d.start_padding, d.end_padding, strict=True)]
    dilations = getattr(d, "dilations", [1] * len(d.strides))
    sizes, strides, dilations = ((1, 1, *each) for each in (d.window_size, d.strides, dilations))
    return lax.reduce_window(x, np.array(start, x.dtype), combine, sizes, strides, padding, window_dilation=dilations)


def average_pooling(d, x):
    counts = prod(d.window_size) if d.include_padding else windows(d, jnp.ones_like(x), 0, lax.add)
    return windows(d, x, 0, lax.add) / counts


def max_pooling(d, x):
    return windows(d, x, -np.inf if is_float(x) else jnp.iinfo(x.dtype).min, lax.max)


def batch_normalization(d, x, mean, variance, scale, bias):
    return activated(d, scale * ((x - mean) / jnp.sqrt(variance + d.epsilon)) + bias)


def mean_variance_normalization(d, x, *rest):
    scale, bias = rest[0] if d.scale_tensor else 1, rest[-1] if d.bias_tensor else 0
    axes = axes_of(d, x) if hasattr(d, "axes") else (1, 2, 3) if d.cross_channel else (2, 3)
    x = x - jnp.mean(x, axes, keepdims=True) if getattr(d, "use_mean", True) else x
    if getattr(d, "use_variance", False) or getattr(d, "normalize_variance", False):
        x = x / jnp.sqrt(jnp.mean(x * x, axes, keepdims=True) + d.epsilon)
    return activated(d, scale * x + bias)


def in_range(indices, size):
    """Indices from 0 on: -size to -1 count from the end, and others become some that are in range."""
    wide = indices.astype(jnp.int64)
    return jnp.clip(jnp.where(wide < 0, wide + size, wide), 0, size - 1)


def gather(d, x, indices):
    named = indices.reshape(indices.shape[indices.ndim - d.index_dimensions :])
    return jnp.take(x, in_range(named, x.shape[d.axis]), d.axis)


def top_k(d, x):
    is_descending = getattr(d, "axis_direction", DECREASING) == DECREASING
    order = jnp.argsort(x, d.axis, stable=True, descending=is_descending)
    first = lax.slice_in_dim(order, 0, d.k, axis=d.axis)
    return jnp.take_along_axis(x, first, d.axis), first


def slice_window(d, x):
    """With a negative stride from the end of the window to its beginning."""
    places = []
    for offset, size, stride in zip(d.input_window_offsets, d.input_window_sizes, d.input_window_strides, strict=True):
        first = offset if stride > 0 else offset + size - 1
        places.append(slice(first, offset + size if stride > 0 else offset - 1 if offset else None, stride))
    found = x[tuple(places)]
    return found[tuple(slice(count) for count in d.made[0].shape)]


def pad(d, x):
    """Of other modes than CONSTANT by places: jnp.pad compiles a part for each time that the input comes round."""
    mode, widths = PADDING_MODES[d.padding_mode], list(zip(d.start_padding, d.end_padding, strict=True))
    if mode == "constant":
        return jnp.pad(x, widths, constant_values=d.padding_value.astype(x.dtype))
    for axis, width in enumerate(widths):
        x = jnp.take(x, np.pad(np.arange(x.shape[axis]), width, mode), axis)
    return x


# --- the tables -------------------------------------------------------------------------------------------------------
# Of one or two numbers alone: in their own type, and in FLOAT32.
EXACT_FUNCTIONS = {
    "ABS": jnp.abs, "CEIL": jnp.ceil, "FLOOR": jnp.floor, "IS_NAN": jnp.isnan, "LOGICAL_AND": jnp.logical_and,
    "LOGICAL_EQUALS": jnp.equal, "LOGICAL_GREATER_THAN": jnp.greater,
    "LOGICAL_GREATER_THAN_OR_EQUAL": jnp.greater_equal, "LOGICAL_LESS_THAN": jnp.less,
    "LOGICAL_LESS_THAN_OR_EQUAL": jnp.less_equal, "LOGICAL_NOT": jnp.logical_not, "LOGICAL_OR": jnp.logical_or,
    "LOGICAL_XOR": jnp.logical_xor, "MAX": jnp.maximum, "MIN": jnp.minimum, "NEGATE": jnp.negative,
}  # fmt: skip
ROUNDED_FUNCTIONS = {
    "ACOS": jnp.arccos, "ACOSH": jnp.arccosh, "ADD": jnp.add, "ASIN": jnp.arcsin, "ASINH": jnp.arcsinh,
    "ATAN": jnp.arctan, "ATANH": jnp.arctanh, "ATAN_YX": jnp.arctan2, "COS": jnp.cos, "COSH": jnp.cosh,
    "DIVIDE": lax.div, "ERF": lax.erf, "EXP": jnp.exp, "IDENTITY": jnp.positive, "LOG": jnp.log, "MEAN": mean,
    "MODULUS_FLOOR": jnp.remainder, "MODULUS_TRUNCATE": lax.rem, "MULTIPLY": jnp.multiply, "POW": power,
    "RECIP": jnp.reciprocal, "SIN": jnp.sin, "SINH": jnp.sinh, "SQRT": jnp.sqrt, "SUBTRACT": jnp.subtract,
    "TAN": jnp.tan, "TANH": jnp.tanh,
}  # fmt: skip
ACTIVATIONS = {
    "CELU": lambda d, x: nn.celu(x, d.alpha),
    "ELU": lambda d, x: nn.elu(x, d.alpha),
    "GELU": lambda d, x: nn.gelu(x, approximate=False),
    "HARD_SIGMOID": lambda d, x: jnp.clip(d.alpha * x + d.beta, 0, 1),
    "HARD_SWISH": lambda d, x: x * jnp.clip(d.alpha * x + d.beta, 0, 1),
    "LEAKY_RELU": lambda d, x: nn.leaky_relu(x, d.alpha),
    "LINEAR": lambda d, x: d.alpha * x + d.beta,
    "LOG_SOFTMAX": lambda d, x: nn.log_softmax(x, axes_of(d, x)),
    "LOG_SOFTMAX1": lambda d, x: nn.log_softmax(x, axes_of(d, x)),
    "PARAMETERIZED_RELU": lambda d, x, slope: jnp.where(x >= 0, x, slope * x),
    "PARAMETRIC_SOFTPLUS": lambda d, x: d.alpha * nn.softplus(d.beta * x),
    "RELU": lambda d, x: nn.relu(x),
    "SCALED_ELU": lambda d, x: d.gamma * nn.elu(x, d.alpha),
    "SCALED_TANH": lambda d, x: d.alpha * jnp.tanh(d.beta * x),
    "SHRINK": shrink,
    "SIGMOID": lambda d, x: nn.sigmoid(x),
    "SOFTMAX": lambda d, x: nn.softmax(x, axes_of(d, x)),
    "SOFTMAX1": lambda d, x: nn.softmax(x, axes_of(d, x)),
    "SOFTPLUS": lambda d, x: nn.softplus(d.steepness * x) / d.steepness,
    "SOFTSIGN": lambda d, x: nn.soft_sign(x),
    "SWISH": lambda d, x: x * nn.sigmoid(d.sigmoid_input_scale * x),
    "TANH": lambda d, x: jnp.tanh(x),
    "THRESHOLDED_RELU": lambda d, x: jnp.where(x > d.alpha, x, 0),
}
REDUCTIONS = {
    REDUCE.AVERAGE: jnp.mean,
    REDUCE.L1: lambda x, axes: jnp.sum(jnp.abs(x), axes),
    REDUCE.L2: lambda x, axes: jnp.sqrt(jnp.sum(x * x, axes)),
    REDUCE.LOG_SUM: lambda x, axes: jnp.log(jnp.sum(x, axes)),
    REDUCE.LOG_SUM_EXP: nn.logsumexp,
    REDUCE.MAX: jnp.max,
    REDUCE.MIN: jnp.min,
    REDUCE.MULTIPLY: jnp.prod,
    REDUCE.SUM: jnp.sum,
    REDUCE.SUM_SQUARE: lambda x, axes: jnp.sum(x * x, axes),
}

# Operators by what their elements are: bits that are moved, numbers in their own type, numbers that are rounded.
MOVED = {
    "ACTIVATION_IDENTITY": lambda d, x: x,
    "ELEMENT_WISE_BIT_AND": lambda d, a, b: a & b,
    "ELEMENT_WISE_BIT_COUNT": lambda d, x: lax.population_count(x),
    "ELEMENT_WISE_BIT_NOT": lambda d, x: ~x,
    "ELEMENT_WISE_BIT_OR": lambda d, a, b: a | b,
    "ELEMENT_WISE_BIT_SHIFT_LEFT": lambda d, a, b: a << b,
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": lambda d, a, b: a >> b,
    "ELEMENT_WISE_BIT_XOR": lambda d, a, b: a ^ b,
    "ELEMENT_WISE_IF": lambda d, condition, a, b: jnp.where(condition != 0, a, b),
    "GATHER": gather,
    "GATHER_ELEMENTS": lambda d, x, i: jnp.take_along_axis(x, in_range(i, x.shape[d.axis]), d.axis),
    "JOIN": lambda d, *parts: jnp.concatenate(parts, d.axis),
    "SCATTER": lambda d, x, i, y: jnp.put_along_axis(x, in_range(i, x.shape[d.axis]), y, d.axis, inplace=False),
    "SLICE": lambda d, x: x[
        tuple(map(slice, d.offsets, np.add(d.offsets, np.multiply(d.sizes, d.strides)), d.strides))
    ],
    "SLICE1": slice_window,
    "SPLIT": lambda d, x: jnp.split(x, np.cumsum([each.shape[d.axis] for each in d.made])[:-1], d.axis),
    "TILE": lambda d, x: jnp.tile(x, d.repeats),
}
EXACT = {
    **{f"ELEMENT_WISE_{name}": partial(alone, function) for name, function in EXACT_FUNCTIONS.items()},
    **dict.fromkeys(("ACTIVATION_HARDMAX", "ACTIVATION_HARDMAX1"), hardmax),
    **dict.fromkeys(("ELEMENT_WISE_CLIP", "ELEMENT_WISE_CLIP1"), clip),
    **dict.fromkeys(("ELEMENT_WISE_CLIP_GRAD", "ELEMENT_WISE_CLIP_GRAD1"), clip_gradient),
    **dict.fromkeys(("MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"), max_pooling),
    **dict.fromkeys(("PADDING", "PADDING1"), pad),
    **dict.fromkeys(("TOP_K", "TOP_K1"), top_k),
    "ACTIVATION_RELU_GRAD": lambda d, x, gradient: jnp.where(x > 0, gradient, 0),
    "ARGMAX": partial(place, jnp.argmax),
    "ARGMIN": partial(place, jnp.argmin),
    "CAST": lambda d, x: x,
    "ELEMENT_WISE_IS_INFINITY": lambda d, x: INFINITIES[d.infinity_mode](x),
    "ELEMENT_WISE_ROUND": lambda d, x: ROUNDINGS[d.rounding_mode](x),
    "ELEMENT_WISE_SIGN": lambda d, x: jnp.where(jnp.isnan(x), 0, jnp.sign(x)),
    "ELEMENT_WISE_THRESHOLD": lambda d, x: jnp.maximum(x, d.min.astype(x.dtype)),
    "FILL_VALUE_CONSTANT": lambda d: jnp.full(d.made[0].shape, d.value),
}
ROUNDED = {
    **{f"ELEMENT_WISE_{name}": partial(alone, function) for name, function in ROUNDED_FUNCTIONS.items()},
    **{f"ACTIVATION_{name}": function for name, function in ACTIVATIONS.items()},
    **dict.fromkeys(("AVERAGE_POOLING", "AVERAGE_POOLING1"), average_pooling),
    **{f"MEAN_VARIANCE_NORMALIZATION{version}": mean_variance_normalization for version in ("", "1", "2")},
    "BATCH_NORMALIZATION": batch_normalization,
    "CONVOLUTION": convolution,
    "CUMULATIVE_PRODUCT": partial(cumulative, jnp.cumprod, 1, "has_exclusive_product"),
    "CUMULATIVE_SUMMATION": partial(cumulative, jnp.cumsum, 0, "has_exclusive_sum"),
    "ELEMENT_WISE_ADD1": lambda d, a, b: activated(d, a + b),
    "ELEMENT_WISE_CONSTANT_POW": lambda d, x: jnp.power(x, d.exponent),
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": dequantized,
    "ELEMENT_WISE_DIFFERENCE_SQUARE": lambda d, a, b: jnp.square(a - b),
    "ELEMENT_WISE_QUANTIZE_LINEAR": quantized,
    "GEMM": gemm,
    "LP_NORMALIZATION": lambda d, x: x / (jnp.linalg.norm(x, d.p, d.axis, keepdims=True) + d.epsilon),
    "REDUCE": reduce,
    "VALUE_SCALE_2D": lambda d, x: x * d.scale + jnp.asarray(d.bias, x.dtype)[:, None, None],
}
OPERATORS = {**MOVED, **EXACT, **ROUNDED}
