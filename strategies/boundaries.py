"""The deterministic phase: every rule both ways, every data type, index type, dimension count, layout and pattern.

Nothing here is left to luck: the lists below are walked, and what is left open in a case (sizes, say) comes from a
chooser seeded with the case's own name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import factorial

from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import INDICES, Field, FieldKind, OperatorDesc, OperatorSpec
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.tensor import TensorDesc, packed_strides
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies import values
from dml_conformance.strategies.builders import LARGEST, builder
from dml_conformance.strategies.cases import applicable_rules, execution_rules, make_case, recipes
from dml_conformance.strategies.chooser import Chooser, SeededChooser, every_variant
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, edit_tensor, of_ones, resize_at
from dml_conformance.strategies.tensors import STRIDE_CODES, broadcast_along, has_strides_of_kind, strides_of_kind

CASES_A_RULE = 3
ALIGNMENTS = (0, 1, 2, 4, 8, 16, 32, 64, 256, 4096, 65536)
OUTPUT_LAYOUTS = ("packed", "explicit", "apart", "padded", "permuted", "both", "interleaved")
INPUT_LAYOUTS = (*OUTPUT_LAYOUTS, "broadcast", "window")
SURPLUS_BYTES = (1, 3, 4, 60, 4096)
SHAPES_TRIED = 200  # to find a tensor that is large enough for a layout; at some levels there is none
TIMES = 3  # that an operator is executed in a row with other data
ALL_VALUES_BYTES = 4096  # of an output that holds every special value of a type


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
        yield from _index_patterns(spec, level)
        yield from _edges(spec, level)
        yield from _broadcasting_outputs(spec, level)
        yield from _in_a_row(spec, level)


def _about(rule: str, operator: str, level: Level) -> Iterator[Case]:
    """A descriptor rule broken in every way that there is, in a few descriptors; a few cases of an execution rule."""
    for n in range(CASES_A_RULE):
        name = f"{operator}/{level}/{rule}/{n}"
        yield from every_variant(name, partial(_make, operator, level, rule, name))


def _make(operator: str, level: Level, rule: str, name: str, chooser: Chooser) -> Case:
    return make_case(chooser, operator, level, rule, name)


def _case(spec: OperatorSpec, level: Level, ctx: Context, name: str) -> Case:
    desc = builder(spec.name).build(ctx)
    return Case.of(desc, level, recipes(ctx.chooser, desc), rule=f"{spec.name}.values", origin=name)


def _at(spec: OperatorSpec, level: Level, name: str) -> Context:
    return Context.at(SeededChooser(name), spec, level)


def _types(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every data type with every index type."""
    ctx = _at(spec, level, "")
    for data_type in ctx.data_types:
        for index_type in ctx.index_types or (None,):
            name = f"{spec.name}/{level}/types/{data_type.name}" + (f"/{index_type.name}" if index_type else "")
            changes = {"data_types": (data_type,), "layout": "packed", "spread": True}
            if index_type is not None:
                changes["index_types"] = (index_type,)
            yield _case(spec, level, _at(spec, level, name).but(**changes), name)


