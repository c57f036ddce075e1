"""ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import scale
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.spec import structures
from dml_conformance.spec.levels import Level


def power(desc: structures.DML_ELEMENT_WISE_POW_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """POW: integers as int64, with exponents that are floats in FLOAT64; floats in their type, or in FLOAT32 where the
    exponents have another."""
    base, exponent = tensors["input_tensor"], tensors["exponent_tensor"]
    if not base.is_floating_point():
        if exponent.is_floating_point():  # cut to whole numbers
            found = torch.pow(widen(base).to(torch.float64), exponent.to(torch.float64))
            return {"output_tensor": narrow(found.to(torch.int64), base.dtype)}
        return {"output_tensor": narrow(torch.pow(widen(base), widen(exponent)), base.dtype)}
    scaled = scale(desc, base)
    if exponent.dtype is base.dtype:
        return {"output_tensor": torch.pow(scaled, exponent)}
    wide = exponent if exponent.is_floating_point() else widen(exponent)
    return {"output_tensor": torch.pow(scaled.to(torch.float32), wide.to(torch.float32)).to(base.dtype)}


def constant_power(desc: structures.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """CONSTANT_POW; in FLOAT32, as CUDA's kernel for FLOAT16 rounds on the way.

    Of an exponent of -2 torch takes the square first, which overflows where the result is a number yet.
    """
    scaled = scale(desc, tensors["input_tensor"])
    base = scaled.to(torch.float32)
    found = base.reciprocal().square() if desc.exponent == -2 else torch.pow(base, desc.exponent)
    return {"output_tensor": found.to(scaled.dtype)}


def _fault(desc: structures.DML_ELEMENT_WISE_POW_OPERATOR_DESC, level: Level) -> str:
    """What is wrong with the exponents' data type."""
    found, wanted = desc.exponent_tensor.data_type, desc.input_tensor.data_type
    return (
        f"ExponentTensor is {found.name}, InputTensor {wanted.name}" if level < Level.L3_0 and found != wanted else ""
    )


OPERATORS = {
    "ELEMENT_WISE_POW": TorchOperator(
        power, numbers=frozenset({"input_tensor", "exponent_tensor"}), fault=_fault, alike=True
    ),
    "ELEMENT_WISE_CONSTANT_POW": TorchOperator(constant_power, numbers=frozenset({"input_tensor"}), alike=True),
}
