"""DML_OPERATOR_ROI_ALIGN, ROI_ALIGN1 and their gradient: regions of images, sampled between elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, at_once, check_sizes
from dml_conformance.backends.torch.operators._indexing import in_range
from dml_conformance.spec.descriptor import outputs as outputs_of
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import RoiAlign, RoiAlignGrad

FUNCTION, MODE = enumeration("DML_REDUCE_FUNCTION"), enumeration("DML_INTERPOLATION_MODE")
LARGEST = 2.0**20  # corner that is looked at
MOST_AT_ONCE = 2**17  # samples


class Samples(NamedTuple):
    """Samples of all regions along a dimension, those of one output element after another.

    Attributes:
        first: the element below each, by region and sample.
        second: the one above.
        weight: of the second; without interpolation there is none.
        is_in: which are not out of bounds.
        is_there: which there are, where others have more.
        number: how many an output element has, by region.
        longest: how many there is room for of each output element.
        is_linear: whether they lie between elements.
    """

    first: Tensor
    second: Tensor
    weight: Tensor
    is_in: Tensor
    is_there: Tensor
    number: Tensor
    longest: int
    is_linear: bool

    @property
    def sides(self) -> list[tuple[Tensor, Tensor]]:
        """The elements next to each sample, and their weights."""
        return [(self.first, 1 - self.weight), (self.second, self.weight)][: 1 + self.is_linear]

    def cut(self, elements: slice) -> Samples:
        """Those of some output elements."""
        part = slice(elements.start * self.longest, elements.stop * self.longest)
        first, second, weight, is_in, is_there = (of[:, part] for of in self[:5])
        return Samples(first, second, weight, is_in, is_there, self.number, self.longest, self.is_linear)


def roi_align(desc: RoiAlign, tensors: Tensors) -> Tensors:
    """The samples of some channels and columns at once."""
    source, (height, width) = tensors["input_tensor"], desc.output_tensor.sizes[2:]
    count = checked(desc, tensors)
    found = source.new_empty((count, source.shape[1], height, width))
    if source.is_meta:
        return {"output_tensor": found}
    rows, columns = samples_of(desc, tensors["roi_tensor"], source.shape[2:], (height, width))
    batch = in_range(tensors["batch_indices_tensor"].reshape(-1), source.shape[0])
    for channels, along in product(*parts_of(rows, columns, source.shape[1], width)):
        found[:, channels, :, along] = _reduced(desc, source[:, channels], batch, rows, columns.cut(along))
    return {"output_tensor": found}


def parts_of(rows: Samples, columns: Samples, channels: int, width: int) -> tuple[list[slice], list[slice]]:
    """Parts of so many channels, and of so many columns of output elements. One of each has no more samples than are
    made at once, unless these are of one column."""
    most, of_column = at_once(MOST_AT_ONCE, rows.first.device), max(1, rows.first.numel() * columns.longest)
    width_step = min(width, max(1, most // of_column))
    channel_step = max(1, most // (of_column * width_step))
    return _slices(channels, channel_step), _slices(width, width_step)


def _slices(size: int, step: int) -> list[slice]:
    return [slice(at, min(at + step, size)) for at in range(0, size, step)]


def _reduced(desc: RoiAlign, images: Tensor, batch: Tensor, rows: Samples, columns: Samples) -> Tensor:
    """Of each region some columns."""
    found = sampled(images, batch, rows, columns)
    is_in, is_there = (
        (one[:, :, None] & other[:, None])[:, None]
        for one, other in ((rows.is_in, columns.is_in), (rows.is_there, columns.is_there))
    )
    found = torch.where(is_in, found, desc.out_of_bounds_input_value)
    is_mean = desc.reduction_function == FUNCTION.AVERAGE
    found = torch.where(is_there, found, 0.0 if is_mean else -torch.inf)
    found = found.reshape(*found.shape[:2], desc.output_tensor.sizes[2], rows.longest, -1, columns.longest)
    if not is_mean:
        return found.amax((3, 5))
    return found.sum((3, 5)) / (rows.number * columns.number)[:, None, None, None]


def checked(desc: RoiAlign | RoiAlignGrad, tensors: Tensors) -> int:
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


def samples_of(
    desc: RoiAlign | RoiAlignGrad, regions: Tensor, size: Any, output: Sequence[int]
) -> tuple[Samples, Samples]:
    """The samples along height and along width."""
    rows = regions.reshape(-1, 4).double().nan_to_num(0, LARGEST, -LARGEST).clamp(-LARGEST, LARGEST)
    return (
        _samples(desc, rows[:, 1] * desc.spatial_scale_y, rows[:, 3] * desc.spatial_scale_y, size[0], output[0]),
        _samples(desc, rows[:, 0] * desc.spatial_scale_x, rows[:, 2] * desc.spatial_scale_x, size[1], output[1]),
    )


def _samples(desc: RoiAlign | RoiAlignGrad, start: Tensor, end: Tensor, size: int, output: int) -> Samples:
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
    is_linear = desc.interpolation_mode == MODE.LINEAR
    if is_linear:
        below = inside.floor()
        weight = inside - below
    else:
        below = (inside - 0.5).ceil()
        weight = torch.zeros_like(below)
    first = below.long()
    is_in = (place >= -1) & (place <= size)
    is_there = (part < count[:, None]).repeat(1, output)
    return Samples(first, (first + 1).clamp(max=size - 1), weight, is_in, is_there, count, longest, is_linear)


def sampled(images: Tensor, batch: Tensor, rows: Samples, columns: Samples) -> Tensor:
    """The image of each region at its samples; where there is no weight, without the second element."""

    def between(of: Samples, take: Callable[[Tensor], Tensor], sizes: tuple[int, ...]) -> Tensor:
        if not of.is_linear:
            return take(of.first)
        weight, first = of.weight.reshape(sizes), take(of.first)
        return torch.where(weight == 0, first, first * (1 - weight) + take(of.second) * weight)

    def along_height(x: Tensor) -> Tensor:
        def taken(y: Tensor) -> Tensor:
            return images[batch[:, None, None], :, y[:, :, None], x[:, None]].double()

        return between(rows, taken, (len(batch), -1, 1, 1))

    return between(columns, along_height, (len(batch), 1, -1, 1)).movedim(3, 1)


def roi_align_grad(desc: RoiAlignGrad, tensors: Tensors) -> Tensors:
    """The gradient of each sample is given to the four elements around it; regions' gradients are of the chain rule."""
    gradient, regions = tensors["input_gradient_tensor"], tensors["roi_tensor"]
    count, source = checked(desc, tensors), tensors.get("input_tensor")
    target, of_regions = desc.output_gradient_tensor, desc.output_roi_gradient_tensor
    if target is None and of_regions is None:
        raise PlanError("there is no output")
    if source is None and (of_regions is not None or desc.reduction_function == FUNCTION.MAX):
        raise PlanError("InputTensor is missing")
    sizes = tuple(outputs_of(desc)[0].tensor.sizes if source is None else source.shape)
    check_sizes("InputGradientTensor", gradient, (count, sizes[1], *gradient.shape[2:]))
    found = {"output_gradient_tensor": sizes, "output_roi_gradient_tensor": tuple(regions.shape)}
    wanted = {key: size for key, size in found.items() if getattr(desc, key) is not None}
    if gradient.is_meta:
        return {key: gradient.new_empty(size) for key, size in wanted.items()}
    rows, columns = samples_of(desc, regions, sizes[2:], tuple(gradient.shape[2:]))
    batch = in_range(tensors["batch_indices_tensor"].reshape(-1), sizes[0])
    outputs = {key: gradient.new_empty(size) for key, size in wanted.items()}
    moved = torch.zeros((count, 4), dtype=torch.float64, device=gradient.device)
    of_channels, of_columns = parts_of(rows, columns, sizes[1], gradient.shape[3])
    for channels in of_channels:
        images = None if source is None else source[:, channels]
        spread = moved.new_zeros((sizes[0], channels.stop - channels.start, *sizes[2:]))
        for along in of_columns:
            some = columns.cut(along)
            each = _of_samples(desc, gradient[:, channels, :, along].double(), images, batch, rows, some)
            _scatter(spread, each, batch, rows, some)
            if "output_roi_gradient_tensor" in wanted:
                assert images is not None
                moved += _corners(desc, each, images, batch, rows, columns, along)
        if "output_gradient_tensor" in wanted:
            outputs["output_gradient_tensor"][:, channels] = spread
    if "output_roi_gradient_tensor" in wanted:
        outputs["output_roi_gradient_tensor"] = moved.to(gradient.dtype).reshape(regions.shape)
    return outputs


