"""What mutants of the specification showed that no other test held: see docs/mutation.md.

Each test says what of the specification it holds, in words of its own where the specification is a table.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from five_operators import GatherDesc, TileDesc

from dml_conformance import spec
from dml_conformance.spec import divergences as divergences_module
from dml_conformance.spec import errata as errata_module
from dml_conformance.spec import examples as examples_module
from dml_conformance.spec import field_kinds, model_files, registry, validator
from dml_conformance.spec import history as history_module
from dml_conformance.spec import libraries as libraries_module
from dml_conformance.spec import observations as observations_module
from dml_conformance.spec import operator as operator_module
from dml_conformance.spec.case import Case, Recipe, digest_of
from dml_conformance.spec.datatypes import (
    ALL,
    FLOATS,
    INDEX_TYPES,
    UP_TO_32_BIT,
    UP_TO_64_BIT_NO_FLOAT64,
    DataType,
    TensorType,
)
from dml_conformance.spec.errata import Concern, Resolution, errata
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.model_files import ModelError, member_path
from dml_conformance.spec.observations import CONDITIONS, observations
from dml_conformance.spec.operator import OperatorDesc, Support, is_whole, slots, with_tensors
from dml_conformance.spec.operator_facts import TableFacts
from dml_conformance.spec.registry import families, operators, rule, rules
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.tensor import TensorDesc, elements_overlap, span_in_elements
from dml_conformance.spec.tensor_rules import EXECUTION_RULES, TENSOR_RULES, max_dimension_count
from dml_conformance.spec.validator import decide
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Impossible
from dml_conformance.strategies.violations import breakable_rules, violate

F32, U32, I8 = DataType.FLOAT32, DataType.UINT32, DataType.INT8


# The header's numbers


def test_a_level_s_number_is_made_of_its_digits() -> None:
    """`DML_FEATURE_LEVEL_3_1 = 0x3100`."""
    for level in Level:
        major, minor = map(int, level.label.split("_"))
        assert level == major << 12 | minor << 8


def test_data_types_have_the_numbers_of_the_header() -> None:
    """`DML_TENSOR_DATA_TYPE`, in the header's order and without gaps."""
    names = ["UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32", "INT16", "INT8", "FLOAT64"]
    names += ["UINT64", "INT64", "UINT4", "INT4"]
    assert {name: data_type.value for name, data_type in DataType.__members__.items()} == {
        name: number for number, name in enumerate(names)
    }
    assert (TensorType.INVALID, TensorType.BUFFER) == (0, 1)


# The tables


def test_sets_of_data_types_are_what_they_are_called() -> None:
    """The pages' lists: all types of up to 32 or 64 bits, but for those of 4."""
    whole = [data_type for data_type in DataType if data_type.bits >= 8]
    assert {t for t in whole if t.is_float and t.size <= 4} == FLOATS
    assert {t for t in whole if t.size <= 4} == UP_TO_32_BIT
    assert {t for t in whole if t is not DataType.FLOAT64} == UP_TO_64_BIT_NO_FLOAT64
    assert set(whole) == ALL
    assert {t for t in whole if not t.is_float and t.size >= 4} == INDEX_TYPES


def test_five_dimensions_below_3_0_and_eight_from_there_on() -> None:
    """`DML_TENSOR_DIMENSION_COUNT_MAX` is 5, `DML_TENSOR_DIMENSION_COUNT_MAX1` is 8, from DML_TARGET_VERSION 0x3000."""
    assert [max_dimension_count(level) for level in (Level.L1_0, Level.L2_1, Level.L3_0, Level.L6_4)] == [5, 5, 8, 8]


# Which part of the specification a backend claims with a category: kinds of constraints and, of no kind, rules.
CLAIMED = {
    Category.LEVEL_SUPPORT: {"from_level", "data-types", "dimension-counts", "unnamed-data-types", "step-data-type"},
    Category.TENSOR_DESC: {
        *("TENSOR.type", "TENSOR.data-type", "TENSOR.flags", "TENSOR.owned-by-dml"),
        *("TENSOR.dimension-count", "TENSOR.sizes", "TENSOR.element-count"),
    },
    Category.MEMORY_LAYOUT: {
        *("TENSOR.output-overlap", "TENSOR.total-size", "TENSOR.total-size-rounding"),
        *("TENSOR.alignment-power-of-two", "TENSOR.alignment-element-size"),
    },
    Category.AGREEMENT: {
        *("given", "same_ranks", "same_types", "same_type", "together", "type_of"),
        *("input-given", "past-lengths", "quantization-data-types", "same-data-type"),
    },
    Category.ATTRIBUTES: {
        *("within", "enumerators", "count", "divides", "activation", "steepness", "entries", "type_of"),
        *("channel-count", "forward-output-padding", "mask-type", "quantization-count", "quantization-type"),
        "scale-size",
    },
    Category.SHAPE: {
        *("output_sizes", "leading_ones", "window_fits", "size_within", "sizes", "broadcastable"),
        *("batch-sizes", "blocks", "blocks-dimension-count", "bounds", "channels", "coordinates", "divisible"),
        *("heads-divide", "input-sizes", "output-rank", "output-sizes", "quantization-dimension-count"),
        *("quantization-sizes", "reflection-of-one", "shape-before-2_1", "spatial", "spatial-dimensions"),
        *("values-count", "window-range", "zero-point-sizes"),
    },
    Category.ACCEPTANCE: {"DESCRIPTOR.acceptance", "DESCRIPTOR.claims"},
    Category.EXECUTION: {
        *("EXECUTION.output-bounds", "EXECUTION.inputs-unchanged", "EXECUTION.strides", "EXECUTION.in-place"),
        *("EXECUTION.binding", "values", "accuracy", "negative-indices", "out-of-range-indices"),
    },
}


