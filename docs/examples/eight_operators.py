"""A backend of eight operators of different kinds, with NumPy: one of each that `docs/failures.py` plants faults in.

It decides on all that there is to decide on, and executes at one level, so that a table says which tensors there are.
"""

import numpy as np

from dml_conformance import Answer, Capabilities, Category, DataType, Scope
from dml_conformance.spec.datatypes import TensorFlag, TensorType

LEVEL = "3_1"
SMALL = {"FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32", "INT16", "INT8"}
ALL = SMALL | {"UINT64", "INT64"}
FLOATS = {"FLOAT32", "FLOAT16"}
INDICES = {"UINT32", "INT32", "UINT64", "INT64"}
ANY_COUNT = range(1, 9)

# By operator and tensor: the data types, and how many dimensions there may be.
TENSORS = {
    "ELEMENT_WISE_CLIP": {"input_tensor": (SMALL, ANY_COUNT), "output_tensor": (SMALL, ANY_COUNT)},
    "ACTIVATION_LEAKY_RELU": {"input_tensor": (FLOATS, ANY_COUNT), "output_tensor": (FLOATS, ANY_COUNT)},
    "CAST": {"input_tensor": (ALL, ANY_COUNT), "output_tensor": (ALL, ANY_COUNT)},
    "REDUCE": {"input_tensor": (SMALL, ANY_COUNT), "output_tensor": (ALL, ANY_COUNT)},
    "GATHER": {
        "input_tensor": (SMALL, ANY_COUNT),
        "indices_tensor": (INDICES, ANY_COUNT),
        "output_tensor": (SMALL, ANY_COUNT),
    },
    "TOP_K": {
        "input_tensor": (SMALL, ANY_COUNT),
        "output_value_tensor": (SMALL, ANY_COUNT),
        "output_index_tensor": ({"UINT32"}, ANY_COUNT),
    },
    "JOIN": {"input_tensors": (SMALL, (4, 5)), "output_tensor": (SMALL, (4, 5))},
    "GEMM": {
        "a_tensor": (FLOATS, (4,)),
        "b_tensor": (FLOATS, (4,)),
        "c_tensor": (FLOATS, (4,)),
        "output_tensor": (FLOATS, (4,)),
    },
}
OPTIONAL = {"c_tensor"}
ARGMAX, AVERAGE, MAX, SUM, FUNCTIONS = 0, 2, 7, 10, 12  # DML_REDUCE_FUNCTION, and how many there are
# Of REDUCE some functions, and of GEMM no fused activation.
SCOPES = (
    Scope(("REDUCE",), attributes={"Function": ("ARGMAX", "AVERAGE", "MAX", "SUM")}),
    Scope(("GEMM",), attributes={"FusedActivation": ()}),
)
REDUCED = {AVERAGE: FLOATS, MAX: SMALL, SUM: FLOATS | {"UINT32", "INT32"}}


class Invalid(Exception):
    """What is wrong with a descriptor."""


def need(holds, why):
    if not holds:
        raise Invalid(why)


class EightOperators:
    def capabilities(self):
        versions = {"numpy": np.__version__}
        return Capabilities("eight", "host", versions, (LEVEL,), tuple(TENSORS), frozenset(Category), scopes=SCOPES)

    def validate(self, desc, level):
        try:
            check_tensors(desc)
            CHECKS[desc.operator](desc)
        except Invalid as why:
            return Answer(False, str(why))
        return Answer(True)

    def execute(self, desc, level, inputs, outputs):
        with np.errstate(all="ignore"):
            EXECUTIONS[desc.operator](desc, inputs, outputs)


# Decisions


def check_tensors(desc):
    """What holds for the tensors of every operator."""
    counts = set()
    for name, (types, dimension_counts) in TENSORS[desc.operator].items():
        value = getattr(desc, name)
        if value is None and name in OPTIONAL:
            continue
        tensors = value if isinstance(value, tuple) else (value,)
        need(tensors, f"{name}: there is none")
        for tensor in tensors:
            need(tensor is not None, f"{name}: it is missing")
            check_tensor(tensor, is_output=name.startswith("output"))
            need(tensor.data_type.name in types, f"{name}: no {tensor.data_type.name} here")
            need(len(tensor.sizes) in dimension_counts, f"{name}: no {len(tensor.sizes)} dimensions here")
            counts.add(len(tensor.sizes))
    need(len(counts) == 1, "tensors differ in their dimension count")


