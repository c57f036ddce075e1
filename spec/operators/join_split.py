"""DML_OPERATOR_JOIN and SPLIT: tensors side by side along Axis, put together or taken apart."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, checked
from dml_conformance.spec.field_kinds import INT32_MAX
from dml_conformance.spec.operator import Misfit, Shapes, no_misfit, operator_spec, output_sizes
from dml_conformance.spec.structures import DML_JOIN_OPERATOR_DESC, DML_SPLIT_OPERATOR_DESC, JoinSplit
from dml_conformance.spec.tensor import braces

Sizes = tuple[int, ...]


def _shape_of_join(desc: DML_JOIN_OPERATOR_DESC) -> Shapes | Misfit:
    """The inputs' sizes, along Axis their sum."""
    misfit = _misfit(desc.input_tensors[0].sizes, desc.axis) or _unlike(desc)
    if misfit:
        return misfit
    total = sum(tensor.sizes[desc.axis] for tensor in desc.input_tensors)
    return {"output_tensor": _with(desc.input_tensors[0].sizes, desc.axis, total)}


def _shape_of_split(desc: DML_SPLIT_OPERATOR_DESC) -> Shapes | Misfit:
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


def _unlike(desc: DML_JOIN_OPERATOR_DESC) -> Misfit | None:
    """An input whose sizes are not those of the first, Axis left aside."""
    first = desc.input_tensors[0].sizes
    for n, tensor in enumerate(desc.input_tensors):
        if len(tensor.sizes) != len(first) or _with(tensor.sizes, desc.axis, 1) != _with(first, desc.axis, 1):
            return Misfit(f"InputTensors[{n}].Sizes", f"{braces(tensor.sizes)}, InputTensors[0] has {braces(first)}")
    return None


def _with(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


SPECS = (
    operator_spec(
        "JOIN",
        shape=_shape_of_join,
        own_rules=(
            axis_of("Axis", "OutputTensor"),
            checked("input-sizes", no_misfit(_unlike), after=("axis-range",)),
            output_sizes("axis-range", "input-sizes"),
        ),
    ),
    operator_spec("SPLIT", shape=_shape_of_split, own_rules=(axis_of("Axis"), output_sizes("axis-range", section=""))),
)


def _whole_missing(desc: JoinSplit) -> bool:
    """What is put together or taken apart is null, and its parts are not."""
    if desc.operator == "JOIN":
        return desc.output_tensor is None and bool(desc.input_tensors)
    return desc.input_tensor is None and bool(desc.output_tensors)


def _input_beyond_int(desc: DML_JOIN_OPERATOR_DESC) -> bool:
    return any(tensor is not None and tensor.element_count > INT32_MAX for tensor in desc.input_tensors)


DIVERGENCES = {
    "DIV-join-split-whole-missing": _whole_missing,
    "DIV-join-input-beyond-int": _input_beyond_int,
}
