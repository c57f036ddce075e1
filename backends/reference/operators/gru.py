"""GRU: states of gated recurrent units, step by step over sequences of their own lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.enclosure import Condition, Enclosure, Evaluation, concatenate, stack, where
from dml_conformance.backends.reference.functions import lerp
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated, rounded_or_not
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.operators.gru import DIRECTION, FUNCTIONS, GATES, directions, hidden_size


def gru(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """h = (1 - z) * g(x @ wh + (r * h) @ rh + bh) + z * h, with z and r = f(x @ w + h @ r + b)"""
    outputs = {"output_sequence_tensor": 0, "output_single_tensor": 1}
    found: dict[str, Any] = {}

    def both(profile: Profile) -> Any:
        if profile.name not in found:
            found[profile.name] = _both(desc, arrays, Evaluation(profile))
        return found[profile.name]

    return {key: lambda profile, place=place: both(profile)[place] for key, place in outputs.items()}


class Layer(NamedTuple):
    """What the units of one direction compute with: of z and r together, and of h.

    Attributes:
        weights: columns for each, of the elements of the input.
        recurrence: the same of those of the state.
        biases: rows of the weights and of the recurrence for each; none where there are none.
        functions: the activations f and g.
        desc: the descriptor.
    """

    weights: Sequence[Enclosure]
    recurrence: Sequence[Enclosure]
    biases: Sequence[Sequence[Enclosure]]
    functions: Sequence[Any]
    desc: Any

    def step(self, x: Enclosure, h: Enclosure) -> Enclosure:
        """The states after the states h, one row for each sequence."""
        f, g = self.functions
        gates = self._activated(f, _sums((x, self.weights[0]), (h, self.recurrence[0]), *self._biases(x, 0)))
        z, r = gates[:, : h.shape[1]], gates[:, h.shape[1] :]
        if not self.desc.linear_before_reset:
            hidden = _sums((x, self.weights[1]), (r * h, self.recurrence[1]), *self._biases(x, 1))
        else:
            of_state = r * _sums((h, self.recurrence[1]), *self._biases(x, 1)[1:])
            parts = [_sums(factors) for factors in ((x, self.weights[1]), *self._biases(x, 1)[:1])]
            hidden = stack([*parts, of_state]).sum((0,))[0]
        return lerp(self._activated(g, hidden), h, z)

    def _biases(self, x: Enclosure, place: int) -> list[tuple[Enclosure, Enclosure]]:
        """Those of the weights and of the recurrence, each as a factor of 1."""
        one = Enclosure(x.evaluation, np.ones((x.shape[0], 1)))
        return [(one, row) for row in self.biases[place]]

    def _activated(self, activation: Any, x: Enclosure) -> Enclosure:
        return activated(activation, x, self.desc.input_tensor.data_type)


def _both(desc: Any, arrays: Arrays, evaluation: Evaluation) -> tuple[Enclosure, Enclosure]:
    """Every state, and the last one of each sequence."""
    data_type = desc.input_tensor.data_type
    lengths = arrays.get("sequence_lengths_tensor")
    numbers = {key: evaluation.of(as_numbers(of, data_type)) for key, of in arrays.items() if of is not lengths}
    x = numbers["input_tensor"][0]
    steps, batch = x.shape[:2]
    ends = np.full((batch, 1), steps) if lengths is None else lengths.reshape(batch, 1).astype(np.int64)
    of_directions = []
    for n in range(directions(desc)):
        layer = _layer(desc, numbers, n)
        is_given = "hidden_init_tensor" in numbers
        h = numbers["hidden_init_tensor"][0, n] if is_given else evaluation.of(np.zeros((batch, hidden_size(desc))))
        order = range(steps) if desc.direction == DIRECTION.FORWARD or (directions(desc) == 2 and n == 0) else None
        states: dict[int, Enclosure] = {}
        is_first = np.full((batch, 1), not is_given)
        for t in order or range(steps - 1, -1, -1):
            is_inside = np.broadcast_to(t < ends, h.shape)
            new = rounded_or_not(layer.step(x[t], h), data_type)
            # Where there is no state before, 0 times what is infinite counts or not.
            new = _open_where(is_first & is_inside & new.nan, new)
            states[t] = _open_where(~is_inside, new)
            h = _settled(_chosen(is_inside, new, h))
            is_first = is_first & ~is_inside[:, :1]
        is_known = np.broadcast_to((ends > 0) & (ends <= steps), h.shape)
        of_directions.append((stack([states[t] for t in range(steps)]), stack([_open_where(~is_known, h)])))
    sequence, single = (stack(parts, 1).to(data_type) for parts in zip(*of_directions, strict=True))
    too_long = np.broadcast_to(ends > steps, sequence.shape)
    return _open_where(too_long, sequence), single


def _layer(desc: Any, numbers: dict[str, Enclosure], direction: int) -> Layer:
    """The units of one direction."""
    size, functions = hidden_size(desc), desc.activation_descs[FUNCTIONS * direction :][:FUNCTIONS]

    def parts(of: Enclosure, first: int = 0) -> list[Enclosure]:
        return [of[first : first + 2 * size], of[first + 2 * size : first + GATES * size]]

    weights, recurrence = (parts(numbers[f"{key}_tensor"][0, direction]) for key in ("weight", "recurrence"))
    biases: list[list[Enclosure]] = [[], []]
    if "bias_tensor" in numbers:
        row = numbers["bias_tensor"][0, 0, direction].reshape(6 * size, 1)
        biases = [list(both) for both in zip(parts(row), parts(row, GATES * size), strict=True)]
    return Layer(
        [of.permute(1, 0) for of in weights],
        [of.permute(1, 0) for of in recurrence],
        [[of.permute(1, 0) for of in both] for both in biases],
        functions,
        desc,
    )


def _sums(*factors: tuple[Enclosure, Enclosure]) -> Enclosure:
    """All products of rows and columns, added up in any order."""
    rows, columns = zip(*factors, strict=True)
    return concatenate(rows, -1) @ concatenate(columns, 0)


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


OPERATORS: dict[str, Compute] = {"GRU": gru}
