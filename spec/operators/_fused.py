"""What operators share that compute an activation function of their result: the rules on FusedActivation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.constraints import Constraint, Rules, exists, value_of
from dml_conformance.spec.descriptor import OperatorDesc, slots
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import spec_of
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import braces

FUSED_ACTIVATIONS = Source("dml-fused-activations", "Activations that are supported for fusion")
STEEPNESS = Source("ns-directml-dml_activation_softplus_operator_desc", "OutputTensor")
FUSIBLE = frozenset(
    f"ACTIVATION_{name}"
    for name in (
        "CELU",
        "ELU",
        "HARD_SIGMOID",
        "IDENTITY",
        "LEAKY_RELU",
        "LINEAR",
        "PARAMETRIC_SOFTPLUS",
        "RELU",
        "SCALED_ELU",
        "SCALED_TANH",
        "SHRINK",
        "SIGMOID",
        "SOFTPLUS",
        "SOFTSIGN",
        "TANH",
        "THRESHOLDED_RELU",
    )
)
# What came after the list was written, and the library fuses.
NEWER = frozenset({"ACTIVATION_GELU", "ACTIVATION_HARD_SWISH", "ACTIVATION_SWISH"})
# What one operator fuses besides, and along which axes of its output.
SOFTMAX = "ACTIVATION_SOFTMAX"
ALONG_AXES = frozenset({SOFTMAX, "ACTIVATION_SOFTMAX1"})
ALONG_AXES_SINCE = Level.L6_1


def activations(desc: OperatorDesc) -> Iterator[tuple[str, Any]]:
    """The activations of a descriptor, each with the path of its field."""
    if hasattr(desc, "activation_descs"):
        yield from ((f"ActivationDescs[{n}]", activation) for n, activation in enumerate(desc.activation_descs))
    elif (activation := getattr(desc, "fused_activation", None)) is not None:
        yield "FusedActivation", activation


def fusion_rules(field: str = "FusedActivation", *, along_axes: bool = False) -> Rules:
    """The rules on what an operator fuses.

    Args:
        field: that has the activation, or several.
        along_axes: whether it fuses SOFTMAX and SOFTMAX1 too.
    """
    is_optional = field == "FusedActivation"
    what = f"{field} is null, or" if is_optional else f"every one of {field} is"

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        extra = ALONG_AXES if along_axes and level >= ALONG_AXES_SINCE else frozenset()
        return [breach for where, one in activations(desc) for breach in _faults(desc, where, one, level, extra)]

    said = (
        "fused-activation",
        f"{what} an activation without tensors that can be fused and that the level has",
        "fuse one of the activations listed, with InputTensor and OutputTensor null" + ", or none" * is_optional,
    )
    of_steepness = (
        "fused-steepness",
        "below 6_4 the Steepness of a SOFTPLUS that is fused is at least 1",
        "ask for level 6_4, or fuse PARAMETRIC_SOFTPLUS",
    )
    stated = {"source": FUSED_ACTIVATIONS, "also": (field,)}
    below_6_4 = {"source": STEEPNESS, "also": (field,), "until": Level.L6_4, "after": ("fused-activation",)}
    about = Category.ATTRIBUTES
    return (
        Constraint("activation", (field,), along_axes, check, said, exists, about, stated),
        Constraint("steepness", (field,), None, _steepness, of_steepness, exists, about, below_6_4),
    )


def _faults(desc: OperatorDesc, where: str, activation: Any, level: Level, extra: frozenset[str]) -> Iterator[Breach]:
    name = "null" if activation is None else activation.operator
    if name not in FUSIBLE | extra:
        yield Breach(where, f"{name}, which cannot be fused")
    elif level < (since := spec_of(activation).introduced_in):
        yield Breach(where, f"{name}, which came with {since}")
    else:
        yield from (Breach(f"{where}.{slot.name}", "not null") for slot in slots(activation))
    if name in extra and (output := value_of(desc, "OutputTensor")) is not None:
        sizes = output.sizes
        if name == SOFTMAX and any(size > 1 for size in sizes[:-2]):
            yield Breach(where, f"{name}, of an output with sizes {braces(sizes)}")
        yield from (
            Breach(f"{where}.Axes[{n}]", f"{axis}, OutputTensor has {len(sizes)} dimensions")
            for n, axis in enumerate(getattr(activation, "axes", ()))
            if axis >= len(sizes)
        )


def _steepness(desc: OperatorDesc, level: Level) -> list[Breach]:
    return [Breach(f"{where}.Steepness", str(one.steepness)) for where, one in activations(desc) if _is_flat(one)]


def _is_flat(activation: Any) -> bool:
    return getattr(activation, "operator", "") == "ACTIVATION_SOFTPLUS" and not activation.steepness >= 1.0


def newer_activation(desc: OperatorDesc) -> bool:
    """Whether something is fused that came after the list, and has no tensors."""
    every = (one for _, one in activations(desc) if one is not None)
    return any(one.operator in NEWER and not any(slots(one)) for one in every)


def flat_softplus(desc: OperatorDesc) -> bool:
    """Whether a SOFTPLUS is fused whose Steepness is not at least 1."""
    return any(_is_flat(one) for _, one in activations(desc))


FUSED_DIVERGENCES = {
    "DIV-fused-activations-newer-than-the-list": newer_activation,
    "DIV-fused-softplus-of-any-steepness": flat_softplus,
}