def _name(known: Rule) -> str:
    """Without the operator's."""
    subject, _, name = known.id.partition(".")
    return name if subject in operators() else known.id


def test_a_category_is_claimed_with_these_rules() -> None:
    """What `Capabilities.enforces` promises: a rule that moves to another category moves between promises."""
    found: dict[Category, set[str]] = {category: set() for category in Category}
    for known in rules().values():
        found[known.category].add(known.constraint.kind if known.constraint else _name(known))
    assert found == CLAIMED


def test_an_operator_that_reads_through_indices_has_the_rules_of_indices() -> None:
    """From the level that introduced the operator on; signed indices came with level 3_0.

    What lies out of range nothing is said of where indices name places to write to.
    """
    for operator in operators().values():
        named = {known.id.partition(".")[2]: known for known in operator.execution_rules}
        of_indices = {"negative-indices", "out-of-range-indices"} if operator.index is not None else set()
        assert set(named) <= {"values", "accuracy"} | of_indices
        if families()[operator.name].startswith("gather"):
            assert set(named) == {"values"} | of_indices
        if "out-of-range-indices" in named:
            assert named["out-of-range-indices"].since == operator.introduced_in
        if "negative-indices" in named:
            assert named["negative-indices"].since == max(operator.introduced_in, Level.L3_0)
        assert named["values"].since <= operator.introduced_in


_INDEXED = TensorDesc.of(F32, (1, 5, 7, 9)), TensorDesc.of(U32, (1, 1, 5, 2)), TensorDesc.of(F32, (1, 5, 7, 9))


@pytest.mark.parametrize(
    ("name", "attributes", "limits"),
    [
        # The size along Axis.
        *(("GATHER", (axis, 1), (size,)) for axis, size in ((1, 5), (2, 7))),
        *(("GATHER_ELEMENTS", (axis,), (size,)) for axis, size in ((1, 5), (2, 7))),
        # The first meaningful sizes of the input, a coordinate each; after the batch, where there is one.
        ("GATHER_ND", (3, 2), (5, 7)),
        ("GATHER_ND1", (3, 2, 1), (7, 9)),
    ],
)
def test_the_limits_of_indices_are_sizes_of_the_indexed_tensor(
    name: str, attributes: tuple[int, ...], limits: tuple[int, ...]
) -> None:
    operator = operators()[name]
    assert operator.index.limits(operator.desc(*_INDEXED, *attributes)) == limits


def test_the_registry_finds_a_rule_by_its_id() -> None:
    for known in (*TENSOR_RULES, *EXECUTION_RULES, *operators()["TILE"].rules):
        assert rules()[known.id] is rule(known.id) is known
    for unknown in ("TILE.x", "X.values", ""):
        with pytest.raises(KeyError):
            rule(unknown)


# Sources


def test_a_rule_says_where_on_its_page_it_stands() -> None:
    """The field or section; the exceptions are pages that have only one subject, and what an operator computes."""
    whole_pages = {"ne-directml-dml_tensor_data_type", "ne-directml-dml_tensor_flags", "dml-strides", "dml-barriers"}
    whole_pages.add("nf-directml-idmldevice-createoperator")
    formulas = {"SLICE.bounds", "SPLIT.output-sizes", "SLICE1.window-sizes", "SLICE1.output-sizes"}
    formulas.add("SLICE_GRAD.window-sizes")  # that follow from what the operator computes
    for known in rules().values():
        without = known.source.page in whole_pages or known.id.endswith(".values") or known.id in formulas
        assert bool(known.source.section) or without, known.id
    assert rules()["TENSOR.owned-by-dml"].source.section == "DML_TENSOR_FLAG_OWNED_BY_DML"


# Errata


def test_a_corrected_rule_names_what_it_corrects() -> None:
    """A range, a formula or what executing does is settled in a rule.

    Examples are corrected in the examples, levels in the tables and types in the fields.

    TENSOR-2, -6 and -7 are about bindings, broadcasting and the least size, where the rules say what the pages mean.
    """
    settled = {name for known in rules().values() for name in known.settles}
    corrected = {
        erratum.id
        for erratum in errata().values()
        if erratum.resolution is Resolution.CORRECTED
        and erratum.concerns is not Concern.TEXT
        and erratum.kind not in ("example", "level", "type")
    }
    assert corrected - {"TENSOR-2", "TENSOR-6", "TENSOR-7"} <= settled
    assert settled <= set(errata())


