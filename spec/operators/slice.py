"""DML_OPERATOR_SLICE, SLICE1 and SLICE_GRAD: a block of a tensor, read with a step along each dimension.

SLICE1 states a window of the input, and walks it backwards where a stride is negative; how much it copies is up to the
output. SLICE_GRAD goes the other way: from the elements that SLICE1 copied to a tensor with zeros around them.
"""

from __future__ import annotations

from dml_conformance.spec import structures
from dml_conformance.spec.constraints import Rules, above_0, checked, entries
from dml_conformance.spec.field_kinds import INT32_MAX
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, is_whole, operator_spec, output_sizes
from dml_conformance.spec.operators._arrays import array_lengths, uneven_array
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.tensor import TensorDesc, braces


def sliced(desc: structures.Slice | structures.SliceGrad) -> TensorDesc:
    """The tensor that a window lies in: of SLICE1 the input, of SLICE_GRAD the output."""
    return desc.output_gradient_tensor if desc.operator == "SLICE_GRAD" else desc.input_tensor


def copied(desc: structures.Slice | structures.SliceGrad) -> TensorDesc:
    """The tensor that has the elements of the window: of SLICE1 the output, of SLICE_GRAD the input."""
    return desc.input_gradient_tensor if desc.operator == "SLICE_GRAD" else desc.output_tensor