def _of_samples(
    desc: RoiAlignGrad, gradient: Tensor, images: Tensor | None, batch: Tensor, rows: Samples, columns: Samples
) -> Tensor:
    """The gradient of each sample: its share of an average, or all of it of the greatest one."""
    each = gradient.repeat_interleave(rows.longest, 2).repeat_interleave(columns.longest, 3)
    there = (rows.is_there[:, :, None] & columns.is_there[:, None])[:, None]
    inside = there & (rows.is_in[:, :, None] & columns.is_in[:, None])[:, None]
    if desc.reduction_function == FUNCTION.AVERAGE:
        return torch.where(inside, each / (rows.number * columns.number)[:, None, None, None], 0.0)
    assert images is not None
    values = torch.where(inside, sampled(images, batch, rows, columns), -torch.inf)
    parts = values.reshape(*values.shape[:2], -1, rows.longest, gradient.shape[3], columns.longest)
    blocks = parts.transpose(3, 4).flatten(4)
    one = torch.zeros_like(blocks).scatter_(4, blocks.argmax(4, keepdim=True), 1.0)
    one = one.reshape(*one.shape[:4], rows.longest, columns.longest).transpose(3, 4).reshape(values.shape)
    return torch.where(inside, each * one, 0.0)


def _scatter(target: Tensor, each: Tensor, batch: Tensor, rows: Samples, columns: Samples) -> None:
    """Add gradients of samples to the elements that they lie between."""
    channels, height, width = target.shape[1:]
    planes = batch[:, None] * channels + torch.arange(channels, device=batch.device)
    for y, by_y in rows.sides:
        lines = planes[:, :, None] * height + y[:, None]
        for x, by_x in columns.sides:
            weight = (by_y[:, :, None] * by_x[:, None])[:, None]
            place = lines[..., None] * width + x[:, None, None]
            target.view(-1).index_add_(0, place.reshape(-1), torch.where(weight == 0, 0.0, each * weight).reshape(-1))