# What is not asked


def _with_tensors(desc: Any, change: Callable[[TensorDesc], TensorDesc]) -> Any:
    return with_tensors(desc, {slot.key: change(slot.tensor) for slot in slots(desc)})


def _of_nine_dimensions(tensor: TensorDesc) -> TensorDesc:
    more = 9 - len(tensor.sizes)
    strides = None if tensor.strides is None else (0,) * more + tensor.strides
    return msgspec.structs.replace(tensor, sizes=(1,) * more + tensor.sizes, strides=strides)


def _without_first_size(tensor: TensorDesc) -> TensorDesc:
    return msgspec.structs.replace(tensor, sizes=(0, *tensor.sizes[1:]))


def _huge(tensor: TensorDesc) -> TensorDesc:
    return msgspec.structs.replace(tensor, sizes=(2**32, *tensor.sizes[1:]))


def _set(**fields: Any) -> Callable[[TensorDesc], TensorDesc]:
    return lambda tensor: msgspec.structs.replace(tensor, **fields)


# What asks something of attributes alone, whatever the tensors are.
_OF_ATTRIBUTES = {
    *("repeats", "enumerators", "array-lengths", "above-0", "dilations", "scales", "pixel-offsets"),
    *("strides", "steepness-range", "fused-activation", "fused-steepness", "scale-size", "window-sizes", "block-size"),
    *("array-counts", "power", "channel-count", "local-size-range", "p-range", "reduction-function", "sample-range"),
    *("quantization-type", "quantization-count", "decay-rates"),
}
_SHAPES = {
    _name(known) for known in rules().values() if known.category in (Category.SHAPE, Category.ATTRIBUTES)
} - _OF_ATTRIBUTES
_CONTENT = {"data-types", "dimension-counts", "same-dimension-count", "same-data-type"}
_MEASURES = {"TENSOR.total-size", "TENSOR.total-size-rounding"}

# A fault of every tensor, how to make it, and the rules that make no sense of such tensors.
TENSOR_FAULTS: list[tuple[str, Callable[[TensorDesc], TensorDesc], set[str]]] = [
    (
        "TENSOR.type",
        _set(type=TensorType.INVALID),
        {known.id for known in TENSOR_RULES} - {"TENSOR.type"} | _CONTENT | _SHAPES,
    ),
    (
        "TENSOR.data-type",
        _set(data_type=DataType.UNKNOWN),
        {*_MEASURES, "TENSOR.alignment-element-size", "data-types", "same-data-type"},
    ),
    (
        "TENSOR.dimension-count",
        _of_nine_dimensions,
        {"TENSOR.element-count", "TENSOR.output-overlap", *_MEASURES, *_SHAPES}
        | {"dimension-counts", "same-dimension-count"},
    ),
    ("TENSOR.sizes", _without_first_size, {"TENSOR.output-overlap", *_MEASURES, *_SHAPES}),
    ("TENSOR.element-count", _huge, {*_MEASURES, *_SHAPES}),
]


def _names(desc: OperatorDesc, level: Level) -> set[str]:
    """The rules broken, those of the operator without its name."""
    return {name.removeprefix(desc.operator + ".") for name in decide(desc, level).rules}


def _broken(operator: str, level: Level) -> Iterable[Any]:
    """Descriptors that break one rule each, whichever can be broken alone."""
    for name in breakable_rules(operator, level):
        for seed in range(6):
            with suppress(Impossible):
                yield violate(SeededChooser(seed), operator, level, name)


@pytest.mark.parametrize("operator", list(operators()))
def test_no_more_is_asked_of_tensors_that_make_no_sense(operator: str) -> None:
    """Whatever else is wrong: a violation named is a fault of its own, not what follows from another."""
    for level in (Level.L2_1, Level.L4_1):
        if level < operators()[operator].introduced_in:
            continue
        descs = list(_broken(operator, level))
        for fault, make, senseless in TENSOR_FAULTS:
            for desc in descs:
                found = _names(_with_tensors(desc, make), level)
                assert fault not in found or not found & senseless, (fault, desc)
            assert fault in _names(_with_tensors(descs[0], make), level) or _is_invalid(descs[0])


def _is_invalid(desc: OperatorDesc) -> bool:
    return any(slot.tensor.type == TensorType.INVALID for slot in slots(desc))