def most_copied(desc: structures.DML_SLICE1_OPERATOR_DESC | structures.SliceGrad) -> tuple[int, ...]:
    """How many elements a window of SLICE1 and SLICE_GRAD has along each dimension; 0 where it is empty, and 1 where
    its stride is 0."""
    windows = zip(desc.input_window_sizes, desc.input_window_strides, strict=False)
    return tuple([min(size, 1 + (size - 1) // abs(stride)) if stride else min(size, 1) for size, stride in windows])


def _misfit(desc: structures.Slice | structures.SliceGrad) -> Misfit | None:
    """Why a window and the two tensors do not go together: their dimensions differ in number."""
    if len(copied(desc).sizes) != len(sliced(desc).sizes):
        return Misfit("DimensionCount", f"{len(sliced(desc).sizes)} and {len(copied(desc).sizes)}")
    return uneven_array(desc)


def _shape_of_slice(desc: structures.DML_SLICE_OPERATOR_DESC) -> Shapes | Misfit:
    return uneven_array(desc) or {"output_tensor": desc.sizes}


def _shape_of_slice1(desc: structures.DML_SLICE1_OPERATOR_DESC) -> Shapes | Misfit:
    """The sizes that the output has, as far as the window goes."""
    misfit = _misfit(desc)
    if misfit:
        return misfit
    pairs = zip(desc.output_tensor.sizes, most_copied(desc), strict=True)
    return {"output_tensor": tuple([min(max(size, 1), most) for size, most in pairs])}


def _shape_of_slice_grad(desc: structures.SliceGrad) -> Shapes | Misfit:
    """The sizes that the output has, and more where the window goes further."""
    misfit = _misfit(desc)
    if misfit:
        return misfit
    windows = zip(desc.output_gradient_tensor.sizes, desc.input_window_offsets, desc.input_window_sizes, strict=True)
    return {"output_gradient_tensor": tuple([max(size, offset + window) for size, offset, window in windows])}


def _bounds(desc: structures.DML_SLICE_OPERATOR_DESC, level: Level) -> list[Breach]:
    walks = zip(desc.offsets, desc.strides, desc.sizes, desc.input_tensor.sizes, strict=True)
    last = [(offset + stride * (count - 1), size) for offset, stride, count, size in walks]
    return [
        Breach(f"Offsets[{d}]", f"reads element {element}, InputTensor has {size}")
        for d, (element, size) in enumerate(last)
        if element >= size
    ]


def _copied_sizes(desc: structures.DML_SLICE1_OPERATOR_DESC | structures.SliceGrad, level: Level) -> Breach | None:
    sizes, most = copied(desc).sizes, most_copied(desc)
    if all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
        return None
    part = "InputGradientTensor" if desc.operator == "SLICE_GRAD" else "OutputTensor"
    return Breach(f"{part}.Sizes", f"{braces(sizes)}, the window has {braces(most)} elements")


def _window_range(desc: structures.DML_SLICE1_OPERATOR_DESC | structures.SliceGrad, level: Level) -> list[Breach]:
    windows = zip(desc.input_window_offsets, desc.input_window_sizes, sliced(desc).sizes, strict=True)
    whole = "OutputGradientTensor" if desc.operator == "SLICE_GRAD" else "InputTensor"
    return [
        Breach(f"InputWindowOffsets[{d}]", f"the window ends at {offset + window}, {whole} has {size}")
        for d, (offset, window, size) in enumerate(windows)
        if offset + window > size
    ]


def _window_rules(operator: str) -> Rules:
    """The rules of SLICE1 and SLICE_GRAD on the window in the larger tensor."""
    return (
        array_lengths(operator),
        above_0("InputWindowSizes", name="window-sizes", after=("array-lengths",)),
        entries("InputWindowStrides", bool, (0,), name="strides", after=("array-lengths",)),
        checked("window-range", _window_range, after=("array-lengths", "window-sizes")),
    )


def _reach(count: int, stride: int) -> int:
    """From the first of so many elements to the last one, as the library counts it."""
    return (count - 1) * abs(stride) % 2**32


def _strides_beyond_int(desc: structures.DML_SLICE_OPERATOR_DESC) -> bool:
    return any(stride > INT32_MAX for stride in desc.strides)


def _slice_within_32_bits(desc: structures.Slice) -> bool:
    """Where the distance of the last element is cut to 32 bits, all that is copied lies in the input or the window."""
    if not is_whole(desc) or _misfit(desc):
        return False
    if desc.operator == "SLICE1":
        walks = zip(desc.output_tensor.sizes, desc.input_window_strides, desc.input_window_sizes, strict=True)
        return all(_reach(count, stride) < window for count, stride, window in walks)
    starts = zip(desc.offsets, desc.strides, desc.sizes, desc.input_tensor.sizes, strict=True)
    is_within = all(offset + _reach(count, stride) < size for offset, stride, count, size in starts)
    return is_within and not _strides_beyond_int(desc)


def _gradient_fits(desc: structures.SliceGrad) -> bool:
    """From the offset on all elements fit the output, whatever the window's size; distances are cut to 32 bits."""
    sizes = zip(
        desc.input_gradient_tensor.sizes,
        desc.input_window_strides,
        desc.input_window_offsets,
        desc.output_gradient_tensor.sizes,
        strict=True,
    )
    return all(offset + _reach(count, stride) < size for count, stride, offset, size in sizes)


def _empty_window(desc: structures.SliceGrad) -> bool:
    return is_whole(desc) and not _misfit(desc) and 0 in desc.input_window_sizes and _gradient_fits(desc)


DIVERGENCES = {
    "DIV-slice-strides-beyond-int": _strides_beyond_int,
    "DIV-slice-reach-in-32-bits": _slice_within_32_bits,
    "DIV-slice-grad-empty-window": _empty_window,
}
CONDITIONS = {"SLICE_GRAD.input-sizes": _gradient_fits}
WINDOW = ("array-lengths", "window-sizes", "strides")
SPECS = (
    operator_spec(
        "SLICE",
        shape=_shape_of_slice,
        own_rules=(
            array_lengths("SLICE"),
            output_sizes("array-lengths"),
            above_0("Strides", name="strides", after=("array-lengths",)),
            checked("bounds", _bounds, after=("array-lengths", "output-sizes")),
        ),
    ),
    operator_spec(
        "SLICE1",
        shape=_shape_of_slice1,
        own_rules=(*_window_rules("SLICE1"), checked("output-sizes", _copied_sizes, after=WINDOW)),
    ),
    operator_spec(
        "SLICE_GRAD",
        shape=_shape_of_slice_grad,
        own_rules=(
            *_window_rules("SLICE_GRAD"),
            checked("input-sizes", _copied_sizes, after=(*WINDOW, "window-range")),
        ),
    ),
)
