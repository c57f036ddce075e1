"""DML_OPERATOR_ROI_POOLING: the greatest elements of regions of images, each divided into as many windows."""

from __future__ import annotations

from dml_conformance.spec.constraints import finite, leading_ones, size_within
from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes
from dml_conformance.spec.structures import RoiPooling

COLUMNS = 5  # BatchID, x1, y1, x2, y2


def shape(desc: RoiPooling) -> Shapes:
    """An image of PooledSize for each region, of as many channels as the input."""
    size = desc.pooled_size
    regions, channels = desc.roi_tensor.sizes[-2:-1] or (0,), desc.input_tensor.sizes[1:2] or (0,)
    return {"output_tensor": (*regions, *channels, size.height, size.width)}


SPECS = (
    operator_spec(
        "ROI_POOLING",
        shape=shape,
        own_rules=(
            leading_ones("ROITensor", 2, name="leading-roi-sizes"),
            size_within("ROITensor", -1, COLUMNS, COLUMNS, name="roi-columns"),
            finite("SpatialScale", 0.0),
            output_sizes("dimension-counts", "leading-roi-sizes", "roi-columns"),
        ),
    ),
)