# A fault of a descriptor and the rules, by operator, that make no sense with it.
_AFTER_COUNTS = {"leading-input-sizes", "leading-index-sizes", "tuple-size-meaningful", "output-rank", "output-sizes"}
_AFTER_BATCH = {"tuple-size-meaningful", "output-rank", "output-sizes", "batch-sizes"}
_BATCHES = {"batch-dimension-count-meaningful", "batch-sizes"}
DESCRIPTOR_FAULTS: dict[str, dict[str, tuple[Callable[[int], dict[str, Any]], set[str]]]] = {
    "GATHER": {
        "axis-range": (lambda rank: {"axis": rank}, {"output-rank", "output-sizes", "shape-before-2_1"}),
        "index-dimensions-range": (
            lambda rank: {"index_dimensions": rank + 1},
            {"leading-index-sizes", "output-rank", "output-sizes", "shape-before-2_1"},
        ),
    },
    "TILE": {
        "repeats-count": (lambda rank: {"repeats": (1,) * (rank + 1)}, {"output-sizes"}),
        "repeats": (lambda rank: {"repeats": (0,) * rank}, {"output-sizes"}),
    },
    "GATHER_ELEMENTS": {"axis-range": (lambda rank: {"axis": rank}, {"sizes-off-axis"})},
    "GATHER_ND": {
        "input-dimension-count": (lambda rank: {"input_dimension_count": rank + 1}, _AFTER_COUNTS),
        "indices-dimension-count": (lambda rank: {"indices_dimension_count": rank + 1}, _AFTER_COUNTS),
    },
    "GATHER_ND1": {
        "input-dimension-count": (lambda rank: {"input_dimension_count": rank + 1}, _AFTER_COUNTS | _BATCHES),
        "indices-dimension-count": (lambda rank: {"indices_dimension_count": rank + 1}, _AFTER_COUNTS | _BATCHES),
        "batch-dimension-count": (
            lambda rank: {"batch_dimension_count": rank},
            _AFTER_BATCH | {"batch-dimension-count-meaningful"},
        ),
        "batch-dimension-count-meaningful": (
            lambda rank: {"input_dimension_count": 1, "batch_dimension_count": 1},
            _AFTER_BATCH,
        ),
    },
}


@pytest.mark.parametrize(
    ("operator", "fault"), [(operator, fault) for operator, faults in DESCRIPTOR_FAULTS.items() for fault in faults]
)
def test_no_more_is_asked_where_an_attribute_makes_no_sense(operator: str, fault: str) -> None:
    make, senseless = DESCRIPTOR_FAULTS[operator][fault]
    seen = 0
    for level in (Level.L1_0, Level.L4_1):
        if level < operators()[operator].introduced_in:
            continue
        for desc in _broken(operator, level):
            if desc.input_tensor is None:
                continue
            found = _names(msgspec.structs.replace(desc, **make(len(desc.input_tensor.sizes))), level)
            if fault in found:
                seen += 1
                assert not found & senseless, desc
    assert seen > 10


def _of_rank(rank: int, data_type: DataType = F32) -> TensorDesc:
    return TensorDesc.of(data_type, (1,) * rank)


def test_no_agreement_is_asked_of_tensors_that_are_not_there_or_not_allowed() -> None:
    """Of a tensor that is missing; and of types and dimension counts of which one at least is not in the table."""
    one, two = _of_rank(1), _of_rank(2)
    assert _names(GatherDesc(one, None, two, 9, 9), Level.L4_1) == {"required-tensors"}  # type: ignore[arg-type]
    assert _names(GatherDesc(None, None, None, 9, 9), Level.L4_1) == {"required-tensors"}  # type: ignore[arg-type]
    assert _names(TileDesc(None, None, (0,)), Level.L4_1) == {"required-tensors", "repeats"}  # type: ignore[arg-type]
    assert _names(TileDesc(_of_rank(4), _of_rank(3), (1,) * 4), Level.L2_1) == {"dimension-counts"}
    assert _names(TileDesc(two, _of_rank(3), (1,) * 2), Level.L4_1) == {"same-dimension-count"}
    float64 = _of_rank(2, DataType.FLOAT64)
    assert _names(TileDesc(two, float64, (1,) * 2), Level.L4_1) == {"data-types"}
    assert _names(TileDesc(two, _of_rank(2, I8), (1,) * 2), Level.L4_1) == {"same-data-type"}


def test_faults_that_have_nothing_to_do_with_each_other_are_all_named() -> None:
    """Skipping one rule skips no other: of one tensor, of the next, and of the operator."""
    odd = msgspec.structs.replace(_of_rank(2), data_type=DataType.UNKNOWN, guaranteed_base_offset_alignment=24, flags=6)
    assert _names(TileDesc(odd, _of_rank(2), (0, 1)), Level.L4_1) == {
        *("TENSOR.data-type", "TENSOR.flags", "TENSOR.alignment-power-of-two", "repeats")
    }
    assert {v.where for v in decide(TileDesc(odd, odd, (1, 1)), Level.L4_1).violations} == {
        f"{tensor}.{field}"
        for tensor in ("InputTensor", "OutputTensor")
        for field in ("DataType", "Flags", "GuaranteedBaseOffsetAlignment")
    }
    invalid = msgspec.structs.replace(_of_rank(2), type=TensorType.INVALID)
    assert _names(TileDesc(invalid, _of_rank(2), (0, 1)), Level.L4_1) == {"TENSOR.type", "repeats"}


