"""QUANTIZE and DEQUANTIZE: as the operators do that work element by element, with what each block shares repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.backends.reference.operators import element_wise_quantize as element_wise
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.structures import Quantize

KEYS = {"quantization_tensors[0]": "scale_tensor", "quantization_tensors[1]": "zero_point_tensor"}


def quantize(desc: Quantize, arrays: Arrays) -> Mapping[str, Any]:
    """output[c...] = clamp(round(input[c...] / scale[c / block...]) + zero_point[c / block...], least, largest)"""
    return element_wise.quantize(*each_alone(desc, arrays))


def dequantize(desc: Quantize, arrays: Arrays) -> Mapping[str, Any]:
    """output[c...] = (input[c...] - zero_point[c / block...]) * scale[c / block...]"""
    return element_wise.dequantize(*each_alone(desc, arrays))


def each_alone(desc: Quantize, arrays: Arrays) -> tuple[Any, Arrays]:
    """The descriptor and arrays of the operator that has a scale for each element, as far as it looks at them."""
    scale, zero_point = (*desc.quantization_tensors, None)[:2]
    other: Any = descriptor_classes()[f"ELEMENT_WISE_{desc.operator}_LINEAR"]
    shape = arrays["input_tensor"].shape
    spans = tuple(slice(0, size) for size in shape)
    found = {KEYS.get(key, key): repeated(array, shape, spans) for key, array in arrays.items()}
    return other(desc.input_tensor, scale, zero_point, desc.output_tensor), found


def repeated(array: Bits, sizes: tuple[int, ...], spans: Spans) -> Bits:
    """What the elements of a box have of a tensor with one element for each block of `sizes`."""
    if array.shape == sizes:
        return array[tuple(spans)]
    places = [
        np.arange(span.start, span.stop) // (size // count)
        for span, size, count in zip(spans, sizes, array.shape, strict=True)
    ]
    return array[np.ix_(*places)]


def cut(desc: Quantize, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The box of the input, and of what blocks share what its elements have."""
    return desc, {key: repeated(array, desc.input_tensor.sizes, spans) for key, array in arrays.items()}


OPERATORS: dict[str, Compute] = {"QUANTIZE": quantize, "DEQUANTIZE": dequantize}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut)
