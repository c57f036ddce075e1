"""REVERSE_SUBSEQUENCES: the beginning of each sequence turned round."""

from __future__ import annotations

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import take_elements
from dml_conformance.backends.reference.parts import Cut, Spans, cut_elementwise
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.structures import ReverseSubsequences

FIRST = "first"  # the element along Axis that a part of the output begins with


def reverse_subsequences(desc: ReverseSubsequences, arrays: Arrays) -> dict[str, Bits]:
    """output[..., i, ...] = input[..., n - 1 - i if i < n else i, ...]; n is the length, at most the size of Axis."""
    source = arrays["input_tensor"]
    size = source.shape[desc.axis]
    lengths = as_numbers(arrays["sequence_lengths_tensor"], desc.sequence_lengths_tensor.data_type)
    n = np.minimum(lengths, lengths.dtype.type(size)).astype(np.intp)
    i = np.arange(desc.output_tensor.sizes[desc.axis]) + int(arrays.get(FIRST, np.zeros(1))[0])
    i = i.reshape([-1 if d == desc.axis else 1 for d in range(source.ndim)])
    return {"output_tensor": take_elements(source, desc.axis, np.where(i < n, n - 1 - i, i))}


def cut(desc: ReverseSubsequences, spans: Spans, arrays: Arrays) -> tuple[ReverseSubsequences, Arrays]:
    """All along Axis, and where the box begins there."""
    whole = [slice(None) if d == desc.axis else span for d, span in enumerate(spans)]
    _, found = cut_elementwise(desc, whole, arrays)
    return desc, {**found, FIRST: np.array([spans[desc.axis].start], np.uint64)}


OPERATORS: dict[str, Compute] = {"REVERSE_SUBSEQUENCES": reverse_subsequences}
CUTS: dict[str, Cut] = {"REVERSE_SUBSEQUENCES": cut}
