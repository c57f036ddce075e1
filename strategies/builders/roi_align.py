"""Descriptors of ROI_ALIGN, ROI_ALIGN1 and their gradient."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators.roi_align import COLUMNS, FUNCTIONS
from dml_conformance.spec.structures import RoiAlign, RoiAlignGrad
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import Builder, four, of_rank, plainest
from dml_conformance.strategies.builders.roi_pooling import SCALES, WITHIN
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit, resize_at
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]
MODES = tuple(map(int, enumeration("DML_INTERPOLATION_MODE")))
OFFSETS = ((0.5, -0.5), (0.0, 0.0), (0.5, 0.0), (0.0, -0.5), (-0.25, 0.75))
OUT_OF_BOUNDS = (0.0, 1.5, -3.0)
SAMPLES = ((1, 1), (2, 2), (3, 3), (2, 2), (1, 2), (2, 4))
ANY_SAMPLES = (1, UINT32_MAX)  # as many as there are elements, which is how ONNX's default is asked for
MISSING = ("output_gradient_tensor", "output_roi_gradient_tensor", "input_tensor")
# Images, regions, outputs and samples of layers, of fewer channels: Mask R-CNN's boxes and masks, a keypoint head's.
LAYERS = (((2, 8, 25, 34), 6, (7, 7), 2), ((1, 4, 13, 17), 3, (14, 14), 2), ((2, 2, 9, 9), 4, (14, 14), 1))


class RoiAlignBuilder(Builder[RoiAlign | RoiAlignGrad]):
    """ROI_ALIGN, its successor, or the gradient, which has the same sizes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._names = [field.attribute for field in self._spec.desc.fields]

    def build(self, ctx: Context) -> RoiAlign | RoiAlignGrad:
        chooser = ctx.chooser
        batch, channels, regions = chooser.integer(1, 2), chooser.integer(ctx.least, 3), chooser.integer(1, 4)
        image, output = chooser.several(ctx.least, 9, 2), chooser.several(1, 4, 2)
        return self._build(ctx, (batch, channels, *image), regions, tuple(output))

    def of_sizes(self, ctx: Context, sizes: Sizes) -> RoiAlign | RoiAlignGrad:
        """A region of it as 2 by 2 elements."""
        if len(sizes) != 4:
            raise Impossible
        return self._plain(ctx, sizes, 1, (2, 2), WITHIN)

    def large(self, ctx: Context, size: int) -> RoiAlign | RoiAlignGrad:
        """Regions of 64 channels as 7 by 7 elements; where the images are the output, some regions of large ones."""
        width = ctx.data_types[0].size
        regions, image = size // (64 * 49 * width), 16
        if "output_gradient_tensor" in self._names:
            regions, image = regions // 32, isqrt(size // (2 * 64 * width))
        return self._plain(ctx, (2, 64, image, image), max(regions, 1), (7, 7))

    def vast(self, ctx: Context, sizes: Sizes) -> RoiAlign | RoiAlignGrad:
        channels, *output = sizes
        return self._plain(ctx, (2, channels, 3, 3), 1, tuple(output), WITHIN)

    def edges(self, ctx: Context) -> Iterator[RoiAlign | RoiAlignGrad]:
        """Every number of samples and every scale with both functions and modes; small images; what layers have."""
        image = (2, 2, 6, 7)
        for function in FUNCTIONS:
            for mode in MODES:
                for samples in (*SAMPLES, ANY_SAMPLES):
                    desc = self._build(ctx, image, 4, (2, 4), samples, 1.0, corners=False)
                    yield edit(desc, reduction_function=function, interpolation_mode=mode)
        for n, scale in enumerate(SCALES):
            for offsets in OFFSETS if "input_pixel_offset" in self._names else OFFSETS[:1]:
                yield self._build(ctx, image, 3, (3, 2), SAMPLES[n % 2], scale, offsets, corners=False)
        for image, output in (
            ((1, 1, 1, 1), (2, 2)),
            ((1, 2, 1, 9), (1, 4)),
            ((1, 2, 9, 1), (4, 1)),
            ((1, 1, 4, 4), (9, 1)),
        ):
            yield self._build(ctx, image, 4, output, (2, 2), 1.0, corners=False)
        for image, regions, output, count in LAYERS:
            yield self._build(ctx, image, regions, output, (count, count), 0.25, corners=False)
        if "align_regions_to_corners" in self._names:
            yield self._build(ctx, image, 3, (3, 3), (2, 2), 1.0, corners=True)

    def break_input_given(self, ctx: Context) -> RoiAlign | RoiAlignGrad:
        """No input beside the regions' gradient, or beside MAX."""
        desc = edit(self.build(ctx.but(complete=True)), input_tensor=None)
        if ctx.chooser.variant(("regions", "maximum")) == "regions":
            return edit(desc, output_gradient_tensor=None, reduction_function=FUNCTIONS[0])
        return edit(desc, output_roi_gradient_tensor=None, reduction_function=FUNCTIONS[1])

    def break_channels(self, ctx: Context) -> RoiAlign | RoiAlignGrad:
        """One more in the gradient."""
        desc = self.build(ctx.but(complete=True, layout="packed"))
        return resize_at(desc, "input_gradient_tensor", 1, described(desc, "input_gradient_tensor").sizes[1] + 1)

    def _plain(
        self, ctx: Context, source: Sizes, regions: int, output: Sizes, scale: float = 1.0
    ) -> RoiAlign | RoiAlignGrad:
        plain = plainest(ctx).but(complete=True)
        desc = self._build(plain, source, regions, output, (1, 1), scale, OFFSETS[0], corners=False)
        return edit(desc, reduction_function=FUNCTIONS[0], interpolation_mode=MODES[0])

    def _build(
        self,
        ctx: Context,
        source: Sizes,
        regions: int,
        output: Sizes,
        samples: tuple[int, int] | None = None,
        scale: float | None = None,
        offsets: tuple[float, float] | None = None,
        *,
        corners: bool | None = None,
    ) -> RoiAlign | RoiAlignGrad:
        """Of images of these sizes; what is None is chosen, and what the operator does not have left out."""
        chooser = ctx.chooser
        chooser.section()
        data_type = chooser.choice(ctx.data_types)
        ranks = [
            chooser.choice(sorted(ctx.table[name].dimension_counts)) for name in ("ROITensor", "BatchIndicesTensor")
        ]
        least, most = samples or chooser.choice(SAMPLES)
        of_input, of_output = offsets or chooser.choice(OFFSETS)
        rows = four(regions, COLUMNS)[-ranks[0] :]
        function = chooser.choice(FUNCTIONS)
        # Of the gradient's outputs one may be left out, and where nothing needs it the input.
        spare = MISSING[1:2] if function == FUNCTIONS[1] else MISSING[1:]
        missing = () if ctx.complete else chooser.choice((MISSING[1:2], spare, (), MISSING[:1]))
        values = {
            "input_tensor": tensor(ctx, data_type, of_rank(ctx, source)),
            "roi_tensor": tensor(ctx, data_type, rows),
            "input_gradient_tensor": tensor(ctx, data_type, of_rank(ctx, (regions, source[1], *output))),
            "output_gradient_tensor": tensor(ctx, data_type, of_rank(ctx, source), output=True),
            "output_roi_gradient_tensor": tensor(ctx, data_type, rows, output=True),
            "batch_indices_tensor": tensor(
                ctx, chooser.choice(ctx.types["BatchIndicesTensor"]), four(regions)[-ranks[1] :]
            ),
            "output_tensor": tensor(ctx, data_type, of_rank(ctx, (regions, source[1], *output)), output=True),
            "reduction_function": function,
            "interpolation_mode": chooser.choice(MODES),
            "spatial_scale_x": chooser.choice(SCALES[:4]) if scale is None else scale,
            "spatial_scale_y": chooser.choice(SCALES[:4]) if scale is None else scale,
            "input_pixel_offset": of_input,
            "output_pixel_offset": of_output,
            "out_of_bounds_input_value": chooser.choice(OUT_OF_BOUNDS),
            "minimum_samples_per_output": least,
            "maximum_samples_per_output": most,
            "align_regions_to_corners": chooser.choice((False, False, False, True)) if corners is None else corners,
        }
        if "input_gradient_tensor" in self._names:
            values |= dict.fromkeys(missing)
        return self._desc(*(values[name] for name in self._names))


BUILDERS = {name: RoiAlignBuilder(name) for name in ("ROI_ALIGN", "ROI_ALIGN1", "ROI_ALIGN_GRAD")}