def _corners(
    desc: RoiAlignGrad, each: Tensor, images: Tensor, batch: Tensor, rows: Samples, columns: Samples, along: slice
) -> Tensor:
    """How x1, y1, x2 and y2 move the result: samples move by as much as they are near to a corner.

    Those of each gradient of a sample in some columns are added up.
    """

    def at(of: Samples, places: Tensor) -> Samples:
        return of._replace(first=places, is_linear=False)

    def moved(ends: list[Tensor], places: Tensor, count: int, scale: float) -> list[Tensor]:
        by = torch.where(each == 0, 0.0, each * (ends[1] - ends[0])) * scale
        share = (places - desc.output_pixel_offset) / count
        return [(by * part).sum((1, 2, 3)) for part in (1 - share, share)]

    some, before = columns.cut(along), along.start * columns.longest
    across = torch.arange(before, before + each.shape[3], device=each.device, dtype=each.dtype)
    down = torch.arange(each.shape[2], device=each.device, dtype=each.dtype)[:, None]
    ends = [sampled(images, batch, rows, at(some, places)) for places in (some.first, some.second)]
    x1, x2 = moved(ends, across, columns.first.shape[1], desc.spatial_scale_x)
    ends = [sampled(images, batch, at(rows, places), some) for places in (rows.first, rows.second)]
    y1, y2 = moved(ends, down, len(down), desc.spatial_scale_y)
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
