"""Breaking one rule at a time: the rules that all operators share, and the way to those of an operator's own.

Each function takes a context and gives a descriptor that breaks exactly the rule it is named for. Where a rule cannot
be broken at a level without breaking another (a dimension count that no table allows, once every count up to the
global maximum is allowed), it raises `Impossible`.

Apart from the one rule, what is made is as consistent as it can be: where a tensor is too large, those that
follow from it are too, and a type that does not exist is that of all tensors of a group as well. An implementation that
lacks the one check would otherwise turn the descriptor down for another reason, and nobody would see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES, OperatorDesc, OperatorSpec
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes, minimum_size_in_bytes, packed_strides
from dml_conformance.spec.tensor_rules import max_dimension_count
from dml_conformance.strategies.builders import TOO_LARGE, builder
from dml_conformance.strategies.chooser import Chooser, SeededChooser
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context, Impossible
from dml_conformance.strategies.edits import edit, edit_tensor, resize


@dataclass(frozen=True)
class _Bench:
    """One operator with its builder, as the generic violations see it."""

    spec: OperatorSpec
    build: Callable[[Context], Any]
    huge: Callable[[Context, tuple[int, int]], Iterator[Any]]

    def any_tensor(self, ctx: Context) -> str:
        return ctx.chooser.variant(self.spec.tensor_fields).attribute

    @cached_property
    def output(self) -> str:
        return self.spec.output_fields[0].attribute

    @cached_property
    def input(self) -> str:
        return self.spec.input_fields[0].attribute


def _at_least_bytes(ctx: Context, size: int) -> Context:
    return ctx.but(data_types=tuple(t for t in ctx.data_types if t.size >= size))


def _tensor_type(bench: _Bench, ctx: Context) -> Any:
    return edit_tensor(bench.build(ctx), bench.any_tensor(ctx), type=TensorType.INVALID)


def _data_type_unknown(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx)
    alone = [(field,) for field in bench.spec.tensor_fields]
    together = tuple(field for field in bench.spec.tensor_fields if field.group == DATA)
    for field in ctx.chooser.variant((together, *alone)):
        desc = edit_tensor(desc, field.attribute, data_type=DataType.UNKNOWN)
    return desc


def _unknown_flags(bench: _Bench, ctx: Context) -> Any:
    return edit_tensor(bench.build(ctx), bench.any_tensor(ctx), flags=ctx.chooser.variant((2, 4, 6, 2**31)))


def _owned_by_dml(bench: _Bench, ctx: Context) -> Any:
    return edit_tensor(bench.build(ctx), bench.output, flags=1)


def _dimension_count(bench: _Bench, ctx: Context) -> Any:
    most = max_dimension_count(ctx.level)
    if ctx.chooser.variant(("all tensors", "one tensor")) == "all tensors":
        return bench.build(ctx.but(ranks=(ctx.chooser.variant((most + 1, most + 2)),)))
    desc, attribute = bench.build(ctx), bench.any_tensor(ctx)
    count = ctx.chooser.variant((most + 1, most + 2, 0))
    sizes = getattr(desc, attribute).sizes
    return resize(desc, attribute, (1,) * (count - len(sizes)) + sizes if count else ())


def _size_zero(bench: _Bench, ctx: Context) -> Any:
    desc, attribute = bench.build(ctx), bench.any_tensor(ctx)
    sizes = list(getattr(desc, attribute).sizes)
    sizes[ctx.chooser.integer(0, len(sizes) - 1)] = 0
    desc = edit_tensor(desc, attribute, sizes=tuple(sizes))
    fitting = bench.spec.output_sizes(desc)
    is_followed = attribute != bench.output and fitting is not None and 0 in fitting
    return edit_tensor(desc, bench.output, sizes=fitting) if is_followed else desc


def _element_count(bench: _Bench, ctx: Context) -> Any:
    if ctx.chooser.variant(("all that follows", "one tensor")) == "all that follows":
        return ctx.chooser.variant(tuple(bench.huge(ctx.of_rank(2), TOO_LARGE)))
    desc, attribute = bench.build(ctx.of_rank(2)), bench.any_tensor(ctx)
    sizes = list(getattr(desc, attribute).sizes)
    sizes[0], sizes[1] = ctx.chooser.variant(((2**16, 2**16), (2**31, 2), (2**32 - 1, 2**32 - 1)))
    total = minimum_size_in_bytes(getattr(desc, attribute).data_type, sizes, None)
    return edit_tensor(
        desc, attribute, sizes=tuple(sizes), strides=None, total_tensor_size_in_bytes=min(total, 2**64 - 1)
    )


def _output_overlap(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx.but(spread=True))
    output: TensorDesc = getattr(desc, bench.output)
    wide = [d for d, size in enumerate(output.sizes) if size > 1]
    strides = list(output.effective_strides)
    strides[ctx.chooser.choice(wide)] = 0
    total = max(output.total_tensor_size_in_bytes, 1)
    return edit_tensor(desc, bench.output, strides=tuple(strides), total_tensor_size_in_bytes=total)


def _total_size(bench: _Bench, ctx: Context) -> Any:
    kind = ctx.chooser.variant(("last bytes", "strides ignored", "counted in 32 bits"))
    ctx = _at_least_bytes(ctx, 2)
    if kind == "last bytes":
        desc, attribute = bench.build(ctx), bench.any_tensor(ctx)
        tensor: TensorDesc = getattr(desc, attribute)
        most = implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides) - 1
        return edit_tensor(desc, attribute, total_tensor_size_in_bytes=most - ctx.chooser.integer(0, min(most - 1, 8)))
    desc = bench.build(ctx.but(spread=True))
    several = [f.attribute for f in bench.spec.tensor_fields if getattr(desc, f.attribute).element_count > 1]
    attribute = ctx.chooser.variant(several)
    tensor = getattr(desc, attribute)
    if kind == "strides ignored":
        strides = _apart(tensor)
        total = minimum_size_in_bytes(tensor.data_type, tensor.sizes, None)
    else:  # the outermost stride of 2^32 bytes is no distance at all to who counts in 32 bits
        outermost = next(d for d, size in enumerate(tensor.sizes) if size > 1)
        strides = tuple(
            2**32 // tensor.data_type.size if d == outermost else stride
            for d, stride in enumerate(packed_strides(tensor.sizes))
        )
        total = minimum_size_in_bytes(tensor.data_type, tensor.sizes, strides) % 2**32
    return edit_tensor(desc, attribute, strides=strides, total_tensor_size_in_bytes=total)


def _apart(tensor: TensorDesc) -> tuple[int, ...]:
    """Strides that leave one element free between any two; they span an odd number of elements."""
    return tuple(2 * stride for stride in packed_strides(tensor.sizes))


def _total_size_rounding(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx.but(data_types=tuple(t for t in ctx.data_types if t.size in (1, 2))))
    attribute = ctx.chooser.variant((bench.input, bench.output))
    tensor: TensorDesc = getattr(desc, attribute)
    strides = tensor.strides
    if implied_size_in_bytes(tensor.data_type, tensor.sizes, strides) % 4 == 0:
        strides = _apart(tensor)
    implied = implied_size_in_bytes(tensor.data_type, tensor.sizes, strides)
    total = ctx.chooser.integer(implied, (implied + 3 & ~3) - 1)
    return edit_tensor(desc, attribute, strides=strides, total_tensor_size_in_bytes=total)


def _alignment_power_of_two(bench: _Bench, ctx: Context) -> Any:
    desc, attribute = bench.build(ctx), bench.any_tensor(ctx)
    alignment = ctx.chooser.variant((24, 3, 17, 48, 2**32 - 1))
    return edit_tensor(desc, attribute, guaranteed_base_offset_alignment=alignment)


def _alignment_element_size(bench: _Bench, ctx: Context) -> Any:
    desc, attribute = bench.build(_at_least_bytes(ctx, 2)), bench.any_tensor(ctx)
    size = getattr(desc, attribute).data_type.size
    alignment = ctx.chooser.variant([n for n in (1, 2, 4) if n < size])
    return edit_tensor(desc, attribute, guaranteed_base_offset_alignment=alignment)


def _introduced_in(bench: _Bench, ctx: Context) -> Any:
    if ctx.level >= bench.spec.introduced_in:
        raise Impossible
    return bench.build(ctx)


def _required_tensors(bench: _Bench, ctx: Context) -> Any:
    required = [field.attribute for field in bench.spec.tensor_fields if not field.optional]
    return edit(bench.build(ctx), **{ctx.chooser.variant(required): None})


def _data_types(bench: _Bench, ctx: Context) -> Any:
    table = bench.spec.table_at(ctx.level)
    assert table is not None
    group = ctx.chooser.variant(tuple(table))
    wrong = ctx.chooser.variant([t for t in SIMPLEST_FIRST if t not in table[group].data_types])
    return bench.build(ctx.but(index_types=(wrong,)) if group == INDICES else ctx.but(data_types=(wrong,)))


def _dimension_counts(bench: _Bench, ctx: Context) -> Any:
    table = bench.spec.table_at(ctx.level)
    assert table is not None
    every = range(1, max_dimension_count(ctx.level) + 1)
    wrong = tuple(count for count in every if count not in table[DATA].dimension_counts)
    return bench.build(ctx.but(ranks=(ctx.chooser.variant(ctx.but(ranks=wrong).ranks),)))


def _same_dimension_count(bench: _Bench, ctx: Context) -> Any:
    longer = tuple(rank for rank in ctx.ranks if rank + 1 in ctx.ranks)
    desc, attribute = bench.build(ctx.but(ranks=longer)), bench.any_tensor(ctx)
    return resize(desc, attribute, (1, *getattr(desc, attribute).sizes))


def _same_data_type(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx)
    output: TensorDesc = getattr(desc, bench.output)
    other = ctx.chooser.variant([t for t in ctx.data_types if t != output.data_type])
    total = minimum_size_in_bytes(other, output.sizes, output.strides)
    return edit_tensor(
        desc,
        bench.output,
        data_type=other,
        total_tensor_size_in_bytes=max(total, output.total_tensor_size_in_bytes),
    )


def _output_sizes(bench: _Bench, ctx: Context) -> Any:
    desc = bench.build(ctx)
    sizes = list(getattr(desc, bench.output).sizes)
    d = ctx.chooser.variant(range(len(sizes)))
    size = sizes[d]
    sizes[d] = ctx.chooser.variant([n for n in (size + 1, size - 1, size * 2, 1) if n > 0 and n != size])
    return resize(desc, bench.output, sizes)


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
OPERATOR_VIOLATIONS: dict[str, _Generic] = {
    "introduced-in": _introduced_in,
    "required-tensors": _required_tensors,
    "data-types": _data_types,
    "dimension-counts": _dimension_counts,
    "same-dimension-count": _same_dimension_count,
    "same-data-type": _same_data_type,
    "output-sizes": _output_sizes,
}


@cache
def violations(operator: str) -> dict[str, Callable[[Context], Any]]:
    """For each descriptor rule of an operator, tensor rules included: how to break it alone."""
    bench = _Bench(operator_named(operator), builder(operator).build, builder(operator).huge)
    generic = {f"{operator}.{name}": partial(make, bench) for name, make in OPERATOR_VIOLATIONS.items()}
    tensor = {rule: partial(make, bench) for rule, make in TENSOR_VIOLATIONS.items()}
    return {**tensor, **generic, **builder(operator).VIOLATIONS}


def violate(chooser: Chooser, operator: str, level: Level, rule: str) -> OperatorDesc:
    """A descriptor that breaks `rule`, and no other rule, at `level`.

    Raises:
        Impossible: the rule cannot be broken alone at this level.
        KeyError: the operator has no such descriptor rule.
    """
    break_it, context = _bound(operator, level, rule)
    desc: OperatorDesc = break_it(context.driven_by(chooser))
    return desc


@cache
def _bound(operator: str, level: Level, rule: str) -> tuple[Callable[[Context], Any], Context]:
    """How to break a rule, and what there is to choose from; decisions have to come from elsewhere."""
    spec = operator_named(operator)
    if level < spec.introduced_in and rule != f"{operator}.introduced-in":
        raise Impossible
    return violations(operator)[rule], Context.at(SeededChooser(""), spec, level)


@cache
def breakable_rules(operator: str, level: Level) -> tuple[str, ...]:
    """Ids of the rules that some descriptor of the operator breaks alone at a level."""

    def possible(rule: str) -> bool:
        try:
            violate(SeededChooser(0), operator, level, rule)
        except Impossible:
            return False
        return True

    return tuple(rule for rule in violations(operator) if possible(rule))
