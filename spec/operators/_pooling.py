"""What poolings share: windows that slide over an image, each of which gives an element of the output."""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, value_of
from dml_conformance.spec.operator import Misfit, OperatorSpec, ShapeFunction, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._windows import FIRST, Pooled, counts, window_rules, windows_of
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.structures import AveragePooling, Pooling
from dml_conformance.spec.tensor import TensorDesc

SIZED = ("dimension-counts", "array-counts", "above-0", "window-fits")  # what the number of windows follows from
IMAGES = ("input_tensor", "input_gradient_tensor", "output_tensor", "output_gradient_tensor")


def image(desc: Pooled) -> TensorDesc:
    """The tensor that windows slide over: of the gradient of an average the output."""
    return desc.output_gradient_tensor if desc.operator == "AVERAGE_POOLING_GRAD" else desc.input_tensor


def windows(desc: Pooled) -> tuple[int, ...] | Misfit:
    """How many windows there are along each spatial dimension."""
    spatial = image(desc).sizes[FIRST:]
    return counts(windows_of(desc, desc.window_size, len(spatial)), spatial, "WindowSize")


def shape(desc: AveragePooling | Pooling) -> Shapes | Misfit:
    """Batch and channels of the input, and as many windows as there are; of the indices too."""
    found = windows(desc)
    if isinstance(found, Misfit):
        return found
    sizes = (*image(desc).sizes[:FIRST], *found)
    return {field.attribute: sizes for field in desc.fields if field.is_output}


def pooling(name: str, *own_rules: Rule | Constraint, shape: ShapeFunction = shape) -> OperatorSpec:
    """One such operator, with rules of its own besides those on windows."""
    image_name = "OutputGradientTensor" if name == "AVERAGE_POOLING_GRAD" else "InputTensor"
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            *window_rules(name, image_name, windows, ("WindowSize", "Strides")),
            *own_rules,
            output_sizes(*SIZED),
        ),
    )


def sizes_not_looked_at(desc: Pooled) -> bool:
    """Batch and channels are right, and each array has its entries: all that the library looks at."""
    of, *others = (getattr(desc, name) for name in IMAGES if getattr(desc, name, None) is not None)
    spatial = len(of.sizes) - FIRST
    alike = all(of.sizes[:FIRST] == other.sizes[:FIRST] for other in others)
    indices = getattr(desc, "output_indices_tensor", None)
    is_indexed = indices is None or indices.sizes == value_of(desc, "OutputTensor").sizes
    return bool(alike and is_indexed and len(desc.strides) == spatial)
