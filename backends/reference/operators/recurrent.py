"""RNN, LSTM and GRU: states of recurrent units, step by step over sequences of their own lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.enclosure import (
    Condition,
    Enclosure,
    Evaluation,
    concatenate,
    either,
    stack,
    where,
)
from dml_conformance.backends.reference.functions import lerp, maximum, minimum
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated, rounded_or_not, stored
from dml_conformance.backends.reference.parts import Cut, CutRows, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators.recurrent import DIRECTION, UNITS, directions, hidden_size
from dml_conformance.spec.structures import Recurrent

Factors = list[tuple[Enclosure, Enclosure]]  # rows and the columns that they are multiplied by
INITIAL = ("hidden_init_tensor", "cell_mem_init_tensor")
BATCH = 2  # the dimension of states, and of the input, that has one of each sequence
SINGLE = ("output_single_tensor", "output_cell_single_tensor")


class Readings(NamedTuple):
    """How an implementation may take what LSTM's page has in two ways: all that can be told apart, side by side as rows
    of states, each for as many sequences as a batch has.

    Attributes:
        size: how many they are.
        sees_new: of each row whether the peephole of the output gate sees the new cell state.
        clips_cell: of each row whether the cell state is clipped where it is the argument of an activation.
    """

    size: int
    sees_new: Array
    clips_cell: Array

    @classmethod
    def of(cls, desc: Recurrent, has_peepholes: bool, batch: int) -> Readings:
        """The page's equations come first."""
        may_clip = getattr(desc, "use_clip_threshold", False)
        ways = list(product((False, True) if has_peepholes else (False,), (False, True) if may_clip else (False,)))
        sees_new, clips_cell = (np.repeat(np.array(way), batch).reshape(-1, 1) for way in zip(*ways, strict=True))
        return cls(len(ways), sees_new, clips_cell)

    def repeated(self, of: Enclosure, axis: int) -> Enclosure:
        """What is the same in each of them."""
        return of if self.size == 1 else concatenate([of] * self.size, axis)

    def joined(self, of: Enclosure, axis: int) -> Enclosure:
        """What any of them may come to."""
        batch, before = of.shape[axis] // self.size, (slice(None),) * axis
        return reduce(either, (of[(*before, slice(n * batch, (n + 1) * batch))] for n in range(self.size)))


@dataclass(frozen=True)
class Layer:
    """What the units of one direction compute with.

    Attributes:
        desc: the descriptor.
        numbers: of the input tensors by key.
        place: of the direction.
        readings: see `Readings`.
    """

    desc: Recurrent
    numbers: dict[str, Enclosure]
    place: int
    readings: Readings

    @property
    def functions(self) -> Any:
        """The activations."""
        count = len(UNITS[self.desc.operator].functions)
        return self.desc.activation_descs[count * self.place :][:count]

    def of_input(self, x: Enclosure, gates: str) -> Factors:
        """What the input has a part in the sums of gates that stand side by side; the bias is a factor of 1."""
        return self._factors(x, gates, "weight_tensor", 0)

    def of_state(self, h: Enclosure, gates: str) -> Factors:
        """The same of the state."""
        return self._factors(h, gates, "recurrence_tensor", 1)

    def sums(self, x: Enclosure, h: Enclosure, gates: str, term: Enclosure | None = None) -> Enclosure:
        """The sums of gates, one term more among them where there is one."""
        parts = self.of_input(x, gates), self.of_state(h, gates)
        found = _sums(*parts[0], *parts[1], term=term)
        if not self.stores(x.evaluation):
            return found
        return either(found, self.added(*map(self.product, parts), *([] if term is None else [self.stored(term)])))

    def activated(self, place: int, x: Enclosure) -> Enclosure:
        """What an activation makes of a sum."""
        return self.stored(activated(self.functions[place], x, self.desc.input_tensor.data_type))

    def stores(self, evaluation: Evaluation) -> bool:
        """Whether what is computed on the way may be rounded to the tensors' type."""
        return self.desc.input_tensor.data_type in evaluation.tolerance.stored

    def stored(self, x: Enclosure) -> Enclosure:
        """With what comes of it where it is rounded to the tensors' type, if it may be."""
        return stored(x, self.desc.input_tensor.data_type)

    def product(self, factors: Factors) -> Enclosure:
        """A product of matrices with its bias, each of which may be rounded."""
        data_type = self.desc.input_tensor.data_type
        return self.added(*(rows.product(columns, data_type, is_stored=True) for rows, columns in factors))

    def added(self, *parts: Enclosure) -> Enclosure:
        """Terms added up one after the other, each sum of which may be rounded."""
        return reduce(lambda one, other: self.stored(one + other), parts[1:], self.stored(parts[0]))

    def clipped(self, x: Enclosure) -> Enclosure:
        """Within the threshold where there is one."""
        if self.desc.operator != "LSTM" or not self.desc.use_clip_threshold:
            return x
        threshold = float(np.float32(self.desc.clip_threshold))
        if not threshold >= 0:
            return x.opened(np.ones(x.shape, np.bool_))
        return maximum(minimum(x, threshold), -threshold)

    def peepholes(self, gates: str, cell: Enclosure) -> Enclosure | None:
        """What gates see of the cell state."""
        if "peephole_tensor" not in self.numbers:
            return None
        row = self.numbers["peephole_tensor"][0, 0, self.place].reshape(1, -1)
        row = row[:, self._span(gates, UNITS["LSTM"].peepholes)]
        return _settled(concatenate([cell] * len(gates), -1) * row.broadcast(cell.shape[0], *row.shape[1:]))

    def _factors(self, rows: Enclosure, gates: str, weights: str, place: int) -> Factors:
        span, (columns, biases) = self._span(gates), self._parts[weights]
        found = [(rows, columns[:, span])]
        if biases is not None:
            found.append((Enclosure(rows.evaluation, np.ones((rows.shape[0], 1))), biases[:, span]))
        return found

    @cached_property
    def _parts(self) -> dict[str, tuple[Enclosure, Enclosure | None]]:
        """The columns of both weights and the row of their biases, of all gates."""
        found: dict[str, tuple[Enclosure, Enclosure | None]] = {}
        biases: list[Enclosure | None] = [None, None]
        if "bias_tensor" in self.numbers:
            row = self.numbers["bias_tensor"][0, 0, self.place].reshape(2, 1, -1)
            biases = [row[0], row[1]]
        for key, bias in zip(("weight_tensor", "recurrence_tensor"), biases, strict=True):
            found[key] = (self.numbers[key][0, self.place].permute(1, 0), bias)
        return found

    def _span(self, gates: str, every: str = "") -> slice:
        """Where some of all gates, or of those named, stand."""
        size, first = hidden_size(self.desc), (every or UNITS[self.desc.operator].gates).index(gates)
        return slice(first * size, (first + len(gates)) * size)


