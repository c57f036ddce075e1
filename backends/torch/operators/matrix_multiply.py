"""Products of matrices of integers: MATRIX_MULTIPLY_INTEGER and those of the numbers that integers stand for."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._quantized import check_zero_points, low_32_bits, quantized, shifted
from dml_conformance.spec.structures import MatrixMultiply

_INTEGERS = frozenset({"a_tensor", "a_zero_point_tensor", "b_tensor", "b_zero_point_tensor"})
_SCALES = frozenset({"a_scale_tensor", "b_scale_tensor"})
_MATRICES = ("a_tensor", "b_tensor", "output_tensor")


def multiply_integer(desc: MatrixMultiply, tensors: Tensors) -> Tensors:
    """`(a - a_zero_point) @ (b - b_zero_point)`, in FLOAT64, which has all sums; of those the low 32 bits."""
    a, b = _differences(tensors)
    return {"output_tensor": low_32_bits(torch.matmul(a, b))}


def quantized_multiply(desc: MatrixMultiply, tensors: Tensors) -> Tensors:
    """The product of what A and B stand for, in FLOAT32, as integers that stand for it."""
    check_zero_points(tensors, "a", "b", "output")
    a, b = _dequantized(tensors)
    product = torch.matmul(a, b)
    scale, zero_point = (_beside(tensors, f"output_{name}_tensor", product, -2) for name in ("scale", "zero_point"))
    return {"output_tensor": quantized(product, scale, zero_point, desc.output_tensor.data_type)}


def multiply_to_float(desc: MatrixMultiply, tensors: Tensors) -> Tensors:
    """The product of what A and B stand for, in FLOAT32, and a bias."""
    check_zero_points(tensors, "a", "b")
    found = torch.matmul(*_dequantized(tensors))
    if "bias_tensor" in tensors:
        check_sizes("BiasTensor", tensors["bias_tensor"], found.shape)
        found = found + tensors["bias_tensor"].float()
    return {"output_tensor": found.to(tensors["a_scale_tensor"].dtype)}


def _apart(desc: MatrixMultiply) -> range:
    return range(len(desc.output_tensor.sizes) - 2)


def _differences(tensors: Tensors) -> tuple[Tensor, Tensor]:
    """A and B without their zero points, in FLOAT64; PlanError where their batches differ, which torch would repeat."""
    a, b = tensors["a_tensor"], tensors["b_tensor"]
    if a.shape[:-2] != b.shape[:-2]:
        raise PlanError(f"a batch of {tuple(a.shape[:-2])} and one of {tuple(b.shape[:-2])}")
    return (
        shifted(a, _beside(tensors, "a_zero_point_tensor", a, -2)),
        shifted(b, _beside(tensors, "b_zero_point_tensor", b, -1)),
    )


def _dequantized(tensors: Tensors) -> tuple[Tensor, Tensor]:
    """A and B as the numbers that they stand for."""
    found = []
    for name, matrix, axis in zip(("a", "b"), _differences(tensors), (-2, -1), strict=True):
        scale = _beside(tensors, f"{name}_scale_tensor", matrix, axis)
        assert scale is not None
        found.append(matrix.float().mul_(scale.float()))
    return found[0], found[1]


def _beside(tensors: Tensors, key: str, matrix: Tensor, axis: int) -> Tensor | None:
    """A scale or zero point as it broadcasts beside a matrix, one for all or one for each place along an axis.

    Raises:
        PlanError: it is neither.
    """
    found = tensors.get(key)
    if found is None:
        return None
    each = [1] * found.dim()
    if found.dim() >= -axis:
        each[axis] = matrix.shape[axis]
    if any(size not in (1, most) for size, most in zip(found.shape, each, strict=True)):
        raise PlanError(f"{key} has sizes {tuple(found.shape)} beside {tuple(matrix.shape)}")
    return found.reshape(found.shape[-2:])


_INTEGER_TYPES = (("a_tensor", "a_zero_point_tensor"), ("b_tensor", "b_zero_point_tensor"))
_OF_QUANTIZATION = tuple(f"{name}_{kind}_tensor" for name in ("a", "b", "output") for kind in ("scale", "zero_point"))
OPERATORS = {
    "MATRIX_MULTIPLY_INTEGER": TorchOperator(multiply_integer, _INTEGER_TYPES, _INTEGERS, (_MATRICES,), apart=_apart),
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": TorchOperator(
        quantized_multiply,
        (*_INTEGER_TYPES, ("output_zero_point_tensor", "output_tensor")),
        _INTEGERS | _SCALES | {"output_scale_tensor", "output_zero_point_tensor"},
        (_MATRICES, _OF_QUANTIZATION),
        apart=_apart,
    ),
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": TorchOperator(
        multiply_to_float,
        (sum(_INTEGER_TYPES, ()), (*sorted(_SCALES), "bias_tensor", "output_tensor")),
        _INTEGERS | _SCALES | {"bias_tensor"},
        ((*_MATRICES, "bias_tensor"), _OF_QUANTIZATION[:4]),
        apart=_apart,
    ),
}
