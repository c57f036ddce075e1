"""Descriptors of RNN, LSTM and GRU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf, nan, prod
from typing import Any, NamedTuple

from dml_conformance.spec.operator import DATA
from dml_conformance.spec.operators.recurrent import DIRECTION, LENGTHS, UNITS
from dml_conformance.spec.structures import Recurrent
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder, last_of
from dml_conformance.strategies.builders._fused import activation, chosen_activation, every_activation, wrong_activation
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit, put
from dml_conformance.strategies.tensors import sizes

SIGMOID, TANH, LINEAR, RELU = (activation(f"ACTIVATION_{name}") for name in ("SIGMOID", "TANH", "LINEAR", "RELU"))
# Of whole numbers it is 0 or 1, so that states stay whole over any number of steps.
STEP = activation("ACTIVATION_HARD_SIGMOID", alpha=1.0, beta=0.0)
# The activations of a direction: what networks have, then such as keep whole numbers whole, over many steps the last.
USUAL = {
    "RNN": ((TANH,), (RELU,), (STEP,)),
    "LSTM": ((SIGMOID, TANH, TANH), (STEP, LINEAR, LINEAR), (STEP, STEP, STEP)),
    "GRU": ((SIGMOID, TANH), (STEP, LINEAR), (STEP, STEP)),
}
OPTIONAL = ("bias_tensor", "hidden_init_tensor", "sequence_lengths_tensor")
CELL_OPTIONAL = ("cell_mem_init_tensor", "peephole_tensor")
OUTPUTS = ("output_sequence_tensor", "output_single_tensor")
CELL_OUTPUT = "output_cell_single_tensor"
FORWARD, BACKWARD, BIDIRECTIONAL = map(int, DIRECTION)
MOST_OF_EACH = 2**30  # elements of a state; larger ones are in the output of the sequence alone
MOST_STEPS = 4  # over more of them errors grow beyond what can be judged
THRESHOLDS = (2.0, 0.5, 16.0, 0.0, inf, -1.0, nan)  # as FLOAT16 has them too


class Sizes(NamedTuple):
    """Of the sequences and the state."""

    steps: int
    batch: int
    width: int
    hidden: int


def clipped(threshold: float | None, is_coupled: bool) -> Mapping[str, Any]:
    """Members of LSTM; without a threshold there is another one that is not used."""
    return {
        "clip_threshold": 0.5 if threshold is None else threshold,
        "use_clip_threshold": threshold is not None,
        "couple_input_forget": is_coupled,
    }


# Members of an operator's own, the plainest first.
MEMBERS: dict[str, Sequence[Mapping[str, Any]]] = {
    "RNN": ({},),
    "LSTM": (clipped(None, False), clipped(2.0, True)),
    "GRU": ({"linear_before_reset": False}, {"linear_before_reset": True}),
}


class RecurrentBuilder(Builder[Recurrent]):
    """Of layers.

    Attributes:
        optional: inputs that it can do without.
        outputs: all of them.
        costly: inputs that long cases and many alike do without.
    """

    optional: tuple[str, ...] = OPTIONAL
    outputs: tuple[str, ...] = OUTPUTS
    costly: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name, self.usual = name, USUAL[name]

    def build(self, ctx: Context) -> Recurrent:
        choice = ctx.chooser.choice
        direction = choice((FORWARD, BACKWARD, BIDIRECTIONAL))
        steps = ctx.chooser.integer(ctx.least, MOST_STEPS)
        found = Sizes(steps, *sizes(ctx, 3, ctx.least))
        members = self.members(ctx)
        functions: list[Any] = []
        for _ in range(_count(direction)):
            other = tuple(chosen_activation(ctx) or usual for usual in self.usual[0])
            functions += choice((*self.usual, other))
        missing = [] if ctx.complete else [key for key in self.optional if choice((False, True))]
        missing += [] if ctx.complete else choice(((), (), *((key,) for key in self.outputs)))
        ctx.chooser.section()
        return self._build(ctx, found, direction, missing, activation_descs=tuple(functions), **members)

    def members(self, ctx: Context) -> Mapping[str, Any]:
        """Those of the operator's own."""
        return ctx.chooser.choice(MEMBERS[self.name])

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Recurrent:
        """Sequences of these sizes; long ones take too long."""
        if len(sizes) != 4 or sizes[0] != 1:
            raise Impossible
        return self._plain(ctx, Sizes(*sizes[1:], hidden=2))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Recurrent:
        if sizes[0] > LONG_AXES[0] or sizes[2] > MOST_TOGETHER:
            raise Impossible  # one step after the other, and one product after the other
        return super().long_axis(ctx, (1, *sizes)[-3:], place)

    def large(self, ctx: Context, size: int) -> Recurrent:
        hidden = 64
        return self._plain(ctx, Sizes(2, max(size // (2 * hidden * ctx.data_types[0].size), 1), hidden, hidden))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Recurrent:
        """In one step, without lengths, so that large data may begin again; of states as long as the last size the
        recurrence would be larger than any tensor."""
        batch, hidden = prod(sizes[:-1]), sizes[-1]
        if hidden > MOST_STEPS and batch * hidden < 2**32:
            batch, hidden = batch * hidden, 1
        missing = (*self.costly, "sequence_lengths_tensor")
        if MOST_OF_EACH < batch * hidden <= MAX_ELEMENTS:
            missing = (*self.optional, *self.outputs[1:])
        return self._plain(ctx, Sizes(1, batch, 1, hidden), missing=missing)

    def edges(self, ctx: Context) -> Iterator[Recurrent]:
        """Every direction with and without each tensor, all members, sequences of 1 step and long ones, activations."""
        found, (usual, whole, lasting) = Sizes(3, 2, 3, 4), self.usual
        left_out = ((), *((key,) for key in (*self.optional, *self.outputs)), self.optional)
        every = product((FORWARD, BACKWARD, BIDIRECTIONAL), MEMBERS[self.name], left_out)
        for direction, members, missing in every:
            functions = (usual if missing else whole) * _count(direction)
            yield self._plain(ctx, found, direction, missing, activation_descs=functions, **members)
        for data_type, direction in product(ctx.data_types, (FORWARD, BACKWARD, BIDIRECTIONAL)):
            yield self._plain(ctx.but(data_types=(data_type,)), Sizes(1, 3, 2, 3), direction)
        for other in (Sizes(2, 1, LONG_AXES[0], 2), Sizes(2, 2, 1, LONG_AXES[0]), Sizes(1, LONG_AXES[0], 1, 2)):
            yield self._plain(ctx, other)
        for steps, direction in ((LONG_AXES[0], FORWARD), (40, BACKWARD)):
            yield self._plain(ctx, Sizes(steps, 3, 2, 3), direction, self.costly, activation_descs=lasting)
        for one in every_activation(ctx.level):
            for place in range(len(usual)):
                yield self._plain(ctx, found, missing=self.costly, activation_descs=put(usual, place, one))

    def break_fused_activation(self, ctx: Context) -> Recurrent:
        """One of those of a direction, in place of another."""
        desc = self.build(ctx.but(complete=True))
        one, functions = wrong_activation(ctx, described(desc, "output_single_tensor")), desc.activation_descs
        place = ctx.chooser.integer(0, len(functions) - 1)
        return edit(desc, activation_descs=put(functions, place, one))

    def _plain(
        self, ctx: Context, found: Sizes, direction: int = FORWARD, missing: Any = (), **members: Any
    ) -> Recurrent:
        functions = self.usual[0] * _count(direction)
        members = {**MEMBERS[self.name][0], "activation_descs": functions, **members}
        ctx = ctx.but(layout="packed", data_types=ctx.data_types[:1])
        return self._build(ctx, found, direction, missing, **members)

    def _build(self, ctx: Context, found: Sizes, direction: int, missing: Any, **members: Any) -> Recurrent:
        count, (steps, batch, width, hidden) = _count(direction), found
        data_type, unit = ctx.chooser.choice(ctx.data_types), UNITS[self.name]
        rows, states = len(unit.gates) * hidden, (1, count, batch, hidden)
        every = {
            "input_tensor": (1, steps, batch, width),
            "weight_tensor": (1, count, rows, width),
            "recurrence_tensor": (1, count, rows, hidden),
            "bias_tensor": (1, 1, count, 2 * rows),
            "hidden_init_tensor": states,
            "cell_mem_init_tensor": states,
            "sequence_lengths_tensor": (1, 1, 1, batch),
            "peephole_tensor": (1, 1, count, len(unit.peepholes) * hidden),
            "output_sequence_tensor": (steps, *states[1:]),
            "output_single_tensor": states,
            CELL_OUTPUT: states,
        }
        types = {DATA: data_type, LENGTHS: ctx.chooser.choice(ctx.types[LENGTHS])}
        given = {key: last_of(of, ctx.ranks[0]) for key, of in every.items() if key not in missing}
        return self.of_tensors(ctx, types, given, direction=direction, **members)


class LstmBuilder(RecurrentBuilder):
    """Of layers with cell states."""

    optional = (*OPTIONAL, *CELL_OPTIONAL)
    outputs = (*OUTPUTS, CELL_OUTPUT)
    costly = ("peephole_tensor",)  # with which there are two right results

    def members(self, ctx: Context) -> Mapping[str, Any]:
        choice = ctx.chooser.choice
        return clipped(choice((None, None, *THRESHOLDS[:3])), choice((False, True)))

    def edges(self, ctx: Context) -> Iterator[Recurrent]:
        """Besides, thresholds of any kind, each member alone, and more steps with whole numbers."""
        yield from super().edges(ctx)
        found, (usual, whole, lasting) = Sizes(3, 2, 3, 4), self.usual
        for threshold in THRESHOLDS:
            yield self._plain(ctx, found, missing=self.costly, activation_descs=usual, **clipped(threshold, False))
        for functions, members in product((usual, whole), (clipped(2.0, False), clipped(None, True))):
            yield self._plain(ctx, found, activation_descs=functions, **members)
        for missing in ((), self.costly, (*self.costly, "cell_mem_init_tensor")):
            yield self._plain(ctx, Sizes(8, 3, 2, 3), BACKWARD, missing, activation_descs=lasting)


def _count(direction: int) -> int:
    return 2 if direction == BIDIRECTIONAL else 1


BUILDERS = {"RNN": RecurrentBuilder("RNN"), "LSTM": LstmBuilder("LSTM"), "GRU": RecurrentBuilder("GRU")}
