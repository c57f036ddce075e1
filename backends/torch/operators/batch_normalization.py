"""DML_OPERATOR_BATCH_NORMALIZATION, _TRAINING, and the gradients of both."""

from __future__ import annotations

from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.backends.torch.operators._shares import mean_along
from dml_conformance.spec import structures
from dml_conformance.spec.levels import Level


def _normalized(epsilon: float, x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    root = (variance + epsilon).sqrt()
    return scale * ((x - mean) / root) + bias


def inference(desc: structures.DML_BATCH_NORMALIZATION_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """`activation(scale * (x - mean) / sqrt(variance + Epsilon) + bias)`, in FLOAT32."""
    source = tensors["input_tensor"]
    others = [tensors[f"{key}_tensor"].expand(source.shape) for key in ("mean", "variance", "scale", "bias")]
    if source.is_meta:
        return {"output_tensor": source}
    found = _normalized(desc.epsilon, source.float(), *(of.float() for of in others))
    return {"output_tensor": activated(desc.fused_activation, found).to(source.dtype)}


def training(desc: structures.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """The same with the mean and the variance of the input, which are outputs too."""
    source, scale, bias = (tensors[f"{key}_tensor"] for key in ("input", "scale", "bias"))
    check_sizes("BiasTensor", bias, scale.shape)
    scale.expand(source.shape)
    if "fused_add_tensor" in tensors:
        check_sizes("FusedAddTensor", tensors["fused_add_tensor"], source.shape)
    if source.is_meta:
        return dict(zip(_STATISTICS, (source, scale, scale), strict=True))
    axes, x = _axes(scale), source.float()
    mean = mean_along(x, axes)
    variance = mean_along((x - mean).square(), axes)
    found = _normalized(desc.epsilon, x, mean, variance, scale.float(), bias.float())
    if "fused_add_tensor" in tensors:
        found = found + tensors["fused_add_tensor"].float()
    return {
        "output_tensor": activated(desc.fused_activation, found).to(source.dtype),
        "output_mean_tensor": mean.to(source.dtype),
        "output_variance_tensor": variance.to(source.dtype),
    }


def gradients(desc: structures.BatchNormalizationGrad, tensors: Tensors) -> Tensors:
    """`gradient * (scale / sqrt(variance + Epsilon))`, and the sums for scale and bias."""
    _, gradient, _, variance, scale = _inputs(tensors)
    if scale.is_meta:
        return dict(zip(_GRADIENTS, (gradient, scale, scale), strict=True))
    of_input = gradient * (scale / (variance + desc.epsilon).sqrt())
    return _outputs(desc, tensors, of_input)


def training_gradients(desc: structures.BatchNormalizationGrad, tensors: Tensors) -> Tensors:
    """What the mean and the variance of the input change with it is in its gradient too."""
    x, gradient, _, variance, scale = _inputs(tensors)
    if scale.is_meta:
        return dict(zip(_GRADIENTS, (gradient, scale, scale), strict=True))
    axes, variance = _axes(scale), variance + desc.epsilon
    centered = x - mean_along(x, axes)
    part = centered * mean_along(gradient * centered, axes) / variance
    of_input = scale / variance.sqrt() * (gradient - mean_along(gradient, axes) - part)
    return _outputs(desc, tensors, of_input)


def _inputs(tensors: Tensors) -> list[Tensor]:
    found = [tensors[f"{key}_tensor"] for key in ("input", "input_gradient", "mean", "variance", "scale")]
    x, gradient, mean, variance, scale = found
    check_sizes("InputGradientTensor", gradient, x.shape)
    check_sizes("VarianceTensor", variance, mean.shape)
    check_sizes("ScaleTensor", scale, mean.shape)
    mean.expand(x.shape)
    return [of.float() for of in found]


def _outputs(desc: structures.BatchNormalizationGrad, tensors: Tensors, of_input: Tensor) -> Tensors:
    x, gradient, mean, variance, scale = _inputs(tensors)
    dtype, axes = tensors["input_tensor"].dtype, _axes(scale)
    terms = gradient * (x - mean) / (variance + desc.epsilon).sqrt()
    of_scale, of_bias = (of.sum(axes, keepdim=True) if axes else of for of in (terms, gradient))
    return {
        "output_gradient_tensor": of_input.to(dtype),
        "output_scale_gradient_tensor": of_scale.to(dtype),
        "output_bias_gradient_tensor": of_bias.to(dtype),
    }


def _axes(scale: Tensor) -> list[int]:
    return [d for d, size in enumerate(scale.shape) if size == 1]


def _apart(
    desc: structures.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC | structures.BatchNormalizationGrad,
) -> list[int]:
    return [d for d, size in enumerate(desc.scale_tensor.sizes) if size > 1]


def _fault(desc: structures.BatchNormalization, level: Level) -> str:
    if level < Level.L4_0 and desc.operator == "BATCH_NORMALIZATION" and not desc.spatial:
        sizes = desc.input_tensor.sizes
        if any(tensor.sizes[2:] != sizes[2:] for tensor in (desc.mean_tensor, desc.variance_tensor)):
            return "MeanTensor or VarianceTensor is broadcast over the image, and Spatial is not set"
    return fusion_fault(desc, level)


_FORWARD = (*("input_tensor", "mean_tensor", "variance_tensor"), *("scale_tensor", "bias_tensor"))
_TRAINING = ("input_tensor", "scale_tensor", "bias_tensor", "fused_add_tensor")
_BACKWARD = ("input_tensor", "input_gradient_tensor", "mean_tensor", "variance_tensor", "scale_tensor")
_GRADIENTS = ("output_gradient_tensor", "output_scale_gradient_tensor", "output_bias_gradient_tensor")
_STATISTICS = ("output_tensor", "output_mean_tensor", "output_variance_tensor")
OPERATORS = {
    "BATCH_NORMALIZATION": TorchOperator(
        inference,
        ((*_FORWARD, "output_tensor"),),
        frozenset(_FORWARD),
        fault=_fault,
        apart=lambda desc: range(len(desc.input_tensor.sizes)),
    ),
    "BATCH_NORMALIZATION_TRAINING": TorchOperator(
        training, ((*_TRAINING, *_STATISTICS),), frozenset(_TRAINING), fault=_fault, apart=_apart
    ),
    **{
        name: TorchOperator(run, ((*_BACKWARD, *_GRADIENTS),), frozenset(_BACKWARD), apart=_apart)
        for name, run in (
            ("BATCH_NORMALIZATION_GRAD", gradients),
            ("BATCH_NORMALIZATION_TRAINING_GRAD", training_gradients),
        )
    },
}