def test_below_its_introduction_nothing_else_is_said_of_an_operator() -> None:
    for operator in operators().values():
        if operator.introduced_in == Level.L1_0:
            continue
        for desc in _broken(operator.name, operator.introduced_in):
            assert _names(desc, Level.L1_0) == {"introduced-in"}
        assert {
            name for level in Level if level < operator.introduced_in for name in _broken_at(operator.name, level)
        } == {f"{operator.name}.introduced-in"}


def _broken_at(operator: str, level: Level) -> tuple[str, ...]:
    try:
        return breakable_rules(operator, level)
    except Impossible:
        return ()


def test_an_open_question_silences_what_depends_on_its_answer_and_nothing_else() -> None:
    """GATHER_ND-2: a tuple of two coordinates for one meaningful dimension; what output that has, nobody can say.

    GATHER_ND1-6: batches of different sizes; but that the output does not have the sizes of the indices is wrong.
    """
    source, indices = TensorDesc.of(F32, (1, 1, 2)), TensorDesc.of(U32, (1, 3, 2))
    for output in ((1, 1, 3), (4, 5, 6)):
        desc = operators()["GATHER_ND"].desc(source, indices, TensorDesc.of(F32, output), 1, 2)
        decision = decide(desc, Level.L4_1)
        assert decision.outcome is validator.Outcome.UNSPECIFIED
        assert decision.rules == ("GATHER_ND.tuple-size-meaningful",)
    batches = TensorDesc.of(F32, (3, 4)), TensorDesc.of(U32, (2, 1))
    wrong = operators()["GATHER_ND1"].desc(*batches, TensorDesc.of(F32, (7, 7)), 2, 2, 1)
    assert decide(wrong, Level.L4_1).rules == ("GATHER_ND1.output-sizes",)


def _with_tables(operator: str, tables: Mapping[Level, Iterable[int]], **more: Any) -> set[str]:
    """The rules of an operator, had it other tables: dimension counts by level; and until when they hold."""
    known = operators()[operator]
    names = " ".join(field.name for field in known.tensor_fields)
    other = tuple(
        TableFacts(level.label, {names: (f"{min(counts)}-{max(counts)}", "FLOATS")}) for level, counts in tables.items()
    )
    facts = msgspec.structs.replace(known.facts, tables=other, **more)
    changed = dataclasses.replace(known, facts=facts)
    return {f"{rule.id.partition('.')[2]} until {rule.until}" for rule in changed.own_descriptor_rules}


def test_a_rule_on_dimension_counts_ends_where_every_count_is_allowed() -> None:
    """From there on a wrong count is wrong for any tensor, of any operator: 1 to 5 below 3_0, 1 to 8 from there."""
    eight, five = tuple(range(1, 9)), tuple(range(1, 6))
    for tables, until in (
        ({Level.L1_0: (4,), Level.L3_0: eight}, "3_0"),
        ({Level.L1_0: (4,), Level.L2_1: eight}, "2_1"),
        ({Level.L1_0: (4,), Level.L2_1: five}, "2_1"),
        ({Level.L1_0: (4,), Level.L3_0: eight[1:]}, "None"),
        ({Level.L1_0: (4,), Level.L3_0: eight[:-1]}, "None"),
        ({Level.L1_0: (4,), Level.L2_1: five[:-1]}, "None"),
        ({Level.L1_0: (4,)}, "None"),
    ):
        assert f"dimension-counts until {until}" in _with_tables("TILE", tables), tables


def test_equal_dimension_counts_are_a_rule_where_there_are_several() -> None:
    """Where tables allow one count only, a tensor with another breaks the tables' rule, and never this one alone."""
    assert "same-dimension-count until None" not in _with_tables("TILE", {Level.L1_0: (4,)})
    assert "same-dimension-count until None" not in _with_tables("TILE", {Level.L1_0: (4,), Level.L2_1: (5,)})
    assert "same-dimension-count until None" in _with_tables("TILE", {Level.L1_0: (4, 5)})


def test_a_rule_that_ends_before_the_operator_begins_is_left_out() -> None:
    later = _with_tables("GATHER", {Level.L3_0: tuple(range(1, 9))}, introduced_in="3_0")
    assert not any(name.startswith("shape-before-2_1") for name in later)
    assert "introduced-in until 3_0" in later


def test_tables_are_told_as_one_count_or_a_range() -> None:
    data_types = frozenset({F32})
    assert operator_module._counts(Support(frozenset({4}), data_types)) == "4"
    assert operator_module._counts(Support(frozenset(range(2, 6)), data_types)) == "2 to 5"


