"""Breaking one rule at a time: the rules that all operators share, and the way to those of an operator's own.

Each function takes a context and gives a descriptor that breaks exactly the rule it is named for. Where a rule cannot
be broken at a level without breaking another (a dimension count that no table allows, once every count up to the
global maximum is allowed), it raises `Impossible`.

Apart from the one rule, what is made is as consistent as it can be: where a tensor is too large, those that
follow from it are too, and a type that does not exist is that of all tensors of a group as well. An implementation that
lacks the one check would otherwise turn the descriptor down for another reason, and nobody would see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.levels import LOWEST, Level
from dml_conformance.spec.operator import Misfit, OperatorDesc, OperatorSpec, outputs, slots
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes, minimum_size_in_bytes, packed_strides
from dml_conformance.spec.tensor_rules import max_dimension_count
from dml_conformance.spec.validator import decide
from dml_conformance.strategies.builders import TOO_LARGE, Builder, builder
from dml_conformance.strategies.chooser import Chooser, SeededChooser
from dml_conformance.strategies.constraints import breaking, one_of_each
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit_tensor, resize


class _Bench(NamedTuple):
    """One operator with its builder, as the generic violations see it."""

    spec: OperatorSpec
    builder: Builder[OperatorDesc]

    def build(self, ctx: Context) -> Any:
        return self.builder.build(ctx)


def _any_tensor(desc: OperatorDesc, ctx: Context) -> str:
    """The key of one of the tensors: one of each field, the first or the last of an array."""
    by_field: dict[str, list[str]] = {}
    for slot in slots(desc):
        by_field.setdefault(slot.field.name, []).append(slot.key)
    ends = [key for keys in by_field.values() for key in dict.fromkeys((keys[0], keys[-1]))]
    return ctx.chooser.variant(ends)


def _any_output(desc: OperatorDesc, ctx: Context) -> str:
    return ctx.chooser.variant([slot.key for slot in outputs(desc)])


def _at_least_bytes(ctx: Context, size: int) -> Context:
    """Only wide types, for the groups that have some."""
    types = {group: tuple(t for t in types if t.size >= size) or types for group, types in ctx.types.items()}
    return ctx.but(types=types)


def _of_at_least_bytes(desc: OperatorDesc, ctx: Context, size: int) -> str:
    """The key of one of the tensors whose elements have so many bytes."""
    keys = [slot.key for slot in slots(desc) if slot.tensor.data_type.size >= size]
    if not keys:
        raise Impossible
    return ctx.chooser.variant(keys)


def _tensor_type(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(ctx)
    return edit_tensor(desc, _any_tensor(desc, ctx), type=TensorType.INVALID)


def _data_type_unknown(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(ctx)
    alone = [(slot.key,) for slot in slots(desc)]
    first = next(iter(bench.spec.type_groups.values()))
    together = tuple(slot.key for slot in slots(desc) if slot.field in first)
    for key in ctx.chooser.variant(tuple(dict.fromkeys((together, *alone)))):
        desc = edit_tensor(desc, key, data_type=DataType.UNKNOWN)
    return desc


def _unknown_flags(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(ctx)
    return edit_tensor(desc, _any_tensor(desc, ctx), flags=ctx.chooser.variant((2, 4, 6, 2**31)))


def _owned_by_dml(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(ctx)
    return edit_tensor(desc, _any_output(desc, ctx), flags=1)


def _dimension_count(bench: _Bench, ctx: Context) -> Any:
    most = max_dimension_count(ctx.level)
    if ctx.chooser.variant(("all tensors", "one tensor")) == "all tensors":
        return bench.build(ctx.but(ranks=(ctx.chooser.variant((most + 1, most + 2)),)))
    count = ctx.chooser.variant((most + 1, most + 2, 0))
    # One dimension more than the others have where these are as many as may be is a step from valid.
    desc = bench.builder.whole(ctx.but(ranks=ctx.ranks[-1:]) if count == most + 1 else ctx)
    key = _any_tensor(desc, ctx)
    sizes = described(desc, key).sizes
    return resize(desc, key, (1,) * (count - len(sizes)) + sizes if count else ())


def _size_zero(bench: _Bench, ctx: Context) -> Any:
    """A size of 0, and in the outputs too where that is what follows, or not."""
    desc = bench.builder.whole(ctx)
    key = _any_tensor(desc, ctx)
    sizes = list(described(desc, key).sizes)
    sizes[ctx.chooser.integer(0, len(sizes) - 1)] = 0
    desc = edit_tensor(desc, key, sizes=tuple(sizes))
    shapes = bench.spec.shapes(desc)
    if isinstance(shapes, Misfit) or key in shapes:
        return desc
    followed = {slot.key: shapes[slot.key] for slot in outputs(desc) if 0 in shapes[slot.key]}
    if followed and ctx.chooser.variant(("all that follows", "one tensor")) == "one tensor":
        return desc
    for output, fitting in followed.items():
        desc = edit_tensor(desc, output, sizes=fitting)
    return desc


def _element_count(bench: _Bench, ctx: Context) -> Any:
    if ctx.chooser.variant(("all that follows", "one tensor")) == "all that follows":
        return ctx.chooser.variant(tuple(bench.builder.huge(ctx.of_rank(2), TOO_LARGE)))
    desc = bench.builder.whole(ctx.of_rank(2))
    key = ctx.chooser.variant([slot.key for slot in slots(desc) if len(slot.tensor.sizes) > 1])
    sizes = list(described(desc, key).sizes)
    sizes[0], sizes[1] = ctx.chooser.variant(((2**16, 2**16), (2**31, 2), (2**32 - 1, 2**32 - 1)))
    total = minimum_size_in_bytes(described(desc, key).data_type, sizes, None)
    return edit_tensor(desc, key, sizes=tuple(sizes), strides=None, total_tensor_size_in_bytes=min(total, 2**64 - 1))


def _output_overlap(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx.but(spread=True))
    several = [slot for slot in outputs(desc) if slot.tensor.element_count > 1]
    if not several:
        raise Impossible
    output = ctx.chooser.variant(several)
    wide = [d for d, size in enumerate(output.tensor.sizes) if size > 1]
    strides = list(output.tensor.effective_strides)
    strides[ctx.chooser.choice(wide)] = 0
    total = max(output.tensor.total_tensor_size_in_bytes, 1)
    return edit_tensor(desc, output.key, strides=tuple(strides), total_tensor_size_in_bytes=total)


def _total_size(bench: _Bench, ctx: Context) -> Any:
    kind = ctx.chooser.variant(("last bytes", "strides ignored", "counted in 32 bits"))
    ctx = _at_least_bytes(ctx, 2)
    if kind == "last bytes":
        desc = bench.builder.whole(ctx)
        key = _any_tensor(desc, ctx)
        for _ in range(_TRIED):
            tensor = next((slot.tensor for slot in slots(desc) if slot.key == key), None)
            most = implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides) - 1 if tensor else 0
            if most:  # a total size of 0 stands for the least one
                less = ctx.chooser.integer(0, min(most - 1, 8))
                return edit_tensor(desc, key, total_tensor_size_in_bytes=most - less)
            desc = bench.build(ctx.but(complete=True))
        raise Impossible
    desc = bench.builder.whole(ctx.but(spread=True))
    several = [slot.key for slot in slots(desc) if slot.tensor.element_count > 1]
    if not several:
        raise Impossible
    key = ctx.chooser.variant(several)
    tensor = described(desc, key)
    if kind == "strides ignored":
        strides = _apart(tensor)
        total = minimum_size_in_bytes(tensor.data_type, tensor.sizes, None)
    else:  # the outermost stride of 2^32 bytes is no distance at all to who counts in 32 bits
        outermost = next(d for d, size in enumerate(tensor.sizes) if size > 1)
        strides = tuple(
            2**32 // max(tensor.data_type.size, 2) if d == outermost else stride
            for d, stride in enumerate(packed_strides(tensor.sizes))
        )
        total = minimum_size_in_bytes(tensor.data_type, tensor.sizes, strides) % 2**32
    return edit_tensor(desc, key, strides=strides, total_tensor_size_in_bytes=total)


def _apart(tensor: TensorDesc, step: int = 2) -> tuple[int, ...]:
    """Strides that leave one element free between any two, or more; they span an odd number of elements."""
    return tuple(step * stride for stride in packed_strides(tensor.sizes))


def _total_size_rounding(bench: _Bench, ctx: Context) -> Any:
    narrow = {group: tuple(t for t in types if t.size in (1, 2)) or types for group, types in ctx.types.items()}
    desc = bench.builder.whole(ctx.but(types=narrow))
    keys = [slot.key for slot in slots(desc) if slot.tensor.data_type.size in (1, 2)]
    if not keys:
        raise Impossible
    key = ctx.chooser.variant(one_of_each(desc, keys))
    tensor = described(desc, key)
    layouts = (tensor.strides, _apart(tensor), _apart(tensor, 4))  # of 4 bits, 7 elements take 4 bytes
    implied_sizes = [implied_size_in_bytes(tensor.data_type, tensor.sizes, strides) for strides in layouts]
    strides = next(strides for strides, size in zip(layouts, implied_sizes, strict=True) if size % 4)
    implied = implied_size_in_bytes(tensor.data_type, tensor.sizes, strides)
    total = ctx.chooser.integer(implied, (implied + 3 & ~3) - 1)
    return edit_tensor(desc, key, strides=strides, total_tensor_size_in_bytes=total)


def _alignment_power_of_two(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(ctx)
    alignment = ctx.chooser.variant((24, 3, 17, 48, 2**32 - 1))
    return edit_tensor(desc, _any_tensor(desc, ctx), guaranteed_base_offset_alignment=alignment)


def _alignment_element_size(bench: _Bench, ctx: Context) -> Any:
    desc = bench.builder.whole(_at_least_bytes(ctx, 2))
    key = _of_at_least_bytes(desc, ctx, 2)
    size = described(desc, key).data_type.size
    alignment = ctx.chooser.variant([n for n in (1, 2, 4) if n < size])
    return edit_tensor(desc, key, guaranteed_base_offset_alignment=alignment)


_Generic = Callable[[_Bench, Context], Any]

TENSOR_VIOLATIONS: dict[str, _Generic] = {
    "TENSOR.type": _tensor_type,
    "TENSOR.data-type": _data_type_unknown,
    "TENSOR.flags": _unknown_flags,
    "TENSOR.owned-by-dml": _owned_by_dml,
    "TENSOR.dimension-count": _dimension_count,
    "TENSOR.sizes": _size_zero,
    "TENSOR.element-count": _element_count,
    "TENSOR.output-overlap": _output_overlap,
    "TENSOR.total-size": _total_size,
    "TENSOR.total-size-rounding": _total_size_rounding,
    "TENSOR.alignment-power-of-two": _alignment_power_of_two,
    "TENSOR.alignment-element-size": _alignment_element_size,
}


@cache
def violations(operator: str) -> dict[str, Callable[[Context], Iterable[Any]]]:
    """For each descriptor rule of an operator, tensor rules included: candidates for what breaks it alone."""
    bench = _Bench(operator_named(operator), builder(operator))
    own = {rule.id: rule.constraint for rule in bench.spec.own_descriptor_rules}
    of_tensors = {rule: partial(_single, partial(make, bench)) for rule, make in TENSOR_VIOLATIONS.items()}
    of_kinds = {rule: partial(breaking, constraint, bench.build) for rule, constraint in own.items() if constraint}
    named = {rule.partition(".")[2].replace("-", "_"): rule for rule in own}
    by_builder = bench.builder.violations().items()
    return of_tensors | of_kinds | {named[name]: partial(_single, make) for name, make in by_builder if name in named}


def _single(make: Callable[[Context], Any], ctx: Context) -> Iterator[Any]:
    yield make(ctx)


def violate(chooser: Chooser, operator: str, level: Level, rule: str) -> OperatorDesc:
    """A descriptor that breaks `rule`, and no other rule, at `level`.

    The validator is asked, as what breaks a rule of most operators may break none of another, or one more.

    Raises:
        Impossible: the rule cannot be broken alone at this level, or in this descriptor.
        KeyError: the operator has no such descriptor rule.
    """
    break_it, context = _bound(operator, level, rule)
    candidates: Iterable[OperatorDesc] = break_it(context.driven_by(chooser))
    found = next((desc for desc in candidates if decide(desc, level).rules == (rule,)), None)
    if found is None:
        raise Impossible
    return found


@cache
def _bound(operator: str, level: Level, rule: str) -> tuple[Callable[[Context], Iterable[Any]], Context]:
    """How to break a rule, and what there is to choose from; decisions have to come from elsewhere."""
    spec = operator_named(operator)
    if level < spec.introduced_in and rule != f"{operator}.introduced-in":
        raise Impossible
    return violations(operator)[rule], Context.at(SeededChooser(""), spec, level)


_TRIED = 20  # descriptors, before a rule counts as one that cannot be broken alone


@cache
def breakable_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of the rules that some descriptor of the operator breaks alone at a level; they are those of its epoch."""
    epoch = operator_named(operator).epoch_of(level) or LOWEST
    if level is not epoch:
        return breakable_rules(operator, epoch)

    def possible(rule: str) -> bool:
        for seed in range(_TRIED):
            with suppress(Impossible):
                violate(SeededChooser(seed), operator, level, rule)
                return True
        return False

    return tuple(rule for rule in violations(operator) if possible(rule))
