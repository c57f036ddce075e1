"""DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2."""

from __future__ import annotations

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.backends.torch.operators._indexing import off_axis, valid_axes
from dml_conformance.backends.torch.operators._shares import mean_along
from dml_conformance.spec import structures
from dml_conformance.spec.levels import Level

_INPUTS = ("input_tensor", "scale_tensor", "bias_tensor")
_OPTIONAL = _INPUTS[1:]


def of_image(desc: structures.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """MEAN_VARIANCE_NORMALIZATION: height and width, and with CrossChannel all channels."""
    return _normalized(desc, tensors, _image_axes(desc), True, desc.normalize_variance)


def _image_axes(desc: structures.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC) -> tuple[int, ...]:
    return (1, 2, 3) if desc.cross_channel else (2, 3)


def along_axes(desc: structures.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """MEAN_VARIANCE_NORMALIZATION1."""
    return _normalized(desc, tensors, desc.axes, True, desc.normalize_variance)


def by_root_mean_square(desc: structures.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """MEAN_VARIANCE_NORMALIZATION2: without UseMean the variance is that around 0."""
    return _normalized(desc, tensors, desc.axes, desc.use_mean, desc.use_variance)


def _normalized(
    desc: structures.MeanVariance, tensors: Tensors, axes: tuple[int, ...], has_mean: bool, has_variance: bool
) -> Tensors:
    """`activation(scale * (x - mean) / sqrt(variance + Epsilon) + bias)`, in FLOAT32."""
    source = tensors["input_tensor"]
    along = valid_axes(axes, source)
    scale, bias = (tensors[key].expand(source.shape).float() if key in tensors else None for key in _OPTIONAL)
    if source.is_meta:
        return {"output_tensor": source}
    found = source.float()
    if has_mean:
        found = found - mean_along(found, along)
    if has_variance:
        found = found / (mean_along(found.square(), along) + desc.epsilon).sqrt()
    found = found if scale is None else found * scale
    found = found if bias is None else found + bias
    return {"output_tensor": activated(desc.fused_activation, found).to(source.dtype)}


def _fault(desc: structures.MeanVariance, level: Level) -> str:
    given = [tensor for key in _OPTIONAL if (tensor := getattr(desc, key)) is not None]
    if level < Level.L5_2 and len(given) == 1:
        return "one of ScaleTensor and BiasTensor is missing"
    return fusion_fault(desc, level)


def _fault_of_channels(desc: structures.MeanVariance, level: Level) -> str:
    """MEAN_VARIANCE_NORMALIZATION1 does not broadcast channels at first."""
    given = [tensor for key in _OPTIONAL if (tensor := getattr(desc, key)) is not None]
    sizes = desc.input_tensor.sizes
    if level < Level.L4_0 and len(sizes) == 4 and any(tensor.sizes[1:2] != sizes[1:2] for tensor in given):
        return "ScaleTensor or BiasTensor has other channels"
    return _fault(desc, level)


OPERATORS = {
    name: TorchOperator(run, ((*_INPUTS, "output_tensor"),), frozenset(_INPUTS), fault=fault, apart=apart)
    for name, run, fault, apart in (
        ("MEAN_VARIANCE_NORMALIZATION", of_image, _fault, lambda desc: {0, 1, 2, 3}.difference(_image_axes(desc))),
        ("MEAN_VARIANCE_NORMALIZATION1", along_axes, _fault_of_channels, off_axis),
        ("MEAN_VARIANCE_NORMALIZATION2", by_root_mean_square, _fault, off_axis),
    )
}
