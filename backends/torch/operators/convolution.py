"""Convolutions, also of integers, by products of matrices: no algorithm is left to a library that has faster ones."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.backends.torch.operators._products import factor, product
from dml_conformance.backends.torch.operators._quantized import check_zero_points, low_32_bits, quantized, shifted
from dml_conformance.backends.torch.operators._windows import add_windows, single, window_counts, window_view
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DML_CONVOLUTION_OPERATOR_DESC, Convolution

INPUTS = ("input_tensor", "filter_tensor", "bias_tensor")
MOST_COLUMNS = 2**30  # of a product of matrices; the library counts them in 31 bits
MODE, DIRECTION = enumeration("DML_CONVOLUTION_MODE"), enumeration("DML_CONVOLUTION_DIRECTION")


def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """In FLOAT32: forward, windows laid out as columns; backward, columns that are added up where windows stand."""
    source, filters, bias = (tensors.get(name) for name in INPUTS)
    assert source is not None
    assert filters is not None
    backward = desc.direction == DIRECTION.BACKWARD
    made = _made(desc, source, filters, bias, backward)
    run = _backward if backward else _forward
    if source.is_meta:
        return {"output_tensor": run(desc, source, filters, made)}
    turned = filters.flip(tuple(range(2, filters.dim()))) if desc.mode == MODE.CONVOLUTION else filters
    found = run(desc, factor(source), factor(turned), made)
    if bias is not None:
        found = found + bias.float()
    return {"output_tensor": activated(desc.fused_activation, found.to(source.dtype))}


def convolution_integer(desc: Convolution, tensors: Tensors) -> Tensors:
    """CONVOLUTION_INTEGER, in FLOAT64, which has all sums; of those the low 32 bits."""
    source, filters = _shifted(tensors)
    made = _made(desc, source, filters, None, backward=False)
    return {"output_tensor": low_32_bits(_forward(desc, source, filters, made))}


def quantized_convolution(desc: Convolution, tensors: Tensors) -> Tensors:
    """QUANTIZED_LINEAR_CONVOLUTION: of what input and filter stand for, in FLOAT32, integers that stand for it."""
    source, filters = _shifted(tensors)
    made = _made(desc, source, filters, tensors.get("bias_tensor"), backward=False)
    of_input, of_filter, scale, zero_point = (
        _by_channel(tensors, f"{key}_tensor", made if key.startswith("filter") else 1)
        for key in ("input_scale", "filter_scale", "output_scale", "output_zero_point")
    )
    assert of_input is not None
    assert of_filter is not None
    check_zero_points(tensors, "input", "filter", "output")
    if source.is_meta:
        return {"output_tensor": _forward(desc, source, filters, made)}
    weights = filters.float() * of_filter.reshape(-1, *(1,) * (filters.dim() - 1))
    found = _forward(desc, source.float() * of_input, weights, made)
    spread = (-1, *(1,) * (source.dim() - 2))
    if "bias_tensor" in tensors:
        bias = tensors["bias_tensor"].reshape(-1).float() * (of_input * of_filter)
        found = found + bias.reshape(spread)
    return {"output_tensor": quantized(found, scale, zero_point, desc.output_tensor.data_type)}


def _shifted(tensors: Tensors) -> tuple[Tensor, Tensor]:
    """Input and filter without their zero points, in FLOAT64."""
    source, filters = tensors["input_tensor"], tensors["filter_tensor"]
    of_filter = _by_channel(tensors, "filter_zero_point_tensor", filters.shape[0])
    if of_filter is not None:
        of_filter = of_filter.reshape(-1, *(1,) * (filters.dim() - 1))
    return shifted(source, _by_channel(tensors, "input_zero_point_tensor", 1)), shifted(filters, of_filter)


def _by_channel(tensors: Tensors, key: str, channels: int) -> Tensor | None:
    """A scale or zero point in a row, of one element or one for each channel.

    Raises:
        PlanError: its sizes are others.
    """
    found = tensors.get(key)
    if found is None:
        return None
    if tuple(found.shape) not in ((1,) * found.dim(), (1, channels, 1, 1)[: found.dim()]):
        raise PlanError(f"{key} has sizes {tuple(found.shape)} for {channels} channels")
    return found.reshape(-1)


def _made(desc: Convolution, source: Tensor, filters: Tensor, bias: Tensor | None, backward: bool) -> int:
    """How many channels come out; PlanError where those of the tensors do not fit each other."""
    groups = desc.group_count
    if source.dim() < 3 or not groups or filters.shape[0] % groups:
        raise PlanError(f"{groups} groups of {filters.shape[0]} filters, {source.dim()} dimensions")
    given, made = (filters.shape[0], filters.shape[1] * groups)[:: 1 if backward else -1]
    if source.shape[1] != given:
        raise PlanError(f"{source.shape[1]} channels, the filters take {given}")
    if bias is not None:
        check_sizes("BiasTensor", bias, (1, made, *(1,) * (source.dim() - 2)))
    return int(made)


def _forward(desc: Convolution, source: Tensor, filters: Tensor, made: int) -> Tensor:
    sizes, groups = filters.shape[2:], desc.group_count
    counts = window_counts(desc, sizes, source.shape[2:])
    more = getattr(desc, "output_padding", (0,) * len(counts))
    shape = (source.shape[0], made, *map(sum, zip(counts, more, strict=True)))
    if source.is_meta:
        return source.new_empty(shape)
    columns = window_view(desc, source, sizes, counts).reshape(source.shape[0], groups, -1, prod(counts))
    weights = filters.reshape(groups, made // groups, -1)
    if columns.shape[-1] <= MOST_COLUMNS:
        found = product(weights, columns)
    else:
        found = torch.cat([product(weights, part) for part in torch.split(columns, MOST_COLUMNS, -1)], -1)
    added = [n for size in more[::-1] for n in (0, size)]
    found = found.reshape(source.shape[0], made, *counts)
    return functional.pad(found, added) if any(added) else found


def _backward(desc: DML_CONVOLUTION_OPERATOR_DESC, source: Tensor, filters: Tensor, made: int) -> Tensor:
    sizes, groups, (batch, channels, *counts) = filters.shape[2:], desc.group_count, source.shape
    arrays = (desc.strides, desc.dilations, desc.start_padding, desc.end_padding, desc.output_padding)
    if any(len(array) != len(counts) for array in arrays) or not all(desc.strides):
        raise PlanError(f"the arrays have {[len(array) for array in arrays]} entries, or a stride of 0")
    steps = zip(counts, sizes, desc.strides, desc.dilations, strict=True)
    reached = [(count - 1) * stride + dilation * (size - 1) + 1 for count, size, stride, dilation in steps]
    cut = zip(reached, desc.start_padding, desc.end_padding, strict=True)
    kept = [size - before - behind for size, before, behind in cut]
    if min(kept) < 1:
        raise PlanError(f"the windows cover {reached}, which the padding takes away")
    shape = (batch, made, *(size + more for size, more in zip(kept, desc.output_padding, strict=True)))
    if source.is_meta:
        return source.new_empty(shape)
    matrix = filters.reshape(groups, channels // groups, -1).transpose(1, 2)
    columns = product(matrix, source.reshape(batch, groups, channels // groups, -1))
    image = add_windows(desc, columns.reshape(batch, made, -1), sizes, counts, reached)
    for d, before in enumerate(desc.start_padding):
        size = min(shape[2 + d], reached[d] - before)
        image = image.narrow(2 + d, before, size)
    added = [n for d in range(len(counts) - 1, -1, -1) for n in (0, shape[2 + d] - image.shape[2 + d])]
    return functional.pad(image, added)


def _apart(desc: Convolution) -> list[int]:
    return [0, *single(desc, desc.filter_tensor.sizes[2:])]


_SHARED = frozenset({"filter_tensor"})
OF_INTEGERS = (("input_tensor", "input_zero_point_tensor"), ("filter_tensor", "filter_zero_point_tensor"))
OF_QUANTIZATION = tuple((f"{name}_scale_tensor", f"{name}_zero_point_tensor") for name in ("input", "filter", "output"))
OPERATORS = {
    "CONVOLUTION": TorchOperator(
        convolution,
        agree=((*INPUTS, "output_tensor"),),
        numbers=frozenset(INPUTS),
        fault=fusion_fault,
        plan=plans.convolution,
        apart=_apart,
        shared=_SHARED,
    ),
    "CONVOLUTION_INTEGER": TorchOperator(
        convolution_integer,
        agree=OF_INTEGERS,
        numbers=frozenset(sum(OF_INTEGERS, ())),
        ranks=(
            ("input_tensor", "filter_tensor", "output_tensor"),
            ("input_zero_point_tensor", "filter_zero_point_tensor"),
        ),
        apart=_apart,
        shared=_SHARED,
    ),
    "QUANTIZED_LINEAR_CONVOLUTION": TorchOperator(
        quantized_convolution,
        agree=(*OF_INTEGERS, ("output_tensor", "output_zero_point_tensor")),
        numbers=frozenset((*sum(OF_INTEGERS, ()), *sum(OF_QUANTIZATION, ()), "bias_tensor")),
        ranks=((*INPUTS, "output_tensor"), *OF_QUANTIZATION),
        apart=_apart,
        shared=_SHARED,
    ),
}
