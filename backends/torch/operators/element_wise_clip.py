"""ELEMENT_WISE_CLIP, ELEMENT_WISE_CLIP1, ELEMENT_WISE_THRESHOLD, ELEMENT_WISE_CLIP_GRAD and ELEMENT_WISE_CLIP_GRAD1."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import scale
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.backends.torch.operators._scalars import value_fault
from dml_conformance.spec import structures


def clip(
    desc: structures.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC | structures.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC,
    tensors: Tensors,
) -> Tensors:
    """CLIP, CLIP1: `clamp(input[c...], Min, Max)`."""
    return {"output_tensor": _clamp(scale(desc, tensors["input_tensor"]), desc.min, desc.max)}


def threshold(desc: structures.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """THRESHOLD: `max(input[c...], Min)`."""
    return {"output_tensor": _clamp(scale(desc, tensors["input_tensor"]), desc.min, None)}


def clip_grad(desc: structures.ElementWiseClipGrad, tensors: Tensors) -> Tensors:
    """CLIP_GRAD, CLIP_GRAD1: `Min < input[c...] < Max ? gradient[c...] : 0`."""
    source, gradient = tensors["input_tensor"], tensors["input_gradient_tensor"]
    low, high = (_limit(limit, source.dtype) for limit in (desc.min, desc.max))
    compared = source if source.is_floating_point() else widen(source)
    is_outside = (compared <= low) | (compared >= high)
    return {"output_gradient_tensor": gradient.masked_fill(is_outside, 0)}


def _clamp(source: Tensor, low: float, high: float | None) -> Tensor:
    limits = [None if limit is None else _limit(limit, source.dtype) for limit in (low, high)]
    if source.is_floating_point():
        return torch.clamp(source, *limits)
    return narrow(torch.clamp(widen(source), *limits), source.dtype)


def _limit(limit: float, dtype: torch.dtype) -> float:
    """The limit as torch takes it: of an integer type cut to a whole number, and as `widen` has it."""
    if dtype.is_floating_point:
        rounded: float = torch.tensor(limit, dtype=dtype, device="cpu").item()
        return rounded
    info = torch.iinfo(dtype)
    whole = 0 if math.isnan(limit) else int(min(max(limit, info.min), info.max))
    return whole - 2**63 if dtype is torch.uint64 else whole


_NUMBERS = frozenset({"input_tensor"})
_LIMIT_TYPE = partial(value_fault, attribute="min_max_data_type")
_OF_INPUT = (("input_tensor", "output_tensor"),)
_GRADIENTS = (("input_tensor", "input_gradient_tensor", "output_gradient_tensor"),)
OPERATORS = {
    name: TorchOperator(run, agree, _NUMBERS, fault=fault, alike=True)
    for name, run, agree, fault in (
        ("ELEMENT_WISE_CLIP", clip, _OF_INPUT, None),
        ("ELEMENT_WISE_CLIP1", clip, _OF_INPUT, _LIMIT_TYPE),
        ("ELEMENT_WISE_THRESHOLD", threshold, _OF_INPUT, None),
        ("ELEMENT_WISE_CLIP_GRAD", clip_grad, _GRADIENTS, None),
        ("ELEMENT_WISE_CLIP_GRAD1", clip_grad, _GRADIENTS, partial(_LIMIT_TYPE, output="output_gradient_tensor")),
    )
}