# --- one step: the states after those given, one row for each sequence ------------------------------------------------


def rnn(of: Layer, x: Enclosure, h: Enclosure) -> tuple[Enclosure, ...]:
    """h = f(x @ w + h @ r + b)"""
    return (of.activated(0, of.sums(x, h, "i")),)


def lstm(of: Layer, x: Enclosure, h: Enclosure, cell: Enclosure) -> tuple[Enclosure, ...]:
    """c = f * c + i * g(x @ wc + h @ rc + bc), h = o * h(c), with i, o and f = f(x @ w + h @ r + p * c + b)"""
    assert of.desc.operator == "LSTM"
    size, names = h.shape[1], "io" if of.desc.couple_input_forget else "iof"

    def gates(names: str, seen: Enclosure) -> Enclosure:
        return of.activated(0, of.clipped(of.sums(x, h, names, of.peepholes(names, seen))))

    if "peephole_tensor" in of.numbers:
        found, made = gates(names, cell), of.clipped(of.sums(x, h, "c"))
    else:  # the sums of all side by side, which takes half as long
        every = of.clipped(of.sums(x, h, UNITS["LSTM"].gates))
        found, made = of.activated(0, every[:, : len(names) * size]), every[:, -size:]
    i, o, *forget = (found[:, n * size : (n + 1) * size] for n in range(len(names)))
    forgotten, made = forget[0] if forget else of.stored(1.0 - i), of.activated(1, made)
    new = of.stored(forgotten * cell) + of.stored(i * made)
    new = _settled(rounded_or_not(new, of.desc.input_tensor.data_type))
    if of.readings.sees_new.any():
        o = _of_rows(of.readings.sees_new, gates("o", new), o)
    seen = _of_rows(of.readings.clips_cell, of.clipped(new), new) if of.readings.clips_cell.any() else new
    return o * of.activated(2, seen), new


def gru(of: Layer, x: Enclosure, h: Enclosure) -> tuple[Enclosure, ...]:
    """h = (1 - z) * g(x @ wh + (r * h) @ rh + bh) + z * h, with z and r = f(x @ w + h @ r + b)"""
    assert of.desc.operator == "GRU"
    gates = of.activated(0, of.sums(x, h, "zr"))
    z, r = gates[:, : h.shape[1]], gates[:, h.shape[1] :]
    if not of.desc.linear_before_reset:
        hidden = of.sums(x, of.stored(r * h), "h")
    else:
        parts = [_sums(factors) for factors in of.of_input(x, "h")]
        hidden = stack([*parts, r * _sums(*of.of_state(h, "h"))]).sum((0,))[0]
        if of.stores(x.evaluation):
            after = of.stored(r * of.product(of.of_state(h, "h")))
            hidden = either(hidden, of.added(of.product(of.of_input(x, "h")), after))
    made = of.activated(1, hidden)
    new = lerp(made, h, z)
    if of.stores(x.evaluation):
        new = either(new, of.stored(of.stored(1.0 - z) * made) + of.stored(z * h))
    return (new,)


STEPS: dict[str, Callable[..., tuple[Enclosure, ...]]] = {"RNN": rnn, "LSTM": lstm, "GRU": gru}


# --- whole sequences --------------------------------------------------------------------------------------------------


