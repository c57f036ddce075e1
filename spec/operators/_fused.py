"""What operators share that compute an activation function of their result: the rules on FusedActivation."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.descriptor import slots
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import desc_spec, ids
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

FUSED_ACTIVATIONS = Source("dml-fused-activations", "Activations that are supported for fusion")
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
FIELD = "FusedActivation"


def fusion_rules(name: str, fusible: str, limits: str) -> tuple[Rule, ...]:
    """The rules on what an operator fuses; they settle two errata, on what is fusible and on the limits of its own."""
    also = (Source(f"ns-directml-dml_{name.lower()}_operator_desc", FIELD),)
    return (
        Rule(
            f"{name}.fused-activation",
            Category.ATTRIBUTES,
            "FusedActivation is null, or an activation without tensors that can be fused and that the level has",
            FUSED_ACTIVATIONS,
            "fuse one of the activations listed, with InputTensor and OutputTensor null, or none",
            check=_activation,
            needs=ids(name, "introduced-in"),
            settles=(fusible, limits),
            also=also,
        ),
        Rule(
            f"{name}.fused-steepness",
            Category.ATTRIBUTES,
            "below 6_4 the Steepness of a SOFTPLUS that is fused is at least 1",
            Source("ns-directml-dml_activation_softplus_operator_desc", "OutputTensor"),
            "ask for level 6_4, or fuse PARAMETRIC_SOFTPLUS",
            until=Level.L6_4,
            check=_steepness,
            needs=ids(name, "introduced-in", "fused-activation"),
            settles=(limits,),
            also=also,
        ),
    )


def _activation(desc: Any, level: Level) -> list[Breach] | Breach | None:
    activation = desc.fused_activation
    if activation is None:
        return None
    if activation.operator not in FUSIBLE:
        return Breach(FIELD, f"{activation.operator}, which cannot be fused")
    if level < (since := desc_spec(activation).introduced_in):
        return Breach(FIELD, f"{activation.operator}, which came with {since}")
    return [Breach(f"{FIELD}.{slot.name}", "not null") for slot in slots(activation)]


def _steepness(desc: Any, level: Level) -> Breach | None:
    return Breach(f"{FIELD}.Steepness", str(desc.fused_activation.steepness)) if flat_softplus(desc) else None


def newer_activation(desc: Any) -> bool:
    """Whether what is fused came after the list, and has no tensors."""
    activation = desc.fused_activation
    return activation is not None and activation.operator in NEWER and not any(slots(activation))


def flat_softplus(desc: Any) -> bool:
    """Whether a SOFTPLUS is fused whose Steepness is not at least 1."""
    activation = desc.fused_activation
    is_softplus = activation is not None and activation.operator == "ACTIVATION_SOFTPLUS"
    return is_softplus and not activation.steepness >= 1.0
