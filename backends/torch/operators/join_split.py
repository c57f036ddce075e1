"""DML_OPERATOR_JOIN and SPLIT."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._indexing import check_off_axis, valid_axis
from dml_conformance.spec.structures import DML_JOIN_OPERATOR_DESC, DML_SPLIT_OPERATOR_DESC


def join(desc: DML_JOIN_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """The inputs one after the other."""
    parts = [tensors[f"input_tensors[{n}]"] for n in range(len(desc.input_tensors))]
    axis, out = valid_axis(desc, parts[0]), tensors.get("output_tensor")
    if parts[0].is_meta:
        for n, part in enumerate(parts):
            check_off_axis(parts[0], part, axis, f"InputTensors[{n}]")
        sizes = list(parts[0].shape)
        sizes[axis] = sum(part.shape[axis] for part in parts)
        return {"output_tensor": parts[0].new_empty(sizes)}
    return {"output_tensor": torch.cat(parts, axis) if out is None else torch.cat(parts, axis, out=out)}


def split(desc: DML_SPLIT_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """The input's blocks, which torch refuses where they are more or fewer elements than it has."""
    source = tensors["input_tensor"]
    axis = valid_axis(desc, source)
    parts = source.split([tensor.sizes[axis] for tensor in desc.output_tensors], axis)  # type: ignore[no-untyped-call]
    return {f"output_tensors[{n}]": part for n, part in enumerate(parts)}


OPERATORS = {
    "JOIN": TorchOperator(join, agree=(("input_tensors", "output_tensor"),), fills=True),
    "SPLIT": TorchOperator(split, agree=(("input_tensor", "output_tensors"),)),
}
