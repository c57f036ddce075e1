"""What the tests of families with windows need: descriptors by hand, and what a window sees, one element at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from family_cases import Run
from slow_reference import Coordinates, walk

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.operators._windows import Window
from dml_conformance.spec.tensor import TensorDesc

IMAGE = (1, 1)  # batch and channels


def places(desc: Any, image: Sequence[int], c: Coordinates) -> Iterator[Coordinates | None]:
    """Where each element of the window of `c` stands in an image of these sizes; None in the padding."""
    for w in walk(desc.window_size):
        dilations = getattr(desc, "dilations", (1,) * len(w))
        at = tuple(c[2 + d] * desc.strides[d] + w[d] * dilations[d] - desc.start_padding[d] for d in range(len(w)))
        inside = all(0 <= place < size for place, size in zip(at, image[2:], strict=True))
        yield (*c[:2], *at) if inside else None


def number(run: Run, key: str, at: Coordinates) -> Any:
    """An element of an input: an int, or a float."""
    memory = run.memory(key)
    return np.frombuffer(memory.element(at), np.dtype(memory.tensor.data_type.name.lower()))[0].item()


def described(
    name: str,
    shown: Coordinates,
    windows: Sequence[Window],
    *rest: Any,
    data_type: DataType = DataType.FLOAT32,
    indices: bool = False,
) -> Any:
    """The descriptor of a pooling with packed tensors: an image of these sizes, windows, the members after them."""
    counts = [
        (size + window.before + window.behind - window.dilation * (window.size - 1) - 1) // window.stride + 1
        for size, window in zip(shown[2:], windows, strict=True)
    ]
    image, pooled = (TensorDesc.of(data_type, sizes) for sizes in (shown, (*shown[:2], *counts)))
    by_name = {
        "InputTensor": image,
        "InputGradientTensor": pooled,
        "OutputTensor": pooled,
        "OutputGradientTensor": image,
        "OutputIndicesTensor": TensorDesc.of(DataType.UINT32, pooled.sizes) if indices else None,
    }
    cls = descriptor_classes()[name]
    tensors = [by_name[field.name] for field in cls.fields if field.name in by_name]
    sizes, strides, dilations, before, behind, _ = zip(*windows, strict=True)
    gaps = [dilations] if any(field.name == "Dilations" for field in cls.fields) else []
    make: Any = cls
    return make(*tensors, strides, sizes, before, behind, *gaps, *rest)
