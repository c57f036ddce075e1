"""The deterministic phase: every rule both ways, every data type, index type, dimension count, layout and pattern.

Nothing here is left to luck: the lists below are walked, and what is left open in a case (sizes, say) comes from a
chooser seeded with the case's own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count, product
from math import factorial

from msgspec.structs import replace

from dml_conformance.spec.case import Case, Order, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import UINT
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Field,
    OperatorDesc,
    OperatorSpec,
    Slot,
    inputs,
    outputs,
    slots,
    with_tensors,
)
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.tensor import TensorDesc, packed_strides
from dml_conformance.spec.tensor_rules import BINDING, STRIDES
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies import values
from dml_conformance.strategies.builders import LARGEST, builder
from dml_conformance.strategies.cases import applicable_rules, execution_rules, make_case, patterns, recipes
from dml_conformance.strategies.chooser import Chooser, SeededChooser, every_variant
from dml_conformance.strategies.constraints import at_ends
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit_tensor, of_ones, resize_at
from dml_conformance.strategies.tensors import STRIDE_CODES, broadcast_along, has_strides_of_kind, strides_of_kind

CASES_A_RULE = 3
ALIGNMENTS = (0, 1, 2, 4, 8, 16, 32, 64, 256, 4096, 65536)
OUTPUT_LAYOUTS = ("packed", "explicit", "apart", "padded", "permuted", "both", "interleaved")
INPUT_LAYOUTS = (*OUTPUT_LAYOUTS, "broadcast", "window")
SURPLUS_BYTES = (1, 3, 4, 60, 4096)
SHAPES_TRIED = 200  # to find a tensor that is large enough for a layout; at some levels there is none
# Every way to bind tensors, one at a time, and some together.
PLACEMENTS = (
    *(Placement((offset,)) for offset in (0, 16, 80, 256, 4096, 2**16 + 16)),
    Placement((80,), Order.REVERSED),
    Placement((0, 2**16 + 16), Order.OUTPUTS_BETWEEN),
    Placement((80,), heap=True),
    Placement((80,), surplus=64),
    Placement((0,), Order.REVERSED, heap=True, surplus=4),
)
TIMES = 3  # that an operator is executed in a row with other data
ALL_VALUES_BYTES = 4096  # of an output that holds every special value of a type
EVERY_VALUE = 65_536  # elements of an input that holds every value of a 16-bit type
LIMITS_BYTES = 16384  # of an output that holds every number at the limits of any type


def boundary_cases(operator: str, level: Level) -> Iterator[Case]:
    """All boundary cases of one operator at one level, in a fixed order; the same on every machine."""
    spec = operator_named(operator)
    for rule in applicable_rules(operator, level):
        yield from _about(rule, operator, level)
    if level >= spec.introduced_in:
        yield from _types(spec, level)
        yield from _dimension_counts(spec, level)
        yield from _layouts(spec, level)
        yield from _least_totals(spec, level)
        yield from _data_patterns(spec, level)
        yield from _conversions(spec, level)
        yield from _index_patterns(spec, level)
        yield from _edges(spec, level)
        yield from _broadcasting_outputs(spec, level)
        yield from _in_a_row(spec, level)
        yield from _placements(spec, level)


def _about(rule: str, operator: str, level: Level) -> Iterator[Case]:
    """A descriptor rule broken in every way that there is, in a few descriptors; a few cases of an execution rule."""
    for n in range(CASES_A_RULE):
        name = f"{operator}/{level}/{rule}/{n}"
        yield from every_variant(name, partial(_make, operator, level, rule, name))


def _make(operator: str, level: Level, rule: str, name: str, chooser: Chooser) -> Case:
    return make_case(chooser, operator, level, rule, name)


def _case(spec: OperatorSpec, level: Level, ctx: Context, name: str) -> Case:
    """A case of what a builder makes, which is valid."""
    desc = builder(spec.name).build(ctx)
    return Case(desc, level, recipes(ctx.chooser, desc), f"{spec.name}.values", Outcome.ACCEPT, (), name)


def _at(spec: OperatorSpec, level: Level, name: str) -> Context:
    return Context.at(SeededChooser(name), spec, level)


def _types(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every data type of each group with every one of the next; all combinations where there are two groups."""
    every = _at(spec, level, "").types
    groups = list(every)
    pairs = [groups[n : n + 2] for n in range(max(len(groups) - 1, 1))]
    for n, pair in enumerate(pairs):
        kind = f"types-{n}" if n else "types"
        for types in product(*(every[group] for group in pair)):
            name = "/".join((f"{spec.name}/{level}/{kind}", *(data_type.name for data_type in types)))
            ctx = _at(spec, level, name).but(layout="packed", spread=True)
            for group, data_type in zip(pair, types, strict=True):
                ctx = ctx.of_types(group, (data_type,))
            case = _case(spec, level, ctx, name)  # not every combination is valid
            yield Case.of(case.desc, level, case.data, rule=case.rule, origin=name)


