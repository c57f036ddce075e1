"""JOIN and SPLIT: tensors side by side along Axis."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.structures import DML_JOIN_OPERATOR_DESC, DML_SPLIT_OPERATOR_DESC


def join(desc: DML_JOIN_OPERATOR_DESC, arrays: Arrays) -> Arrays:
    """The inputs one after the other along Axis."""
    return {"output_tensor": np.concatenate([arrays[key] for key in _inputs(desc)], desc.axis)}


def split(desc: DML_SPLIT_OPERATOR_DESC, arrays: Arrays) -> Arrays:
    """The blocks along Axis that the outputs are large enough for, in their order."""
    ends = list(accumulate(tensor.sizes[desc.axis] for tensor in desc.output_tensors))
    blocks = np.split(arrays["input_tensor"], ends[:-1], desc.axis)
    return {f"output_tensors[{n}]": block for n, block in enumerate(blocks)}


def cut_join(desc: DML_JOIN_OPERATOR_DESC, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Of each input what lies in the span along Axis, which may be nothing."""
    start, found = 0, {}
    for key in _inputs(desc):
        size = arrays[key].shape[desc.axis]
        along = spans[desc.axis]
        own = slice(max(along.start - start, 0), min(max(along.stop - start, 0), size))
        found[key] = arrays[key][tuple(own if axis == desc.axis else span for axis, span in enumerate(spans))]
        start += size
    return desc, found


def _inputs(desc: DML_JOIN_OPERATOR_DESC) -> list[str]:
    return [f"input_tensors[{n}]" for n in range(len(desc.input_tensors))]


OPERATORS: dict[str, Compute] = {"JOIN": join, "SPLIT": split}
CUTS: dict[str, Cut] = {"JOIN": cut_join}
