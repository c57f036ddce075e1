"""Recurrent layers whose steps are others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.spec.operators.recurrent import DIRECTION, UNITS
from dml_conformance.strategies.edits import edit
from strength.mutants.base import Arrays, WrongValues, plants
from strength.mutants.sums import rounded

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

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if any(one.operator not in FUNCTIONS for one in desc.activation_descs):
            return {}
        kind = desc.input_tensor.data_type
        with np.errstate(all="ignore"):
            numbers = {
                key: of if key == "sequence_lengths_tensor" else as_numbers(of, kind).astype(np.float64)
                for key, of in arrays.items()
            }
            count = numbers["weight_tensor"].shape[1]
            every, *last = zip(*(self.of_direction(desc, numbers, n) for n in range(count)), strict=True)
            outputs = {"output_sequence_tensor": np.stack(every, 1)}
            outputs |= {key: np.stack(states)[None] for key, states in zip(SINGLE, last, strict=False)}
            return {key: rounded(of, desc) for key, of in outputs.items() if getattr(desc, key) is not None}

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
        i, o, forget = (f(of.clipped(of.sums(n, x, h) + of.peepholes[n] * cell)) for n in range(3))
        new = self.remembered(cell, 1 - i if of.is_coupled else forget, i, g(of.clipped(of.sums(3, x, h))))
        return o * show(new), new

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


@plants("layer", OtherRecurrence)
def BiasOfTheRecurrenceIgnored(layer: Layer) -> Layer:
    return layer._replace(rb=0 * layer.rb)


@plants("layer", OtherRecurrence)
def LastTermOfTheRecurrenceDropped(layer: Layer) -> Layer:
    r = layer.r.copy()
    r[..., -1] = 0
    return layer._replace(r=r)


@plants("layer", OtherRecurrence)
def RecurrenceNotTransposed(layer: Layer) -> Layer:
    return layer._replace(r=layer.r.swapaxes(1, 2))


@plants("order", OtherRecurrence)
def DirectionIgnored(times: range, is_backward: bool) -> Any:
    return times


@plants("lengths", OtherRecurrence)
def LengthsIgnored(lengths: Any, steps: int) -> Any:
    """Goes on over the padding, and takes the last state from there."""
    return np.full_like(lengths, steps)


@plants("lengths", OtherRecurrence)
def LengthsOfTheFirstSequence(lengths: Any, steps: int) -> Any:
    return np.broadcast_to(lengths[:1], lengths.shape)


@plants("initial", OtherRecurrence)
def InitialStateIgnored(states: Any) -> Any:
    return tuple(0 * state for state in states)


@plants("kept", OtherRecurrence)
def StateInFloat16(state: Any) -> Any:
    return state.astype(np.float16).astype(np.float64)


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


@plants("layer", OtherRecurrence, has=("linear_before_reset",))
def FunctionsSwapped(layer: Layer) -> Layer:
    return swapped(layer)


@plants("layer", OtherRecurrence, has=("linear_before_reset",))
def ResetOnTheOtherSide(layer: Layer) -> Layer:
    """Applies the reset gate before the product where that is to be after it, and the other way round."""
    return layer._replace(is_linear=not layer.is_linear)


@plants("layer", OtherRecurrence, has=("linear_before_reset",))
def ResetAndUpdateSwapped(layer: Layer) -> Layer:
    return with_gates(layer, 1, 0, 2)


@plants("layer", OtherRecurrence, has=("linear_before_reset",))
def GatesAsTorchOrdersThem(layer: Layer) -> Layer:
    """Takes the gates for r, z and h in the order of reset, hidden and update."""
    return with_gates(layer, 1, 2, 0)


@plants("blended", OtherRecurrence, has=("linear_before_reset",))
def UpdateTheOtherWayRound(new: Any, h: Any, z: Any) -> Any:
    """Keeps of the old state what is to be replaced."""
    return z * new + (1 - z) * h


# --- of cell states ---------------------------------------------------------------------------------------------------


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def CellGateOfTheWrongFunction(layer: Layer) -> Layer:
    return swapped(layer)


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def CellShownByTheWrongFunction(layer: Layer) -> Layer:
    f, g, _ = layer.functions
    return layer._replace(functions=[f, g, g])


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def GatesAsTorchOrdersThemInLstm(layer: Layer) -> Layer:
    """Takes the gates for those in the order of input, forget, cell and output."""
    return with_gates(layer, 0, 3, 1, 2)


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def PeepholesIgnored(layer: Layer) -> Layer:
    return layer._replace(peepholes=0 * layer.peepholes)


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def PeepholesOfInputAndForgetSwapped(layer: Layer) -> Layer:
    return layer._replace(peepholes=layer.peepholes[[2, 1, 0]])


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def ClippingIgnored(layer: Layer) -> Layer:
    return layer._replace(threshold=np.inf)


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def CouplingIgnored(layer: Layer) -> Layer:
    return layer._replace(is_coupled=False)


@plants("layer", OtherRecurrence, has=("peephole_tensor",))
def AlwaysCoupled(layer: Layer) -> Layer:
    return layer._replace(is_coupled=True)


@plants("initial", OtherRecurrence, has=("peephole_tensor",))
def InitialCellStateIgnored(states: Any) -> Any:
    return states[0], 0 * states[1]


@plants("initial", OtherRecurrence, has=("peephole_tensor",))
def InitialStatesSwapped(states: Any) -> Any:
    return states[::-1]


@plants("last", OtherRecurrence, has=("peephole_tensor",))
def LastStateForTheLastCellState(states: Any) -> Any:
    return states[0], states[0]


@plants("remembered", OtherRecurrence, has=("peephole_tensor",))
def CellStateBounded(cell: Any, forget: Any, i: Any, new: Any) -> Any:
    """Clips the cell state itself, which is to be clipped for no more than it is shown for."""
    return np.clip(forget * cell + i * new, -1, 1)


class CellGateShown(OtherRecurrence):
    """Reads h(ct) as of the cell gate, as the page has it by a slip."""

    has = ("peephole_tensor",)

    def lstm(self, of: Layer, x: Any, h: Any, cell: Any) -> Any:
        f, g, show = of.functions
        o = f(of.clipped(of.sums(1, x, h) + of.peepholes[1] * cell))
        return o * show(g(of.clipped(of.sums(3, x, h)))), super().lstm(of, x, h, cell)[1]


class ClippedWithoutTheBias(OtherRecurrence):
    """Clips the products, and adds the biases after it."""

    has = ("peephole_tensor",)

    def lstm(self, of: Layer, x: Any, h: Any, cell: Any) -> Any:
        f, g, show = of.functions
        bare = of._replace(wb=0 * of.wb, rb=0 * of.rb)
        i, o, forget = (
            f(of.clipped(bare.sums(n, x, h) + of.peepholes[n] * cell) + of.wb[n] + of.rb[n]) for n in range(3)
        )
        new = self.remembered(
            cell, 1 - i if of.is_coupled else forget, i, g(of.clipped(bare.sums(3, x, h)) + of.wb[3] + of.rb[3])
        )
        return o * show(new), new