def test_every_size_that_is_zero_is_named_and_no_other() -> None:
    tensor = msgspec.structs.replace(TensorDesc.of(F32, (2, 1, 3)), sizes=(2, 0, 3))
    decision = decide(TileDesc(tensor, TensorDesc.of(F32, (2, 1, 3)), (1, 1, 1)), Level.L4_1)
    assert [violation.where for violation in decision.violations] == ["InputTensor.Sizes[1]"]


def test_only_batches_of_the_same_sizes_are_told() -> None:
    """GATHER_ND1-6 is left open whichever of input and indices has the larger batch."""
    for of_input, of_indices in (((2, 3), (3, 1)), ((3, 3), (2, 1))):
        desc = operators()["GATHER_ND1"].desc(
            TensorDesc.of(F32, of_input),
            TensorDesc.of(U32, of_indices),
            TensorDesc.of(F32, (1, of_indices[0])),
            2,
            2,
            1,
        )
        assert _names(desc, Level.L4_1) == {"batch-sizes"}


# Arithmetic on tensors


def test_a_layout_needs_one_stride_for_each_size() -> None:
    for strides in ((1,), (1, 1, 1)):
        with pytest.raises(ValueError, match="argument 2"):
            span_in_elements((2, 2), strides)
        with pytest.raises(ValueError, match="argument 2"):
            elements_overlap((2, 2), strides)


def test_a_search_for_overlaps_is_given_up_after_as_many_steps_as_asked_for() -> None:
    """Three candidates for this interleaved layout, counted by hand: of the stride of 3 the differences 0 and 1, and
    after the first of them 0 of the stride of 2; after the second, what is left is out of its reach.
    """
    sizes, strides = (3, 3), (3, 2)
    assert elements_overlap(sizes, strides, max_nodes=3) is False
    assert elements_overlap(sizes, strides, max_nodes=2) is None


def test_packed_and_padded_layouts_need_no_search() -> None:
    """Each stride is beyond what the smaller ones reach together."""
    for sizes, strides in (((2, 3, 4), (12, 4, 1)), ((3, 4, 2), (4, 1, 12)), ((2, 3, 4), (20, 5, 1))):
        assert elements_overlap(sizes, strides, max_nodes=0) is False


def test_a_tensor_promises_and_holds_nothing_unless_it_says_so() -> None:
    tensor = TensorDesc(F32, (1,))
    assert (tensor.total_tensor_size_in_bytes, tensor.guaranteed_base_offset_alignment, tensor.flags) == (0, 0, 0)
    assert (tensor.strides, tensor.type) == (None, TensorType.BUFFER)


# Values that decisions, digests and reports share


def _classes() -> list[type[Any]]:
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(spec.__path__, "dml_conformance.spec.")
    ]
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith("dml_conformance.spec.")
    }
    return sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__))


def test_what_the_specification_is_made_of_cannot_be_changed() -> None:
    """Descriptors, rules and decisions are cached and shared, and are keys: all are frozen, and compare by value."""
    structs: list[type[Any]] = [cls for cls in _classes() if issubclass(cls, msgspec.Struct)]
    records: list[type[Any]] = [cls for cls in _classes() if dataclasses.is_dataclass(cls)]
    assert len(structs) > 20
    assert len(records) > 5
    thawed = [cls for cls in structs if not cls.__struct_config__.frozen]
    thawed += [cls for cls in records if not cls.__dataclass_params__.frozen]
    assert [cls.__qualname__ for cls in thawed if not issubclass(cls, Exception)] == []


# Of each kind of entry in a data file: how the file is read, and one entry of what is read.
DATA_FILES: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (divergences_module.divergences, lambda found: next(iter(found.values()))),
    (errata_module.errata, lambda found: next(iter(found.values()))),
    (examples_module.examples, lambda found: next(iter(found.values()))),
    (examples_module.layouts, lambda found: next(iter(found.values()))),
    (examples_module.illustrations, lambda found: next(iter(found.values()))),
    (examples_module._figures, lambda found: found),
    (history_module.history, lambda found: found),
    (history_module.history, lambda found: found.changes[0]),
    (history_module.history, lambda found: next(iter(found.introductions.values()))),
    (libraries_module.libraries, lambda found: next(iter(found.values()))),
    (observations_module.observations, lambda found: next(iter(found.values()))),
    (observations_module.observations, lambda found: next(iter(found.values())).witnesses[0]),
]


@pytest.mark.parametrize(("read", "entry"), DATA_FILES, ids=[type(pick(read())).__name__ for read, pick in DATA_FILES])
def test_data_files_are_read_once_and_hold_no_field_that_nobody_reads(
    read: Callable[[], Any], entry: Callable[[Any], Any]
) -> None:
    assert read() is read()
    sample = entry(read())
    written = msgspec.to_builtins(sample)
    assert msgspec.convert(written, type(sample)) == sample
    with pytest.raises(msgspec.ValidationError, match="unknown field `surplus`"):
        msgspec.convert({**written, "surplus": 1}, type(sample))


