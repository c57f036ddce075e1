"""Windows that slide over an image: what FOLD, pooling and convolutions have along each spatial dimension.

An image has the dimensions batch, channels and the spatial ones. The record of one dimension is the same for all of
them; which elements windows see is for each backend to work out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dml_conformance.spec.constraints import Constraint, Rules, above_0, count, shapes_comparable, spatial
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes
from dml_conformance.spec.field_kinds import UINTS
from dml_conformance.spec.operator import Misfit, no_misfit
from dml_conformance.spec.rules import Category
from dml_conformance.spec.structures import AveragePooling, AveragePoolingGrad, Convolution, Fold, Pooling, PoolingGrad

FIRST = 2  # of the spatial dimensions
# What has windows of a WindowSize, and whatever has strides and padding.
Pooled = AveragePooling | AveragePoolingGrad | Pooling | PoolingGrad
Windowed = Pooled | Convolution | Fold


class Window(NamedTuple):
    """What slides along one dimension of an image.

    Attributes:
        size: elements that a window sees.
        stride: from a window to the next.
        dilation: from an element of a window to the next.
        before: elements of padding in front of the image.
        behind: the same at its end.
        added: elements added at the end of what windows that are written to cover.
    """

    size: int
    stride: int
    dilation: int
    before: int
    behind: int
    added: int = 0

    @property
    def reach(self) -> int:
        """Elements from the first to the last one of a window."""
        return self.dilation * (self.size - 1) + 1

    def room(self, length: int) -> int:
        """Elements of a padded image of a length that are left behind its first window; below 0 where none fits."""
        return length + self.before + self.behind - self.reach

    def count(self, length: int) -> int:
        """Windows that a padded image of a length has, at least one of which fits."""
        return self.room(length) // self.stride + 1

    def covered(self, count: int) -> int:
        """Elements that so many windows cover, without the padding, and with what is added."""
        return (count - 1) * self.stride + self.reach - self.before - self.behind + self.added


def arrays(desc: OperatorDesc) -> Mapping[str, Sequence[int]]:
    """The arrays with an entry for each spatial dimension, by DirectML's name."""
    return {field.name: getattr(desc, field.attribute) for field in desc.fields if field.kind is UINTS}


def windows_of(desc: Windowed, sizes: Sequence[int], spatial: int) -> tuple[Window, ...] | Misfit:
    """What slides along each spatial dimension, or the array that has not as many entries.

    There are gaps, and elements are added, where the operator has an array of them.
    """
    for name, entries in arrays(desc).items():
        if len(entries) != spatial:
            return Misfit(name, f"{len(entries)} entries for {spatial} spatial dimensions")
    dilations, added = getattr(desc, "dilations", (1,) * spatial), getattr(desc, "output_padding", (0,) * spatial)
    every = zip(sizes, desc.strides, dilations, desc.start_padding, desc.end_padding, added, strict=True)
    return tuple(Window(*entries) for entries in every)


def counts(
    windows: tuple[Window, ...] | Misfit, image: Sequence[int], name: str, first: int = 0
) -> tuple[int, ...] | Misfit:
    """How many windows an image has along each of its spatial sizes.

    Args:
        windows: what slides, or why nothing does.
        image: the spatial sizes.
        name: of the array that has the windows' sizes.
        first: its entry for the first spatial dimension.
    """
    if isinstance(windows, Misfit):
        return windows
    found = []
    for d, (window, size) in enumerate(zip(windows, image, strict=True)):
        if not window.size or not window.stride:
            return Misfit(f"Strides[{d}]" if window.size else f"{name}[{first + d}]", "0")
        if (room := window.room(size)) < 0:
            padded = size + window.before + window.behind
            return Misfit(f"{name}[{first + d}]", f"the window has {padded - room} elements, the padded image {padded}")
        found.append(window.count(size))
    return tuple(found)


def window_rules(operator: str, image_name: str, counted: Callable[[Any], Any], above: Sequence[str]) -> Rules:
    """The rules on the arrays that windows are made of, and that a window fits.

    Args:
        operator: its name.
        image_name: the tensor with a spatial dimension for every entry.
        counted: how many windows there are, or a Misfit.
        above: the arrays whose entries are above 0.
    """
    names = tuple(field.name for field in descriptor_classes()[operator].fields if field.kind is UINTS)
    fit = (
        "window-fits",
        f"the window with its dilations is no larger than {image_name} with its padding",
        "pad more, or use a smaller window",
    )
    needed = {"section": "Description", "after": ("dimension-counts", "array-counts", "above-0")}
    dilations = above_0(
        "Dilations",
        name="dilations",
        statement="the page does not say what a dilation of 0 means, by which all elements of a window are one",
        remedy="use 1 for windows without gaps",
    )
    check = no_misfit(counted)
    return (
        count(
            names,
            spatial(image_name),
            statement=f"every array has an entry for each spatial dimension of {image_name}, those after batch and "
            "channels",
            remedy="give each spatial dimension its entries",
            section="DimensionCount",
            after=("dimension-counts",),
        ),
        above_0(*above, remedy="use windows of 1 element and strides of 1", section="Description"),
        *((dilations,) if "Dilations" in names else ()),
        Constraint("window_fits", tuple(above[:1]), None, check, fit, shapes_comparable, Category.SHAPE, needed),
    )
