"""What the operators share that read through an index tensor along an axis."""

from __future__ import annotations

from dml_conformance.spec.structures import DML_SCATTER_OPERATOR_DESC, Gather, GatherElements


def axis_limit(desc: Gather | GatherElements | DML_SCATTER_OPERATOR_DESC) -> tuple[int, ...]:
    """The size of the input along Axis, which the indices run over."""
    return (desc.input_tensor.sizes[desc.axis],)