def check_tensor(tensor, is_output):
    need(tensor.type == TensorType.BUFFER, "no buffer tensor")
    need(tensor.data_type != DataType.UNKNOWN, "no data type")
    need(tensor.flags in (TensorFlag.NONE, TensorFlag.OWNED_BY_DML), "unknown flags")
    need(not (is_output and tensor.flags), "an output is never owned by DML")
    need(1 <= len(tensor.sizes) <= 8 and 0 not in tensor.sizes, "empty, or too many dimensions")
    need(tensor.element_count < 2**32, "too many elements")
    last = sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True))
    least = -(-(last + 1) * tensor.data_type.size // 4) * 4
    need(tensor.total_tensor_size_in_bytes >= least, f"the elements need {least} bytes")
    alignment = tensor.guaranteed_base_offset_alignment
    need(alignment & (alignment - 1) == 0, "the alignment is no power of two")
    need(alignment == 0 or alignment >= tensor.data_type.size, "the alignment is less than an element")


def same_type(*tensors):
    need(len({tensor.data_type for tensor in tensors if tensor is not None}) == 1, "tensors differ in their data type")


def check_element_wise(desc):
    same_type(desc.input_tensor, desc.output_tensor)
    need(desc.input_tensor.sizes == desc.output_tensor.sizes, "the output has other sizes")


def check_cast(desc):
    need(desc.input_tensor.sizes == desc.output_tensor.sizes, "the output has other sizes")


def check_reduce(desc):
    need(0 <= desc.function < FUNCTIONS, "no such function")
    sizes = list(desc.input_tensor.sizes)
    for axis in desc.axes:
        need(axis < len(sizes), f"no axis {axis}")
        sizes[axis] = 1
    need(tuple(sizes) == desc.output_tensor.sizes, f"the axes give {sizes}")
    if desc.function == ARGMAX:
        need(desc.output_tensor.data_type.name in INDICES, "no type of indices")
    else:
        same_type(desc.input_tensor, desc.output_tensor)
        need(desc.output_tensor.data_type.name in REDUCED[desc.function], "no type of this function")


def check_gather(desc):
    source, indices = desc.input_tensor.sizes, desc.indices_tensor.sizes
    same_type(desc.input_tensor, desc.output_tensor)
    need(desc.axis < len(source), f"no axis {desc.axis}")
    need(desc.index_dimensions <= len(indices), "more index dimensions than there are")
    named = indices[len(indices) - desc.index_dimensions :]
    sizes = source[: desc.axis] + named + source[desc.axis + 1 :]
    surplus = len(sizes) - len(source)
    if surplus < 0:
        sizes = (1,) * -surplus + sizes
    elif surplus:
        need(set(sizes[:surplus]) == {1}, "the output has no room for all dimensions")
        sizes = sizes[surplus:]
    need(sizes == desc.output_tensor.sizes, f"the indices give {sizes}")


def check_top_k(desc):
    sizes = list(desc.input_tensor.sizes)
    same_type(desc.input_tensor, desc.output_value_tensor)
    need(desc.axis < len(sizes), f"no axis {desc.axis}")
    need(0 < desc.k <= sizes[desc.axis], f"K is {desc.k}, of {sizes[desc.axis]} elements")
    sizes[desc.axis] = desc.k
    for tensor in (desc.output_value_tensor, desc.output_index_tensor):
        need(tensor.sizes == tuple(sizes), f"K gives {sizes}")


def check_join(desc):
    same_type(*desc.input_tensors, desc.output_tensor)
    need(desc.axis < len(desc.output_tensor.sizes), f"no axis {desc.axis}")
    sizes = [list(tensor.sizes) for tensor in desc.input_tensors]
    along = sum(each[desc.axis] for each in sizes)
    for each in sizes:
        each[desc.axis] = along
        need(tuple(each) == desc.output_tensor.sizes, f"the inputs give {each}")


def check_gemm(desc):
    same_type(desc.a_tensor, desc.b_tensor, desc.c_tensor, desc.output_tensor)
    need({desc.trans_a, desc.trans_b} <= {0, 1}, "no such transform")
    a, b = transposed(desc.a_tensor.sizes, desc.trans_a), transposed(desc.b_tensor.sizes, desc.trans_b)
    sizes = (*a[:-1], b[-1])
    need(a[-1] == b[-2] and a[:-2] == b[:-2], "the matrices do not fit")
    need(desc.output_tensor.sizes == sizes, f"the product has {sizes}")
    need(desc.c_tensor is None or desc.c_tensor.sizes == sizes, f"C is not as large as the product, {sizes}")


def transposed(sizes, transform):
    return (*sizes[:-2], sizes[-1], sizes[-2]) if transform else tuple(sizes)


CHECKS = {
    "ELEMENT_WISE_CLIP": check_element_wise,
    "ACTIVATION_LEAKY_RELU": check_element_wise,
    "CAST": check_cast,
    "REDUCE": check_reduce,
    "GATHER": check_gather,
    "TOP_K": check_top_k,
    "JOIN": check_join,
    "GEMM": check_gemm,
}


# Executions


def elements(binding, tensor):
    """The tensor's elements, where they lie in the bound memory."""
    kind = np.dtype(tensor.data_type.name.lower())
    strides = [stride * kind.itemsize for stride in tensor.effective_strides]
    return np.ndarray(tensor.sizes, kind, binding.view, strides=strides)


def clip(desc, inputs, outputs):
    x = elements(inputs["input_tensor"], desc.input_tensor)
    result = elements(outputs["output_tensor"], desc.output_tensor)
    if x.dtype.kind == "f":
        numbers = x.astype(np.float32)
        if desc.scale_bias is not None:
            numbers = numbers * np.float32(desc.scale_bias.scale) + np.float32(desc.scale_bias.bias)
        least, most = np.float32(desc.min), np.float32(desc.max)
    else:
        numbers, limits = x, np.iinfo(x.dtype)
        least = x.dtype.type(min(max(desc.min, limits.min), limits.max))
        most = x.dtype.type(min(max(desc.max, limits.min), limits.max))
    result[...] = np.minimum(np.maximum(numbers, least), most)


def leaky_relu(desc, inputs, outputs):
    x = elements(inputs["input_tensor"], desc.input_tensor).astype(np.float32)
    result = elements(outputs["output_tensor"], desc.output_tensor)
    result[...] = np.where(x >= 0, x, np.float32(desc.alpha) * x)


def cast(desc, inputs, outputs):
    x = elements(inputs["input_tensor"], desc.input_tensor)
    result = elements(outputs["output_tensor"], desc.output_tensor)
    result[...] = x.astype(result.dtype)


def reduce(desc, inputs, outputs):
    x = elements(inputs["input_tensor"], desc.input_tensor)
    result = elements(outputs["output_tensor"], desc.output_tensor)
    numbers = x.astype(np.float32) if x.dtype.kind == "f" else x
    axes = tuple(set(desc.axes))
    if desc.function == SUM:
        found = numbers.sum(axes, dtype=numbers.dtype, keepdims=True)
    elif desc.function == AVERAGE:
        found = numbers.mean(axes, keepdims=True)
    elif desc.function == MAX:
        found = numbers.max(axes, keepdims=True)
    else:
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        rows = numbers.transpose(*rest, *sorted(axes)).reshape(*(x.shape[axis] for axis in rest), -1)
        found = rows.argmax(-1).reshape(result.shape)
    result[...] = found


def gather(desc, inputs, outputs):
    source = elements(inputs["input_tensor"], desc.input_tensor)
    indices = elements(inputs["indices_tensor"], desc.indices_tensor)
    result = elements(outputs["output_tensor"], desc.output_tensor)
    size = source.shape[desc.axis]
    named = indices.reshape(indices.shape[indices.ndim - desc.index_dimensions :]).astype(np.int64)
    named = np.where(named < 0, named + size, named)
    result[...] = np.take(source, np.clip(named, 0, size - 1), desc.axis).reshape(result.shape)


def top_k(desc, inputs, outputs):
    x = elements(inputs["input_tensor"], desc.input_tensor)
    values = elements(outputs["output_value_tensor"], desc.output_value_tensor)
    places = elements(outputs["output_index_tensor"], desc.output_index_tensor)
    last = x.shape[desc.axis] - 1
    # From the end, as a stable sort that rises leaves equal elements in their order.
    order = last - np.argsort(np.flip(x, desc.axis), desc.axis, stable=True)
    first = np.take(np.flip(order, desc.axis), range(desc.k), desc.axis)
    values[...] = np.take_along_axis(x, first, desc.axis)
    places[...] = first


def join(desc, inputs, outputs):
    parts = [elements(inputs[f"input_tensors[{n}]"], tensor) for n, tensor in enumerate(desc.input_tensors)]
    elements(outputs["output_tensor"], desc.output_tensor)[...] = np.concatenate(parts, desc.axis)


def gemm(desc, inputs, outputs):
    a = elements(inputs["a_tensor"], desc.a_tensor).astype(np.float32)
    b = elements(inputs["b_tensor"], desc.b_tensor).astype(np.float32)
    a = np.swapaxes(a, -1, -2) if desc.trans_a else a
    b = np.swapaxes(b, -1, -2) if desc.trans_b else b
    found = np.float32(desc.alpha) * np.matmul(a, b)
    if desc.c_tensor is not None:
        found = found + np.float32(desc.beta) * elements(inputs["c_tensor"], desc.c_tensor).astype(np.float32)
    elements(outputs["output_tensor"], desc.output_tensor)[...] = found


EXECUTIONS = {
    "ELEMENT_WISE_CLIP": clip,
    "ACTIVATION_LEAKY_RELU": leaky_relu,
    "CAST": cast,
    "REDUCE": reduce,
    "GATHER": gather,
    "TOP_K": top_k,
    "JOIN": join,
    "GEMM": gemm,
}