def _dimension_counts(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every dimension count with every data type, and a few shapes more.

    One has an output whose dimensions stand in reverse order in memory.
    """
    output = spec.output_fields[0]
    for rank in _at(spec, level, "").ranks:
        name = f"{spec.name}/{level}/dimension-count/{rank}"

        def plain(name: str, rank: int = rank, **changes: object) -> Case:
            ctx = _at(spec, level, name).of_rank(rank, rank).but(layout="packed", **changes)
            return _case(spec, level, ctx, name)

        yield from (plain(f"{name}/{n}") for n in range(4))
        for data_type in _at(spec, level, "").data_types:
            yield plain(f"{name}/{data_type.name}", data_types=(data_type,))
        tries = (plain(f"{name}/reversed/{n}") for n in range(SHAPES_TRIED))
        case = next((made for made in tries if has_strides_of_kind("permuted", _tensor(made, output).sizes)), None)
        if case is not None:
            last = 4 * (factorial(rank) - 1)  # of all orders of the dimensions
            yield _strided(case, output.attribute, strides_of_kind("permuted", _tensor(case, output).sizes, last))


def _layouts(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every memory layout, surplus of bytes and alignment on every tensor; OWNED_BY_DML on every input."""
    for field in spec.tensor_fields:
        is_output = field in spec.output_fields

        def plain(name: str) -> tuple[Context, Case]:
            ctx = _at(spec, level, name).but(layout="packed", spread=True)
            return ctx, _case(spec, level, ctx, name)

        def changed(case: Case, attribute: str, **changes: object) -> Case:
            return Case.of(
                edit_tensor(case.desc, attribute, **changes), level, case.data, rule=case.rule, origin=case.origin
            )

        for kind in OUTPUT_LAYOUTS if is_output else INPUT_LAYOUTS:
            name = f"{spec.name}/{level}/layout/{field.name}/{kind}"
            tries = (plain(f"{name}/shape-{n}") for n in range(SHAPES_TRIED))
            large_enough = (made for made in tries if has_strides_of_kind(kind, _tensor(made[1], field).sizes))
            ctx, case = next(large_enough, None) or plain(name)
            sizes = _tensor(case, field).sizes
            yield _strided(case, field.attribute, strides_of_kind(kind, sizes, ctx.chooser.code(STRIDE_CODES)))
        if not is_output:
            for dimension in range(_at(spec, level, "").ranks[-1]):
                name = f"{spec.name}/{level}/layout/{field.name}/broadcast/{dimension}"
                ctx = _at(spec, level, name).of_rank(dimension + 1).but(layout="packed", spread=True)
                case = _case(spec, level, ctx, name)
                sizes = getattr(case.desc, field.attribute).sizes
                yield _strided(case, field.attribute, broadcast_along(dimension, sizes))
        for surplus in SURPLUS_BYTES:
            _, case = plain(f"{spec.name}/{level}/surplus/{field.name}/{surplus}")
            total = getattr(case.desc, field.attribute).total_tensor_size_in_bytes + surplus
            yield changed(case, field.attribute, total_tensor_size_in_bytes=total)
        for alignment in ALIGNMENTS:
            _, case = plain(f"{spec.name}/{level}/alignment/{field.name}/{alignment}")
            if alignment == 0 or alignment >= getattr(case.desc, field.attribute).data_type.size:
                yield changed(case, field.attribute, guaranteed_base_offset_alignment=alignment)
        if not is_output:
            _, case = plain(f"{spec.name}/{level}/owned-by-dml/{field.name}")
            yield changed(case, field.attribute, flags=1)


def _tensor(case: Case, field: Field) -> TensorDesc:
    tensor: TensorDesc = getattr(case.desc, field.attribute)
    return tensor


def _strided(case: Case, attribute: str, strides: tuple[int, ...] | None) -> Case:
    """The case with other strides of one tensor, and nothing more than they need."""
    old: TensorDesc = getattr(case.desc, attribute)
    desc = edit(case.desc, **{attribute: TensorDesc.of(old.data_type, old.sizes, strides)})
    data = case.data
    if data.get(attribute, Recipe("")).pattern == values.EXPLICIT:  # shared memory cannot hold them all
        data = {**data, attribute: Recipe(values.IN_RANGE)}
    return Case.of(desc, case.level, data, rule="EXECUTION.strides", origin=case.origin)


def _least_totals(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every tensor with elements of every width: aligned to one of them, and with the least bytes there may be.

    Bytes are those up to the last element, rounded up to a multiple of 4, and up to 3 more. Elements stand apart, and
    so span an odd number of them, which leaves something to round where they have 1 or 2 bytes.
    """
    every = _at(spec, level, "")
    for field in spec.tensor_fields:
        group = "index_types" if field.group == INDICES else "data_types"
        by_width: dict[int, tuple[DataType, ...]] = {}
        for data_type in getattr(every, group):
            by_width[data_type.size] = (*by_width.get(data_type.size, ()), data_type)
        for width, types in sorted(by_width.items()):
            for surplus in (None, *range(4)) if width < 4 else (None,):
                what = "aligned-to-an-element" if surplus is None else f"least-total/{surplus}"
                name = f"{spec.name}/{level}/{what}/{field.name}/{width}"
                ctx = _at(spec, level, name).but(layout="packed", spread=True).but(**{group: types})
                case = _case(spec, level, ctx, name)
                tensor: TensorDesc = getattr(case.desc, field.attribute)
                if surplus is None:
                    desc = edit_tensor(case.desc, field.attribute, guaranteed_base_offset_alignment=width)
                else:
                    strides = tuple(2 * stride for stride in packed_strides(tensor.sizes))
                    least = TensorDesc.of(tensor.data_type, tensor.sizes, strides)
                    desc = edit(case.desc, **{field.attribute: least})
                    total = least.total_tensor_size_in_bytes + surplus
                    desc = edit_tensor(desc, field.attribute, total_tensor_size_in_bytes=total)
                yield Case.of(desc, level, case.data, rule=case.rule, origin=name)


def _broadcasting_outputs(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Outputs larger than what is computed, in one dimension in which that has size 1: nothing is repeated to fit."""
    output = spec.output_fields[0].attribute
    for rank in _at(spec, level, "").ranks:
        name = f"{spec.name}/{level}/broadcasting-output/{rank}"
        ctx = _at(spec, level, name).of_rank(rank, rank).but(layout="packed")
        desc: OperatorDesc | None = of_ones(builder(spec.name).build(ctx))
        if desc is None:
            continue
        for dimension in range(rank):
            larger = resize_at(desc, output, dimension, 2)
            yield Case.of(larger, level, rule=f"{spec.name}.output-sizes", origin=f"{name}/{dimension}")


def _in_a_row(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """The same descriptor several times with other data, so that what is left of the time before shows."""
    name = f"{spec.name}/{level}/in-a-row"
    case = _case(spec, level, _at(spec, level, name).but(spread=True), name)
    for n in range(TIMES):
        data = {field.attribute: Recipe(values.RANDOM_BITS, n) for field in spec.input_fields}
        if spec.index is not None:
            data[spec.index.indices] = Recipe(values.IN_RANGE, n)
        yield Case.of(case.desc, level, data, rule=case.rule, origin=f"{name}/{n}")


def _data_patterns(spec: OperatorSpec, level: Level) -> Iterator[Case]:
    """Every pattern of values with every data type, in a small case of any layout, and in one that moves enough of them
    for all that is special to be there."""
    for pattern in values.DATA_PATTERNS:
        for data_type in _at(spec, level, "").data_types:
            name = f"{spec.name}/{level}/values/{pattern}/{data_type.name}"
            ctx = _at(spec, level, name).but(data_types=(data_type,), spread=True)
            for size, desc in (
                ("small", builder(spec.name).build(ctx)),
                ("large", builder(spec.name).large(ctx, ALL_VALUES_BYTES)),
            ):
                data = {
                    attribute: Recipe(pattern, 0) if recipe.pattern in values.DATA_PATTERNS else recipe
                    for attribute, recipe in recipes(ctx.chooser, desc).items()
                }
                yield Case.of(desc, level, data, rule=f"{spec.name}.values", origin=f"{name}/{size}")


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
                data = {**case.data, spec.index.indices: Recipe(pattern, 1)}
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
    edges = tuple(builder(spec.name).edges(_at(spec, level, f"{spec.name}/{level}/edges")))
    # The same with sizes of 1 besides: what is a dimension too many may be one that nothing stands in.
    of_one = (ones for desc in edges for ones in _of_ones(spec, level, desc))
    for n, desc in enumerate(dict.fromkeys((*edges, *of_one))):
        # The ends of every axis, and bits that do not repeat: an index cut short would else find the same element.
        data = {field.attribute: Recipe(values.RANDOM_BITS, n) for field in spec.input_fields}
        if spec.index is not None:
            data[spec.index.indices] = Recipe(values.BOUNDARY, n)
        yield Case.of(desc, level, data, rule=f"{spec.name}.values", origin=f"{spec.name}/{level}/edges/{n}")
    for n, desc in enumerate(builder(spec.name).huge(_at(spec, level, f"{spec.name}/{level}/huge"), LARGEST)):
        rule = "TENSOR.element-count"  # decided, never executed: there is no data
        yield Case.of(desc, level, rule=rule, origin=f"{spec.name}/{level}/huge/{n}")


def _of_ones(spec: OperatorSpec, level: Level, desc: OperatorDesc) -> Iterator[OperatorDesc]:
    """Those of its kin that are valid: all sizes 1, tuples kept or not, or one 2 at a place that an attribute names."""
    named = [getattr(desc, field.attribute) for field in spec.fields if field.kind is FieldKind.UINT]
    kin = [of_ones(desc), of_ones(desc, tuples=True), *(of_ones(desc, wide=place) for place in named)]
    yield from (other for other in kin if other is not None and decide(other, level).outcome is Outcome.ACCEPT)
