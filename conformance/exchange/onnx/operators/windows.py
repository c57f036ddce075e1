"""What slides over images: convolutions and poolings. An image of one dimension gets one more, of size 1."""

from __future__ import annotations

from math import ceil, prod
from typing import Any, NamedTuple

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, maps
from dml_conformance.conformance.exchange.onnx.node import (
    LEAST_RANK,
    Mapped,
    ModelNode,
    ModelValue,
    NotMapped,
    Sizes,
    View,
    integers,
    operation,
    optional_view,
    padded,
    retyped,
    view,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import Size2d

FIRST = 2  # spatial dimension, after batch and channels


class Windows(NamedTuple):
    """What slides, with an entry for each spatial dimension in each array."""

    size: Sizes
    strides: Sizes
    dilations: Sizes
    before: Sizes
    behind: Sizes
    added: Sizes

    def at_least(self, rank: int) -> Windows:
        """With entries for dimensions of size 1 in front."""
        fills = (1, 1, 1, 0, 0, 0)
        return Windows(*(padded(entries, rank, fill) for entries, fill in zip(self, fills, strict=True)))

    def fields(self, *names: str) -> dict[str, Sizes]:
        """The arrays of a descriptor, by its attributes."""
        every = {
            "window_size": self.size,
            "strides": self.strides,
            "dilations": self.dilations,
            "start_padding": self.before,
            "end_padding": self.behind,
            "output_padding": self.added,
        }
        return {name: every[name] for name in names}


CONVOLVED = ("strides", "dilations", "start_padding", "end_padding")
POOLED = ("window_size", "strides", "start_padding", "end_padding")


def windows(node: ModelNode, kernel: Sizes, image: Sizes, output: Sizes) -> Windows:
    """What slides over an image so that the output has the sizes that ONNX says, padding worked out."""
    count = len(kernel)
    strides = node.attribute("strides") or (1,) * count
    dilations = node.attribute("dilations") or (1,) * count
    pads = node.attribute("pads") or (0,) * 2 * count
    before, behind = list(pads[:count]), list(pads[count:])
    kind = node.attribute("auto_pad", "NOTSET")
    if min(pads, default=0) < 0:
        raise NotMapped(f"pads are {list(pads)}, and DirectML has none below 0")
    for d in range(count):
        reach = dilations[d] * (kernel[d] - 1) + 1
        if kind in ("SAME_UPPER", "SAME_LOWER"):
            total = max(0, (ceil(image[d] / strides[d]) - 1) * strides[d] + reach - image[d])
            small, large = total // 2, total - total // 2
            before[d], behind[d] = (small, large) if kind == "SAME_UPPER" else (large, small)
        elif kind == "VALID":
            before[d] = behind[d] = 0
        # A last window that is only begun, by ceil_mode, needs as much padding.
        behind[d] += max(0, (output[d] - 1) * strides[d] + reach - image[d] - before[d] - behind[d])
    return Windows(kernel, tuple(strides), tuple(dilations), tuple(before), tuple(behind), (0,) * count)


def backward_windows(node: ModelNode, kernel: Sizes, image: Sizes, output: Sizes) -> Windows:
    """What slides over the output of a transposed convolution."""
    count = len(kernel)
    strides = node.attribute("strides") or (1,) * count
    dilations = node.attribute("dilations") or (1,) * count
    pads = node.attribute("pads") or (0,) * 2 * count
    added = list(node.attribute("output_padding") or (0,) * count)
    before, behind = list(pads[:count]), list(pads[count:])
    kind = node.attribute("auto_pad", "NOTSET")
    if min(pads, default=0) < 0:
        raise NotMapped(f"pads are {list(pads)}, and DirectML has none below 0")
    if kind == "VALID":
        before, behind = [0] * count, [0] * count
    if kind in ("SAME_UPPER", "SAME_LOWER") or node.attribute("output_shape"):
        for d in range(count):
            covered = (image[d] - 1) * strides[d] + dilations[d] * (kernel[d] - 1) + 1 + added[d]
            total = covered - output[d]
            added[d] += max(0, -total)
            small, large = max(0, total) // 2, max(0, total) - max(0, total) // 2
            before[d], behind[d] = (small, large) if kind == "SAME_UPPER" else (large, small)
    return Windows(kernel, tuple(strides), tuple(dilations), tuple(before), tuple(behind), tuple(added))


def image_view(value: ModelValue) -> View:
    """An image, or a filter, with at least two spatial dimensions: those that are added come first of them."""
    sizes = value.sizes
    return view(value, (*sizes[:FIRST], *padded(sizes[FIRST:], LEAST_RANK - FIRST)))


def along_channels(value: ModelValue, rank: int) -> View:
    """A value for each channel, or one for all."""
    count = prod(value.sizes)
    return view(value, (1, count, *(1,) * (rank - FIRST)))


def _optional_channels(value: ModelValue | None, rank: int) -> View | None:
    return None if value is None else along_channels(value, rank)


def _kernel(node: ModelNode, image: ModelValue, filters: ModelValue) -> Sizes:
    if len(filters.sizes) != len(image.sizes) or len(image.sizes) <= FIRST:
        raise NotMapped(f"an image of sizes {list(image.sizes)} and a filter of {list(filters.sizes)}")
    return filters.sizes[FIRST:]


@maps("Conv", "CONVOLUTION")
def convolution(node: ModelNode) -> Mapped:
    yield _convolution(node, "FORWARD", windows)


@maps("ConvTranspose", "CONVOLUTION")
def transposed_convolution(node: ModelNode) -> Mapped:
    yield _convolution(node, "BACKWARD", backward_windows)


def _convolution(node: ModelNode, direction: str, sliding: Any) -> Any:
    image, filters, output = node.input(0), node.input(1), node.result
    kernel = _kernel(node, image, filters)
    slides = sliding(node, kernel, image.sizes[FIRST:], output.sizes[FIRST:]).at_least(LEAST_RANK - FIRST)
    shown = image_view(image)
    return operation(
        "CONVOLUTION",
        input_tensor=shown,
        filter_tensor=image_view(filters),
        bias_tensor=_optional_channels(node.optional(2), len(shown.tensor.sizes)),
        output_tensor=image_view(output),
        mode="CROSS_CORRELATION",
        direction=direction,
        **slides.fields(*CONVOLVED, "output_padding"),
        group_count=node.attribute("group", 1),
    )


@maps("ConvInteger", "CONVOLUTION_INTEGER")
def convolution_of_integers(node: ModelNode) -> Mapped:
    image, filters = node.input(0), node.input(1)
    slides = windows(node, _kernel(node, image, filters), image.sizes[FIRST:], node.result.sizes[FIRST:])
    shown = image_view(image)
    yield operation(
        "CONVOLUTION_INTEGER",
        input_tensor=shown,
        input_zero_point_tensor=_optional_channels(node.optional(2), LEAST_RANK),
        filter_tensor=image_view(filters),
        filter_zero_point_tensor=_optional_channels(node.optional(3), LEAST_RANK),
        output_tensor=image_view(node.result),
        **slides.at_least(LEAST_RANK - FIRST).fields(*CONVOLVED),
        group_count=node.attribute("group", 1),
    )


@maps("QLinearConv", "QUANTIZED_LINEAR_CONVOLUTION")
def quantized_convolution(node: ModelNode) -> Mapped:
    image, filters = node.input(0), node.input(3)
    slides = windows(node, _kernel(node, image, filters), image.sizes[FIRST:], node.result.sizes[FIRST:])
    shown = image_view(image)
    scales = {
        name: _optional_channels(node.optional(n), LEAST_RANK)
        for name, n in (
            ("input_scale_tensor", 1),
            ("input_zero_point_tensor", 2),
            ("filter_scale_tensor", 4),
            ("filter_zero_point_tensor", 5),
            ("output_scale_tensor", 6),
            ("output_zero_point_tensor", 7),
        )
    }
    yield operation(
        "QUANTIZED_LINEAR_CONVOLUTION",
        input_tensor=shown,
        filter_tensor=image_view(filters),
        bias_tensor=_optional_channels(node.optional(8), len(shown.tensor.sizes)),
        output_tensor=image_view(node.result),
        **scales,
        **slides.at_least(LEAST_RANK - FIRST).fields(*CONVOLVED),
        group_count=node.attribute("group", 1),
    )


# --- poolings -----------------------------------------------------------------------------------------------------


def _pooled(node: ModelNode) -> Windows:
    """What slides over the input, with entries for the dimensions that lead it."""
    sizes, output = node.input(0).sizes, node.result.sizes
    if node.op_type.startswith("Global"):
        count = len(sizes) - FIRST
        slides = Windows(sizes[FIRST:], (1,) * count, (1,) * count, (0,) * count, (0,) * count, (0,) * count)
    else:
        slides = windows(node, tuple(node.attribute("kernel_shape")), sizes[FIRST:], output[FIRST:])
    return slides.at_least(max(len(sizes), LEAST_RANK) - FIRST)


def _is_dilated(slides: Windows) -> bool:
    return any(dilation != 1 for dilation in slides.dilations)


def _pooling(node: ModelNode, name: str, slides: Windows, **more: Any) -> Any:
    """A pooling in the version that has dilations where these are needed."""
    if _is_dilated(slides):
        more |= slides.fields("dilations")
    return operation(
        f"{name}1" if _is_dilated(slides) else name,
        input_tensor=view(node.input(0)),
        output_tensor=view(node.result),
        **slides.fields(*POOLED),
        **more,
    )


@maps("AveragePool GlobalAveragePool", "AVERAGE_POOLING AVERAGE_POOLING1")
def average_pooling(node: ModelNode) -> Mapped:
    slides = _pooled(node)
    counts_padding = bool(node.attribute("count_include_pad", 0))
    if counts_padding and node.attribute("ceil_mode", 0) and _extended(node, slides):
        raise NotMapped("ceil_mode adds padding that does not count, and count_include_pad asks for other that does")
    yield _pooling(node, "AVERAGE_POOLING", slides, include_padding=counts_padding)


def _extended(node: ModelNode, slides: Windows) -> bool:
    """Whether there is more padding than the node has."""
    pads = node.attribute("pads") or ()
    return node.attribute("auto_pad", "NOTSET") == "NOTSET" and sum(slides.before + slides.behind) > sum(pads)


@maps("LpPool GlobalLpPool", "LP_POOLING LP_POOLING1")
def norm_pooling(node: ModelNode) -> Mapped:
    yield _pooling(node, "LP_POOLING", _pooled(node), p=node.attribute("p", 2))


@maps("MaxPool GlobalMaxPool", "MAX_POOLING MAX_POOLING2")
def max_pooling(node: ModelNode) -> Mapped:
    """With indices, or gaps in its windows, in a later version."""
    slides, indices = _pooled(node), node.output(1)
    if node.attribute("storage_order", 0) and indices is not None:
        raise NotMapped("storage_order is column-major, and DirectML counts along rows")
    tensors = {"input_tensor": view(node.input(0)), "output_tensor": view(node.result)}
    if indices is None and not _is_dilated(slides):
        yield operation("MAX_POOLING", **tensors, **slides.fields(*POOLED))
        return
    yield operation(
        "MAX_POOLING2",
        **tensors,
        output_indices_tensor=None if indices is None else retyped(view(indices), DataType.UINT64),
        **slides.fields(*POOLED, "dilations"),
    )


@maps("MaxUnpool", "MAX_UNPOOLING")
def max_unpooling(node: ModelNode) -> Mapped:
    """Indices are those of MaxPool, of whole tensors as of single images where there is one."""
    given = node.input(0).sizes
    if prod(given[:FIRST]) != 1:
        raise NotMapped("its indices count elements of the whole tensor, those of DirectML's in one channel")
    kernel, count = node.attribute("kernel_shape"), len(given) - FIRST
    strides, pads = node.attribute("strides") or (1,) * count, node.attribute("pads") or (0,) * 2 * count
    counted = tuple(
        (size - 1) * strides[d] + kernel[d] - pads[d] - pads[d + count] for d, size in enumerate(given[FIRST:])
    )
    if node.result.sizes[FIRST:] != counted:
        raise NotMapped(f"its indices count elements of {list(counted)}, and its output has other sizes")
    indices = retyped(view(node.input(1)), DataType.UINT64)
    yield operation(
        "MAX_UNPOOLING", input_tensor=view(node.input(0)), indices_tensor=indices, output_tensor=view(node.result)
    )


@maps("MaxRoiPool", "ROI_POOLING")
def region_pooling(node: ModelNode) -> Mapped:
    height, width = node.attribute("pooled_shape")
    yield operation(
        "ROI_POOLING",
        input_tensor=view(node.input(0)),
        roi_tensor=view(node.input(1)),
        output_tensor=view(node.result),
        spatial_scale=node.attribute("spatial_scale"),
        pooled_size=Size2d(width, height),
    )


@maps("RoiAlign", "ROI_ALIGN1 ROI_ALIGN")
def region_alignment(node: ModelNode) -> Mapped:
    """Before opset 16 corners lie where pixels begin; a sampling ratio of 0 is as many samples as there are pixels."""
    ratio = node.attribute("sampling_ratio", 0)
    mode = node.attribute("coordinate_transformation_mode") or "output_half_pixel"
    function = "MAX" if node.attribute("mode", "avg") == "max" else "AVERAGE"
    indices = retyped(view(node.input(2), padded(node.input(2).sizes)), DataType.UINT64)
    fields = {
        "input_tensor": view(node.input(0)),
        "roi_tensor": view(node.input(1)),
        "batch_indices_tensor": indices,
        "output_tensor": view(node.result),
        "reduction_function": function,
        "interpolation_mode": "LINEAR",
        "spatial_scale_x": node.attribute("spatial_scale", 1.0),
        "spatial_scale_y": node.attribute("spatial_scale", 1.0),
        "out_of_bounds_input_value": 0.0,
        "minimum_samples_per_output": ratio or 1,
        "maximum_samples_per_output": ratio or 2**32 - 1,
    }
    if node.has("ROI_ALIGN1"):
        offset = 0.5 if mode == "half_pixel" else 0.0
        pixels = {"input_pixel_offset": offset, "output_pixel_offset": -0.5, "align_regions_to_corners": False}
        yield operation("ROI_ALIGN1", **fields, **pixels)
    elif mode == "half_pixel":
        yield operation("ROI_ALIGN", **fields)
    else:
        raise NotMapped(f"{mode} is what ROI_ALIGN1 has, which comes with level 4_0")


@maps("Col2Im", "FOLD")
def columns_to_image(node: ModelNode) -> Mapped:
    """The blocks of a column are the windows of the image."""
    image, block = integers(node.input(1)), integers(node.input(2))
    if len(image) != 2:
        raise NotMapped(f"an image of {len(image)} dimensions, and FOLD has two")
    pads = node.attribute("pads") or (0,) * 4
    yield operation(
        "FOLD",
        input_tensor=view(node.input(0), node.input(0).sizes),
        output_tensor=view(node.result),
        window_sizes=tuple(block),
        strides=node.attribute("strides") or (1, 1),
        dilations=node.attribute("dilations") or (1, 1),
        start_padding=pads[:2],
        end_padding=pads[2:],
    )


def _pooled_sizes(node: ModelNode) -> list[Sizes]:
    sizes = node.input(0).sizes
    if node.attribute("channels_last", 0):
        raise NotMapped("channels_last is not what DirectML has")
    if node.op_type.startswith("QLinearGlobal"):
        return [(*sizes[:FIRST], *(1,) * (len(sizes) - FIRST))]
    kernel, strides = node.attribute("kernel_shape"), node.attribute("strides") or (1,) * (len(sizes) - FIRST)
    pads = node.attribute("pads") or (0,) * 2 * len(kernel)
    if node.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.attribute("ceil_mode", 0):
        raise NotMapped("the sizes of its output follow from auto_pad or ceil_mode, which are not worked out")
    room = [size + pads[d] + pads[d + len(kernel)] - kernel[d] for d, size in enumerate(sizes[FIRST:])]
    return [(*sizes[:FIRST], *(left // stride + 1 for left, stride in zip(room, strides, strict=True)))]


@maps("QLinearAveragePool QLinearGlobalAveragePool", "QUANTIZED_LINEAR_AVERAGE_POOLING", MICROSOFT, _pooled_sizes)
def quantized_average_pooling(node: ModelNode) -> Mapped:
    image = node.input(0)
    if node.op_type == "QLinearAveragePool":
        slides = windows(node, tuple(node.attribute("kernel_shape")), image.sizes[FIRST:], node.result.sizes[FIRST:])
    else:
        count = len(image.sizes) - FIRST
        slides = Windows(image.sizes[FIRST:], (1,) * count, (1,) * count, (0,) * count, (0,) * count, (0,) * count)
    yield operation(
        "QUANTIZED_LINEAR_AVERAGE_POOLING",
        input_tensor=view(image),
        input_scale_tensor=view(node.input(1)),
        input_zero_point_tensor=optional_view(node.optional(2)),
        output_scale_tensor=view(node.input(3)),
        output_zero_point_tensor=optional_view(node.optional(4)),
        output_tensor=view(node.result),
        **slides.at_least(max(len(image.sizes), LEAST_RANK) - FIRST).fields(*POOLED, "dilations"),
        include_padding=bool(node.attribute("count_include_pad", 0)),
    )