def test_operators_rules_and_plans_are_made_once() -> None:
    assert operators() is operators()
    assert rules() is rules()
    assert validator._plan("TILE", Level.L4_1) is validator._plan("TILE", Level.L4_1)


def test_two_rules_or_errata_of_one_id_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or one would silently take the place of the other."""
    monkeypatch.setattr(registry, "EXECUTION_RULES", (*EXECUTION_RULES, EXECUTION_RULES[0]))
    with pytest.raises(AssertionError, match="two rules"):
        rules.__wrapped__()
    one = next(iter(errata().values()))
    monkeypatch.setattr("msgspec.json.decode", lambda *_, **__: [one, one])
    with pytest.raises(AssertionError, match="two errata"):
        errata.__wrapped__()


# Cases


def _tile_case() -> Case:
    one = TensorDesc.of(F32, (1,))
    return Case.of(TileDesc(one, one, (1,)), Level.L4_1, {"input_tensor": Recipe("ramp", 5)}, rule="TILE.values")


def test_a_case_is_named_after_what_is_executed() -> None:
    """SHA-256 over type, descriptor, level and data, with names in order; not over what is expected of it or why."""
    content = _tile_case().to_json()
    executed = {name: content[name] for name in ("data", "desc", "level", "type")}
    encoded = msgspec.json.encode(executed, order="sorted")
    assert digest_of(content) == hashlib.sha256(encoded).hexdigest()
    assert digest_of({name: content[name] for name in reversed(content)}) == digest_of(content)
    for name in executed:
        assert digest_of({**content, name: "another"}) != digest_of(content), name
    assert digest_of({**content, "expect": None, "origin": ""}) == digest_of(content)


def test_a_recipe_has_no_seed_unless_it_says_so() -> None:
    """So that it is the same wherever it is left out, and that writing it leaves out what goes without saying."""
    assert Recipe("ramp").seed == 0
    assert msgspec.to_builtins(Recipe("ramp")) == {"pattern": "ramp"}


def test_a_case_says_what_is_expected_of_it() -> None:
    """For whoever reads the file; whoever reads it back decides anew."""
    assert _tile_case().to_json()["expect"] == {"decision": "ACCEPT", "rules": []}
    broken = msgspec.structs.replace(TensorDesc.of(F32, (1,)), flags=6)
    written = Case.of(TileDesc(broken, broken, (1,)), Level.L4_1).to_json()["expect"]
    assert written == {"decision": "REJECT", "rules": ["TENSOR.flags"]}


def test_data_for_a_tensor_that_is_no_input_is_refused() -> None:
    """In the form that cases are written in as in any other, with the place."""
    content = _tile_case().to_json()
    content["data"] = {"OutputTensor": content["data"]["InputTensor"]}
    with pytest.raises(FormError, match="OutputTensor"):
        Case.from_json(content)
    with pytest.raises(FormError, match="OutputTensor"):
        Case.from_text(msgspec.json.encode(content))
    with pytest.raises(FormError, match="seed"):
        Case.from_json({**content, "data": {"InputTensor": {"pattern": "ramp", "seed": "5"}}})


def test_a_case_has_the_name_and_digest_of_what_it_writes() -> None:
    case = _tile_case()
    assert case.operator == case.desc.operator == "TILE"
    assert case.digest == digest_of(case.to_json())


def test_integers_with_a_sign_are_told_apart() -> None:
    signed = {t for t in DataType if t.is_signed_integer is True}
    assert signed == {DataType.INT4, DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64}
    assert all(t.is_signed_integer is False for t in set(DataType) - signed)


# Model files


def _read(text: str | bytes) -> model_files.ModelFile:
    return model_files.read_model(text if isinstance(text, bytes) else text.encode(), "m.json")


def test_a_file_may_be_as_large_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "MAX_BYTES", 4)
    assert _read("[  ]").operators == ()
    with pytest.raises(ModelError, match="larger than"):
        _read("[   ]")


def test_a_long_name_in_a_path_is_cut_to_64_characters() -> None:
    whole, cut = "\u00e9" * 64, "e f" * 22
    assert member_path("e " * 32) == '["' + "e " * 32 + '"]'
    assert len(whole) == 64
    assert member_path(cut) == '["' + cut[:61] + '..."]'
    assert member_path("f" * 65) == '["' + "f" * 61 + '..."]'


# Forms


def test_no_least_size_is_made_up_for_a_tensor_without_elements() -> None:
    """With a size of 0 the formula means nothing: (0 - 1) * stride is no distance."""
    tensor = {"DataType": "FLOAT32", "Sizes": [0, 3], "Strides": [5, 1]}
    desc: Any = desc_from_json({"type": "TILE", "InputTensor": tensor, "OutputTensor": tensor, "Repeats": [1, 1]})
    assert desc.input_tensor.total_tensor_size_in_bytes == 0


def test_a_short_text_is_shown_whole() -> None:
    """Up to sixty characters; of a longer one the first 57, and dots in the place of the rest."""
    assert field_kinds.shown("x" * 58) == "'" + "x" * 58 + "'"
    assert field_kinds.shown("x" * 59) == "'" + "x" * 56 + "..."


# Divergences and observations


def _tile(source: TensorDesc, output: TensorDesc | None = None) -> TileDesc:
    return TileDesc(source, output or source, (1,) * len(source.sizes))


def test_sums_of_strides_are_cut_to_32_bits_and_bytes_rounded_up_to_4() -> None:
    """DIV-strided-size-in-32-bits: the sum of (size - 1) * stride modulo 2^32, plus one, in bytes, a multiple of 4."""
    recognised = divergences_module.RECOGNISED_BY["DIV-strided-size-in-32-bits"]
    for last, least in ((2**32, 4), (2**32 + 1, 4), (2**32 + 3, 4), (2**32 + 4, 8), (2**32 + 2**31, 2**31 + 4)):
        for total, expected in ((least - 1, False), (least, True)):
            wide = TensorDesc(I8, (2,), (last,), total)
            assert recognised(_tile(wide, TensorDesc.of(I8, (2,)))) is expected, (last, total)
    larger = TensorDesc(F32, (2,), (2,), 64)
    assert not recognised(_tile(larger))


def _gather(source: Any, indices: Any, output: Any, axis: int, index_dimensions: int) -> GatherDesc:
    return GatherDesc(
        TensorDesc.of(F32, source), TensorDesc.of(U32, indices), TensorDesc.of(F32, output), axis, index_dimensions
    )


@pytest.mark.parametrize("index_dimensions", [0, 2])
def test_an_operator_without_a_tensor_shows_none_of_gather_s(index_dimensions: int) -> None:
    whole = _gather((2, 3), (3, 4), (3, 4), 1, index_dimensions)
    for divergence in divergences_module.divergences().values():
        for name in ("input_tensor", "indices_tensor", "output_tensor"):
            desc = msgspec.structs.replace(whole, **{name: None})
            if divergence.id.startswith("DIV-gather") and divergence.id != "DIV-gather-writes-before-its-sizes":
                decision = validator.Decision(divergence.specification, ())
                assert divergence.explains(desc, decision, divergence.answer) is False


def test_an_answer_is_explained_with_all_rules_that_are_broken_and_perhaps_fewer_than_known() -> None:
    """And only for a decision that the divergence is about; a crash is none that a decision could ask for."""
    for divergence in divergences_module.divergences().values():
        decision = decide(divergence.desc, Level.parse(divergence.libraries[-1]))
        wider = msgspec.structs.replace(divergence, rules=(*divergence.rules, "TENSOR.flags"))
        assert wider.explains(divergence.desc, decision, divergence.answer) is True
        other = next(o for o in validator.Outcome if o is not decision.outcome)
        unlike = validator.Decision(other, decision.violations)
        assert divergence.explains(divergence.desc, unlike, divergence.answer) is (divergence.answer == "crash")
        narrower = msgspec.structs.replace(divergence, rules=("TENSOR.flags",))
        overlooked = divergence.answer != "accept" and is_whole(divergence.desc)
        assert narrower.explains(divergence.desc, decision, divergence.answer) is overlooked


@pytest.mark.parametrize(
    ("sizes", "strides", "accepted"),
    [
        ((2, 3), (3, 1), True),  # packed
        ((2, 3), (1, 2), True),  # transposed
        ((2, 3), (4, 2), True),  # overlaps
        ((2, 3), (2, 2), False),  # two alike
        ((2, 3), (0, 1), False),  # one of 0
        ((2, 3), (1, 0), False),
        ((2, 3), (0, 3), False),  # though it spans room enough
        ((2, 1), (1, 0), True),  # a dimension of size 1 has no stride to speak of
        ((1, 3), (1, 1), True),
        ((4, 3), (1, 2), False),  # no room: 8 places for 12 elements
        ((5, 2), (1, 5), True),  # just enough
        ((5, 2), (1, 4), False),  # one too few
        ((3,), (1,), True),
    ],
)
def test_output_strides_that_the_library_takes(sizes: Any, strides: Any, accepted: bool) -> None:
    """OBS of TENSOR.output-overlap: no stride of 0, no two alike, room for all elements."""
    output = TensorDesc.of(F32, sizes, strides)
    assert CONDITIONS["TENSOR.output-overlap"](_tile(TensorDesc.of(F32, sizes), output)) is accepted


def test_an_observed_answer_is_taken_by_its_word() -> None:
    """`accept` accepts, and whatever else is observed does not; `depends` asks the descriptor."""
    some = next(o for o in observations().values() if o.answer != "depends")
    desc = _tile(TensorDesc.of(F32, (1,)))
    assert msgspec.structs.replace(some, answer="accept").accepts(desc) is True
    assert msgspec.structs.replace(some, answer="reject").accepts(desc) is False
    depending = msgspec.structs.replace(some, answer="depends", rule="TENSOR.output-overlap")
    assert depending.accepts(desc) is True
