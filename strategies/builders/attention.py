"""Descriptors of multi-head attention."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.attention import MASK, MASK_TYPE, SPECS
from dml_conformance.spec.structures import Attention
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder, last_of
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit, resize, resize_at
from dml_conformance.strategies.tensors import tensor

# The inputs that query, key and value stand in.
SINGLE = ("query_tensor", "key_tensor", "value_tensor")
LAYOUTS = (
    SINGLE,
    ("stacked_query_key_value_tensor",),
    ("query_tensor", "stacked_key_value_tensor"),
    ("stacked_query_key_tensor", "value_tensor"),
)
GROUPED = (SINGLE, LAYOUTS[2])  # which may have fewer heads of keys than of queries
# In place of the usual value, the first one: such that what is masked still counts, and that FLOAT16 does not have.
FILTERS = (-10000.0, -10000.0, -1.0, -float.fromhex("0x1.fffffep+127"))
NONE, BOOLEAN = int(MASK_TYPE.NONE), int(MASK_TYPE.BOOLEAN)
OUTPUTS = ("output_tensor", "output_present_key_tensor", "output_present_value_tensor")
# What there may be besides; the keys and values from before together.
OPTIONAL = ("bias_tensor", "mask_tensor", "relative_position_bias_tensor", "past", *OUTPUTS[1:])
# A tensor of a layout, a dimension counted from the end, and whether it has one head more or one element.
WRONG = (
    *((SINGLE, "query_tensor", place) for place in (-3, -1)),
    *((SINGLE, "key_tensor", place) for place in (-3, -2, -1)),
    *((SINGLE, "value_tensor", place) for place in (-3, -2)),
    *((LAYOUTS[1], "stacked_query_key_value_tensor", place) for place in (-3, -2)),
    *((LAYOUTS[2], "stacked_key_value_tensor", place) for place in (-5, -3, -2, -1)),
    *((LAYOUTS[3], "stacked_query_key_tensor", place) for place in (-3, -2)),
    *((LAYOUTS[3], "value_tensor", place) for place in (-3, -2)),
)


class Sizes(NamedTuple):
    """Of query, key and value.

    Attributes:
        past: 0 where there are none from before.
        key_heads: of keys and values; 0 for as many as queries have.
    """

    batch: int
    queries: int
    keys: int
    heads: int
    size: int
    value_size: int
    past: int = 0
    key_heads: int = 0


class AttentionBuilder(Builder[Attention]):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.heads = [field.attribute for field in self._spec.fields if field.name.endswith("HeadCount")]

    def build(self, ctx: Context) -> Attention:
        return self._of_layout(ctx, SINGLE if ctx.complete else ctx.chooser.choice(LAYOUTS))

    def whole(self, ctx: Context) -> Attention:
        """In each layout in turn, as one excludes the tensors of the others."""
        return self._of_layout(ctx.but(complete=True), ctx.chooser.variant(LAYOUTS))

    def _of_layout(self, ctx: Context, layout: tuple[str, ...]) -> Attention:
        choice, integer = ctx.chooser.choice, ctx.chooser.integer
        is_wide = integer(0, 7) == 7
        found = Sizes(
            integer(1, 2),
            integer(ctx.least, 4),
            integer(1, 40 if is_wide else 5),
            integer(1, 3),
            integer(1, 70 if is_wide else 5),
            integer(ctx.least, 5),
            integer(1, 3),
        )
        if len(self.heads) > 1 and layout in GROUPED:
            found = found._replace(heads=found.heads * integer(1, 3), key_heads=found.heads)
        ctx.chooser.section()
        given = [ctx.complete or choice((False, True)) for _ in range(6)]
        mask_type = choice((BOOLEAN, *map(int, MASK_TYPE)))
        kept = {name for name, is_given in zip(OPTIONAL, given, strict=True) if is_given}
        if mask_type == NONE and "mask_tensor" in kept:
            mask_type = BOOLEAN
        members = {"scale": choice(_scales(found.size)), "mask_filter_value": choice(FILTERS), "mask_type": mask_type}
        return self._build(ctx, found, layout, kept, **members)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Attention:
        """A query of these sizes, of one head, beside two keys."""
        if sizes[-1] > MOST_TOGETHER and prod(sizes) < 2**32:
            raise Impossible  # it takes too long to say what is right
        return self._of(ctx, sizes)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Attention]:
        yield self._of(ctx, (1, *sizes))

    def large(self, ctx: Context, size: int) -> Attention:
        """Many queries beside a few keys, of heads of 64 elements."""
        return self._plain(ctx, Sizes(1, max(size // (64 * ctx.data_types[0].size), 1), 16, 1, 64, 64))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Attention:
        return self.of_sizes(ctx, sizes)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Attention:
        return self.of_sizes(ctx, sizes)

    def edges(self, ctx: Context) -> Iterator[Attention]:
        """Every layout with each tensor and all, every mask, groups, layers of networks, long sequences."""
        found = Sizes(2, 3, 4, 2, 5, 3, past=2)
        for layout in LAYOUTS:
            for kept in ((), *((name,) for name in OPTIONAL), OPTIONAL):
                yield self._plain(ctx, found, layout, kept)
        for data_type in ctx.data_types:
            narrow = ctx.but(data_types=(data_type,))
            for mask_type in MASK_TYPE:
                for kept in (("mask_tensor",), ("mask_tensor", "past")) if mask_type else ((),):
                    for value in FILTERS[1:]:
                        members = {"mask_type": int(mask_type), "mask_filter_value": value}
                        yield self._plain(narrow, found, SINGLE, kept, **members)
            for scale in _scales(found.size):
                yield self._plain(narrow, found, scale=scale)
        # BERT: heads of 64, a mask of lengths; GPT-2: one token after others; T5: no scale, biases of positions; a
        # diffusion network's text, of 77 tokens; Whisper's heads, keys and values stacked.
        yield self._plain(ctx, Sizes(2, 16, 16, 2, 64, 64), kept=("bias_tensor", "mask_tensor"), mask_type=1)
        yield self._plain(ctx, Sizes(1, 1, 1, 2, 64, 64, past=31), LAYOUTS[1], OPTIONAL)
        yield self._plain(ctx, Sizes(1, 12, 12, 2, 64, 64), kept=("relative_position_bias_tensor",), scale=1.0)
        yield self._plain(ctx, Sizes(1, 32, 77, 2, 40, 40))
        yield self._plain(ctx, Sizes(1, 4, 50, 2, 64, 64), LAYOUTS[2])
        # One head whose elements would make two, in as few dimensions as there can be.
        for name in OUTPUTS[1:]:
            desc = self._plain(ctx, Sizes(1, 2, 3, 1, 4, 2), kept=(name,))
            yield resize(desc, name, described(desc, name).sizes[-4:])
        if len(self.heads) > 1:
            yield from self._groups(ctx)
        for length in LONG_AXES:
            yield self._plain(ctx, Sizes(1, length, 2, 1, 2, 2))
            yield self._plain(ctx, Sizes(1, 2, length, 1, 2, 1))
            yield self._plain(ctx, Sizes(1, 1, 2, 1, length, 2))

    def _groups(self, ctx: Context) -> Iterator[Attention]:
        """Heads of queries that share those of keys: with each tensor and all; four of them as in Llama, after others
        as in Mistral, all of them as in Falcon."""
        for layout in GROUPED:
            for kept in ((), *((name,) for name in OPTIONAL), OPTIONAL):
                yield self._plain(ctx, Sizes(2, 3, 4, 6, 2, 3, past=2, key_heads=2), layout, kept)
        yield self._plain(ctx, Sizes(1, 8, 8, 8, 128, 128, key_heads=2), kept=("mask_tensor",))
        yield self._plain(ctx, Sizes(1, 1, 1, 8, 128, 128, past=31, key_heads=2), kept=("past", *OUTPUTS[1:]))
        yield self._plain(ctx, Sizes(2, 4, 4, 4, 64, 64, key_heads=1), kept=("mask_tensor",))

    def break_heads_divide(self, ctx: Context) -> Attention:
        """An element too many in rows of queries and keys, and their bias, or of values."""
        keys = ctx.chooser.variant((("query_tensor", "key_tensor"), ("value_tensor",)))
        desc = self.build(ctx.but(complete=True))
        if min(self._counts(desc)) == 1:
            raise Impossible
        for key in (*keys, *(("bias_tensor",) * 2 if len(keys) > 1 else ())):
            sizes = described(desc, key).sizes
            desc = resize_at(desc, key, len(sizes) - 1, sizes[-1] + 1)
        return desc

    def break_input_sizes(self, ctx: Context) -> Attention:
        """A size that does not agree with the others, in one of the tensors."""
        layout, key, place = ctx.chooser.variant(WRONG)
        found = Sizes(*(ctx.chooser.integer(2, 4) for _ in range(6)))._replace(past=2)
        desc = self._build(ctx, found, layout, (), scale=1.0, mask_filter_value=0.0, mask_type=NONE)
        sizes = described(desc, key).sizes
        more = self._counts(desc)[0] if place == -1 and not key.startswith("stacked") else 1
        return resize_at(desc, key, len(sizes) + place, sizes[place] + more)

    def break_mask_type(self, ctx: Context) -> Attention:
        return edit(self.build(ctx.but(complete=True)), mask_type=NONE)

    def break_key_value_head_count_divides(self, ctx: Context) -> Attention:
        heads, key_heads = ctx.chooser.variant(((3, 2), (1, 2), (4, 3)))
        return self._plain(ctx, Sizes(1, 2, 2, heads, 2, 2, key_heads=key_heads))

    def break_past_lengths(self, ctx: Context) -> Attention:
        """A length for each batch, of whatever type."""
        data_type = ctx.chooser.variant((DataType.INT32, DataType.UINT32, DataType.FLOAT32))
        desc = self.build(ctx)
        lengths = tensor(ctx, data_type, (described(desc, "output_tensor").sizes[-3],))
        return edit(desc, past_sequence_lengths_tensor=lengths)

    def _counts(self, desc: Attention) -> tuple[int, ...]:
        return tuple(getattr(desc, name) for name in self.heads)

    def _of(self, ctx: Context, sizes: tuple[int, ...]) -> Attention:
        if set(sizes[:-3]) - {1} or len(sizes) < 3:
            raise Impossible
        batch, queries, size = sizes[-3:]
        return self._plain(ctx.of_rank(max(len(sizes), 3)), Sizes(batch, queries, 2, 1, size, size))

    def _plain(self, ctx: Context, found: Sizes, layout: Any = SINGLE, kept: Any = (), **members: Any) -> Attention:
        usual = {"scale": _scales(found.size)[0], "mask_filter_value": FILTERS[0], "mask_type": BOOLEAN}
        ctx = ctx.but(layout="packed", data_types=ctx.data_types[:1], ranks=ctx.ranks[:1])
        return self._build(ctx, found, layout, kept, **usual | members)

    def _build(self, ctx: Context, found: Sizes, layout: tuple[str, ...], kept: Any, **members: Any) -> Attention:
        """The tensors of a layout, and of the rest those that are named; stacked ones have one size of heads."""
        choice, data_type = ctx.chooser.choice, ctx.chooser.choice(ctx.data_types)
        rank = choice(ctx.ranks)
        if "value_tensor" not in layout:
            found = found._replace(value_size=found.size)
        if layout[0].startswith("stacked_query"):
            found = found._replace(keys=found.queries)
        batch, queries, keys, heads, size, value_size, past, key_heads = found._replace(
            key_heads=found.key_heads or found.heads
        )
        every = keys + (past if "past" in kept else 0)
        masks: dict[int, tuple[int, ...]] = {1: (1, batch), 2: (2, batch), 3: (3 * batch + 2,)}
        scores = (batch, heads, queries, every)
        tensors: dict[str, tuple[int, ...]] = {
            "query_tensor": (batch, queries, heads * size),
            "key_tensor": (batch, keys, key_heads * size),
            "value_tensor": (batch, keys, key_heads * value_size),
            "stacked_query_key_tensor": (batch, queries, heads, 2, size),
            "stacked_key_value_tensor": (batch, keys, key_heads, 2, size),
            "stacked_query_key_value_tensor": (batch, queries, heads, 3, size),
            "bias_tensor": (heads * size + key_heads * (size + value_size),),
            "mask_tensor": masks.get(members["mask_type"], scores),
            "relative_position_bias_tensor": scores,
            "past_key_tensor": (batch, key_heads, past, size),
            "past_value_tensor": (batch, key_heads, past, value_size),
            "output_tensor": (batch, queries, heads * value_size),
            "output_present_key_tensor": (batch, key_heads, every, size),
            "output_present_value_tensor": (batch, key_heads, every, value_size),
        }
        names = {"output_tensor", *layout, *kept, *(("past_key_tensor", "past_value_tensor") if "past" in kept else ())}
        made = {}
        for key, of in tensors.items():
            if key in names:
                if key in (*SINGLE, "output_tensor"):
                    of = last_of(of, rank)
                elif not key.startswith("stacked"):
                    of = (1,) * (choice((len(of), 5)) - len(of)) + of
                of_type = choice(ctx.types[MASK]) if key == "mask_tensor" else data_type
                made[key] = tensor(ctx, of_type, of, output=key in OUTPUTS)
        counts = dict(zip(self.heads, (heads, key_heads), strict=False))
        missing = dict.fromkeys(field.attribute for field in self._spec.tensor_fields)
        return self._desc(**missing | made, **counts, **members)


def _scales(size: int) -> tuple[float, ...]:
    """The usual one, and others."""
    return float32(size**-0.5), 1.0, 0.25, -1.0


BUILDERS = {spec.name: AttentionBuilder(spec.name) for spec in SPECS}
