"""What constraints bring by their kind: descriptors that break one and no other rule, and valid ones at its ends.

Both are made by editing what the operator's builder makes. A way to break is chosen first; then come candidates, those
first that are most consistent, as an implementation that lacks the one check would turn others down for another reason.
The validator says which breaks the one rule alone. What is at the ends may be valid or not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from dml_conformance.spec.constraints import (
    Constraint,
    Quantity,
    dimension,
    leading_sizes,
    number,
    value_of,
)
from dml_conformance.spec.descriptor import OperatorDesc, attribute_of, inputs, outputs, slots, with_tensors
from dml_conformance.spec.field_kinds import SCALAR
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.spec.tensor_rules import max_dimension_count
from dml_conformance.strategies.builders._fused import flat_softplus, wrong_activation
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import described, edit, fitted, put, resize, resize_at, with_data_type

Build = Callable[[Context], Any]
Made = Iterator[Any]
LARGEST_WINDOW = 40  # that is tried
BUILT = 8  # descriptors, before there counts as none that a rule can be broken in


def breaking(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Candidates for breaking a constraint alone, in one way that is chosen."""
    return _BREAKING[constraint.kind](constraint, build, ctx)


def at_ends(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Candidates for what is valid at the ends of a constraint."""
    return _ENDS[constraint.kind](constraint, build, ctx) if constraint.kind in _ENDS else iter(())


def _with(desc: OperatorDesc, name: str, value: Any) -> Any:
    return edit(desc, **{attribute_of(name): value})


def _with_fit(desc: OperatorDesc) -> Made:
    """The descriptor with outputs that fit it now, if there are such, and as it is."""
    fitting = fitted(desc)
    yield from (desc,) if fitting is None else (fitting, desc)


def _put(value: Any, place: int, one: Any) -> Any:
    """One of the entries of an array, or the number that there is instead."""
    return put(value, place, one) if isinstance(value, tuple) else one


def _any_place(ctx: Context, value: Any) -> int:
    return ctx.chooser.integer(0, len(value) - 1) if isinstance(value, tuple) and value else 0


def _break_within(constraint: Constraint, build: Build, ctx: Context) -> Made:
    low, high, _ = constraint.data
    name = ctx.chooser.variant(constraint.subject)
    ways: tuple[str, ...] = ("1 above", "2 above", "2^31", "2^32 - 1") if high is not None else ()
    if isinstance(low, Quantity | float) or low > 0:
        ways += ("far below", "a bit below", "1 below") if isinstance(low, float) else ("1 below",)
    way = ctx.chooser.variant(ways)
    if way.endswith("below"):
        yield from _break_low(build, ctx, name, low, {"far below": 3.0, "a bit below": 2.0**-10}.get(way, 1))
    else:
        yield from _break_high(constraint, build, ctx, name, way)
        yield from _break_high(constraint, build, ctx, name, "1 above")  # where what is farther breaks more


def _break_high(constraint: Constraint, build: Build, ctx: Context, name: str, way: str) -> Made:
    """A number too high, for an index first in descriptors that have the highest: one cut short would pass."""
    _, high, is_index = constraint.data
    others = []
    for _ in range(BUILT):
        desc = build(ctx)
        value, most = value_of(desc, name), int(number(high, desc)) - is_index
        if value != ():
            wrong = {"1 above": most + 1, "2 above": most + 2, "2^31": 2**31}.get(way, UINT32_MAX)
            wrong = float32(wrong) if isinstance(value, float) else wrong
            broken = _with(desc, name, _put(value, len(value) - 1 if isinstance(value, tuple) else 0, wrong))
            if is_index and value == most:
                yield broken
            others.append(broken)
    for broken in others:
        yield from reversed([*_with_fit(broken)]) if is_index else _with_fit(broken)


def _break_low(build: Build, ctx: Context, name: str, low: Any, by: float) -> Made:
    """A number too low, with what fits the least that is allowed, as if it were that."""
    for _ in range(BUILT):
        desc = build(ctx)
        value, least = value_of(desc, name), number(low, desc)
        if value != ():
            place = _any_place(ctx, value)
            as_if = fitted(_with(desc, name, _put(value, place, least)))
            for one in (desc,) if as_if is None else (as_if, desc):
                yield from reversed([*_with_fit(_with(one, name, _put(value, place, least - by)))])


def _break_entries(constraint: Constraint, build: Build, ctx: Context) -> Made:
    name, wrong = ctx.chooser.variant(constraint.subject), ctx.chooser.variant(constraint.data)
    for _ in range(BUILT):
        desc = build(ctx)
        value = value_of(desc, name)
        if value != ():
            place = _any_place(ctx, value)
            broken = _with(desc, name, _put(value, place, wrong))
            yield broken
            yield from _with_fit(broken)


def _break_distinct(constraint: Constraint, build: Build, ctx: Context) -> Made:
    (name,) = constraint.subject
    where = ctx.chooser.variant(("behind", "instead of the last"))
    for _ in range(BUILT):
        desc = build(ctx)
        value = value_of(desc, name)
        if len(value) > (where != "behind"):
            yield from _with_fit(_with(desc, name, (*(value if where == "behind" else value[:-1]), value[0])))


def _break_count(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """All arrays that have one count, longer or shorter by one, or empty."""
    way = ctx.chooser.variant(("one more in front", "one more behind", "one less", "none"))
    for _ in range(BUILT):
        desc = build(ctx)
        count = next(field.count_field for field in desc.fields if field.name == constraint.subject[0])
        arrays = {
            field.attribute: getattr(desc, field.attribute) for field in desc.fields if field.count_field == count
        }
        changed = {
            name: {
                "one more in front": (*array[:1], *array),
                "one more behind": (*array, *array[-1:]),
                "one less": array[1:],
                "none": (),
            }[way]
            for name, array in arrays.items()
        }
        yield from reversed([*_with_fit(edit(desc, **changed))])


def _break_divides(constraint: Constraint, build: Build, ctx: Context) -> Made:
    (name,) = constraint.subject
    way = ctx.chooser.variant(("1 more", "twice", "0"))
    for _ in range(BUILT):
        desc = build(ctx)
        value = value_of(desc, name)
        yield from _with_fit(_with(desc, name, {"1 more": value + 1, "twice": 2 * value, "0": 0}[way]))


def _break_type_of(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Another type, and of all numbers 1, which every type has."""
    (name,) = constraint.subject
    desc = build(ctx)
    own = value_of(desc, constraint.data).data_type
    other = ctx.chooser.variant([data_type for data_type in SIMPLEST_FIRST if data_type is not own])
    ones = {field.attribute: 1 for field in desc.fields if field.kind is SCALAR}
    yield edit(desc, **{attribute_of(name): int(other)}, **ones)


def _break_sizes(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """One size of the tensor is another, and so are those of tensors that had the same sizes, if need be."""
    key, follows = attribute_of(constraint.subject[0]), constraint.subject[1:]
    others = () if constraint.kind == "broadcastable" else ("1",) if follows else ("1", "the input's")
    way = ctx.chooser.variant(("1 more", "1 less", *others))
    for _ in range(BUILT):
        desc = build(ctx.but(spread=True, complete=True))
        sizes = described(desc, key).sizes
        d = ctx.chooser.integer(0, len(sizes) - 1)
        of = inputs(desc)[0].tensor.sizes
        size = {"1 more": sizes[d] + 1, "1 less": sizes[d] - 1, "1": 1}.get(way, of[d] if d < len(of) else 1)
        if size > 0 and size != sizes[d]:
            yield from _resized(desc, key, _put(sizes, d, size), follows)


def _resized(desc: OperatorDesc, key: str, sizes: tuple[int, ...], follows: tuple[str, ...] = ()) -> Made:
    """With other sizes of a tensor: outputs that fit, or not, or all that had the same sizes as well."""
    old = described(desc, key).sizes
    yield from _with_fit(resize(desc, key, sizes))
    for slot in slots(desc):
        if slot.tensor.sizes == old and slot.field.name not in follows:
            desc = resize(desc, slot.key, sizes)
    yield from _with_fit(desc)


def _break_size_within(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """One too many or too few, or as many as the output has."""
    key, (place, low, high) = attribute_of(constraint.subject[0]), constraint.data
    step = ctx.chooser.variant(("1 above", "2 above", "the output's") if high is not None else ("1 below",))
    for _ in range(BUILT):
        desc = build(ctx.but(spread=True))
        sizes, d = described(desc, key).sizes, dimension(desc, place) % len(described(desc, key).sizes)
        if high is None:
            size = int(number(low, desc)) - 1
        else:
            most, of_output = int(number(high, desc)), outputs(desc)[0].tensor.sizes
            size = {"1 above": most + 1, "2 above": most + 2}.get(step, max(of_output[d % len(of_output)], most + 1))
        if size > 0:
            yield from _resized(desc, key, _put(sizes, d, size))


def _break_leading(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A size above 1, of the first or of the last that has to be 1."""
    key, place = attribute_of(constraint.subject[0]), ctx.chooser.variant((-1, 0))
    for _ in range(BUILT):
        desc = build(ctx)
        leading = leading_sizes(desc, constraint.subject[0], constraint.data)
        if leading:
            yield from _with_fit(resize_at(desc, key, place % len(leading), ctx.chooser.integer(2, 5)))


def _break_same_ranks(constraint: Constraint, build: Build, ctx: Context) -> Made:
    longer = tuple(rank for rank in ctx.ranks if rank + 1 in ctx.ranks)
    desc = build(ctx.but(ranks=longer or ctx.ranks, complete=True))
    counts = {slot.key: ctx.table[slot.field.name].dimension_counts for slot in slots(desc)}
    keys = [key for keys in _several(constraint, desc) for key in keys]
    key = ctx.chooser.variant([key for key in keys if len(described(desc, key).sizes) + 1 in counts[key]])
    yield resize(desc, key, (1, *described(desc, key).sizes))


def _break_same_types(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Another type of one tensor of a group, in turn; of an array the last, and one in the middle."""
    fields = ctx.chooser.variant(constraint.data)
    desc, keys = _with_tensor(build, ctx, ctx.chooser.variant([field.name for field in reversed(fields)]))
    key = ctx.chooser.variant(one_of_each(desc, keys)[::-1])
    slot = next(slot for slot in slots(desc) if slot.key == key)
    types = ctx.table[slot.field.name].data_types - {slot.tensor.data_type}
    yield with_data_type(desc, key, ctx.chooser.variant([kind for kind in SIMPLEST_FIRST if kind in types]))


def _with_tensor(build: Build, ctx: Context, name: str) -> tuple[OperatorDesc, list[str]]:
    """A descriptor that has a tensor, and its keys; there are tensors that exclude each other.

    Raises:
        Impossible: none has it.
    """
    for complete in (True, *(False,) * BUILT):
        desc = build(ctx.but(complete=complete))
        keys = [slot.key for slot in slots(desc) if slot.field.name == name]
        if keys:
            return desc, keys
    raise Impossible


def one_of_each(desc: OperatorDesc, keys: Collection[str]) -> list[str]:
    """Of the keys those of each field; of an array one in the middle and the last."""
    by_field: dict[str, list[str]] = {}
    for slot in slots(desc):
        if slot.key in keys:
            by_field.setdefault(slot.field.name, []).append(slot.key)
    return [key for of in by_field.values() for key in dict.fromkeys((of[len(of) // 2], of[-1]))]


def _several(constraint: Constraint, desc: OperatorDesc) -> list[list[str]]:
    """The keys of each group of tensors that has more than one in the descriptor."""
    groups = [[slot.key for slot in slots(desc) if slot.field in fields] for fields in constraint.data]
    return [keys for keys in groups if len(keys) > 1]


def _break_same_type(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Another type that the table has of the tensor."""
    name = constraint.subject[0]
    desc = build(ctx.but(complete=True))
    types = ctx.table[name].data_types - {value_of(desc, name).data_type}
    other = ctx.chooser.variant([kind for kind in SIMPLEST_FIRST if kind in types])
    yield with_data_type(desc, attribute_of(name), other)


def _break_output_sizes(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Another size of an output, or of any tensor where all have the same; if need be in another dimension."""
    desc = build(ctx.but(complete=True) if constraint.data else ctx)
    key = ctx.chooser.variant([slot.key for slot in (slots(desc) if constraint.data else outputs(desc))])
    sizes = described(desc, key).sizes
    d = ctx.chooser.variant(range(len(sizes)))
    n = ctx.chooser.variant([n for n in (sizes[d] + 1, sizes[d] - 1, sizes[d] * 2, 1) if n > 0 and n != sizes[d]])
    yield resize_at(desc, key, d, n)
    yield from (resize_at(desc, key, other, size + 1) for other, size in enumerate(sizes))


def _break_given(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A tensor that is null, any of an array."""
    desc = build(ctx)
    keys = [slot.key for slot in slots(desc) if slot.field.name in constraint.subject]
    yield with_tensors(desc, {ctx.chooser.variant(keys): None})


def _break_activation(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """An activation that cannot be fused, or has a tensor."""
    desc = build(ctx)
    yield _with_activation(constraint, desc, ctx, wrong_activation(ctx, outputs(desc)[0].tensor, constraint.data))


def _break_steepness(constraint: Constraint, build: Build, ctx: Context) -> Made:
    yield _with_activation(constraint, build(ctx), ctx, flat_softplus(ctx))


def _with_activation(constraint: Constraint, desc: OperatorDesc, ctx: Context, activation: Any) -> Any:
    (name,) = constraint.subject
    return _with(desc, name, _put(value_of(desc, name), _any_place(ctx, value_of(desc, name)), activation))


def _break_window_fits(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A window as small as one that does not fit can be, along any dimension."""
    (name,) = constraint.subject
    for _ in range(BUILT):
        desc = build(ctx.but(spread=True))
        value = value_of(desc, name)
        if value:
            d = _any_place(ctx, value)
            yield from (_with(desc, name, _put(value, d, value[d] + more)) for more in range(1, LARGEST_WINDOW))


def _break_from_level(constraint: Constraint, build: Build, ctx: Context) -> Made:
    if ctx.level < constraint.data:
        yield build(ctx)


def _break_enumerators(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A number that is no enumerator, or one that a later level has."""
    wrong = [
        (name, value)
        for name, kind in constraint.data.items()
        for value in (*kind.enum, max(kind.enum) + 1, UINT32_MAX)
        if value not in kind.enum._value2member_map_ or kind.levels.get(value, ctx.level) > ctx.level
    ]
    name, value = ctx.chooser.variant(wrong)
    yield _with(build(ctx), name, int(value))


def _break_data_types(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A type that no table has: of a group, in turn each one, or of one of its tensors alone."""
    group = ctx.chooser.variant(tuple(ctx.types))
    rows = {field.name: ctx.table[field.name].data_types for field in constraint.data[group]}
    wrong = [kind for kind in SIMPLEST_FIRST if all(kind not in row for row in rows.values())]
    way = ctx.chooser.variant([*wrong, *(rows if len(ctx.table) > 1 else ())])
    if not isinstance(way, str):
        for complete in (True, False):  # there are types that some tensors exclude
            yield build(ctx.of_types(group, (way,)).but(complete=complete))
        return
    desc, keys = _with_tensor(build, ctx, way)
    kinds = [kind for kind in SIMPLEST_FIRST if kind not in rows[way]]
    yield with_data_type(desc, keys[-1], kinds[ctx.chooser.integer(0, len(kinds) - 1)])


def _break_dimension_counts(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """A count that no table has: of the first group, in turn each one, or of one tensor alone.

    All tensors have it where that can be, as a level may be taken for one whose tables have it of all.
    """
    first = {field.name for field in constraint.data}
    rows = {name: row.dimension_counts for name, row in ctx.table.items()}
    every = range(1, max_dimension_count(ctx.level) + 1)
    ways = [("", count) for count in every if all(count not in rows[name] for name in first)]
    for name, row in rows.items():
        if row and len(rows) > 1:
            ways += [(name, count) for count in (min(row) - 1, max(row) + 1) if count in every]
    name, wrong = ctx.chooser.variant(tuple(ways))
    if name:
        for complete in (True, *(False,) * BUILT):  # there are tensors that exclude each other
            desc = build(ctx.but(complete=complete))
            for slot in (slot for slot in slots(desc) if slot.field.name == name):
                yield resize(desc, slot.key, ((1,) * wrong + slot.tensor.sizes)[-wrong:])
        return
    ctx, mixed = ctx.but(ranks=(wrong,)), []
    for complete in (True, *(False,) * BUILT):
        desc = build(ctx.but(complete=complete))
        if len({len(slot.tensor.sizes) for slot in slots(desc)}) == 1:
            yield desc
            break
        mixed.append(desc)
    yield from mixed


def _break_together(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """One more or one less than there may be; one that is added is a copy of one that is there."""
    name = ctx.chooser.variant(constraint.subject)
    for _ in range(BUILT):
        desc = build(ctx)
        there = [value for one in constraint.subject if (value := value_of(desc, one)) is not None]
        for one in dict.fromkeys((name, *constraint.subject)) if there else ():
            yield from _with_fit(_with(desc, one, there[0] if value_of(desc, one) is None else None))


_BREAKING: dict[str, Callable[[Constraint, Build, Context], Made]] = {
    "within": _break_within,
    "entries": _break_entries,
    "distinct": _break_distinct,
    "count": _break_count,
    "divides": _break_divides,
    "type_of": _break_type_of,
    "sizes": _break_sizes,
    "broadcastable": _break_sizes,
    "size_within": _break_size_within,
    "leading_ones": _break_leading,
    "same_ranks": _break_same_ranks,
    "same_types": _break_same_types,
    "same_type": _break_same_type,
    "given": _break_given,
    "together": _break_together,
    "output_sizes": _break_output_sizes,
    "activation": _break_activation,
    "steepness": _break_steepness,
    "window_fits": _break_window_fits,
    "from_level": _break_from_level,
    "enumerators": _break_enumerators,
    "data-types": _break_data_types,
    "dimension-counts": _break_dimension_counts,
}


# --- the ends ---------------------------------------------------------------------------------------------------------


def _ends_of_within(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """The least number and the largest, of an array in every entry."""
    low, high, is_index = constraint.data
    for name in constraint.subject:
        for end, less in ((low, 0), (high, is_index)):
            if end is not None:
                desc = build(ctx.but(spread=True))
                value, wanted = value_of(desc, name), number(end, desc) - less
                yield from _with_fit(_with(desc, name, (wanted,) * len(value) if isinstance(value, tuple) else wanted))


def _ends_of_divides(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """1, and all of the first quantity."""
    (name,) = constraint.subject
    for of in (lambda desc: 1, constraint.data[0].of):
        desc = build(ctx.but(spread=True))
        yield from _with_fit(_with(desc, name, of(desc)))


def _ends_of_size_within(constraint: Constraint, build: Build, ctx: Context) -> Made:
    key, (place, *ends) = attribute_of(constraint.subject[0]), constraint.data
    for end in ends:
        if end is not None:
            desc = build(ctx.but(spread=True))
            sizes = described(desc, key).sizes
            yield from _resized(desc, key, _put(sizes, dimension(desc, place) % len(sizes), int(number(end, desc))))


def _ends_of_given(constraint: Constraint, build: Build, ctx: Context) -> Made:
    """Each tensor there, and missing."""
    full = build(ctx.but(complete=True))
    yield full
    for name in constraint.subject:
        yield _with(full, name, None)


_ENDS: dict[str, Callable[[Constraint, Build, Context], Made]] = {
    "within": _ends_of_within,
    "divides": _ends_of_divides,
    "size_within": _ends_of_size_within,
    "together": _ends_of_given,
}
