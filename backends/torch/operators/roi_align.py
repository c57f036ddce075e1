"""DML_OPERATOR_ROI_ALIGN, ROI_ALIGN1 and their gradient: regions of images, sampled between elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._indexing import in_range
from dml_conformance.spec.field_kinds import enumeration

FUNCTION, MODE = enumeration("DML_REDUCE_FUNCTION"), enumeration("DML_INTERPOLATION_MODE")
LARGEST = 2.0**20  # corner that is looked at
MOST_AT_ONCE = 2**24  # samples


class Samples(NamedTuple):
    """Samples of all regions along a dimension, those of one output element after another.

    Attributes:
        first: the element below each, by region and sample.
        second: the one above.
        weight: of the second.
        is_in: which are not out of bounds.
        is_there: which there are, where others have more.
        number: how many an output element has, by region.
    """

    first: Tensor
    second: Tensor
    weight: Tensor
    is_in: Tensor
    is_there: Tensor
    number: Tensor


def roi_align(desc: Any, tensors: Tensors) -> Tensors:
    """Rows and columns of every region's samples are interpolated one after the other, some regions at once."""
    source, (height, width) = tensors["input_tensor"], desc.output_tensor.sizes[2:]
    count = checked(desc, tensors)
    if source.is_meta:
        return {"output_tensor": source.new_empty((count, source.shape[1], height, width))}
    rows, columns = samples_of(desc, tensors["roi_tensor"], source.shape[2:], (height, width))
    batch = in_range(tensors["batch_indices_tensor"].reshape(-1), source.shape[0])
    step = max(MOST_AT_ONCE // max(source.shape[1] * rows.first.shape[1] * max(columns.first.shape[1], width), 1), 1)
    parts = [
        _part(desc, source[batch[some]], *(Samples(*(each[some] for each in of)) for of in (rows, columns)))
        for some in (slice(at, at + step) for at in range(0, count, step))
    ]
    return {"output_tensor": torch.cat(parts).to(source.dtype)}


def _part(desc: Any, images: Tensor, rows: Samples, columns: Samples) -> Tensor:
    """Of an image for each region."""
    found = interpolated(interpolated(images.double(), rows, 2), columns, 3)
    is_in, is_there = (
        (one[:, :, None] & other[:, None])[:, None]
        for one, other in ((rows.is_in, columns.is_in), (rows.is_there, columns.is_there))
    )
    found = torch.where(is_in, found, desc.out_of_bounds_input_value)
    height, width = desc.output_tensor.sizes[2:]
    is_mean = desc.reduction_function == FUNCTION.AVERAGE
    found = torch.where(is_there, found, 0.0 if is_mean else -torch.inf)
    found = found.reshape(*found.shape[:2], height, -1, width, found.shape[3] // width)
    if not is_mean:
        return found.amax((3, 5))
    return found.sum((3, 5)) / (rows.number * columns.number)[:, None, None, None]


def checked(desc: Any, tensors: Tensors) -> int:
    """How many regions there are.

    Raises:
        PlanError: the sizes of regions and batch indices, or the samples, are none.
    """
    regions, indices = tensors["roi_tensor"].shape, tensors["batch_indices_tensor"].shape
    if len(regions) < 2 or regions[-1] != 4 or any(size != 1 for size in regions[:-2]):
        raise PlanError(f"ROITensor has sizes {tuple(regions)}")
    if indices[-1] != regions[-2] or any(size != 1 for size in indices[:-1]):
        raise PlanError(f"BatchIndicesTensor has sizes {tuple(indices)}, ROITensor {tuple(regions)}")
    if desc.reduction_function not in (FUNCTION.AVERAGE, FUNCTION.MAX):
        raise PlanError(f"ReductionFunction is {desc.reduction_function}")
    if not 1 <= desc.minimum_samples_per_output <= desc.maximum_samples_per_output:
        raise PlanError(f"{desc.minimum_samples_per_output} to {desc.maximum_samples_per_output} samples")
    return int(regions[-2])


def samples_of(desc: Any, regions: Tensor, size: Any, output: Sequence[int]) -> tuple[Samples, Samples]:
    """The samples along height and along width."""
    rows = regions.reshape(-1, 4).double().nan_to_num(0, LARGEST, -LARGEST).clamp(-LARGEST, LARGEST)
    return (
        _samples(desc, rows[:, 1] * desc.spatial_scale_y, rows[:, 3] * desc.spatial_scale_y, size[0], output[0]),
        _samples(desc, rows[:, 0] * desc.spatial_scale_x, rows[:, 2] * desc.spatial_scale_x, size[1], output[1]),
    )


def _samples(desc: Any, start: Tensor, end: Tensor, size: int, output: int) -> Samples:
    """Along one dimension; of a fraction of samples one more than there are whole ones."""
    least, most = desc.minimum_samples_per_output, desc.maximum_samples_per_output
    count = ((end - start) / output).ceil().clamp(least, most)
    longest = most if least == most else int(count.max())
    part = torch.arange(longest, device=start.device, dtype=start.dtype)
    element = torch.arange(output, device=start.device, dtype=start.dtype)
    sample = (element[:, None] * count[:, None, None] + part).reshape(len(start), -1)
    all_samples, of_output = count * output, getattr(desc, "output_pixel_offset", -0.5)
    if getattr(desc, "align_regions_to_corners", False):
        all_samples, of_output = (all_samples - 1).clamp(min=1), 0.0
    step = ((end - start) / all_samples)[:, None]
    place = (sample - of_output) * step + start[:, None] - getattr(desc, "input_pixel_offset", 0.5)
    inside = place.clamp(0, size - 1)
    if desc.interpolation_mode == MODE.LINEAR:
        below = inside.floor()
        weight = inside - below
    else:
        below = (inside - 0.5).ceil()
        weight = torch.zeros_like(below)
    first = below.long()
    is_in = (place >= -1) & (place <= size)
    is_there = (part < count[:, None]).repeat(1, output)
    return Samples(first, (first + 1).clamp(max=size - 1), weight, is_in, is_there, count)


def interpolated(images: Tensor, samples: Samples, d: int) -> Tensor:
    """Images at the samples along a dimension, 2 or 3; where there is no weight, without the second element."""
    view = (len(images), 1, -1, 1) if d == 2 else (len(images), 1, 1, -1)
    first, second = (torch.take_along_dim(images, of.view(view), d) for of in (samples.first, samples.second))
    weight = samples.weight.view(view)
    return torch.where(weight == 0, first, first * (1 - weight) + second * weight)


def roi_align_grad(desc: Any, tensors: Tensors) -> Tensors:
    """The gradient of each sample is given to the four elements around it; regions' gradients are of the chain rule."""
    gradient, regions = tensors["input_gradient_tensor"], tensors["roi_tensor"]
    count, source = checked(desc, tensors), tensors.get("input_tensor")
    target, of_regions = desc.output_gradient_tensor, desc.output_roi_gradient_tensor
    if target is None and of_regions is None:
        raise PlanError("there is no output")
    if source is None and (of_regions is not None or desc.reduction_function == FUNCTION.MAX):
        raise PlanError("InputTensor is missing")
    sizes = tuple(target.sizes if source is None else source.shape)
    check_sizes("InputGradientTensor", gradient, (count, sizes[1], *gradient.shape[2:]))
    found = {"output_gradient_tensor": sizes, "output_roi_gradient_tensor": tuple(regions.shape)}
    wanted = {key: size for key, size in found.items() if getattr(desc, key) is not None}
    if gradient.is_meta:
        return {key: gradient.new_empty(size) for key, size in wanted.items()}
    rows, columns = samples_of(desc, regions, sizes[2:], tuple(gradient.shape[2:]))
    batch = in_range(tensors["batch_indices_tensor"].reshape(-1), sizes[0])
    height, width = (of.first.shape[1] // size for of, size in zip((rows, columns), gradient.shape[2:], strict=True))
    each = gradient.double().repeat_interleave(height, 2).repeat_interleave(width, 3)
    there = (rows.is_there[:, :, None] & columns.is_there[:, None])[:, None]
    inside = there & (rows.is_in[:, :, None] & columns.is_in[:, None])[:, None]
    images = None if source is None else source.double()[batch]
    if desc.reduction_function == FUNCTION.AVERAGE:
        each = each / (rows.number * columns.number)[:, None, None, None]
    else:
        assert images is not None
        values = torch.where(inside, interpolated(interpolated(images, rows, 2), columns, 3), -torch.inf)
        parts = values.reshape(*values.shape[:2], -1, height, values.shape[3] // width, width)
        blocks = parts.transpose(3, 4).flatten(4)
        one = torch.zeros_like(blocks).scatter_(4, blocks.argmax(4, keepdim=True), 1.0)
        each = each * one.reshape(*one.shape[:4], height, width).transpose(3, 4).reshape(values.shape)
    each = torch.where(inside, each, 0.0)
    outputs = {}
    if "output_gradient_tensor" in wanted:
        outputs["output_gradient_tensor"] = _scattered(each, batch, rows, columns, sizes).to(gradient.dtype)
    if "output_roi_gradient_tensor" in wanted:
        assert images is not None
        moved = _corners(desc, each, images, rows, columns)
        outputs["output_roi_gradient_tensor"] = moved.to(gradient.dtype).reshape(regions.shape)
    return outputs


def _scattered(each: Tensor, batch: Tensor, rows: Samples, columns: Samples, sizes: tuple[int, ...]) -> Tensor:
    """Gradients of samples, added up at the elements that they lie between."""
    batches, channels, height, width = sizes
    found = each.new_zeros((batches * height * width, channels))
    for y, by_y in ((rows.first, 1 - rows.weight), (rows.second, rows.weight)):
        for x, by_x in ((columns.first, 1 - columns.weight), (columns.second, columns.weight)):
            weight = (by_y[:, :, None] * by_x[:, None])[:, None]
            place = (batch[:, None, None] * height + y[:, :, None]) * width + x[:, None]
            terms = torch.where(weight == 0, 0.0, each * weight)
            found.index_add_(0, place.reshape(-1), terms.movedim(1, 3).reshape(-1, channels))
    return found.reshape(batches, height, width, channels).movedim(3, 1)


def _corners(desc: Any, each: Tensor, images: Tensor, rows: Samples, columns: Samples) -> Tensor:
    """How x1, y1, x2 and y2 move the result: samples move by as much as they are near to a corner."""
    found = []
    for of, d, other, scale in (
        (columns, 3, rows, desc.spatial_scale_x),
        (rows, 2, columns, desc.spatial_scale_y),
    ):
        line = interpolated(images, other, 5 - d)
        view = (len(images), 1, 1, -1) if d == 3 else (len(images), 1, -1, 1)
        step = torch.take_along_dim(line, of.second.view(view), d) - torch.take_along_dim(line, of.first.view(view), d)
        count = of.first.shape[1]
        place = torch.arange(count, device=each.device, dtype=each.dtype) - desc.output_pixel_offset
        share = (place / count).view((1, *view[1:]))
        moved = torch.where(each == 0, 0.0, each * step) * scale
        found.append(((moved * (1 - share)).sum((1, 2, 3)), (moved * share).sum((1, 2, 3))))
    (x1, x2), (y1, y2) = found
    return torch.stack((x1, y1, x2, y2), 1)


FIELDS = frozenset({"input_tensor", "input_gradient_tensor", "roi_tensor", "batch_indices_tensor"})
FORWARD = TorchOperator(
    roi_align,
    agree=(("input_tensor", "roi_tensor", "output_tensor"),),
    numbers=FIELDS - {"input_gradient_tensor"},
    ranks=(("input_tensor", "output_tensor"),),
)
GRADIENTS = ("input_gradient_tensor", "output_gradient_tensor", "output_roi_gradient_tensor")
OPERATORS = {
    "ROI_ALIGN": FORWARD,
    "ROI_ALIGN1": FORWARD,
    "ROI_ALIGN_GRAD": TorchOperator(
        roi_align_grad,
        agree=(("input_tensor", "roi_tensor", *GRADIENTS),),
        numbers=FIELDS,
        ranks=(("input_tensor", *GRADIENTS[:2]), ("roi_tensor", GRADIENTS[2])),
    ),
}
