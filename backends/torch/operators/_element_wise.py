"""What element-wise operators share."""

from __future__ import annotations

from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors
from dml_conformance.spec.descriptor import OperatorDesc

OPERANDS = ("a_tensor", "b_tensor")


def operands(tensors: Tensors) -> tuple[Tensor, Tensor]:
    return tensors["a_tensor"], tensors["b_tensor"]


def scale(desc: OperatorDesc, source: Tensor) -> Tensor:
    """`x * Scale + Bias` where the descriptor has ScaleBias; of integers what comes is left open."""
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None or not source.is_floating_point():
        return source
    scaled: Tensor = source * scale_bias.scale + scale_bias.bias
    return scaled
