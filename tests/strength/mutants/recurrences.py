"""Recurrent layers whose steps are others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dml_conformance.spec.operators.recurrent import DIRECTION, UNITS
from dml_conformance.strategies.edits import edit
from strength.mutants.base import Arrays, WrongValues, fault, plants, wide, zeroed

FUNCTIONS = {
    "ACTIVATION_SIGMOID": lambda of, x: 1 / (1 + np.exp(-x)),
    "ACTIVATION_TANH": lambda of, x: np.tanh(x),
    "ACTIVATION_RELU": lambda of, x: np.maximum(x, 0),
    "ACTIVATION_LINEAR": lambda of, x: of.alpha * x + of.beta,
    "ACTIVATION_HARD_SIGMOID": lambda of, x: np.clip(of.alpha * x + of.beta, 0, 1),
}
STATES = ("hidden_init_tensor", "cell_mem_init_tensor")
SINGLE = ("output_single_tensor", "output_cell_single_tensor")


class Layer(NamedTuple):
    """One direction: weights by gate, biases of the input and of the state, activations, peepholes by gate.

    Attributes:
        is_linear: GRU's LinearBeforeReset.
        threshold: of LSTM's clipping; infinite for none.
        is_coupled: LSTM's CoupleInputForget.
    """

    w: Any
    r: Any
    wb: Any
    rb: Any
    functions: Any
    peepholes: Any
    is_linear: bool
    threshold: float
    is_coupled: bool

    def sums(self, n: int, x: Any, h: Any) -> Any:
        return x @ self.w[n].T + self.wb[n] + h @ self.r[n].T + self.rb[n]

    def clipped(self, x: Any) -> Any:
        return np.clip(x, -self.threshold, self.threshold)


class OtherRecurrence(WrongValues, abstract=True):
    """Goes over sequences in FLOAT64, and does one thing wrong; a plain activation that it does not have is right."""

    families = ("recurrent",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        if any(one.operator not in FUNCTIONS for one in desc.activation_descs):
            return {}
        numbers = wide(desc, arrays)
        count = numbers["weight_tensor"].shape[1]
        every, *last = zip(*(self.of_direction(desc, numbers, n) for n in range(count)), strict=True)
        outputs = {"output_sequence_tensor": np.stack(every, 1)}
        outputs |= {key: np.stack(states)[None] for key, states in zip(SINGLE, last, strict=False)}
        return {key: of for key, of in outputs.items() if getattr(desc, key) is not None}

    def of_direction(self, desc: Any, numbers: Any, n: int) -> list[Any]:
        """All states, and the last ones."""
        x, size, unit = numbers["input_tensor"][0], numbers["recurrence_tensor"].shape[-1], UNITS[desc.operator]
        steps, batch, _ = x.shape
        lengths = self.lengths(
            numbers.get("sequence_lengths_tensor", np.full(batch, steps)).reshape(-1, 1).astype(np.int64), steps
        )
        none = np.zeros((1, n + 1, batch, size))
        states = self.initial(tuple(numbers.get(key, none)[0, n] for key in STATES if hasattr(desc, key)))
        per = len(unit.functions)
        functions = [lambda v, of=of: FUNCTIONS[of.operator](of, v) for of in desc.activation_descs[per * n :][:per]]
        gates = len(unit.gates)
        bias = numbers.get("bias_tensor", np.zeros((1, 1, n + 1, 2 * gates * size)))[0, 0, n].reshape(2, gates, size)
        w, r = (numbers[f"{key}_tensor"][0, n].reshape(gates, size, -1) for key in ("weight", "recurrence"))
        peepholes = numbers.get("peephole_tensor", np.zeros((1, 1, n + 1, 3 * size)))[0, 0, n].reshape(3, size)
        threshold = desc.clip_threshold if getattr(desc, "use_clip_threshold", False) else np.inf
        is_linear, is_coupled = (getattr(desc, key, False) for key in ("linear_before_reset", "couple_input_forget"))
        layer = self.layer(Layer(w, r, *bias, functions, peepholes, is_linear, threshold, is_coupled))
        step = {"RNN": self.rnn, "LSTM": self.lstm, "GRU": self.gru}[desc.operator]
        every = np.zeros((steps, batch, size))
        for t in self.order(range(steps), desc.direction == DIRECTION.BACKWARD or n == 1):
            new = tuple(self.kept(state) for state in step(layer, x[t], *states))
            every[t] = np.where(t < lengths, new[0], 0)
            states = tuple(np.where(t < lengths, *pair) for pair in zip(new, states, strict=True))
        return [every, *self.last(states)]

    def lengths(self, lengths: Any, steps: int) -> Any:
        return lengths

    def initial(self, states: Any) -> Any:
        return states

    def layer(self, layer: Layer) -> Layer:
        return layer

    def order(self, times: range, is_backward: bool) -> Any:
        return reversed(times) if is_backward else times

    def kept(self, state: Any) -> Any:
        """A state as it goes into the next step."""
        return state

    def last(self, states: Any) -> Any:
        """The last ones as they go out."""
        return states

    def rnn(self, of: Layer, x: Any, h: Any) -> Any:
        """The right step of RNN here."""
        return (of.functions[0](of.sums(0, x, h)),)

    def lstm(self, of: Layer, x: Any, h: Any, cell: Any) -> Any:
        """The right step of LSTM here."""
        f, g, show = of.functions
        i, o, forget = (f(self.gate(of, n, of.peepholes[n] * cell, x, h)) for n in range(3))
        entering = g(self.gate(of, 3, -0.0, x, h))
        new = self.remembered(cell, 1 - i if of.is_coupled else forget, i, entering)
        return o * show(self.shown(new, entering)), new

    def gate(self, of: Layer, n: int, peephole: Any, x: Any, h: Any) -> Any:
        """What the activation of a gate is of."""
        return of.clipped(of.sums(n, x, h) + peephole)

    def shown(self, cell: Any, entering: Any) -> Any:
        return cell

    def remembered(self, cell: Any, forget: Any, i: Any, new: Any) -> Any:
        """The cell state after a step."""
        return forget * cell + i * new

    def gru(self, of: Layer, x: Any, h: Any) -> Any:
        """The right step of GRU here."""
        f, g = of.functions
        z, r = (f(of.sums(n, x, h)) for n in (0, 1))
        state = r * (h @ of.r[2].T + of.rb[2]) if of.is_linear else (r * h) @ of.r[2].T + of.rb[2]
        return (self.blended(g(x @ of.w[2].T + of.wb[2] + state), h, z),)

    def blended(self, new: Any, h: Any, z: Any) -> Any:
        return (1 - z) * new + z * h


def with_gates(layer: Layer, *order: int) -> Layer:
    w, r, wb, rb = (part[list(order)] for part in layer[:4])
    return layer._replace(w=w, r=r, wb=wb, rb=rb)


# --- of every unit ----------------------------------------------------------------------------------------------------


plants("layer", OtherRecurrence).each(
    BiasOfTheRecurrenceIgnored=lambda layer: layer._replace(rb=0 * layer.rb),
    LastTermOfTheRecurrenceDropped=lambda layer: layer._replace(r=zeroed(layer.r, np.s_[..., -1])),
    RecurrenceNotTransposed=lambda layer: layer._replace(r=layer.r.swapaxes(1, 2)),
)
plants("order", OtherRecurrence).each(DirectionIgnored=lambda times: times)
plants("lengths", OtherRecurrence).each(
    LengthsIgnored=fault(
        lambda lengths, steps: np.full_like(lengths, steps),
        "Goes on over the padding, and takes the last state from there.",
    ),
    LengthsOfTheFirstSequence=lambda lengths: np.broadcast_to(lengths[:1], lengths.shape),
)
plants("initial", OtherRecurrence).each(InitialStateIgnored=lambda states: tuple(0 * state for state in states))
plants("kept", OtherRecurrence).each(StateInFloat16=lambda state: state.astype(np.float16).astype(np.float64))


class DirectionsShareActivations(OtherRecurrence):
    """Takes the activations of the first direction for both."""

    def of_direction(self, desc: Any, numbers: Any, n: int) -> list[Any]:
        count = len(UNITS[desc.operator].functions)
        alike = desc.activation_descs[:count] * (len(desc.activation_descs) // count)
        return super().of_direction(edit(desc, activation_descs=alike), numbers, n)


class SequenceOfTheSecondDirectionTurned(OtherRecurrence):
    """Has the states of the second direction in the order in which they come about."""

    def of_direction(self, desc: Any, numbers: Any, n: int) -> list[Any]:
        every, *last = super().of_direction(desc, numbers, n)
        return [every[::-1] if n == 1 else every, *last]


# --- of several activations -------------------------------------------------------------------------------------------


def swapped(layer: Layer) -> Layer:
    f, g, *rest = layer.functions
    return layer._replace(functions=[g, f, *rest])


plants("layer", OtherRecurrence, has=("linear_before_reset",)).each(
    FunctionsSwapped=swapped,
    ResetOnTheOtherSide=fault(
        lambda layer: layer._replace(is_linear=not layer.is_linear),
        "Applies the reset gate before the product where that is to be after it, and the other way round.",
    ),
    ResetAndUpdateSwapped=lambda layer: with_gates(layer, 1, 0, 2),
    GatesAsTorchOrdersThem=fault(
        lambda layer: with_gates(layer, 1, 2, 0),
        "Takes the gates for r, z and h in the order of reset, hidden and update.",
    ),
)
plants("blended", OtherRecurrence, has=("linear_before_reset",)).each(
    UpdateTheOtherWayRound=fault(
        lambda new, h, z: z * new + (1 - z) * h, "Keeps of the old state what is to be replaced."
    ),
)


# --- of cell states ---------------------------------------------------------------------------------------------------

OF_CELLS = {"has": ("peephole_tensor",)}

plants("layer", OtherRecurrence, **OF_CELLS).each(
    CellGateOfTheWrongFunction=swapped,
    CellShownByTheWrongFunction=lambda layer: layer._replace(functions=[*layer.functions[:2], layer.functions[1]]),
    GatesAsTorchOrdersThemInLstm=fault(
        lambda layer: with_gates(layer, 0, 3, 1, 2),
        "Takes the gates for those in the order of input, forget, cell and output.",
    ),
    PeepholesIgnored=lambda layer: layer._replace(peepholes=0 * layer.peepholes),
    PeepholesOfInputAndForgetSwapped=lambda layer: layer._replace(peepholes=layer.peepholes[[2, 1, 0]]),
    ClippingIgnored=lambda layer: layer._replace(threshold=np.inf),
    CouplingIgnored=lambda layer: layer._replace(is_coupled=False),
    AlwaysCoupled=lambda layer: layer._replace(is_coupled=True),
)
plants("initial", OtherRecurrence, **OF_CELLS).each(
    InitialCellStateIgnored=lambda states: (states[0], 0 * states[1]),
    InitialStatesSwapped=lambda states: states[::-1],
)
plants("last", OtherRecurrence, **OF_CELLS).each(LastStateForTheLastCellState=lambda states: (states[0], states[0]))
plants("remembered", OtherRecurrence, **OF_CELLS).each(
    CellStateBounded=fault(
        lambda cell, forget, i, new: np.clip(forget * cell + i * new, -1, 1),
        "Clips the cell state itself, which is to be clipped for no more than it is shown for.",
    ),
)
plants("shown", OtherRecurrence, **OF_CELLS).each(
    CellGateShown=fault(lambda entering: entering, "Reads h(ct) as of the cell gate, as the page has it by a slip."),
)
plants("gate", OtherRecurrence, **OF_CELLS).each(
    ClippedWithoutTheBias=fault(
        lambda of, n, peephole, x, h: of.clipped(x @ of.w[n].T + h @ of.r[n].T + peephole) + of.wb[n] + of.rb[n],
        "Clips the products, and adds the biases after it.",
    ),
)
