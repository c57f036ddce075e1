"""DML_OPERATOR_GRU: a layer of gated recurrent units, in one direction or both, over sequences of their own lengths."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import Quantity, any_of, count, leading_ones, sizes_follow
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import (
    Misfit,
    Shapes,
    ids,
    inputs,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators._fused import FUSED_ACTIVATIONS, flat_softplus, fusion_rules, newer_activation
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

NAME = "GRU"
PAGE = "ns-directml-dml_gru_operator_desc"
DIRECTION = enumeration("DML_RECURRENT_NETWORK_DIRECTION")
GATES = 3  # update, reset, hidden: z, r and h
FUNCTIONS = 2  # f of the gates z and r, g of h
LENGTHS = "SequenceLengthsTensor"
PRIMITIVES = ("multiply", "add")


def directions(desc: Any) -> int:
    """How many there are: 2 where it is bidirectional."""
    return 2 if desc.direction == DIRECTION.BIDIRECTIONAL else 1


def hidden_size(desc: Any) -> int:
    """Elements of the hidden state of one sequence in one direction."""
    return int(desc.recurrence_tensor.sizes[-1])


def shape(desc: Any) -> Shapes | Misfit:
    """Every state of all sequences, and the last one of each."""
    sizes = desc.input_tensor.sizes
    if len(sizes) != 4 or not desc.recurrence_tensor.sizes:
        return Misfit("InputTensor.DimensionCount", str(len(sizes)))
    states = (directions(desc), sizes[2], hidden_size(desc))
    return {"output_sequence_tensor": (sizes[1], *states), "output_single_tensor": (1, *states)}


def weight_sizes(desc: Any) -> tuple[int, ...]:
    return 1, directions(desc), GATES * hidden_size(desc), desc.input_tensor.sizes[-1]


def recurrence_sizes(desc: Any) -> tuple[int, ...]:
    return 1, directions(desc), GATES * hidden_size(desc), hidden_size(desc)


def bias_sizes(desc: Any) -> tuple[int, ...]:
    return 1, 1, directions(desc), 2 * GATES * hidden_size(desc)


def state_sizes(desc: Any) -> tuple[int, ...]:
    return 1, directions(desc), desc.input_tensor.sizes[2], hidden_size(desc)


def length_sizes(desc: Any) -> tuple[int, ...]:
    return 1, 1, 1, desc.input_tensor.sizes[2]


COMPARABLE = ("dimension-counts", "enumerators")
SIZES = {
    "WeightTensor": (weight_sizes, "{1, num_directions, 3 * hidden_size, input_size}"),
    "RecurrenceTensor": (recurrence_sizes, "{1, num_directions, 3 * hidden_size, hidden_size}"),
    "BiasTensor": (bias_sizes, "{1, 1, num_directions, 6 * hidden_size}"),
    "HiddenInitTensor": (state_sizes, "{1, num_directions, batch_size, hidden_size}"),
    LENGTHS: (length_sizes, "{1, 1, 1, batch_size}"),
}

GRU = operator_spec(
    NAME,
    shape=shape,
    groups={LENGTHS: ""},
    own_rules=(
        *fusion_rules(NAME, field="ActivationDescs"),
        count(
            "ActivationDescs",
            Quantity(
                "two for each direction",
                "Direction asks for {}",
                lambda desc: FUNCTIONS * directions(desc),
                is_of_sizes=False,
            ),
            name="activation-count",
            statement="ActivationDescs has two entries for each direction",
            remedy="give f and g of each direction",
            after=COMPARABLE,
        ),
        any_of("OutputSequenceTensor", "OutputSingleTensor", name="an-output", settles=(f"{NAME}-2",)),
        leading_ones(
            "InputTensor",
            3,
            name="leading-input-size",
            statement="InputTensor has sizes {1, seq_length, batch_size, input_size}",
            remedy="give InputTensor a first size of 1",
            after=COMPARABLE,
        ),
        *(
            sizes_follow(
                tensor,
                sizes,
                "the other tensors and Direction ask for",
                f"{tensor} has sizes {stated}",
                after=COMPARABLE,
            )
            for tensor, (sizes, stated) in SIZES.items()
        ),
        output_sizes_rule(
            NAME,
            Source(PAGE, "OutputSequenceTensor"),
            shapes_comparable(NAME) | ids(NAME, *COMPARABLE),
        ),
    ),
    execution_rules=(
        Rule(
            f"{NAME}.values",
            Category.EXECUTION,
            "each state H is (1 - z) * h + z * H', of the state H' before it, with z = f(X * Wz + H' * Rz + biases), "
            "r = f(X * Wr + H' * Rr + biases), and h = g(X * Wh + (r . H') * Rh + biases), or "
            "g(X * Wh + r . (H' * Rh + its bias) + bias) where LinearBeforeReset is set; the last state of a sequence "
            "is that at its own end, backward that at its start; what OutputSequenceTensor holds behind a sequence's "
            "end is left open, as are the last state of a sequence of length 0 and all of one longer than seq_length; "
            "in FLOAT16 a state may be rounded before it goes into the next one, or not",
            Source(PAGE, "Description"),
            settles=tuple(f"{NAME}-{n}" for n in (3, 4, 5, 6)),
            also=(FUSED_ACTIVATIONS,),
        ),
        formula_rule(NAME, PRIMITIVES),
    ),
    primitives=PRIMITIVES,
    domains=dict.fromkeys(
        ("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor"), "recurrent"
    )
    | {LENGTHS: "lengths"},
    lengths={LENGTHS: lambda desc: desc.input_tensor.sizes[1]},
    summary="computes a layer of gated recurrent units over sequences",
    pseudocode="h = (1 - z) * g(x @ wh + (r * h) @ rh + bh) + z * h, with z and r = f(x @ w + h @ r + b)",
)
SPECS = (GRU,)


def other_direction(desc: Any) -> bool:
    """Whether Direction is no enumerator, which the library takes for one direction."""
    return desc.direction not in DIRECTION._value2member_map_


def owned_by_dml(desc: Any) -> bool:
    """Whether DirectML is to own one of its inputs."""
    return any(slot.tensor.flags == TensorFlag.OWNED_BY_DML for slot in inputs(desc))


DIVERGENCES = {
    "DIV-fused-activations-newer-than-the-list": newer_activation,
    "DIV-fused-softplus-of-any-steepness": flat_softplus,
    "DIV-gru-direction-of-any-number": other_direction,
    "DIV-gru-owns-no-tensors": owned_by_dml,
}
