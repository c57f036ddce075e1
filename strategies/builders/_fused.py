"""Activations for operators that fuse one: what they are tried with, and what cannot be fused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.operators._fused import FUSIBLE, NEWER, SOFTMAX
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.builders.activation import ATTRIBUTES
from dml_conformance.strategies.context import Context

OTHERS = (*sorted(NEWER), "ACTIVATION_PARAMETERIZED_RELU", "ACTIVATION_SOFTMAX", "ELEMENT_WISE_IDENTITY")
# Of an activation with attributes so many values of each are among the edges.
VALUES = 3


def activation(name: str, **members: Any) -> OperatorDesc:
    """One with the usual attributes where no others are given, and without tensors."""
    described = operators()[name].desc
    usual = {attribute: every[0] for attribute, every in _attributes(name).items()}
    return described(**{field.attribute: None for field in described.fields} | usual | members)


def _attributes(name: str) -> Mapping[str, Sequence[float]]:
    return ATTRIBUTES.get(name.removeprefix("ACTIVATION_"), {})


@cache
def _fusible(level: Level) -> tuple[str, ...]:
    return tuple(name for name, spec in operators().items() if name in FUSIBLE and spec.introduced_in <= level)


def chosen_activation(ctx: Context) -> OperatorDesc | None:
    """Any that the level can fuse, with any attributes, or none."""
    name = ctx.chooser.choice((None, *_fusible(ctx.level)))
    if name is None:
        return None
    return activation(name, **{attribute: ctx.chooser.choice(every) for attribute, every in _attributes(name).items()})


def every_activation(level: Level) -> Iterator[OperatorDesc]:
    """Each that a level can fuse, with some values of its attributes."""
    for name in _fusible(level):
        attributes = _attributes(name)
        for n in range(VALUES if attributes else 1):
            yield activation(name, **{attribute: every[n % len(every)] for attribute, every in attributes.items()})


def wrong_activation(ctx: Context, tensor: TensorDesc, along_axes: bool = False) -> OperatorDesc:
    """One that cannot be fused at the level, or has a tensor.

    Args:
        ctx: of the descriptor.
        tensor: that is one of an activation.
        along_axes: whether the operator fuses those along axes of its output, this tensor.
    """
    wrong = [activation(name) for name in OTHERS]
    if along_axes:
        rank = len(tensor.sizes)
        wrong += [activation(f"{SOFTMAX}1", axes=axes) for axes in ((rank,), (0, UINT32_MAX))]
    for tensors in ({"input_tensor": tensor}, {"output_tensor": tensor}):
        wrong += [activation("ACTIVATION_RELU", **tensors), activation("ACTIVATION_LINEAR", **tensors)]
    if ctx.level < Level.L3_0:
        wrong.append(activation("ACTIVATION_CELU"))
    return ctx.chooser.variant(wrong)


def flat_softplus(ctx: Context) -> OperatorDesc:
    """A SOFTPLUS with a steepness below 1."""
    return activation("ACTIVATION_SOFTPLUS", steepness=ctx.chooser.variant((0.5, 0.0, -1.0, float32(0.999))))
