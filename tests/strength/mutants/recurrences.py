"""Recurrent layers whose steps are others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.spec.operators.gru import DIRECTION
from strength.mutants.base import Arrays, WrongValues, plants
from strength.mutants.sums import rounded

FUNCTIONS = {
    "ACTIVATION_SIGMOID": lambda of, x: 1 / (1 + np.exp(-x)),
    "ACTIVATION_TANH": lambda of, x: np.tanh(x),
    "ACTIVATION_LINEAR": lambda of, x: of.alpha * x + of.beta,
    "ACTIVATION_HARD_SIGMOID": lambda of, x: np.clip(of.alpha * x + of.beta, 0, 1),
}


class Layer(NamedTuple):
    """One direction: weights by gate, gates as z, r and h, biases of the input and of the state."""

    w: Any
    r: Any
    wb: Any
    rb: Any
    f: Any
    g: Any
    is_linear: bool


class OtherRecurrence(WrongValues, abstract=True):
    """Goes over sequences in FLOAT64, and does one thing wrong; a plain activation that it does not have is right."""

    families = ("gru",)

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
            found = [self.of_direction(desc, numbers, n) for n in range(count)]
            outputs = {
                "output_sequence_tensor": np.stack([states for states, _ in found], 1),
                "output_single_tensor": np.stack([last for _, last in found])[None],
            }
            return {key: rounded(of, desc) for key, of in outputs.items() if getattr(desc, key) is not None}

    def of_direction(self, desc: Any, numbers: Any, n: int) -> tuple[Any, Any]:
        x, size = numbers["input_tensor"][0], numbers["recurrence_tensor"].shape[-1]
        steps, batch, _ = x.shape
        lengths = self.lengths(
            numbers.get("sequence_lengths_tensor", np.full(batch, steps)).reshape(-1, 1).astype(np.int64), steps
        )
        h = self.initial(numbers.get("hidden_init_tensor", np.zeros((1, n + 1, batch, size)))[0, n])
        functions = [lambda v, of=of: FUNCTIONS[of.operator](of, v) for of in desc.activation_descs[2 * n :][:2]]
        bias = numbers.get("bias_tensor", np.zeros((1, 1, n + 1, 6 * size)))[0, 0, n].reshape(2, 3, size)
        w, r = (numbers[f"{key}_tensor"][0, n].reshape(3, size, -1) for key in ("weight", "recurrence"))
        layer = self.layer(Layer(w, r, *bias, *functions, desc.linear_before_reset))
        states = np.zeros((steps, batch, size))
        for t in self.order(range(steps), desc.direction == DIRECTION.BACKWARD or n == 1):
            new = self.kept(self.step(layer, x[t], h))
            states[t] = np.where(t < lengths, new, 0)
            h = np.where(t < lengths, new, h)
        return states, h

    def lengths(self, lengths: Any, steps: int) -> Any:
        return lengths

    def initial(self, state: Any) -> Any:
        return state

    def layer(self, layer: Layer) -> Layer:
        return layer

    def order(self, times: range, is_backward: bool) -> Any:
        return reversed(times) if is_backward else times

    def kept(self, state: Any) -> Any:
        """A state as it goes into the next step."""
        return state

    def step(self, of: Layer, x: Any, h: Any) -> Any:
        """The right one here."""
        z, r = (of.f(x @ of.w[n].T + of.wb[n] + h @ of.r[n].T + of.rb[n]) for n in (0, 1))
        state = r * (h @ of.r[2].T + of.rb[2]) if of.is_linear else (r * h) @ of.r[2].T + of.rb[2]
        return self.blended(of.g(x @ of.w[2].T + of.wb[2] + state), h, z)

    def blended(self, new: Any, h: Any, z: Any) -> Any:
        return (1 - z) * new + z * h


def with_gates(layer: Layer, *order: int) -> Layer:
    w, r, wb, rb = (part[list(order)] for part in layer[:4])
    return layer._replace(w=w, r=r, wb=wb, rb=rb)


@plants("layer", OtherRecurrence)
def ResetOnTheOtherSide(layer: Layer) -> Layer:
    """Applies the reset gate before the product where that is to be after it, and the other way round."""
    return layer._replace(is_linear=not layer.is_linear)


@plants("layer", OtherRecurrence)
def ResetAndUpdateSwapped(layer: Layer) -> Layer:
    return with_gates(layer, 1, 0, 2)


@plants("layer", OtherRecurrence)
def GatesAsTorchOrdersThem(layer: Layer) -> Layer:
    """Takes the gates for r, z and h in the order of reset, hidden and update."""
    return with_gates(layer, 1, 2, 0)


@plants("layer", OtherRecurrence)
def BiasOfTheRecurrenceIgnored(layer: Layer) -> Layer:
    return layer._replace(rb=0 * layer.rb)


@plants("layer", OtherRecurrence)
def LastTermOfTheRecurrenceDropped(layer: Layer) -> Layer:
    r = layer.r.copy()
    r[..., -1] = 0
    return layer._replace(r=r)


@plants("layer", OtherRecurrence)
def FunctionsSwapped(layer: Layer) -> Layer:
    return layer._replace(f=layer.g, g=layer.f)


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
def InitialStateIgnored(state: Any) -> Any:
    return 0 * state


@plants("kept", OtherRecurrence)
def StateInFloat16(state: Any) -> Any:
    return state.astype(np.float16).astype(np.float64)


@plants("blended", OtherRecurrence)
def UpdateTheOtherWayRound(new: Any, h: Any, z: Any) -> Any:
    """Keeps of the old state what is to be replaced."""
    return z * new + (1 - z) * h
