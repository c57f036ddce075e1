"""Descriptors of GRU."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

from dml_conformance.spec.operators.gru import DIRECTION, FUNCTIONS, GATES, GRU, LENGTHS
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.builders._fused import (
    activation,
    chosen_activation,
    every_activation,
    flat_softplus,
    wrong_activation,
)
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit
from dml_conformance.strategies.tensors import sizes, tensor

SIGMOID, TANH, LINEAR = (activation(f"ACTIVATION_{name}") for name in ("SIGMOID", "TANH", "LINEAR"))
# Of whole numbers it is 0 or 1, so that states stay whole over any number of steps.
STEP = activation("ACTIVATION_HARD_SIGMOID", alpha=1.0, beta=0.0)
USUAL = ((SIGMOID, TANH), (STEP, LINEAR), (STEP, STEP))
OPTIONAL = ("bias_tensor", "hidden_init_tensor", "sequence_lengths_tensor")
OUTPUTS = ("output_sequence_tensor", "output_single_tensor")
FORWARD, BACKWARD, BIDIRECTIONAL = map(int, DIRECTION)
MOST_STEPS = 4  # over more of them errors grow beyond what can be judged


class Sizes(NamedTuple):
    """Of the sequences and the state."""

    steps: int
    batch: int
    width: int
    hidden: int


class GruBuilder(Builder):
    def __init__(self) -> None:
        self.violations = {"fused-activation": self.break_activation, "fused-steepness": self.break_steepness}

    def build(self, ctx: Context) -> Any:
        choice = ctx.chooser.choice
        direction = choice((FORWARD, BACKWARD, BIDIRECTIONAL))
        least = 2 if ctx.spread else 1
        steps = ctx.chooser.integer(least, MOST_STEPS)
        found = Sizes(steps, *sizes(ctx, 3, least))
        members = {"linear_before_reset": choice((False, True))}
        functions: list[Any] = []
        for _ in range(_count(direction)):
            other = (chosen_activation(ctx) or SIGMOID, chosen_activation(ctx) or TANH)
            functions += choice((*USUAL, other))
        missing = [] if ctx.complete else [key for key in OPTIONAL if choice((False, True))]
        missing += [] if ctx.complete else choice(((), (), *((key,) for key in OUTPUTS)))
        ctx.chooser.section()
        return self._build(ctx, found, direction, missing, activation_descs=tuple(functions), **members)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """Sequences of these sizes; long ones take too long."""
        if len(sizes) != 4 or sizes[0] != 1:
            raise Impossible
        return self._plain(ctx, Sizes(*sizes[1:], hidden=2))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        if sizes[0] > LONG_AXES[0]:
            raise Impossible  # one step after the other
        return super().long_axis(ctx, (1, *sizes)[-3:], place)

    def large(self, ctx: Context, size: int) -> Any:
        hidden = 64
        return self._plain(ctx, Sizes(2, max(size // (2 * hidden * ctx.data_types[0].size), 1), hidden, hidden))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """In one step; of states as long as the last size the recurrence would be larger than any tensor."""
        batch, hidden = prod(sizes[:-1]), sizes[-1]
        if hidden > MOST_STEPS and batch * hidden < 2**32:
            batch, hidden = batch * hidden, 1
        return self._plain(ctx, Sizes(1, batch, 1, hidden))

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Every direction with and without each tensor, both resets, sequences of 1 step and long ones, activations."""
        found = Sizes(3, 2, 3, 4)
        left_out = ((), *((key,) for key in (*OPTIONAL, *OUTPUTS)), OPTIONAL)
        for direction, is_linear, missing in product((FORWARD, BACKWARD, BIDIRECTIONAL), (False, True), left_out):
            functions = (SIGMOID, TANH) if missing else (STEP, LINEAR)
            members = {"linear_before_reset": is_linear, "activation_descs": functions * _count(direction)}
            yield self._plain(ctx, found, direction, missing, **members)
        for data_type, direction in product(ctx.data_types, (FORWARD, BACKWARD, BIDIRECTIONAL)):
            yield self._plain(ctx.but(data_types=(data_type,)), Sizes(1, 3, 2, 3), direction)
        for other in (Sizes(2, 1, LONG_AXES[0], 2), Sizes(2, 2, 1, LONG_AXES[0]), Sizes(1, LONG_AXES[0], 1, 2)):
            yield self._plain(ctx, other)
        for steps, direction in ((LONG_AXES[0], FORWARD), (40, BACKWARD)):
            yield self._plain(ctx, Sizes(steps, 3, 2, 3), direction, activation_descs=(STEP, STEP))
        for one in every_activation(ctx.level):
            yield self._plain(ctx, found, activation_descs=(one, TANH))
            yield self._plain(ctx, found, activation_descs=(SIGMOID, one))

    def break_activation(self, ctx: Context) -> Any:
        """One of those of a direction, in place of f or of g."""
        desc = self.build(ctx.but(complete=True))
        return self._with(ctx, desc, wrong_activation(ctx, desc.output_single_tensor))

    def break_steepness(self, ctx: Context) -> Any:
        return self._with(ctx, self.build(ctx), flat_softplus(ctx))

    def _with(self, ctx: Context, desc: Any, one: Any) -> Any:
        functions = desc.activation_descs
        place = ctx.chooser.integer(0, len(functions) - 1)
        return edit(desc, activation_descs=(*functions[:place], one, *functions[place + 1 :]))

    def _plain(self, ctx: Context, found: Sizes, direction: int = FORWARD, missing: Any = (), **members: Any) -> Any:
        functions = (SIGMOID, TANH) * _count(direction)
        members = {"linear_before_reset": False, "activation_descs": functions, **members}
        ctx = ctx.but(layout="packed", data_types=ctx.data_types[:1])
        return self._build(ctx, found, direction, missing, **members)

    def _build(self, ctx: Context, found: Sizes, direction: int, missing: Any, **members: Any) -> Any:
        count, (steps, batch, width, hidden) = _count(direction), found
        data_type = ctx.chooser.choice(ctx.data_types)
        tensors = {
            "input_tensor": (1, steps, batch, width),
            "weight_tensor": (1, count, GATES * hidden, width),
            "recurrence_tensor": (1, count, GATES * hidden, hidden),
            "bias_tensor": (1, 1, count, 2 * GATES * hidden),
            "hidden_init_tensor": (1, count, batch, hidden),
            "sequence_lengths_tensor": (1, 1, 1, batch),
            "output_sequence_tensor": (steps, count, batch, hidden),
            "output_single_tensor": (1, count, batch, hidden),
        }
        types = dict.fromkeys(tensors, data_type) | {"sequence_lengths_tensor": ctx.chooser.choice(ctx.types[LENGTHS])}
        rank = ctx.ranks[0]
        made = {
            key: tensor(ctx, types[key], ((1,) * (rank - len(of)) + of)[-rank:], output=key in OUTPUTS)
            for key, of in tensors.items()
            if key not in missing
        }
        return GRU.desc(**dict.fromkeys(missing), **made, direction=direction, **members)


def _count(direction: int) -> int:
    return FUNCTIONS if direction == BIDIRECTIONAL else 1


BUILDERS = {"GRU": GruBuilder()}
