"""DML_OPERATOR_JOIN and SPLIT: tensors side by side along Axis, put together or taken apart."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of
from dml_conformance.spec.field_kinds import INT32_MAX
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, Shapes, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces

JOIN_PAGE, SPLIT_PAGE = "ns-directml-dml_join_operator_desc", "ns-directml-dml_split_operator_desc"
Sizes = tuple[int, ...]


def _shape_of_join(desc: Any) -> Shapes | Misfit:
    """The inputs' sizes, along Axis their sum."""
    misfit = _misfit(desc.input_tensors[0].sizes, desc.axis) or _unlike(desc)
    if misfit:
        return misfit
    total = sum(tensor.sizes[desc.axis] for tensor in desc.input_tensors)
    return {"output_tensor": _with(desc.input_tensors[0].sizes, desc.axis, total)}


def _shape_of_split(desc: Any) -> Shapes | Misfit:
    """The input's sizes; along Axis the outputs keep their own, and the last one has what is left.

    Where nothing is left for it, no outputs of these sizes fit.
    """
    sizes, axis = desc.input_tensor.sizes, desc.axis
    misfit = _misfit(sizes, axis)
    if misfit:
        return misfit
    if any(len(tensor.sizes) != len(sizes) for tensor in desc.output_tensors):
        return Misfit("OutputTensors", f"not all have {len(sizes)} dimensions")
    along = [tensor.sizes[axis] for tensor in desc.output_tensors]
    last = sizes[axis] - sum(along[:-1])
    if last < 1:
        return Misfit("OutputTensors", f"{sum(along)} elements along Axis, InputTensor has {sizes[axis]}")
    return {f"output_tensors[{n}]": _with(sizes, axis, size) for n, size in enumerate((*along[:-1], last))}


def _misfit(sizes: Sizes, axis: int) -> Misfit | None:
    return None if axis < len(sizes) else Misfit("Axis", f"{axis}, the tensors have {len(sizes)} dimensions")


def _unlike(desc: Any) -> Misfit | None:
    """An input whose sizes are not those of the first, Axis left aside."""
    first = desc.input_tensors[0].sizes
    for n, tensor in enumerate(desc.input_tensors):
        if len(tensor.sizes) != len(first) or _with(tensor.sizes, desc.axis, 1) != _with(first, desc.axis, 1):
            return Misfit(f"InputTensors[{n}].Sizes", f"{braces(tensor.sizes)}, InputTensors[0] has {braces(first)}")
    return None


def _with(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _input_sizes(desc: Any, level: Level) -> Breach | None:
    misfit = _unlike(desc)
    return None if misfit is None else Breach(*misfit)


JOIN = operator_spec(
    "JOIN",
    shape=_shape_of_join,
    own_rules=(
        axis_of("Axis", "OutputTensor"),
        Rule(
            "JOIN.input-sizes",
            Category.SHAPE,
            "all inputs have the same sizes, but for that along Axis",
            Source(JOIN_PAGE, "InputTensors"),
            "join along the only dimension whose sizes differ",
            check=_input_sizes,
            needs=shapes_comparable("JOIN") | ids("JOIN", "axis-range"),
        ),
        output_sizes_rule(
            "JOIN",
            Source(JOIN_PAGE, "OutputTensor"),
            shapes_comparable("JOIN") | ids("JOIN", "axis-range", "input-sizes"),
        ),
    ),
    execution_rules=(
        Rule(
            "JOIN.values",
            Category.EXECUTION,
            "along Axis the output has the elements of each input in their order, bit for bit",
            Source(JOIN_PAGE),
        ),
    ),
    summary="puts tensors side by side along Axis",
    pseudocode="output[..., first[n] + a, ...] = inputs[n][..., a, ...]",
)

SPLIT = operator_spec(
    "SPLIT",
    shape=_shape_of_split,
    own_rules=(
        axis_of("Axis"),
        output_sizes_rule("SPLIT", Source(SPLIT_PAGE), shapes_comparable("SPLIT") | ids("SPLIT", "axis-range")),
    ),
    execution_rules=(
        Rule(
            "SPLIT.values",
            Category.EXECUTION,
            "the outputs, side by side along Axis, have the elements of the input, bit for bit",
            Source(SPLIT_PAGE),
        ),
    ),
    summary="takes a tensor apart along Axis",
    pseudocode="outputs[n][..., a, ...] = input[..., first[n] + a, ...]",
)


def _whole_missing(desc: Any) -> bool:
    """What is put together or taken apart is null, and its parts are not."""
    if desc.operator == "JOIN":
        return desc.output_tensor is None and bool(desc.input_tensors)
    return desc.input_tensor is None and bool(desc.output_tensors)


def _input_beyond_int(desc: Any) -> bool:
    return any(tensor is not None and tensor.element_count > INT32_MAX for tensor in desc.input_tensors)


DIVERGENCES = {
    "DIV-join-split-whole-missing": _whole_missing,
    "DIV-join-input-beyond-int": _input_beyond_int,
}
SPECS = (JOIN, SPLIT)