def compute(desc: Recurrent, arrays: Arrays) -> dict[str, Any]:
    """Every state, and the last ones of each sequence."""
    found: dict[str, dict[str, Enclosure]] = {}

    def output(tolerance: Tolerance, key: str) -> Enclosure:
        if tolerance.name not in found:
            found[tolerance.name] = _outputs(desc, arrays, Evaluation(tolerance))
        return found[tolerance.name][key]

    keys = [key for key in ("output_sequence_tensor", *SINGLE) if hasattr(desc, key)]
    return {key: lambda tolerance, key=key: output(tolerance, key) for key in keys}


def _outputs(desc: Recurrent, arrays: Arrays, evaluation: Evaluation) -> dict[str, Enclosure]:
    """Every state, and the last ones of each sequence, in all readings of the page."""
    data_type = desc.input_tensor.data_type
    lengths = arrays.get("sequence_lengths_tensor")
    numbers = {key: evaluation.of(as_numbers(of, data_type)) for key, of in arrays.items() if of is not lengths}
    steps, batch = numbers["input_tensor"].shape[1:3]
    readings = Readings.of(desc, "peephole_tensor" in arrays, batch)
    x = readings.repeated(numbers["input_tensor"][0], 1)
    ends = np.full((batch, 1), steps) if lengths is None else lengths.reshape(batch, 1).astype(np.int64)
    ends = np.tile(ends, (readings.size, 1))
    initial = [key for key in INITIAL if hasattr(desc, key)]
    of_directions: list[list[Enclosure]] = []
    for n in range(directions(desc)):
        layer, none = Layer(desc, numbers, n, readings), evaluation.of(np.zeros((len(ends), hidden_size(desc))))
        states = [readings.repeated(numbers[key][0, n], 0) if key in numbers else none for key in initial]
        is_forward = desc.direction == DIRECTION.FORWARD or (directions(desc) == 2 and n == 0)
        every: dict[int, Enclosure] = {}
        is_first = np.full(ends.shape, not numbers.keys() >= {*initial})
        is_any = not np.isfinite(numbers["recurrence_tensor"][0, n].value).all()
        for t in range(steps) if is_forward else range(steps - 1, -1, -1):
            is_inside = np.broadcast_to(t < ends, none.shape)
            found = [rounded_or_not(state, data_type) for state in STEPS[desc.operator](layer, x[t], *states)]
            # Where there is no state before, 0 times what is infinite counts or not.
            is_nan = is_any | np.logical_or.reduce([state.nan for state in found])
            found = [_open_where(is_first & is_inside & is_nan, state) for state in found]
            every[t] = _open_where(~is_inside, found[0])
            states = [_settled(_chosen(is_inside, *both)) for both in zip(found, states, strict=True)]
            is_first = is_first & ~is_inside[:, :1]
        is_known = np.broadcast_to((ends > 0) & (ends <= steps), none.shape)
        of_directions.append(
            [
                stack([every[t] for t in range(steps)]),
                *(stack([_open_where(~is_known, state)]) for state in states),
            ]
        )
    sequence, *single = (
        readings.joined(stack(parts, 1).to(data_type), BATCH) for parts in zip(*of_directions, strict=True)
    )
    too_long = np.broadcast_to(ends[:batch] > steps, sequence.shape)
    return {"output_sequence_tensor": _open_where(too_long, sequence)} | dict(zip(SINGLE, single, strict=False))


def _sums(*factors: tuple[Enclosure, Enclosure], term: Enclosure | None = None) -> Enclosure:
    """All products of rows and columns, and a term, added up in any order."""
    rows, columns = zip(*factors, strict=True)
    return concatenate(rows, -1).product(concatenate(columns, 0), term=term)


def _of_rows(mask: Array, one: Enclosure, other: Enclosure) -> Enclosure:
    """One in the rows of a mask, the other elsewhere."""
    return _chosen(np.broadcast_to(mask, one.shape), one, other)


def _chosen(mask: Array, one: Enclosure, other: Enclosure) -> Enclosure:
    return where(Condition(mask, mask, mask), one, other)


def _open_where(mask: Array, of: Enclosure) -> Enclosure:
    """With anything where the page does not say what it is."""
    if not mask.any():
        return of
    anything = np.full(of.shape, np.inf)
    return _chosen(mask, Enclosure(of.evaluation, np.zeros(of.shape), -anything, anything, anything > 0), of)


def _settled(h: Enclosure) -> Enclosure:
    """Known exactly where all of it is, so that whole numbers stay what they are over any number of steps."""
    is_known = h.maybe_nan is None and np.array_equal(h.low, h.high)
    return Enclosure(h.evaluation, h.low) if is_known else h


def cut(desc: Recurrent, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Some sequences of a batch."""
    of_each = ("input_tensor", *INITIAL)
    parts = {key: array[:, :, spans[BATCH]] if key in of_each else array for key, array in arrays.items()}
    if "sequence_lengths_tensor" in parts:
        parts["sequence_lengths_tensor"] = parts["sequence_lengths_tensor"][..., spans[BATCH]]
    return desc, parts


OPERATORS: dict[str, Compute] = dict.fromkeys(STEPS, compute)
CUTS: dict[str, Cut] = dict.fromkeys(STEPS, CutRows(lambda desc: (0, 1, 3), cut))