def _dimension_counts(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every dimension count with every data type, and a few shapes more.

    One has an output whose dimensions stand in reverse order in memory.
    """
    for rank in _at(spec, level, "").ranks:
        name = f"{spec.name}/{level}/dimension-count/{rank}"

        def plain(name: str, rank: int = rank, **changes: object) -> Case:
            ctx = _at(spec, level, name).of_rank(rank, rank).but(layout="packed", **changes)
            return _case(spec, level, ctx, name)

        several = [plain(f"{name}/{n}") for n in range(4)]
        yield from several
        for data_type in _at(spec, level, "").data_types:
            yield plain(f"{name}/{data_type.name}", data_types=(data_type,))
        most = SHAPES_TRIED if len(_output(several[0]).tensor.sizes) > 1 else 0
        tries = (plain(f"{name}/reversed/{n}") for n in range(most))
        case = next((made for made in tries if has_strides_of_kind("permuted", _output(made).tensor.sizes)), None)
        if case is not None:
            output = _output(case)
            last = 4 * (factorial(len(output.tensor.sizes)) - 1)  # of all orders of the dimensions
            yield _strided(case, output.key, strides_of_kind("permuted", output.tensor.sizes, last))


def _layouts(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every memory layout, surplus of bytes and alignment on every tensor; OWNED_BY_DML on every input.

    Of an array of tensors the last one stands for all.
    """
    for field in spec.tensor_fields:
        is_output = field.is_output
        name = f"{spec.name}/{level}/layout/{field.name}"
        if _slot(_giving(spec, level, _at(spec, level, name), name, field).desc, field) is None:
            continue  # no descriptor that is accepted has it

        def plain(name: str, ctx: Context | None = None, field: Field = field) -> tuple[Context, Case, Slot | None]:
            ctx = (ctx or _at(spec, level, name)).but(layout="packed", spread=True)
            case = _giving(spec, level, ctx, name, field)
            return ctx, case, _slot(case.desc, field)

        def changed(case: Case, key: str, **changes: object) -> Case:
            return Case.of(edit_tensor(case.desc, key, **changes), level, case.data, rule=case.rule, origin=case.origin)

        for kind in OUTPUT_LAYOUTS if is_output else INPUT_LAYOUTS:
            name = f"{spec.name}/{level}/layout/{field.name}/{kind}"
            tries = (plain(f"{name}/shape-{n}") for n in range(SHAPES_TRIED))
            large_enough = (made for made in tries if made[2] and has_strides_of_kind(kind, made[2].tensor.sizes))
            ctx, case, slot = next(large_enough, None) or plain(name)
            if slot is not None:
                strides = strides_of_kind(kind, slot.tensor.sizes, ctx.chooser.code(STRIDE_CODES))
                yield _strided(case, slot.key, strides)
        if not is_output:
            for dimension in range(_at(spec, level, "").ranks[-1]):
                name = f"{spec.name}/{level}/layout/{field.name}/broadcast/{dimension}"
                _, case, slot = plain(name, _at(spec, level, name).of_rank(dimension + 1))
                if slot is not None and dimension < len(slot.tensor.sizes):
                    yield _strided(case, slot.key, broadcast_along(dimension, slot.tensor.sizes))
        for surplus in SURPLUS_BYTES:
            _, case, slot = plain(f"{spec.name}/{level}/surplus/{field.name}/{surplus}")
            if slot is not None:
                total = slot.tensor.total_tensor_size_in_bytes + surplus
                yield changed(case, slot.key, total_tensor_size_in_bytes=total)
        for alignment in ALIGNMENTS:
            _, case, slot = plain(f"{spec.name}/{level}/alignment/{field.name}/{alignment}")
            if slot is not None and (alignment == 0 or alignment >= slot.tensor.data_type.size):
                yield changed(case, slot.key, guaranteed_base_offset_alignment=alignment)
        if not is_output:
            _, case, slot = plain(f"{spec.name}/{level}/owned-by-dml/{field.name}")
            if slot is not None:
                yield changed(case, slot.key, flags=1)


def _giving(spec: OperatorSpec, level: Level, ctx: Context, name: str, field: Field) -> Case:
    """A case that gives a tensor, where it is optional."""
    case = _case(spec, level, ctx, name)
    for _ in range(SHAPES_TRIED if field.optional else 0):
        if _slot(case.desc, field) is not None:
            break
        case = _case(spec, level, ctx, name)
    return case


def _slot(desc: OperatorDesc, field: Field) -> Slot | None:
    """The tensor of a field, the last one of an array; None where it is missing."""
    return next((slot for slot in reversed(list(slots(desc))) if slot.field == field), None)


def _output(case: Case) -> Slot:
    return outputs(case.desc)[0]


def _strided(case: Case, key: str, strides: tuple[int, ...] | None) -> Case:
    """The case with other strides of one tensor, and nothing more than they need."""
    old = described(case.desc, key)
    desc = with_tensors(case.desc, {key: TensorDesc.of(old.data_type, old.sizes, strides)})
    data = case.data or {}
    if data.get(key, Recipe("")).pattern == values.EXPLICIT:  # shared memory cannot hold them all
        data = {**data, key: Recipe(values.IN_RANGE)}
    return Case.of(desc, case.level, data, rule=STRIDES, origin=case.origin)


def _least_totals(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every tensor with elements of every width: aligned to one of them, and with the least bytes there may be.

    Bytes are those up to the last element, rounded up to a multiple of 4, and up to 3 more. Elements stand apart, and
    so span an odd number of them, which leaves something to round where they have 1 or 2 bytes.
    """
    every = _at(spec, level, "")
    for field in spec.tensor_fields:
        group = spec.group(field)
        by_width: dict[int, tuple[DataType, ...]] = {}
        for data_type in every.types[group]:
            by_width[data_type.size] = (*by_width.get(data_type.size, ()), data_type)
        for width, types in sorted(by_width.items()):
            for surplus in (None, *range(4)) if width < 4 else (None,):
                what = "aligned-to-an-element" if surplus is None else f"least-total/{surplus}"
                name = f"{spec.name}/{level}/{what}/{field.name}/{width}"
                ctx = _at(spec, level, name).but(layout="packed", spread=True).of_types(group, types)
                case = _giving(spec, level, ctx, name, field)
                slot = _slot(case.desc, field)
                if slot is None:
                    continue
                if surplus is None:
                    desc = edit_tensor(case.desc, slot.key, guaranteed_base_offset_alignment=width)
                else:
                    strides = tuple(2 * stride for stride in packed_strides(slot.tensor.sizes))
                    least = TensorDesc.of(slot.tensor.data_type, slot.tensor.sizes, strides)
                    desc = with_tensors(case.desc, {slot.key: least})
                    total = least.total_tensor_size_in_bytes + surplus
                    desc = edit_tensor(desc, slot.key, total_tensor_size_in_bytes=total)
                yield Case.of(desc, level, case.data, rule=case.rule, origin=name)


def _broadcasting_outputs(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Outputs larger than what is computed, in one dimension in which that has size 1: nothing is repeated to fit."""
    for rank in _at(spec, level, "").ranks:
        name = f"{spec.name}/{level}/broadcasting-output/{rank}"
        ctx = _at(spec, level, name).of_rank(rank, rank).but(layout="packed", complete=True)
        desc: OperatorDesc | None = of_ones(builder(spec.name).build(ctx))
        if desc is None or decide(desc, level).outcome is not Outcome.ACCEPT:
            continue
        for n, output in enumerate(outputs(desc)):
            place = f"{name}/{output.name}" if n else name
            for dimension in range(len(output.tensor.sizes)):
                case = Case.of(resize_at(desc, output.key, dimension, 2), level, origin=f"{place}/{dimension}")
                if case.broken:  # attributes may be what gives the output its sizes
                    yield replace(case, rule=case.broken[0])


def _in_a_row(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """The same descriptor several times with other data, so that what is left of the time before shows."""
    name = f"{spec.name}/{level}/in-a-row"
    case = _case(spec, level, _at(spec, level, name).but(spread=True), name)
    for n in range(TIMES):
        data = _filled(spec, case.desc, n, values.IN_RANGE)
        yield Case.of(case.desc, level, data, rule=case.rule, origin=f"{name}/{n}")


def _placements(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """One case, bound in every way, with values that differ from element to element."""
    name = f"{spec.name}/{level}/binding"
    case = _case(spec, level, _at(spec, level, name).but(layout="packed", spread=True, complete=True), name)
    data = _filled(spec, case.desc, 0, values.IN_RANGE)
    for n, placement in enumerate(PLACEMENTS):
        yield Case.of(case.desc, level, data, rule=BINDING, origin=f"{name}/{n}").bound(placement)


def _data_patterns(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every pattern of values with every data type, in a small case of any layout, and in one that moves enough of them
    for all that is special to be there."""
    if not spec.input_fields:
        return
    group = spec.group(spec.input_fields[0])
    for pattern in dict.fromkeys(pattern for field in spec.input_fields for pattern in patterns(spec, field)):
        for data_type in _at(spec, level, "").types[group]:
            name = f"{spec.name}/{level}/values/{pattern}/{data_type.name}"
            ctx = _at(spec, level, name).but(spread=True).of_types(group, (data_type,))
            for size, make in (("small", builder(spec.name).build), ("large", _large(spec, pattern, data_type))):
                with suppress(Impossible):
                    desc = make(ctx)
                    takes = [slot for slot in inputs(desc) if pattern in patterns(spec, slot.field)]
                    moved = [slot for slot in takes if not _is_index(spec, slot)]
                    own = {slot.key: Recipe(pattern, seed) for seed, slot in enumerate(moved)}
                    data = recipes(ctx.chooser, desc) | own
                    yield Case.of(desc, level, data, rule=f"{spec.name}.values", origin=f"{name}/{size}")


def _conversions(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Numbers at the limits of every type, from each type to each, where an operator converts."""
    converted = [field for field in spec.input_fields if values.LIMITS in patterns(spec, field)]
    if not converted:
        return
    groups = spec.group(converted[0]), spec.group(spec.output_fields[0])
    every = _at(spec, level, "").types
    for of, to in product(*(every[group] for group in groups)):
        name = f"{spec.name}/{level}/conversions/{of.name}/{to.name}"
        ctx = _at(spec, level, name).of_types(groups[0], (of,)).of_types(groups[1], (to,))
        desc = builder(spec.name).large(ctx, LIMITS_BYTES)
        data = recipes(ctx.chooser, desc) | {field.attribute: Recipe(values.LIMITS, 0) for field in converted}
        yield Case.of(desc, level, data, rule=f"{spec.name}.values", origin=name)


def _large(spec: OperatorSpec, pattern: str, data_type: DataType) -> Callable[[Context], OperatorDesc]:
    """With an output of as many elements as a pattern has values."""
    size = EVERY_VALUE * data_type.size if pattern == values.ALL_VALUES else ALL_VALUES_BYTES
    return lambda ctx: builder(spec.name).large(ctx, size)


def _is_index(spec: OperatorSpec, slot: Slot) -> bool:
    return spec.index is not None and slot.key == spec.index.indices


def _filled(spec: OperatorSpec, desc: OperatorDesc, seed: int, indices: str) -> dict[str, Recipe]:
    """Data with bits as different as their domain allows, other bits in each input, and one pattern of indices."""
    data, seeds = {}, count(seed)
    for slot in inputs(desc):
        if _is_index(spec, slot):
            data[slot.key] = Recipe(indices, seed)
        else:
            data[slot.key] = Recipe(values.most_diverse(patterns(spec, slot.field)), next(seeds))
    return data


def _index_patterns(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every pattern of indices with every type."""
    if spec.index is None:
        return
    for index_type in _at(spec, level, "").index_types:
        for pattern in values.INDEX_PATTERNS:
            rule = f"{spec.name}.{_RULE_OF_PATTERN.get(pattern, 'values')}"
            if rule in execution_rules(spec.name, level) and _has_sign(index_type, pattern):
                name = f"{spec.name}/{level}/indices/{pattern}/{index_type.name}"
                ctx = _at(spec, level, name).but(index_types=(index_type,), spread=True)
                case = _case(spec, level, ctx, name)
                data = {**(case.data or {}), spec.index.indices: Recipe(pattern, 1)}
                yield Case.of(case.desc, level, data, rule=rule, origin=name)


_RULE_OF_PATTERN = {
    values.NEGATIVE: "negative-indices",
    values.MIXED: "negative-indices",
    values.FAR_NEGATIVE: "negative-indices",
    values.OUT_OF_RANGE: "out-of-range-indices",
}


def _has_sign(index_type: DataType, pattern: str) -> bool:
    return index_type.is_signed_integer or pattern not in values.NEGATIVE_PATTERNS


def _edges(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """The operator's own limits: attributes at both ends of their ranges, long axes, as many elements as may be."""
    ctx = _at(spec, level, f"{spec.name}/{level}/edges")
    edges = (*builder(spec.name).edges(ctx), *_ends(spec, level, ctx.but(layout="packed")))
    # The same with sizes of 1 besides: what is a dimension too many may be one that nothing stands in.
    of_one = dict.fromkeys(ones for desc in edges for ones in _of_ones(spec, desc))
    valid = (ones for ones in of_one if decide(ones, level).outcome is Outcome.ACCEPT)
    for n, desc in enumerate(dict.fromkeys((*edges, *valid))):
        # The ends of every axis, and bits that do not repeat: an index cut short would else find the same element.
        data = _filled(spec, desc, n, values.BOUNDARY)
        yield Case.of(desc, level, data, rule=f"{spec.name}.values", origin=f"{spec.name}/{level}/edges/{n}")
    with suppress(Impossible):
        for n, desc in enumerate(builder(spec.name).huge(_at(spec, level, f"{spec.name}/{level}/huge"), LARGEST)):
            rule = "TENSOR.element-count"  # decided, never executed: there is no data
            yield Case.of(desc, level, rule=rule, origin=f"{spec.name}/{level}/huge/{n}")


def _ends(spec: OperatorSpec, level: Level, ctx: Context) -> Iterator[OperatorDesc]:
    """What is valid at the ends of the operator's constraints."""
    for rule in spec.own_rules:
        if rule.constraint is not None:
            with suppress(Impossible):
                made = at_ends(rule.constraint, builder(spec.name).build, ctx)
                yield from (desc for desc in made if decide(desc, level).outcome is Outcome.ACCEPT)


def _of_ones(spec: OperatorSpec, desc: OperatorDesc) -> Iterator[OperatorDesc]:
    """Its kin, valid or not: all sizes 1, tuples kept or not, or one 2 at a place that an attribute names."""
    named = [getattr(desc, field.attribute) for field in spec.fields if field.kind is UINT]
    kin = [of_ones(desc), of_ones(desc, tuples=True), *(of_ones(desc, wide=place) for place in named)]
    yield from (other for other in kin if other is not None)
