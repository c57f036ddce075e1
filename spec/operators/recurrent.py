"""DML_OPERATOR_RNN, LSTM and GRU: a layer of recurrent units, in one direction or both, over sequences of their own
lengths."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from dml_conformance.spec.constraints import Constraint, Quantity, any_of, count, leading_ones, sizes_follow
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, inputs, operator_spec, output_sizes
from dml_conformance.spec.operators._fused import fusion_rules
from dml_conformance.spec.structures import Recurrent

DIRECTION = enumeration("DML_RECURRENT_NETWORK_DIRECTION")
LENGTHS = "SequenceLengthsTensor"
COMPARABLE = ("dimension-counts", "enumerators")


class Unit(NamedTuple):
    """What a unit of an operator has.

    Attributes:
        gates: one letter for each, in the order of the weights.
        functions: the activations of a direction, in their order.
        peepholes: the gates that see the cell state, in the order of their weights.
    """

    gates: str
    functions: str
    peepholes: str = ""


UNITS = {
    "RNN": Unit("i", "f"),
    "LSTM": Unit("iofc", "fgh", "iof"),
    "GRU": Unit("zrh", "fg"),
}
IN_WORDS = {1: "one entry", 2: "two entries", 3: "three entries"}


def directions(desc: Recurrent) -> int:
    """How many there are: 2 where it is bidirectional."""
    return 2 if desc.direction == DIRECTION.BIDIRECTIONAL else 1


def hidden_size(desc: Recurrent) -> int:
    """Elements of the hidden state of one sequence in one direction."""
    return desc.recurrence_tensor.sizes[-1]


def shape(desc: Recurrent) -> Shapes | Misfit:
    """Every state of all sequences, and the last one of each."""
    sizes = desc.input_tensor.sizes
    if len(sizes) != 4 or not desc.recurrence_tensor.sizes:
        return Misfit("InputTensor.DimensionCount", str(len(sizes)))
    states = (directions(desc), sizes[2], hidden_size(desc))
    last = dict.fromkeys(("output_single_tensor", "output_cell_single_tensor"), (1, *states))
    return {"output_sequence_tensor": (sizes[1], *states)} | {key: of for key, of in last.items() if hasattr(desc, key)}


def sizes_needed(desc: Recurrent, tensor: str) -> tuple[int, ...]:
    """The sizes that a tensor has to have."""
    unit, count, hidden = UNITS[desc.operator], directions(desc), hidden_size(desc)
    (*_, batch, width), rows = desc.input_tensor.sizes, len(unit.gates) * hidden
    states = (1, count, batch, hidden)
    every: dict[str, tuple[int, ...]] = {
        "WeightTensor": (1, count, rows, width),
        "RecurrenceTensor": (1, count, rows, hidden),
        "BiasTensor": (1, 1, count, 2 * rows),
        "HiddenInitTensor": states,
        LENGTHS: (1, 1, 1, batch),
        "CellMemInitTensor": states,
        "PeepholeTensor": (1, 1, count, len(unit.peepholes) * hidden),
    }
    return every[tensor]


# How a page has them; {n} is the number of gates.
SIZES = {
    "WeightTensor": "{{1, num_directions, {n}hidden_size, input_size}}",
    "RecurrenceTensor": "{{1, num_directions, {n}hidden_size, hidden_size}}",
    "BiasTensor": "{{1, 1, num_directions, {twice} * hidden_size}}",
    "HiddenInitTensor": "{{1, num_directions, batch_size, hidden_size}}",
    LENGTHS: "{{1, 1, 1, batch_size}}",
}
CELL_SIZES = {
    "CellMemInitTensor": SIZES["HiddenInitTensor"],
    "PeepholeTensor": "{{1, 1, num_directions, 3 * hidden_size}}",
}


def _activation_count(unit: Unit) -> Constraint:
    """There are as many activations as the directions have."""
    wanted = IN_WORDS[len(unit.functions)]
    quantity = Quantity(
        f"{wanted.split()[0]} for each direction",
        "Direction asks for {}",
        lambda desc: len(unit.functions) * directions(desc),
        is_of_sizes=False,
    )
    return count(
        "ActivationDescs",
        quantity,
        name="activation-count",
        statement=f"ActivationDescs has {wanted} for each direction",
        after=COMPARABLE,
    )


def _sizes_of(tensor: str, unit: Unit) -> Constraint:
    gates = len(unit.gates)
    stated = (SIZES | CELL_SIZES)[tensor].format(n=f"{gates} * " if gates > 1 else "", twice=2 * gates)
    told = "the other tensors and Direction ask for"
    return sizes_follow(
        tensor, partial(sizes_needed, tensor=tensor), told, f"{tensor} has sizes {stated}", after=COMPARABLE
    )


def _layer(name: str) -> OperatorSpec:
    """What is stated of a layer of units."""
    unit = UNITS[name]
    sized = [*SIZES, *(CELL_SIZES if unit.peepholes else ())]
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            *fusion_rules("ActivationDescs"),
            _activation_count(unit),
            any_of("OutputSequenceTensor", "OutputSingleTensor", name="an-output"),
            leading_ones("InputTensor", 3, name="leading-input-size", after=COMPARABLE),
            *(_sizes_of(tensor, unit) for tensor in sized),
            output_sizes(*COMPARABLE, section="OutputSequenceTensor"),
        ),
        lengths={LENGTHS: lambda desc: desc.input_tensor.sizes[1]},
    )


SPECS = tuple(_layer(name) for name in UNITS)


def other_direction(desc: Recurrent) -> bool:
    """Whether Direction is no enumerator, which the library takes for one direction."""
    return desc.direction not in DIRECTION._value2member_map_


def owned_by_dml(desc: Recurrent) -> bool:
    """Whether DirectML is to own one of its inputs."""
    return any(slot.tensor.flags == TensorFlag.OWNED_BY_DML for slot in inputs(desc))


DIVERGENCES = {
    "DIV-recurrent-direction-of-any-number": other_direction,
    "DIV-recurrent-owns-no-tensors": owned_by_dml,
}
